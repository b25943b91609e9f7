"""Applications are recognised by the strongest evidence, and only where their literals occur."""

from collections.abc import Callable
from pathlib import Path

import pytest

from knowledge_base.loader import FOLDER, load, load_files
from knowledge_base.matching import HEAD, TAIL, Detector, Sight, find_level, still_holds
from knowledge_base.model import Pattern, Strength
from tests.helper.saved_pages import html_page

TINY = """<application name="{name}" kind="web-forum"><detect>{signs}</detect>
<level name="any" role="intermediate"><when css="body"/></level></application>"""

Build = Callable[..., Detector]


@pytest.fixture
def build(tmp_path: Path) -> Build:
    def detector(**applications: str) -> Detector:
        files = []
        for name, signs in applications.items():
            files.append(tmp_path / f"{name}.xml")
            files[-1].write_text(TINY.format(name=name, signs=signs))
        return Detector(load_files([FOLDER / "kinds" / "web-forum.xml"], files))

    return detector


@pytest.mark.parametrize(
    ("sign", "url", "markup", "headers"),
    [
        ('generator="Foo Board"', "/", '<meta name="Generator" content="foo board 1.2">', ()),
        ('script="js/foo.js"', "/", '<script src="/x/js/FOO.js?v=1"></script>', ()),
        ('link="css/foo.css"', "/", '<link rel="stylesheet" href="css/foo.css">', ()),
        ('header="X-Powered-By" value="Foo"', "/", "", (("x-powered-by", "foo/3"),)),
        ('cookie="foo_*_sid"', "/", "", (("Set-Cookie", "foo_12_sid=9; path=/"),)),
        ('path="**/foo.php" literal="foo.php"', "/a/foo.php", "", ()),
        ('text="runs on Foo"', "/", "<p>This board RUNS on foo.</p>", ()),
        ('css="#foo-board"', "/", '<div id="foo-board"></div>', ()),
    ],
)
def test_each_signal(build: Build, sign: str, url: str, markup: str, headers: tuple[tuple[str, str], ...]) -> None:
    detector = build(foo=f'<pattern strength="strong" {sign}/>')
    found = detector.detect(html_page("http://a.test" + url, f"<html><body>{markup}</body></html>", 200, *headers))
    assert found.application is not None
    assert detector.detect(html_page("http://a.test/", "<html><body>nothing</body></html>")).application is None


def test_strength_decides_then_number(build: Build) -> None:
    detector = build(
        strong='<pattern strength="strong" css="#aaa1"/><pattern strength="strong" css="#aaa2"/>',
        proof='<pattern strength="proof" css="#bbb1"/>',
        single='<pattern strength="strong" css="#ccc1"/>',
    )

    def name(*ids: str) -> str | None:
        markup = "".join(f'<i id="{i}"></i>' for i in ids)
        application = detector.detect(html_page("http://a.test/", markup)).application
        return application.name if application else None

    assert name("aaa1", "aaa2", "bbb1") == "proof"
    assert name("aaa1", "aaa2", "ccc1") == "strong"
    assert name("ccc1") == "single"


def test_equal_evidence_is_a_conflict_and_one_hint_is_nothing(build: Build) -> None:
    detector = build(
        one='<pattern strength="strong" css="#aaa1"/><pattern strength="hint" css="#hint1"/>',
        two='<pattern strength="strong" css="#bbb1"/><pattern strength="hint" css="#hint2"/>'
        '<pattern strength="hint" css="#hint3"/>',
    )
    both = detector.detect(html_page("http://a.test/", '<i id="aaa1"></i><i id="bbb1"></i>'))
    assert both.application is None
    assert both.rivals == ("one", "two")
    assert detector.detect(html_page("http://a.test/", '<i id="hint1"></i>')).application is None
    two = detector.detect(html_page("http://a.test/", '<i id="hint2"></i><i id="hint3"></i>')).application
    assert two is not None
    assert two.name == "two"


def test_only_patterns_whose_literal_occurs_are_evaluated(build: Build, monkeypatch: pytest.MonkeyPatch) -> None:
    detector = build(**{f"app{n}": f'<pattern strength="strong" css="#literal{n}x"/>' for n in range(50)})
    evaluated: list[Pattern] = []
    shows = Sight.shows

    def counted(sight: Sight, pattern: Pattern) -> bool:
        evaluated.append(pattern)
        return shows(sight, pattern)

    monkeypatch.setattr(Sight, "shows", counted)
    found = detector.detect(html_page("http://a.test/", '<p id="literal7x">text</p>'))
    assert found.application is not None
    assert found.application.name == "app7"
    assert len(evaluated) == 1


def test_utf_16_pages_are_recognised(build: Build) -> None:
    detector = build(foo='<pattern strength="proof" css="#foo-board"/>')
    markup = '<html><head><title>ü</title></head><body><div id="foo-board">x</div></body></html>'
    page = html_page("http://a.test/", markup.encode("utf-16"))
    assert detector.detect(page).application is not None


def test_a_sign_in_the_middle_of_a_huge_page_is_not_looked_for(build: Build) -> None:
    detector = build(foo='<pattern strength="proof" text="runs on foo"/>')
    filler = b"x " * (HEAD + TAIL)
    assert detector.detect(html_page("http://a.test/", filler + b"runs on foo" + filler)).application is None
    assert detector.detect(html_page("http://a.test/", filler + b"runs on foo")).application is not None


def test_remembered_evidence_is_verified_not_trusted() -> None:
    phpbb = load().application("phpBB")
    proofs = [pattern for pattern in phpbb.patterns if pattern.strength is Strength.PROOF]
    assert still_holds(html_page("http://a.test/", '<body id="phpbb">x</body>'), proofs)
    assert not still_holds(html_page("http://a.test/", "<body>x</body>"), proofs)


def test_levels_come_in_the_order_of_the_file(build: Build, tmp_path: Path) -> None:
    build(foo='<pattern strength="strong" css="#aaa1"/>')
    application = load_files([FOLDER / "kinds" / "web-forum.xml"], [tmp_path / "foo.xml"]).application("foo")
    level = find_level(html_page("http://a.test/", "<p>x</p>"), application)
    assert level is not None
    assert level.name == "any"
