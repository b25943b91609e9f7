"""Pages of a work: which there are, one of them with what the entry matches, and what is done from there."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated, Final

from fastapi import APIRouter, Path, Query, Request, Response
from starlette.datastructures import QueryParams

from aahcrawler.definitions import DefinitionError, read_definition
from aahcrawler.editor.drafting.address_groups import AddressGroup
from aahcrawler.editor.drafts.draft_state import DraftEditError
from aahcrawler.editor.drafts.made_edits import REASONS, ROLES, avoid
from aahcrawler.editor.drafts.page_fetching import Manners, PageFetching, fetch_into, read_now
from aahcrawler.editor.rules.link_fates import LinkFate
from aahcrawler.editor.rules.marked_pages import numbers_of
from aahcrawler.editor.rules.part_matches import PartMatch
from aahcrawler.editor.rules.site_groups import SiteGroup
from aahcrawler.editor.rules.stepping_out import elements_with
from aahcrawler.layout import DEFINITION
from aahcrawler.replay.page_marks import LOOKS, MarkKind
from aahcrawler.service.catalog.crawl_catalog import Crawl
from aahcrawler.service.cockpit.sign_in import Said
from aahcrawler.service.cockpit.site import Editing, Reading, Sent, Site, address, then
from aahcrawler.service.cockpit.studio.chosen_element import ChosenElement, told_expression, written_expression
from aahcrawler.service.cockpit.studio.entry_words import PartWords, address_words, said_of
from aahcrawler.service.cockpit.studio.kept_rules import STRENGTHS, Choice, Purpose, Rule, changes_for_rule
from aahcrawler.service.cockpit.studio.open_works import OpenDraft
from aahcrawler.service.cockpit.studio.studio_desk import (
    OF_WORK,
    Done,
    OpenPage,
    StudioJobs,
    StudioService,
    mark_kind,
    short_record,
)
from aahcrawler.service.cockpit.studio.work_page import DraftChanges, seen_by
from aahcrawler.service.steering.long_jobs import Progress
from aahcrawler.service.views.page_indexes import NO_FOLDER
from aahcrawler.service.web.problems import BAD_SEARCH, CONFLICT, ProblemError
from knowledge_base.model import Strength
from knowledge_base.url_rules import ParsedUrl, Reason

Record = Annotated[str, Path(max_length=120, pattern=r"^[A-Za-z0-9:._-]+$")]
WorkName = Annotated[str, Path(max_length=80)]
Words = Annotated[str, Query(max_length=300)]
LEGEND: Final = (
    (MarkKind.ITEM, "one object"),
    (MarkKind.FIELD, "a field of it"),
    (MarkKind.LINK, "a link that is followed"),
    (MarkKind.AVOID, "a link that is avoided"),
    (MarkKind.SIGN, "a sign"),
    (MarkKind.LEFT_OUT, "left out"),
)
_LINKS: Final = 60
_VALUES: Final = 3


@dataclass(frozen=True, slots=True)
class PartRow:
    """A part of the entry on a page: in words, the kind of its marks, what it matches, and sample values."""

    said: PartWords
    kind: MarkKind | None
    match: PartMatch
    values: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class LinkRow:
    """Links of a page with the same fate: the fate, how many there are, and examples by element number."""

    said: str
    fate: str
    number: int
    examples: tuple[tuple[int, LinkFate], ...]


def routes(site: Site, desk: StudioService) -> APIRouter:
    """Return the routes of pages in a work."""
    router = APIRouter(prefix="/crawls/{crawl}/studio/works/{work}/pages")
    views = _PageViews(site, desk)

    @router.get("")
    def list_pages(session: Reading, crawl: str, work: WorkName, host: Words = "") -> Response:
        found, opened = site.crawl(crawl), desk.works.open(work)
        groups = desk.shelf.groups(found, host) if host else ()
        sample = desk.shelf.sample(found, host) if host else None
        values = {"work": opened, "host": host, "groups": groups, "sample": sample, "words": group_words}
        words = {"reasons": REASONS, "roles": ROLES, "level_of": lambda group: level_of(opened, group)}
        own = list(desk.pages_of(opened))
        return site.crawl_page(session, found, "studio", "studio/page_list.html", own=own, **values, **words)

    @router.get("/{record}")
    def show_page(
        session: Reading, request: Request, crawl: str, work: WorkName, record: Record, text: Words = ""
    ) -> Response:
        page = desk.page(site.crawl(crawl), desk.works.open(work), record)
        choice = Choice.of(request.query_params)
        values = {**views.page(page, choice), **views.chosen(page, choice), "text": text}
        values["found"] = views.found(page, text)
        return site.crawl_page(session, page.crawl, "studio", "studio/page.html", **values)

    @router.get("/{record}/chosen")
    def show_chosen(session: Reading, request: Request, crawl: str, work: WorkName, record: Record) -> Response:
        page = desk.page(site.crawl(crawl), desk.works.open(work), record)
        values = views.chosen(page, Choice.of(request.query_params))
        return site.part(session, "studio/chosen.html", crawl=page.crawl, text="", found=(), **values)

    return router


def group_words(group: SiteGroup | AddressGroup) -> str:
    """Return the shape of a group of addresses in words."""
    shape = group.shape
    return address_words(shape.path, shape.parameters, shape.query)


def level_of(work: OpenDraft, group: SiteGroup) -> str:
    """Return the level whose addresses a group's examples have; empty if there is none."""
    if work.application is None:
        return ""
    levels = (work.application.level_of(ParsedUrl.parse(each.url)) for each in group.examples)
    return next((each.name for each in levels if each is not None), "")


def work_address(page: OpenPage) -> str:
    """Return the address of the work that a page is looked at for."""
    return address("crawls", page.crawl.id, "studio", "works", page.work.name)


def page_address(page: OpenPage, query: str = "") -> str:
    """Return the address of a page in a work, with a choice on it."""
    path = address("crawls", page.crawl.id, "studio", "works", page.work.name, "pages", page.record)
    return f"{path}?{query}#chosen" if query else path


class _PageViews:
    """Builds the values for the templates of pages."""

    def __init__(self, site: Site, desk: StudioService) -> None:
        self._site, self._desk = site, desk

    def page(self, page: OpenPage, choice: Choice) -> dict[str, object]:
        """Return the values for a page of a work."""
        rows, links = self._rows(page), self._links(page)
        matching = [row for row in rows if row.match.found or row.match.holds]
        order = [each.record for each in page.sample.pages]
        at = order.index(page.captured.record) if page.captured.record in order else -1
        return {
            "page": page.captured,
            "title": page.title,
            "host": page.sample.host,
            "matches": page.matches,
            "mistakes": page.work.mistakes,
            "is_test": page.record.startswith(OF_WORK),
            "rows": matching,
            "others": [row for row in rows if row not in matching],
            "links": links,
            "all_links": sum(each.number for each in links),
            "legend": LEGEND,
            "framed": self._desk.framed(page, page.marks(choice.element)),
            "before": self._beside(page, order[at - 1]) if at > 0 else "",
            "after": self._beside(page, order[at + 1]) if 0 <= at < len(order) - 1 else "",
        }

    def chosen(self, page: OpenPage, choice: Choice) -> dict[str, object]:
        """Return the values for the part of the page on the chosen element."""
        made = ChosenElement(page, choice, self._desk.software)
        settled = made.settled()
        made = ChosenElement(page, settled, self._desk.software)
        expression = told_expression(settled.expression) if settled.expression else None
        another = made.another()
        is_asked = settled.purpose is not None and another is None
        suggestions = made.suggestions() if is_asked else ()
        right, wrong = made.marked(settled.right), made.marked(settled.wrong)
        chosen = next((each for each in suggestions if each.expression == expression), None)
        return {
            "work": page.work,
            "here": work_address(page),
            "self_page": page_address(page),
            "at": lambda other: page_address(page, other.query),
            "elsewhere": lambda record: self._beside(page, record, settled),
            "choice": settled,
            "shown": made.shown(),
            "another": another,
            "buttons": made.buttons() if settled.purpose is None else {},
            "level": made.level,
            "levels": made.levels,
            "right": right,
            "wrong": wrong,
            "lost": len(settled.right) + len(settled.wrong) - len(right) - len(wrong),
            "suggestions": suggestions,
            "suggestion": chosen,
            "values": made.values(chosen.expression, of_page=chosen.page) if chosen is not None else (),
            "written": written_expression,
            "purposes": Purpose,
            "reasons": REASONS,
            "looks": LOOKS,
            "group_words": group_words,
        }

    def found(self, page: OpenPage, text: str) -> Sequence[tuple[int, str]]:
        """Return the elements that hold a text, by their numbers."""
        elements = elements_with(page.sampled.tree, text) if text.strip() else ()
        numbers = numbers_of(page.sampled.tree, elements)
        return [(numbers[each], str(each.tag)) for each in elements if each in numbers]

    def _rows(self, page: OpenPage) -> list[PartRow]:
        parts, matches = page.work.parts, page.matches
        rows = []
        for match in matches.parts if matches is not None else ():
            part = parts.at(match.place)
            if part is None or not match.counts:
                continue
            values = tuple(dict.fromkeys(each.value for each in match.findings if each.value))[:_VALUES]
            rows.append(PartRow(said_of(part, parts), mark_kind(part), match, values))
        return rows

    def _links(self, page: OpenPage) -> list[LinkRow]:
        matches = page.matches
        links = matches.links if matches is not None else ()
        numbers = numbers_of(page.sampled.tree, [each.element for each in links])
        counted = Counter(each.said for each in links)
        rows = []
        for said, number in counted.most_common(_LINKS):
            alike = [each for each in links if each.said == said]
            examples = tuple((numbers[each.element], each) for each in alike[:5] if each.element in numbers)
            rows.append(LinkRow(said, alike[0].fate, number, examples))
        return rows

    def _beside(self, page: OpenPage, record: str, choice: Choice | None = None) -> str:
        path = address("crawls", page.crawl.id, "studio", "works", page.work.name, "pages", short_record(record))
        carried = choice.carried if choice is not None else ""
        return f"{path}?{carried}" if carried else path


def act_routes(site: Site, desk: StudioService) -> APIRouter:
    """Return the routes of acts on pages of works."""
    router = APIRouter(prefix="/crawls/{crawl}/studio/works/{work}")
    acts = DraftChanges(desk)

    @router.post("/pages/{record}/keep")
    def keep(session: Editing, crawl: str, work: WorkName, record: Record, form: Sent) -> Response:
        page = desk.page(site.crawl(crawl), desk.works.open(work), record)
        choice = Choice.of(QueryParams(form.get("choice")))
        shown = ChosenElement(page, choice).shown()
        rule = Rule(
            told_expression(choice.expression),
            instead=form.get("instead") == "yes",
            page=form.get("page") == "yes",
            strength=STRENGTHS.get(form.get("strength"), Strength.STRONG),
            group=shown.link.group if shown is not None and shown.link is not None else None,
        )
        said = acts.changed(session, work, form, lambda text: changes_for_rule(text, choice, rule))
        # What was refused stays chosen.
        return then(session, page_address(page, choice.query if said.kind == "bad" else ""), said)

    @router.post("/pages/{record}/avoid")
    def avoid_links(session: Editing, crawl: str, work: WorkName, record: Record, form: Sent) -> Response:
        page = desk.page(site.crawl(crawl), desk.works.open(work), record)
        choice = Choice.of(QueryParams({"element": form.get("element")}))
        shown = ChosenElement(page, choice).shown()
        if shown is None or shown.link is None or form.get("reason") not in set(Reason):
            raise ProblemError(BAD_SEARCH, "choose a link, and a reason of the list")
        group, reason = shown.link.group, Reason(form.get("reason"))
        said = acts.changed(session, work, form, lambda text: avoid(text, group, reason))
        return then(session, page_address(page, choice.query if said.kind == "bad" else ""), said)

    return router


def kept_page_routes(site: Site, desk: StudioService, jobs: StudioJobs) -> APIRouter:
    """Return the routes of pages that are kept as tests."""
    router = APIRouter(prefix="/crawls/{crawl}/studio/works/{work}")
    fetching = PageFetching()

    @router.post("/fetch")
    def fetch(session: Editing, crawl: str, work: WorkName, form: Sent) -> Response:
        found, who, url = site.crawl(crawl), session.caller.name, form.get("url")[:4_000]
        held, manners = desk.works.work(work, seen_by(form)[1]), manners_of(found)
        to = address("crawls", crawl, "studio", "works", work)

        def fetched(_: Progress) -> Done:
            try:
                name = fetch_into(held, url, who, fetching, manners)
            except DraftEditError as error:
                return Done(to=to, text=f"{url}: {error}", kind="bad")
            return Done(to=f"{to}/pages/{OF_WORK}{name}", text="The page is fetched, and is a test of the entry now")

        return jobs.led(session, found, jobs.begin(session, found, "fetching a page", fetched))

    @router.post("/pages/{record}/test")
    def keep_as_test(session: Editing, crawl: str, work: WorkName, record: Record, form: Sent) -> Response:
        page = desk.page(site.crawl(crawl), desk.works.open(work), record)
        (revision, mark), who = seen_by(form), session.caller.name
        held = desk.works.work(work, mark)
        try:
            expected = read_now(held, page.sampled.page)
            if record.startswith(OF_WORK):
                held.set_expectation(record.removeprefix(OF_WORK), expected, who, revision)
                said = "What is read on it now is what its test expects."
            else:
                name = held.add_page(page.sampled.page, expected, who, revision=revision)
                said = f"It is kept as the test {name}: whatever changes it from now on is told."
        except DraftEditError as error:
            return then(session, page_address(page), Said(str(error), "bad"))
        return then(session, page_address(page), Said(said))

    @router.post("/pages/{record}/drop")
    def drop_test(session: Editing, crawl: str, work: WorkName, record: Record, form: Sent) -> Response:
        to, name = address("crawls", crawl, "studio", "works", work), record.removeprefix(OF_WORK)
        acts, words = DraftChanges(desk), f"The page {name} is no test of the entry any more."
        said = acts.stepped(work, form, lambda each, seen: each.remove_page(name, session.caller.name, seen), words)
        return then(session, to, said)

    return router


def manners_of(crawl: Crawl) -> Manners:
    """Return the politeness settings of a crawl. Raise ``ProblemError`` if its definition is not here."""
    if crawl.folder is None:
        raise ProblemError(NO_FOLDER, "this machine has none of the crawl's folder, which says how it fetches")
    try:
        return Manners.of(read_definition(crawl.folder / DEFINITION))
    except DefinitionError as error:
        raise ProblemError(CONFLICT, f"how the crawl fetches cannot be read: {error}") from error
