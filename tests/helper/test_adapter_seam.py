"""What the helper asks of an adapter, and what it makes of the answers."""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime

from lxml.html import HtmlElement

from aahcrawler.helper import ApplicationAwareHelper, Assistance
from aahcrawler.helper.adaptation_protocol import Followed, Kept, Question, Taken
from aahcrawler.helper.assistance import Failure
from aahcrawler.helper.extraction.extraction import ExtractionOutcome, ObjectSketch, Runner
from aahcrawler.helper.links.navigation import ChosenLink, Links
from aahcrawler.metadata import Metadata
from aahcrawler.page import Page
from aahcrawler.webobject import Person, Reference, WebObject
from knowledge_base.model import Application, Extract, FieldKind, Identity, KnowledgeBase, PageLevel
from tests.helper.building import application, article, comments, level, links, text_field, xpath
from tests.helper.saved_pages import html_page

URL = "http://site.test/page"
BODY = '<i id="press-sign"></i><article><p class="body">old</p></article><p class="new">new</p><a href="/x">x</a>'
IDENTITY = Identity((xpath("@id"),), trims=("c",), prefix="comment-")


@dataclass
class Scripted:
    """An adapter that answers as it was told; ``questions`` are all that it was asked about actions."""

    name: str | None = None
    taken_for: PageLevel | None = None
    instead: Extract | None = None
    outcome: ExtractionOutcome | None = None
    more: tuple[ChosenLink, ...] = ()
    stopped: tuple[str, ...] = ()
    questions: list[Question] = field(default_factory=list)
    outcomes: list[ExtractionOutcome] = field(default_factory=list)

    def application(self, page: Page, known: Application | None, former: Metadata | None) -> Kept | None:
        assert page.is_html
        assert known is None or former is None
        return Kept(self.name) if self.name is not None else None

    def level(
        self, page: Page, application: Application, shown: PageLevel | None, former: Metadata | None
    ) -> Taken | None:
        assert page.url.startswith("http")
        assert application.levels
        assert former is None or former.application
        level = self.taken_for or shown
        return Taken(level) if level is not None else None

    def preferred(self, question: Question) -> Extract:
        self.questions.append(question)
        return self.instead or question.action

    def check_outcome(self, question: Question, outcome: ExtractionOutcome, runner: Runner) -> ExtractionOutcome:
        assert runner.location.page is question.page
        self.outcomes.append(outcome)
        return self.outcome or outcome

    def followed(
        self,
        links: Links,
        application: Application,
        level: PageLevel,
        chosen: Sequence[ChosenLink],
        former: Metadata | None,
    ) -> Followed:
        assert links.site == "site.test"
        assert level in application.levels
        assert former is None or former.application
        return Followed((*chosen, *self.more), self.stopped)


PRESS = application("press", level("page", "article", article(), links("more", "page", "a.more")))


def read(adapter: Scripted | None, markup: str = BODY, app: Application = PRESS) -> Assistance:
    helper = ApplicationAwareHelper(KnowledgeBase((app,)), adapter=adapter)
    return helper.assist(html_page(URL, f"<html><body>{markup}</body></html>"))


def unmatched(found: Assistance) -> Assistance:
    """Return all but the match, which is equal to none but itself."""
    return replace(found, match=None)


def bodies(found: Assistance) -> list[object]:
    return [item.first("body") for item in found.objects]


def test_an_adapter_that_has_nothing_to_say_changes_nothing() -> None:
    assert unmatched(read(Scripted())) == unmatched(read(None))


def test_an_action_in_its_place_is_run_instead() -> None:
    adapter = Scripted(instead=article(text_field("body", ".new"), item="body"))
    assert bodies(read(adapter)) == ["new"]
    assert [question.action for question in adapter.questions] == [PRESS.levels[0].actions[0]]


def test_the_outcome_that_the_adapter_settles_on_counts() -> None:
    adapter = Scripted(outcome=ExtractionOutcome((), Failure.STOPPED_WORKING, "it is there", "learned-article-1"))
    found = read(adapter)
    assert (bodies(adapter_found := found), found.match and found.match.variant) == ([], "learned-article-1")
    assert [(each.failure, each.detail) for each in adapter_found.failed_actions] == [
        (Failure.STOPPED_WORKING, "it is there")
    ]
    assert [outcome.failure for outcome in adapter.outcomes] == [None]


def test_links_that_are_added_are_followed_and_their_actions_reported() -> None:
    adapter = Scripted(more=(ChosenLink("http://site.test/x", None, "more"),), stopped=("more",))
    found = read(adapter)
    assert [(link.url, link.action) for link in found.document.outlinks] == [("http://site.test/x", "more")]
    assert [(each.action, each.failure) for each in found.failed_actions] == [("more", Failure.STOPPED_WORKING)]


def test_a_page_taken_for_one_of_a_level_is_read_by_it() -> None:
    hidden = application("press", level("page", ".never", article()))
    found = read(Scripted(taken_for=hidden.levels[0]), app=hidden)
    assert bodies(found) == ["old"]
    assert found.match is not None
    assert found.match.level is hidden.levels[0]


def test_a_page_taken_for_one_of_a_level_and_without_its_objects_is_of_none() -> None:
    hidden = application("press", level("page", ".never", replace(article(), always=True)))
    found = read(Scripted(taken_for=hidden.levels[0]), '<i id="press-sign"></i><p>gone</p>', hidden)
    assert unmatched(found) == unmatched(read(None, '<i id="press-sign"></i><p>gone</p>', hidden))
    assert found.match is not None
    assert (found.match.level, found.match.variant) == (None, "")


def test_an_application_by_name_reads_pages_without_a_sign() -> None:
    found = read(Scripted(name="press"), '<article><p class="body">old</p></article>')
    assert found.match is not None
    assert bodies(found) == ["old"]


def test_a_page_that_is_not_what_the_adapter_thought_is_read_as_one_of_any_site() -> None:
    markup = "<h1>About</h1><p>We are here.</p>"
    assert read(Scripted(name="press"), markup) == read(None, markup)
    assert read(Scripted(name="nobody knows it"), markup) == read(None, markup)


def test_pages_that_are_no_html_are_never_asked_about() -> None:
    adapter = Scripted(name="press")
    helper = ApplicationAwareHelper(KnowledgeBase((PRESS,)), adapter=adapter)
    page = html_page(URL, "{}")
    helper.assist(replace(page, headers=replace(page.headers, fields=(("Content-Type", "application/json"),))))
    assert adapter.questions == []


# Objects found by other means


COMMENTS = comments(
    text_field("author", ".who", kind=FieldKind.PERSON),
    text_field("date", ".when", kind=FieldKind.DATETIME),
    text_field("body", ".said"),
    replace(text_field("title", "h1"), page=True, first_only=True),
    identity=IDENTITY,
)
TALK = application("press", level("page", "body", replace(COMMENTS, first_type="post")))
TALKING = '<h1>Ice</h1><div id="c7"><q>One</q></div><div><q>Two</q></div><div><q>Two</q></div>'


def made(*sketches: ObjectSketch) -> list[WebObject]:
    page = html_page(URL, f"<html><body>{TALKING}</body></html>")
    runner = Runner.of(page, TALK, TALK.levels[0])
    action = TALK.levels[0].actions[0]
    assert isinstance(action, Extract)
    return [each.object for each in runner.make(action, sketches)]


def elements() -> list[HtmlElement]:
    return html_page(URL, f"<html><body>{TALKING}</body></html>").tree.cssselect("div")


def sketch(item: HtmlElement, body: str, **more: object) -> ObjectSketch:
    properties = {"body": (body,), **{name: (value,) for name, value in more.items()}}
    return ObjectSketch((item,), properties, (item[0],))  # type: ignore[arg-type]


def test_what_was_found_is_named_and_typed_as_the_action_would() -> None:
    first, second, _ = elements()
    moment = datetime(2024, 5, 1, 9, 30, tzinfo=UTC)
    one, other = made(sketch(first, "One"), sketch(second, "Two", author=Person("Ann"), date=moment))
    assert (one.iri, one.type, one.part_of) == (f"{URL}#comment-7", "post", URL)
    assert (one.first("title"), one.first("url")) == ("Ice", Reference(f"{URL}#comment-7"))
    assert (other.iri, other.type, other.first("title")) == (f"{URL}#c-Ann-20240501093000", "comment", None)


def test_a_fragment_that_is_known_counts() -> None:
    first, _, _ = elements()
    (found,) = made(replace(sketch(first, "One"), fragment="pid9"))
    assert found.iri == f"{URL}#pid9"


def test_objects_that_nobody_signed_are_named_by_their_texts() -> None:
    _, second, third = elements()
    found = made(sketch(second, "Two"), sketch(third, "Two"), sketch(third, "Three"))
    assert [each.first("body") for each in found] == ["Two", "Three"]


def test_only_fields_of_the_action_are_taken_over() -> None:
    first, _, _ = elements()
    (found,) = made(sketch(first, "One", mood="fine"))
    assert "mood" not in found.properties
