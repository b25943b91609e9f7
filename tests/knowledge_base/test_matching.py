"""Applications are recognised by the strongest evidence, and only where their literals occur."""

from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, reject, settings
from hypothesis import strategies as st

from aahcrawler.page import Page
from knowledge_base.loader import FOLDER, LoadError, load_files
from knowledge_base.matching import HEAD, TAIL, Candidates, Detector, Sight, still_holds
from knowledge_base.model import KnowledgeBase, Pattern, Strength
from tests.helper.saved_pages import html_page, saved_pages
from tests.shipped import shipped

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
    phpbb = shipped().application("phpBB")
    proofs = [pattern for pattern in phpbb.patterns if pattern.strength is Strength.PROOF]
    assert still_holds(html_page("http://a.test/", '<body id="phpbb">x</body>'), proofs)
    assert not still_holds(html_page("http://a.test/", "<body>x</body>"), proofs)


TEXTS = ("alpha", "alphabet", "beta", "gamma-1", "page")
SHAPES = (
    '<i id="{0}"></i>',
    "<i id='{0}'></i>",
    "<i id={0}></i>",
    '<i ID = "{0}">x</i>',
    "<i id= {0} >x</i>",
    '<i class="x {0}"></i>',
    '<i class="{0}\tx"></i>',
    "<i class = {0}>x</i>",
    '<i title="{0}"></i>',
    "<p>{0}</p>",
    '<a href="/x/{0}.php?a=1">x</a>',
    '<meta name="generator" content="{0} 3">',
    '<script src="/js/{0}.js"></script>',
)
SIGNS = (
    'css="#{0}"',
    'css=".{0}"',
    'css="i.x.{0}"',
    "css=\"i[title^='{0}']\"",
    "xpath=\"//a[contains(@href, '/{0}.php')]\"",
    "xpath=\"//p[contains(., '{0}')] | //i[@class='{0}']\"",
    'generator="{0}"',
    'script="js/{0}.js"',
    'text="{0}"',
)
STRENGTHS = ("hint", "strong", "proof")
SIGN = st.builds(lambda shape, text: shape.format(text), st.sampled_from(SIGNS), st.sampled_from(TEXTS))
MARKUP = st.builds(lambda shape, text: shape.format(text), st.sampled_from(SHAPES), st.sampled_from(TEXTS))


def weigh(page: Page, knowledge_base: KnowledgeBase) -> tuple[str | None, tuple[str, ...]]:
    """Say what detection has to say, by evaluating every sign of every application."""
    sight = Sight(page)
    claims = {}
    for application in knowledge_base.applications:
        shown = [
            p.strength for p in application.patterns if (p.selector.xpath(page.tree) if p.selector else sight.shows(p))
        ]
        if any(strength > Strength.HINT for strength in shown) or len(shown) > 1:
            claims[application.name] = tuple(shown.count(s) for s in sorted(Strength, reverse=True))
    winners = [name for name, weight in claims.items() if weight == max(claims.values())]
    return (winners[0], ()) if len(winners) == 1 else (None, tuple(sorted(winners)))


@pytest.mark.slow
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow])
@given(
    st.lists(st.lists(st.tuples(SIGN, st.sampled_from(STRENGTHS)), min_size=1, max_size=3), min_size=1, max_size=3),
    st.lists(MARKUP, max_size=5),
)
def test_detection_says_what_evaluating_every_sign_says(
    tmp_path: Path, applications: list[list[tuple[str, str]]], markup: list[str]
) -> None:
    files = []
    for number, signs in enumerate(applications):
        patterns = "".join(f'<pattern strength="{strength}" {sign}/>' for sign, strength in signs)
        files.append(tmp_path / f"{number}.xml")
        files[-1].write_text(TINY.format(name=f"app{number}", signs=patterns))
    try:
        knowledge_base = load_files([FOLDER / "kinds" / "web-forum.xml"], files)
    except LoadError:  # Two files may happen to claim the same sign.
        reject()
    page = html_page("http://a.test/", "<html><head></head><body>" + "".join(markup) + "</body></html>")
    found = Detector(knowledge_base).detect(page)
    assert (found.application.name if found.application else None, found.rivals) == weigh(page, knowledge_base)


@pytest.mark.slow
def test_no_sign_that_a_saved_page_shows_is_passed_over() -> None:
    knowledge_base = shipped()
    candidates = Candidates(knowledge_base.applications)
    shown = 0
    for saved in saved_pages():
        sight = Sight(saved.page)
        found = candidates.on(sight.front, sight.body)
        for application in knowledge_base.applications:
            for pattern in application.patterns:
                if pattern.selector is not None and pattern.selector.xpath(saved.page.tree):
                    assert pattern in found.get(application, ()), (saved.page.url, pattern)
                    shown += 1
    assert shown > 100
