"""The benchmark of drafts gives a draft what a person would choose, counts its claims, and goes on where it stopped."""

import json
from contextlib import nullcontext
from pathlib import Path

from aahcrawler.editor.drafting.doubts import Alternative, Doubt
from aahcrawler.editor.text.edits import SetAttribute
from aahcrawler.page import Headers, Page
from benchmarks.drafts.__main__ import Case, Measuring, Place, Rows, measure
from benchmarks.drafts.claims import Strangers
from benchmarks.drafts.drafted import NAME
from benchmarks.drafts.mending import MOST_CORRECTIONS, Truth, mended
from benchmarks.drafts.recorded_subject import RecordedSubject
from benchmarks.drafts.subject import links_of, spread, typical
from benchmarks.recorded import RecordedSite
from benchmarks.site_pages import FETCHED_AT
from benchmarks.sites import BenchmarkError
from knowledge_base.loader import load
from tests.benchmarks import tinysite


def test_a_person_shows_the_fullest_of_the_listed_pages_and_one_that_is_usual() -> None:
    objects = {"/a": 1, "/b": 3, "/c": 9, "/d": 4}
    assert typical(["/a", "/x", "/b", "/c", "/d"], objects) == ["/c", "/b"]
    assert typical(["/a", "/c"], objects) == ["/c", "/a"]
    assert typical([], objects) == []


def test_samples_are_taken_from_all_over_a_site() -> None:
    assert spread([str(number) for number in range(100)], 4) == ["0", "25", "50", "75"]


def test_only_links_to_the_own_site_lead_to_pages_of_it() -> None:
    body = b'<a href="/t/1?p=2#x">1</a><a href="http://b.test/t/9">9</a><a href="/t/1?p=2">again</a>'
    page = Page("http://a.test/", 200, Headers((("Content-Type", "text/html"),)), body, FETCHED_AT)
    assert links_of(page) == ["/t/1?p=2"]


def test_of_a_recorded_site_front_page_and_usual_content_are_given(tmp_path: Path) -> None:
    subject = RecordedSubject(tinysite.record(tmp_path))
    given = subject.given()
    assert [page.url for page in given.lists] == ["http://tiny.test/"]
    assert [page.url for page in given.contents] == ["http://tiny.test/topic/1", "http://tiny.test/topic/2"]
    known = {each.page.url: each for each in subject.known_pages()}
    assert set(known) == {"http://tiny.test/topic/3", "http://tiny.test/topic/4"}
    assert len(known["http://tiny.test/topic/3"].objects) == len(tinysite.POSTS[3])


def test_pages_of_other_applications_alone_are_claimed(tmp_path: Path) -> None:
    site = tinysite.record(tmp_path)
    application = load(tinysite.knowledge_base(tmp_path / "files")).application("TinyForum")
    strangers = Strangers((site,))
    assert strangers.claims(application, "otherforum") == 1 + len(tinysite.POSTS)
    assert strangers.claimed[0] == "http://tiny.test/"
    assert strangers.claims(application, site.app) == 0


class _Failing(RecordedSubject):
    def knowledge_base(self, target: Path) -> Path:
        raise BenchmarkError(f"nothing for {target.name}")


def test_rows_that_did_not_fail_are_not_measured_again(tmp_path: Path) -> None:
    site = tinysite.record(tmp_path)
    target = tmp_path / "rows.json"
    known = {"app": site.app, "theme": site.theme, "case": "none", "recall": 1.0, "failure": None}
    failed = {**known, "case": "draft", "failure": "no network"}
    target.write_text(json.dumps({"rows": [known, failed]}), "utf-8")
    rows = Rows(target)

    measure(_place(site), tuple(Case), Measuring(Strangers(()), None), rows)

    written = json.loads(target.read_text("utf-8"))["rows"]
    assert [row["case"] for row in written] == list(Case)
    assert written[0]["recall"] == 1.0
    assert "nothing for" in written[1]["failure"]


SIGN = "detect/pattern[1]"
BODY = "level[topic]/extract[posts]/field[body]/select"
AUTHOR = "level[topic]/extract[posts]/field[author]/select[1]"


def drafted() -> bytes:
    """Return a file whose bodies are wrong."""
    text = tinysite.APPLICATION.replace('name="TinyForum"', f'name="{NAME}" draft="yes"')
    return text.replace('<select css=".text"/>', '<select css=".head"/>').encode()


def doubt(place: str, *selectors: str) -> Doubt:
    edits = ((css, SetAttribute(place=place, attribute="css", value=css)) for css in selectors)
    return guess(place, *(Alternative(said=css, edits=(edit,)) for css, edit in edits))


def guess(place: str, *alternatives: Alternative) -> Doubt:
    return Doubt(place=place, said="a guess", doubt=0.5, alternatives=alternatives)


def test_what_the_truth_confirms_is_corrected_and_right_guesses_cost_nothing(tmp_path: Path) -> None:
    pages = RecordedSubject(tinysite.record(tmp_path)).known_pages()
    truth = Truth(pages, lambda _: 0)
    doubts = (doubt(AUTHOR, ".text", "time"), guess(AUTHOR), doubt(BODY, "time", ".text", ".writer"))

    found = mended(drafted(), doubts, truth)

    assert found.corrections == (f"{BODY}: .text",)
    assert b'<select css=".text"/>' in found.file
    assert b'<select css=".writer"/>' in found.file
    assert truth.worth(found.file) > truth.worth(drafted())


def test_a_sign_that_others_share_is_corrected(tmp_path: Path) -> None:
    pages = RecordedSubject(tinysite.record(tmp_path)).known_pages()
    truth = Truth(pages, lambda application: sum("Tiny" not in sign.value for sign in application.patterns[:1]))
    shared = drafted().replace(b'generator="TinyForum"', b'generator="Web"', 1)
    better = Alternative(said="its name", edits=(SetAttribute(place=SIGN, attribute="generator", value="TinyForum"),))
    assert mended(shared, (guess(SIGN, better),), truth).corrections == (f"{SIGN}: its name",)


def test_somebody_makes_a_few_corrections_and_no_edit_that_fails(tmp_path: Path) -> None:
    truth = Truth(RecordedSubject(tinysite.record(tmp_path)).known_pages(), lambda _: 0)
    gone = guess(
        BODY, Alternative(said="gone", edits=(SetAttribute(place="level[none]", attribute="name", value="x"),))
    )
    assert mended(drafted(), (gone,), truth).corrections == ()
    again = (doubt(BODY, ".text"), doubt(BODY, ".head")) * MOST_CORRECTIONS
    assert len(mended(drafted(), again, truth).corrections) == 1


def _place(site: RecordedSite) -> Place:
    return Place(site.app, site.theme, lambda _: nullcontext(_Failing(site)))
