"""Read a page of a known application: run its actions, gather its parts and links."""

import re
from collections import OrderedDict
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from functools import cached_property, partial

from lxml.html import HtmlElement

from aahcrawler.helper.adaptation_protocol import Adapter, Followed, Question
from aahcrawler.helper.application.scripted import is_empty_shell
from aahcrawler.helper.assistance import Assistance, Failure
from aahcrawler.helper.detection import FAILING, Attempts, Place
from aahcrawler.helper.extraction.extraction import BODY, Extracted, ExtractionOutcome, Runner
from aahcrawler.helper.extraction.field_reader import PageLocation, named_address
from aahcrawler.helper.generic_reading import MAX_TITLE
from aahcrawler.helper.links.navigation import (
    ChosenLink,
    Ignored,
    Links,
    Navigation,
    embedded,
    note_junk,
    starting_points,
)
from aahcrawler.helper.links.page_links import Contexts, References, anchor_text, outlink_of
from aahcrawler.helper.parts.splitting import MAX_REST, Splitting, body_of
from aahcrawler.helper.site_memory import SiteLines, site_of
from aahcrawler.induction import datelines
from aahcrawler.induction.article_text import AGREED, MIN_AGREED, MISSED
from aahcrawler.induction.generic_objects import GenericReading, read_objects
from aahcrawler.induction.prepared_page import PreparedPage
from aahcrawler.induction.text_lines import RUNNING, letters, merged, share_of, shares_by_line
from aahcrawler.metadata import Metadata
from aahcrawler.page import Page, claims, generic, requisites
from aahcrawler.page.generic import main_content as generic_content
from aahcrawler.page.page import describe_error
from aahcrawler.page.titles import title_of
from aahcrawler.webobject import Container, Reference, Value, WebObject
from knowledge_base.matching import Sight
from knowledge_base.model import Application, Extract, Match, Navigate, PageLevel
from knowledge_base.url_rules import ParsedUrl
from online_analysis.document import Document, DocumentPart, Outlink

FIRST_PAGES = 5
"""Pages of a level on a site that are all compared with generic reading."""

EVERY = 16
"""After ``FIRST_PAGES``, one page in so many is compared, as long as the actions of the level miss nothing.

Otherwise every page is: until they missed nothing on as many pages in a row as ``FIRST_PAGES``, and as many again for
each page on which they missed something. So a new theme is noticed within some pages, while what actions miss now and
then has to be looked for.
"""

MAX_LEVELS = 10_000
LISTING = frozenset({"wiki"})
"""Kinds of applications whose texts end with lists of links that belong to the text."""

FIELDS = ("title", "author", "date")
WHOLES = frozenset({"article", "chapter", "page", "post"})
GENERIC = "generic reading"
CUT = "cut at its ends by generic reading"


@dataclass(slots=True)
class _Record:
    """How many pages of a site's level were read, and on how many generic reading found more than the actions."""

    pages: int = 0
    completed: int = 0
    quiet: int = 0
    """The number of comparisons in a row, up to the last one, in which generic reading found nothing more."""


class Completion:
    """Remembers the levels of sites on which the actions miss nothing; the least recently used are forgotten first.

    ``lines`` learns which lines the articles of a site have in common: these complete no text.
    """

    def __init__(self, lines: SiteLines) -> None:
        self._lines = lines
        self._records: OrderedDict[tuple[str, str, str], _Record] = OrderedDict()

    def completed(
        self, page: Page, application: Application, level: PageLevel, extracted: Sequence[Extracted], *, guessed: bool
    ) -> tuple[Extracted, ...]:
        """Return the objects of a page of a level, completed by generic reading.

        With ``guessed``, no action found the objects, so that the generic result replaces them. Deterministic for given
        pages in a given order. If a page has many objects, they stay as they are.
        """
        wholes = [each for each in extracted if each.object.type in WHOLES and each.object.part_of is None]
        whole = wholes[0] if wholes else None
        record = self._record(page, application, level)
        record.pages += 1
        lacks_text = whole is not None and not body_of(whole.object)
        if (extracted and len(wholes) != 1) or not (lacks_text or guessed or _is_due(record)):
            return tuple(extracted)
        found = _completed(page, whole, extracted, guessed=guessed, cut=application.kind not in LISTING)
        self._lines.learn(site_of(page.url), page.url, page.once(read_objects).lines)
        found_more = found != tuple(extracted)
        record.completed += found_more
        record.quiet = 0 if found_more else record.quiet + 1
        return found

    def _record(self, page: Page, application: Application, level: PageLevel) -> _Record:
        key = (site_of(page.url), application.name, level.name)
        record = self._records.setdefault(key, _Record())
        self._records.move_to_end(key)
        while len(self._records) > MAX_LEVELS:
            self._records.popitem(last=False)
        return record


def _is_due(record: _Record) -> bool:
    return record.quiet < FIRST_PAGES * (1 + record.completed) or record.pages % EVERY == 0


def _completed(
    page: Page, whole: Extracted | None, extracted: Sequence[Extracted], *, guessed: bool, cut: bool
) -> tuple[Extracted, ...]:
    reading = page.once(read_objects)
    generic = next((each for each in reading.objects if each.type in WHOLES and body_of(each)), None)
    if generic is None or reading.article is None:
        return tuple(extracted)
    if whole is None:
        return tuple(extracted) if extracted else (_inferred(generic, reading),)
    better = _with_fields(replace(whole, object=_without_guesses(whole.object)) if guessed else whole, generic)
    own, other, third = body_of(whole.object), body_of(generic), page.once(generic_content)
    extracted_text = "\n".join(body_of(each.object) for each in extracted)
    structure = reading.article.part.body.plain()
    if guessed or not own or _tells_more(own, other, extracted_text, structure, third):
        better = replace(_of_reading(generic, reading), object=_filled(better.object, {BODY: (other,)}))
    elif cut and (trimmed := _trimmed(own, other, third)) != own:
        better = replace(better, object=_filled(better.object, {BODY: (trimmed,)}, CUT))
    return tuple(better if each is whole else each for each in extracted)


def _tells_more(own: str, generic: str, extracted_text: str, structure: str, third: str) -> bool:
    """Return whether a generic text is to replace the one that an action found.

    Most of its running text is in no object but in another reading as well, and it is more than the action alone found.
    A text that is the main part of the page by its structure is right.
    """
    if (
        letters(generic) < MIN_AGREED
        or share_of(generic, extracted_text) >= MISSED
        or min(share_of(own, structure), share_of(structure, own)) >= AGREED
    ):
        return False
    more, alone = _left(generic, extracted_text), _left(own, generic)
    supported = max(share_of(more, other) for other in (structure, third)) >= MISSED
    return supported and letters(more) > sum(letters(line) for line, share in shares_by_line(alone, third) if share)


def _left(text: str, other: str) -> str:
    """Return the lines of running text that another text does not have."""
    lines = shares_by_line(text, other)
    return "\n".join(line for line, share in lines if share < 1 and letters(line) >= RUNNING)


def _without_guesses(web_object: WebObject) -> WebObject:
    """Return an object without the title, the author and the date that were proposed."""
    kept = {name: values for name, values in web_object.properties.items() if name not in FIELDS}
    return replace(web_object, properties=kept)


def _trimmed(own: str, generic: str, third: str) -> str:
    """Return the text of an action with the standfirst above its element, without lines that are not of the article.

    Those are the lines above and below the generic text, and the lines within it that no other reading has. Running
    text that a third reading has as well is a part of the article.
    """
    if share_of(generic, own) < AGREED:
        return own
    trimmed = merged(own, generic, third)
    return own if share_of(_left(own, trimmed), third) >= AGREED else trimmed


def _with_fields(whole: Extracted, generic: WebObject) -> Extracted:
    missing = {name: generic.properties[name] for name in FIELDS if name in generic.properties}
    missing = {name: values for name, values in missing.items() if name not in whole.object.properties}
    return replace(whole, object=_filled(whole.object, missing)) if missing else whole


def _filled(web_object: WebObject, properties: Mapping[str, tuple[Value, ...]], source: str = GENERIC) -> WebObject:
    inferred = {**web_object.inferred, **dict.fromkeys(properties, source)}
    return replace(web_object, properties={**web_object.properties, **properties}, inferred=inferred)


def _inferred(generic: WebObject, reading: GenericReading) -> Extracted:
    """Return the object that no action found, all of it marked as inferred."""
    found = {name: generic.properties[name] for name in (*FIELDS, BODY) if name in generic.properties}
    return replace(_of_reading(generic, reading), object=_filled(generic, found))


def _of_reading(generic: WebObject, reading: GenericReading) -> Extracted:
    region = reading.bodies.get(generic.iri)
    if region is None or region.text is not None:
        return Extracted(generic, ())
    elements, without = (
        tuple(each for each in part if isinstance(each, HtmlElement)) for part in (region.elements, region.without)
    )
    return Extracted(generic, elements, without)


_SILENT = frozenset({Failure.NOTHING_FOUND, Failure.STOPPED_WORKING})
"""Failures that do not count if the content is put on the page by a script."""


LITTLE = 0.25
"""The share of a page's main content below which the actions found too little of it."""


@dataclass(frozen=True, slots=True)
class Adaptation:
    """The adapter for actions that fail on a page, and the metadata of the page's URL from a former crawl."""

    adapter: Adapter
    former: Metadata | None = None


@dataclass
class ApplicationReading:
    """The reading of one page of a known application.

    ``place`` is None if the page is of none of the application's levels. After the reading, ``is_empty_list`` is True
    if the page is a list in which the actions find no entry.
    """

    page: Page
    links: Links
    application: Application
    place: Place | None
    attempts: Attempts
    adaptation: Adaptation | None = None
    completion: Completion | None = None
    _learned: str = ""
    _proposed: bool = False
    _thread: Container | None = None
    is_empty_list: bool = False

    @cached_property
    def contexts(self) -> Contexts:
        """The contexts of the page's links."""
        return Contexts(self.page)

    def assistance(self) -> Assistance:
        """Run the actions of the level and return their results."""
        self.links.ignored = self._ignored()
        found = self._worked(self.place) if self.place is not None else None
        if found is None and self.place is not None and self.place.otherwise is not None:
            self.place = self.place.otherwise
            found = self._worked(self.place)
        if self.place is None or found is None:
            self.place = None
            chosen = tuple(starting_points(self.links, self.application))
            extracted: tuple[Extracted, ...] = ()
            document = self._document((), tuple(outlink_of(link, None, self.contexts) for link in chosen))
        else:
            extracted, chosen = found
            if self.completion is not None and not (chosen and self._is_list(self.place.level)):
                extracted = self._completed(self.completion, self.place.level, extracted)
            for unsent in self.links.unsent:
                self.attempts.fail(self.place.level.name, unsent.action, Failure.NOT_SENT, unsent.detail)
            note_junk(self.links, self.application)
            document = self._split(self.place, extracted, chosen)
        if not extracted and not chosen and self.page.is_html:
            self._look_for_scripts()
        return self._result(document, extracted, chosen)

    def _completed(
        self, completion: Completion, level: PageLevel, extracted: tuple[Extracted, ...]
    ) -> tuple[Extracted, ...]:
        """Return objects completed by generic reading, and corrected by what the page shows, as far as that works."""
        page, guessed = self.page, self._proposed and not self._learned
        found = page.attempt(
            "completion",
            lambda: completion.completed(page, self.application, level, extracted, guessed=guessed),
            lambda: extracted,
        )
        return page.attempt("title and date", lambda: corrected(page, found), lambda: found)

    def _split(self, place: Place, extracted: tuple[Extracted, ...], chosen: tuple[ChosenLink, ...]) -> Document:
        """Return the document of the page; of its links at least those that were chosen."""
        return self.page.attempt(
            "parts",
            lambda: self._read(place, extracted, chosen),
            lambda: self._document((), tuple(outlink_of(link, None, self.contexts) for link in chosen), extracted),
        )

    def _worked(self, place: Place) -> tuple[tuple[Extracted, ...], tuple[ChosenLink, ...]] | None:
        """Run the actions of a level; None if the page shows no sign of it and nothing that it should hold."""
        failed = len(self.attempts.failures)
        is_terminal = place.level.role == "terminal"
        extracted = self._extract(place) if is_terminal else ()
        if place.shown or extracted or not is_terminal:
            chosen = self._followed(place, self._navigation(place).run(self._guard))
            if place.shown or extracted or chosen:
                return extracted, chosen
        del self.attempts.failures[failed:]
        self._learned = ""
        return None

    def _is_list(self, level: PageLevel) -> bool:
        """Return whether a page is a list by its URL as well: a page that only looks like one may be an article."""
        return level.role == "intermediate" and level.documents(
            self.links.sites.verdict(self.application, self.page.url).address
        )

    def _ignored(self) -> Ignored:
        selectors = self.application.ignored

        def find() -> Ignored:
            return Ignored(
                self.page.tree,
                (part for each in selectors for part in each.elements(self.page.tree, self.page.elements)),
            )

        found = self.attempts.attempt(find, action="ignore") if selectors else None
        return found or Ignored()

    def _extract(self, place: Place) -> tuple[Extracted, ...]:
        found: dict[str, Extracted] = {}
        level = place.level
        literals = self.links.literals
        location = PageLocation.of(self.page, self.application, level, literals, self._named_address(level))
        runner = Runner.at(location)
        for action in place.actions:
            if not isinstance(action, Extract):
                continue
            outcome = self._outcome(place, action, runner)
            for extracted in outcome.extracted:
                found.setdefault(extracted.object.iri, extracted)
            if outcome.failure is not None:
                number = len(outcome.extracted) if outcome.verified else 0
                fail = partial(self.attempts.fail, level.name, action.name, outcome.failure)
                fail(outcome.detail, number, spared=outcome.spared)
        answering = answering_within(place, runner, tuple(found.values()))
        references = References(self.links, location.own.url, self.application, level)
        objects = self.page.attempt("references", lambda: references.added(answering), lambda: answering)
        work = partial(thread_of, place, runner, objects)
        self._thread = self.attempts.attempt(work, level=level.name, action="thread")
        return objects

    def _outcome(self, place: Place, action: Extract, runner: Runner) -> ExtractionOutcome:
        """Run an action, or its replacement by adaptation, and let adaptation check the outcome."""
        level = place.level.name
        if self.adaptation is None:
            return (
                self.attempts.attempt(partial(runner.run, action), level=level, action=action.name)
                or ExtractionOutcome()
            )
        adapter, former = self.adaptation.adapter, self.adaptation.former
        asked = Question(self.page, self.application, place.level, action, former, place.shown)
        preferred = adapter.preferred(asked)
        work = partial(runner.run, preferred)
        outcome = self.attempts.attempt(work, level=level, action=action.name) or ExtractionOutcome()
        try:
            found, outcome = outcome.extracted, adapter.check_outcome(asked, outcome, runner)
            self._proposed |= not action.many and former is None and outcome.extracted != found
        except FAILING as error:
            self.attempts.fail(level, f"adapt {action.name}", Failure.ERROR, describe_error(error))
        self._learned = self._learned or outcome.learned
        return outcome

    def _followed(self, place: Place, chosen: tuple[ChosenLink, ...]) -> tuple[ChosenLink, ...]:
        """Let adaptation look at the links that navigation led to."""
        if self.adaptation is None:
            return chosen
        adapter, former = self.adaptation.adapter, self.adaptation.former
        followed = self.page.attempt(
            "repair of links",
            lambda: adapter.followed(self.links, self.application, place.level, chosen, former),
            lambda: Followed(chosen),
        )
        for action in followed.stopped:
            detail, number = "links are followed by their URLs", len(followed.chosen)
            self.attempts.fail(place.level.name, action, Failure.STOPPED_WORKING, detail, number)
        return followed.chosen

    def _named_address(self, level: PageLevel) -> ParsedUrl | None:
        work = partial(named_address, self.page, self.application, level)
        return self.attempts.attempt(work, level=level.name, action="own") if level.own else None

    def _navigation(self, place: Place) -> Navigation:
        return Navigation(self.links, self.application, place.actions)

    def _guard(self, action: Navigate, work: Callable[[], list[ChosenLink]]) -> list[ChosenLink] | None:
        level = self.place.level.name if self.place is not None else ""
        return self.attempts.attempt(work, level=level, action=action.name)

    def _look_for_scripts(self) -> None:
        """Report a page without objects whose content is put there by scripts: the template has not changed."""
        level = self.place.level.name if self.place is not None else ""
        signs = self.application.needs_browser
        meets = Sight(self.page).meets
        work = partial(next, (sign.cite or "a sign of it" for sign in signs if meets(sign)), "")
        detail = self.attempts.attempt(work, level=level, action="needs-browser") if signs else ""
        if not detail and is_empty_shell(self.page):
            detail = "a page with scripts and no content"
        if detail:
            failures = self.attempts.failures
            failures[:] = [failure for failure in failures if failure.failure not in _SILENT]
            self.attempts.fail(level, "needs-browser", Failure.NEEDS_BROWSER, detail)

    def _read(self, place: Place, extracted: tuple[Extracted, ...], chosen: tuple[ChosenLink, ...]) -> Document:
        """Split the page into parts; links to the page itself are left out."""
        found = Splitting(self.links, self.application, place, self.contexts).split(extracted, chosen)
        self.is_empty_list = found.is_empty_list
        here = self._navigation(place).here.url
        outlinks = tuple(outlink for outlink in found.outlinks if outlink.url != here)
        rest = found.rest or self._missed(place, extracted, found.parts)
        return replace(self._document(found.parts, outlinks, extracted), rest=rest)

    def _missed(self, place: Place, extracted: Sequence[Extracted], parts: Sequence[DocumentPart]) -> str:
        """Return main content that the actions missed; "" on lists, and on threads, whose posts may be short."""
        if (
            place.level.role == "intermediate"
            or not self.page.is_html
            or any(each.object.part_of for each in extracted)
        ):
            return ""
        content = "\n".join(part.text for part in parts if part.role == "content")
        if len(content) >= MAX_REST * LITTLE:
            return ""
        main = self.page.once(generic.main_content)
        if len(content) >= LITTLE * len(main):
            return ""
        known = frozenset(content.split("\n"))
        return "\n".join(line for line in main.split("\n") if line not in known)[:MAX_REST].rstrip()

    def _document(
        self, parts: tuple[DocumentPart, ...], outlinks: tuple[Outlink, ...], extracted: tuple[Extracted, ...] = ()
    ) -> Document:
        first = extracted[0].object if extracted else None
        title = first.first("title") if first else None
        published = first.first("date") if first else None
        return Document(
            self.page.url,
            self.page.attempt("language", lambda: self.links.sites.languages.language(self.page, parts), lambda: None),
            title if isinstance(title, str) else self._title(),
            parts,
            outlinks,
            published if isinstance(published, datetime) else None,
            self.application.name,
            self.application.kind,
            self.place.level.name if self.place is not None else "",
        )

    def _title(self) -> str:
        return generic.title(self.page)[:MAX_TITLE] if self.page.is_html else ""

    def _requisites(self, extracted: tuple[Extracted, ...]) -> tuple[str, ...]:
        """Return the requisites of the page; for JSON, those of the markup that its objects were read from."""
        if self.page.is_html:
            return requisites.of_page(self.page)
        written = (body for item in extracted for body in item.body if body.tag == "body")
        return requisites.of_elements(written, self.page.base_url)

    def _containers(self, chosen: tuple[ChosenLink, ...]) -> tuple[Container, ...]:
        if self._thread is None or self.place is None:
            return ()
        forum = forum_of(self.place, self.links, self.application, chosen)
        return (self._thread,) if forum is None else (replace(self._thread, part_of=forum.iri), forum)

    def _result(
        self, document: Document, extracted: tuple[Extracted, ...], chosen: tuple[ChosenLink, ...]
    ) -> Assistance:
        level = self.place.level if self.place is not None else None
        variant = self.place.variant.name if self.place is not None and self.place.variant is not None else ""
        variant = self._learned or variant
        return Assistance(
            Match(self.application, level, variant),
            document,
            tuple(item.object for item in extracted),
            self.page.attempt(
                "requisites",
                lambda: embedded(self.links, self.application, self._requisites(extracted)),
                tuple[str, ...],
            ),
            self.links.refused,
            tuple(self.attempts.failures),
            self.page.attempt("containers", lambda: self._containers(chosen), tuple[Container, ...]),
            self._learned,
        )


TITLE, PARENT = "title", "parent"
_ANSWER = re.compile(r"^(?:re: *)+", re.IGNORECASE)
_SEPARATORS = " «»‹›<>|/·•→←"


def thread_of(place: Place, runner: Runner, extracted: Sequence[Extracted]) -> Container | None:
    """Return the container of a page's objects, of the type that the page's level names; None if it names none.

    None too if no object is a part of the page, or one object is the whole page. Raises `lxml.etree.XPathError` for an
    expression that fails on this page.
    """
    own = runner.location.own.url
    parts = [each.object for each in extracted if each.object.part_of == own]
    if not place.level.type or not parts or any(each.object.iri == own for each in extracted):
        return None
    first = parts[0].first(TITLE)
    title = _ANSWER.sub("", first) if isinstance(first, str) else ""
    shown = "" if title and runner.location.is_first else _shown_title(place, runner)
    return Container(own, place.level.type, shown or title)


def answering_within(place: Place, runner: Runner, extracted: Sequence[Extracted]) -> tuple[Extracted, ...]:
    """Remove references to answered objects that are not posts of the thread.

    A quote names only the quoted post, which may be one of another thread. That post is older than its answer, so that
    on the first page of a thread only posts of this page count; on later pages this cannot be known.
    """
    if not place.level.type or not runner.location.is_first:
        return tuple(extracted)
    here = {each.object.iri for each in extracted}
    return tuple(_without_parent(each) if _answers_elsewhere(each, here) else each for each in extracted)


def forum_of(place: Place, links: Links, application: Application, chosen: Sequence[ChosenLink]) -> Container | None:
    """Return the container of a thread: the target of the last link on its page to a level of such a type."""
    levels = {
        action.name: level
        for action in place.actions
        if isinstance(action, Navigate) and (level := application.level(action.to)).type and level is not place.level
    }
    titles: dict[tuple[str, str], str] = {}
    last: tuple[str, str] | None = None
    for link in chosen:
        target = levels.get(link.action or "")
        verdict = links.sites.verdict(application, link.url)
        if target is not None and verdict.level is target and link.element is not None:
            last = (links.sites.whole(target, verdict.url), target.type)
            # Links to further pages of a forum come after the one that bears its name.
            titles.setdefault(last, anchor_text(link.element).strip(_SEPARATORS))
    return Container(*last, titles[last]) if last is not None else None


def _answers_elsewhere(extracted: Extracted, here: Collection[str]) -> bool:
    parent = extracted.object.first(PARENT)
    return isinstance(parent, Reference) and parent.url not in here


def _without_parent(extracted: Extracted) -> Extracted:
    kept = {name: values for name, values in extracted.object.properties.items() if name != PARENT}
    return replace(extracted, object=replace(extracted.object, properties=kept))


def _shown_title(place: Place, runner: Runner) -> str:
    """Read the title that every page of a thread shows."""
    for action in place.actions:
        for wanted in action.fields if isinstance(action, Extract) else ():
            if wanted.name == TITLE and wanted.page:
                values = runner.reader.read(wanted, runner.location.page.tree, None).values
                if values:
                    return str(values[0])
    return ""


SOURCE = "what the page shows and declares"

MAX_APART = timedelta(days=2)
"""The most by which two dates of one moment may differ if both are in any zone and without a time of day."""


def corrected(page: Page, extracted: Sequence[Extracted]) -> tuple[Extracted, ...]:
    """Return the objects of a page; a page's only whole object gets the page's title and date if they are better.

    A value that an action found stays unless the page contradicts it.
    """
    wholes = [each for each in extracted if each.object.type in WHOLES and each.object.part_of is None]
    if len(wholes) != 1:
        return tuple(extracted)
    whole = wholes[0]
    better = _with_date(page, _with_title(page, whole.object))
    return tuple(replace(each, object=better) if each is whole else each for each in extracted)


def _with_title(page: Page, whole: WebObject) -> WebObject:
    title = whole.first("title")
    better = title_of(page, title) if isinstance(title, str) else ""
    return _with(whole, "title", better) if better and better != title else whole


def _with_date(page: Page, whole: WebObject) -> WebObject:
    date, title = whole.first("date"), whole.first("title")
    if not isinstance(date, datetime) or not isinstance(title, str) or not _is_contradicted(page, date):
        return whole
    prepared = page.once(PreparedPage.of)
    if any(each.moment.date() == date.date() for each in datelines.dateline(prepared, title)):
        return whole
    better = datelines.published(page, prepared, title, claims.work_of(page))
    return _with(whole, "date", better) if better is not None else whole


def _is_contradicted(page: Page, date: datetime) -> bool:
    """Return whether a page declares dates of publication, all on other days, or has another date in its URL."""
    declared = claims.publication_moments(page, claims.work_of(page)).certain
    addressed = claims.address_date(page)
    if declared:
        return all(abs(each - date) > MAX_APART for each in declared)
    return bool(addressed) and abs(datetime.fromisoformat(addressed) - date) > MAX_APART


def _with(whole: WebObject, name: str, value: Value) -> WebObject:
    return replace(
        whole,
        properties={**whole.properties, name: (value,)},
        inferred={**whole.inferred, name: SOURCE},
    )
