"""Learned repairs: the rules that a crawl found to replace failed ones, compared on real pages."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Final

from fastapi import APIRouter, Path, Query, Response

from aahcrawler.editor.entries.own_folder import OwnFolderError
from aahcrawler.editor.pages.saved_pages import SavedPageError
from aahcrawler.editor.repairs.insertion import PromotionError
from aahcrawler.editor.repairs.repair_list import (
    Both,
    Repair,
    RepairError,
    accept,
    edited,
    pages_of,
    read_both,
    reject,
    repairs_in,
    xml_of,
)
from aahcrawler.editor.repairs.repair_list import RepairReading as Found
from aahcrawler.editor.rules.link_fates import EntryParts
from aahcrawler.editor.rules.marked_pages import numbers_of
from aahcrawler.editor.text.edits import Edit, SetAttribute
from aahcrawler.editor.text.entry_text import EntryText
from aahcrawler.editor.text.places import parent_of
from aahcrawler.replay.page_marks import Mark, MarkedPage, MarkKind
from aahcrawler.service.catalog.crawl_catalog import Crawl
from aahcrawler.service.cockpit.sign_in import Said
from aahcrawler.service.cockpit.site import Editing, Form, Reading, Sent, Site, address, then
from aahcrawler.service.cockpit.studio.entry_words import said_of
from aahcrawler.service.cockpit.studio.open_works import LoadedKnowledge
from aahcrawler.service.cockpit.studio.studio_desk import Done, StudioJobs, StudioService
from aahcrawler.service.steering.long_jobs import Progress
from aahcrawler.service.views.page_indexes import NO_FOLDER
from aahcrawler.service.web.problems import CONFLICT, NO_WORK, ProblemError
from knowledge_base.loader import LoadError

Key = Annotated[str, Path(max_length=64, pattern=r"^[0-9a-f]+$")]
Number = Annotated[int, Query(ge=0, le=10_000)]
MAX_VALUES: Final = 40
"""Objects or links of one page that are listed."""
_EDITED: Final = "rule:"
_FIELDS: Final = ("title", "author", "date", "body", "part_of", "parent")


@dataclass(frozen=True, slots=True)
class Rule:
    """An expression of a repair: its place, what it is for, and as it is and as it was learned."""

    place: str
    said: str
    attribute: str
    value: str
    learned: str


@dataclass(frozen=True, slots=True)
class Side:
    """An object or link in one of two readings: its name, and its values with whether the other reading has them."""

    name: str
    is_alone: bool
    values: tuple[tuple[str, str, bool], ...]


def routes(site: Site, desk: StudioService, jobs: StudioJobs) -> APIRouter:
    """Return the routes of repairs."""
    router = APIRouter(prefix="/crawls/{crawl}/studio/repairs")
    views = RepairViews(site, desk)

    @router.get("")
    def list_repairs(session: Reading, crawl: str) -> Response:
        found = site.crawl(crawl)
        repairs, problems = views.all(found)
        values = {"repairs": repairs, "problems": problems}
        return site.crawl_page(session, found, "studio", "studio/repairs.html", **values)

    @router.get("/{key}")
    def show_repair(session: Reading, crawl: str, key: Key, page: Number = 0) -> Response:
        found = site.crawl(crawl)
        values = views.shown(found, views.one(found, key), {}, page)
        return site.crawl_page(session, found, "studio", "studio/repair.html", **values)

    @router.post("/{key}/edit")
    def edit_repair(session: Editing, crawl: str, key: Key, form: Sent) -> Response:
        found = site.crawl(crawl)
        values = views.shown(found, views.one(found, key), _written(form), 0)
        return site.crawl_page(session, found, "studio", "studio/repair.html", **values)

    @router.post("/{key}/accept")
    def accept_repair(session: Editing, crawl: str, key: Key, form: Sent) -> Response:
        found, who = site.crawl(crawl), session.caller.name
        repair, to = views.one(found, key), address("crawls", crawl, "studio", "repairs")
        edits, folders = edits_of(repair, _written(form)), desk.works.works.folders

        def accepted(_: Progress) -> Done:
            try:
                made = accept(repair, folders, who, edits)
            except (RepairError, PromotionError, LoadError, SavedPageError, OwnFolderError, OSError) as error:
                return Done(to=f"{to}/{key}", text=str(error), kind="bad")
            part = f", in its variant {made.variant}" if made.variant else ""
            return Done(to=to, text=f"Accepted: it is part of {made.file.name} now{part}")

        return jobs.led(session, found, jobs.begin(session, found, "proving and accepting a repair", accepted))

    @router.post("/{key}/reject")
    def reject_repair(session: Editing, crawl: str, key: Key, form: Sent) -> Response:
        found = site.crawl(crawl)
        to = address("crawls", crawl, "studio", "repairs")
        try:
            reject(views.one(found, key), session.caller.name, form.get("why"))
        except RepairError as error:
            return then(session, f"{to}/{key}", Said(str(error), "bad"))
        return then(session, to, Said("Rejected: no crawl of this folder uses it any more."))

    return router


class RepairViews:
    """Makes the values that templates of repairs show."""

    def __init__(self, site: Site, desk: StudioService) -> None:
        self._site, self._desk, self._knowledge = site, desk, LoadedKnowledge()

    def all(self, crawl: Crawl) -> tuple[tuple[Repair, ...], tuple[str, ...]]:
        """Return the repairs of a crawl, undecided ones first, and messages on those that cannot be read."""
        if crawl.folder is None:
            raise ProblemError(NO_FOLDER, "this machine has none of the crawl's folder")
        try:
            return repairs_in(crawl.folder, self._knowledge.of(self._desk.works.knowledge.folders))
        except LoadError as error:
            raise ProblemError(CONFLICT, f"the knowledge base has mistakes: {error}") from error

    def one(self, crawl: Crawl, key: str) -> Repair:
        """Return a repair. Raise ``ProblemError`` where there is none."""
        found = next((each for each in self.all(crawl)[0] if each.key == key), None)
        if found is None:
            raise ProblemError(NO_WORK, "there is no such repair (any more)")
        return found

    def shown(self, crawl: Crawl, repair: Repair, written: Mapping[str, str], number: int) -> dict[str, object]:
        """Return the values for a repair's page, read with the expressions in ``written`` in place of learned ones."""
        wrong, read = "", repair
        try:
            read = edited(repair, edits_of(repair, written))
        except RepairError as error:
            wrong = str(error)
        pages = pages_of(repair)
        at = min(number, len(pages) - 1)
        both = read_both(read, pages[at]) if pages else None
        return {
            "repair": repair,
            "lines": next(iter(repair.lines())),
            "rules": tuple(rules_of(repair, read)),
            "wrong": wrong,
            "written": bool(written),
            "pages": pages,
            "number": at,
            "both": both,
            "before": sides(both.before, both.after) if both is not None else (),
            "after": sides(both.after, both.before) if both is not None else (),
            "frames": tuple(self._framed(crawl, repair, both, each) for each in (both.before, both.after))
            if both
            else (),
        }

    def _framed(self, crawl: Crawl, repair: Repair, both: Both, found: Found) -> str:
        url, marks = both.page.url, tuple(_marks(both, found))
        moment = f"{both.page.fetched_at:%Y%m%d%H%M%S}"

        def made() -> MarkedPage | None:
            # It is read anew: whoever shows a page changes its tree, and there may be hundreds of addresses.
            page = next((each for each in pages_of(repair) if each.url == url), None)
            return MarkedPage(crawl.id, moment, page, marks) if page is not None else None

        return self._site.marked.issue(made)


def edits_of(repair: Repair, written: Mapping[str, str]) -> tuple[Edit, ...]:
    """Return the edits that put what somebody wrote in the place of learned expressions."""
    known = {each.place: each for each in rules_of(repair, repair)}
    changed = ((known[place], value) for place, value in written.items() if place in known)
    return tuple(
        SetAttribute(place=rule.place, attribute=rule.attribute, value=value)
        for rule, value in changed
        if value and value != rule.learned
    )


def rules_of(repair: Repair, read: Repair) -> Iterator[Rule]:
    """Yield the expressions of a repair, as they are read now."""
    learned, now = (EntryParts(EntryText(xml_of(each.learned))) for each in (repair, read))
    for part in learned.all:
        attribute = "css" if part.text("css") else "xpath" if part.text("xpath") else ""
        if not attribute:
            continue
        around = learned.at(parent_of(part.place)) if part.place else None
        said = said_of(part, learned).name if part.tag != "select" or around is None else said_of(around, learned).name
        changed = now.at(part.place)
        value = changed.text(attribute) if changed is not None else ""
        yield Rule(part.place, said, attribute, value or part.text(attribute), part.text(attribute))


def sides(own: Found, other: Found) -> tuple[Side, ...]:
    """Return what one reading found, compared with another reading."""
    others = {each.row.iri: each.row for each in other.objects}
    found = []
    for each in own.objects[:MAX_VALUES]:
        there = others.get(each.row.iri)
        pairs = [(name, getattr(each.row, name) or "", getattr(there, name, None) or "") for name in _FIELDS]
        values = tuple((name, value, value == before) for name, value, before in pairs if value or before)
        found.append(Side(each.row.type, there is None, values))
    links = {each.url for each in other.links}
    found += [Side(each.url, each.url not in links, ()) for each in own.links[:MAX_VALUES]]
    return tuple(found)


def _marks(both: Both, found: Found) -> Iterator[Mark]:
    elements = [each.element for each in found.objects if each.element is not None]
    fields = [(each, name) for row in found.objects for name, several in row.fields.items() for each in several]
    links = [each.element for each in found.links]
    numbers = numbers_of(both.page.tree, [*elements, *(each for each, _ in fields), *links, *found.signs])
    for at, element in enumerate(elements, 1):
        yield Mark(numbers[element], MarkKind.ITEM, f"{at}")
    yield from (Mark(numbers[each], MarkKind.FIELD, name) for each, name in fields if each in numbers)
    yield from (Mark(numbers[each], MarkKind.LINK, "link") for each in links if each in numbers)
    yield from (Mark(numbers[each], MarkKind.SIGN, "sign") for each in found.signs if each in numbers)


def _written(form: Form) -> Mapping[str, str]:
    """Return the expressions in a form that replace learned ones, by place."""
    sent: Sequence[tuple[str, str]] = [*form.fields.items()]
    return {name.removeprefix(_EDITED): value.strip() for name, value in sent if name.startswith(_EDITED)}
