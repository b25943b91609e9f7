"""What the studio's pages share, and the captured pages on which an entry is edited."""

import os
import time
from collections import OrderedDict
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path as Folder
from threading import Lock
from typing import Annotated, Final

from fastapi import APIRouter, Path, Response
from lxml.html import HtmlElement
from pydantic import BaseModel, Field, TypeAdapter, ValidationError

from aahcrawler.editor.drafts.draft_state import DraftEditError
from aahcrawler.editor.drafts.opened_draft import OpenedDraft
from aahcrawler.editor.entries.entry_files import Entry, digest
from aahcrawler.editor.entries.staging import Staged, staged
from aahcrawler.editor.pages.archive_trial import HeaviestPages, Summary
from aahcrawler.editor.pages.archive_trial import Progress as Read
from aahcrawler.editor.pages.page_readings import PageChanged
from aahcrawler.editor.pages.saved_pages import pages_folder
from aahcrawler.editor.rules.link_fates import EntryParts, Fate, LinkFate, Part
from aahcrawler.editor.rules.marked_pages import numbers_of
from aahcrawler.editor.rules.page_sample import CapturedPage, PageSample, SampledPage, page_sample
from aahcrawler.editor.rules.part_matches import PageMatches, matches
from aahcrawler.editor.rules.site_groups import SiteGroup, site_groups
from aahcrawler.editor.rules.suggestion_judging import OtherSoftware
from aahcrawler.helper.site_memory import site_of
from aahcrawler.page.titles import head_title
from aahcrawler.replay.page_marks import Mark, MarkedPage, MarkKind
from aahcrawler.service.catalog.crawl_catalog import Crawl
from aahcrawler.service.cockpit.sign_in import Said, Session
from aahcrawler.service.cockpit.site import Editing, Reading, Sent, Site, address, then
from aahcrawler.service.cockpit.studio.entry_words import short
from aahcrawler.service.cockpit.studio.open_works import OpenDraft, OpenDrafts
from aahcrawler.service.steering.crawl_process import ReportingProcess
from aahcrawler.service.steering.long_jobs import UNDER_WAY, JobState, JobView, Progress, Task
from aahcrawler.service.views.capture_view import NO_CAPTURE, capture_row
from aahcrawler.service.views.page_indexes import NO_FOLDER, NOT_READY, PageIndexes
from aahcrawler.service.views.site_pages import HostCounts, HostsView
from aahcrawler.service.web.noted_acts import ActOutcome, under_way
from aahcrawler.service.web.problems import CONFLICT, NO_SITE, ProblemError, Shown
from knowledge_base.loader import LoadError

KINDS: Final = {
    "pattern": MarkKind.SIGN,
    "when": MarkKind.SIGN,
    "unless": MarkKind.SIGN,
    "item": MarkKind.ITEM,
    "field": MarkKind.FIELD,
    "without": MarkKind.LEFT_OUT,
    "ignore": MarkKind.LEFT_OUT,
}
"""How what a part matches is marked; other parts are not, or by the links that they choose."""
_FATES: Final = {Fate.LEADS: MarkKind.LINK, Fate.AVOIDED: MarkKind.AVOID}
_MAX_ELEMENTS: Final = 1_500
MAX_PAGES: Final = 6
_MatchKey = tuple[tuple[str, str], str]
"""The key of a page, and what an entry was loaded with."""
MAX_SAMPLES: Final = 4
FRESH_SECONDS: Final = 900.0
"""Seconds after which the sample of a host is drawn anew, for what was captured since."""
_SOON: Final = 4.0
"""The same while the index of the crawl's pages is still being read."""
MAX_BYTES: Final = 96 << 20
"""Bytes that the parsed pages of one sample may take."""
_Key = tuple[str, int, str]
"""The id of a crawl, its number, and a host."""
RECORD: Final = "urn:uuid:"
OF_WORK: Final = "work:"
"""How the records of pages begin that the crawl does not have and a work has."""
_TITLE: Final = 160


def marks_of(tree: HtmlElement, matches: PageMatches, parts: EntryParts, chosen: int | None = None) -> tuple[Mark, ...]:
    """Return the marks of a page, the chosen element before all others."""
    found = list(_elements(matches, parts))[:_MAX_ELEMENTS]
    numbers = numbers_of(tree, [element for element, _, _ in found])
    marks = [Mark(numbers[element], kind, label) for element, kind, label in found if element in numbers]
    own = [Mark(chosen, MarkKind.CHOSEN, "chosen")] if chosen is not None else []
    return tuple(dict.fromkeys([*own, *marks]))


def mark_kind(part: Part) -> MarkKind | None:
    """Return how the elements that a part matches are marked on a page; None for a part whose elements are not."""
    return KINDS.get(part.tag)


def _elements(matches: PageMatches, parts: EntryParts) -> Iterator[tuple[HtmlElement, MarkKind, str]]:
    for match in matches.parts:
        part, kind = parts.at(match.place), KINDS.get(match.tag)
        if part is None or kind is None or not match.counts or _is_elsewhere(part, matches, parts):
            continue
        label = short(part, parts)
        for finding in match.findings:
            if finding.element is not None:
                number = f" {finding.item + 1}" if finding.item is not None and kind is MarkKind.ITEM else ""
                yield finding.element, kind, f"{label}{number}"
    for link in matches.links:
        kind = _FATES.get(link.fate)
        if kind is not None:
            yield link.element, kind, _link_label(link)


def _is_elsewhere(part: Part, matches: PageMatches, parts: EntryParts) -> bool:
    """Return whether a part is a sign of a level that the page is not of."""
    level = parts.around(part, "level") if part.tag in ("when", "unless") else None
    return level is not None and (level.text("name") != matches.level or part.tag == "unless")


def _link_label(link: LinkFate) -> str:
    if link.fate is Fate.LEADS:
        return f"→ {link.level or 'further page'}"
    return link.said.partition(",")[0].replace("avoided because", "avoid:")


class MatchCache:
    """Keeps the matches of a few pages. Several threads may use it at once; one of them finds matches at a time."""

    def __init__(self) -> None:
        self._lock = Lock()
        self._kept: OrderedDict[_MatchKey, tuple[SampledPage, PageMatches]] = OrderedDict()

    def of(self, page: SampledPage, loaded_with: str, found: Callable[[], PageMatches]) -> PageMatches:
        """Return the matches of an entry, loaded with what a digest says; ``found`` finds them where needed."""
        key = page.captured.key, loaded_with
        with self._lock:
            kept = self._kept.get(key)
            if kept is None or kept[0] is not page:  # Matches are elements of one tree.
                kept = page, found()
                self._kept[key] = kept
            self._kept.move_to_end(key)
            if len(self._kept) > MAX_PAGES:
                self._kept.popitem(last=False)
            return kept[1]

    def clear(self) -> None:
        """Let go of all."""
        with self._lock:
            self._kept.clear()


@dataclass
class _Shelved:
    until: float
    sample: PageSample
    is_whole: bool
    """Whether all captures of the crawl were in its index."""
    _lock: Lock = field(default_factory=Lock)

    @property
    def groups(self) -> tuple[SiteGroup, ...]:
        with self._lock:  # Whoever asks meanwhile waits, and does not read the same pages again.
            return self._groups

    @cached_property
    def _groups(self) -> tuple[SiteGroup, ...]:
        return site_groups(self.sample)


class SampleCache:
    """Keeps the samples of the hosts that were looked at last. It may be used by several threads at once."""

    def __init__(self, indexes: PageIndexes, clock: Callable[[], float] = time.monotonic) -> None:
        self._indexes, self._clock, self._lock = indexes, clock, Lock()
        self._kept: OrderedDict[_Key, _Shelved] = OrderedDict()
        self._drawing = Lock()

    def sample(self, crawl: Crawl, host: str) -> PageSample:
        """Return the sample of a host. Raise ``ProblemError`` if the crawl has no page of it."""
        return self._shelved(crawl, host).sample

    def sample_around(self, crawl: Crawl, host: str) -> PageSample:
        """Return the sample of a host, an empty one if the crawl has no page of it."""
        return self._shelved(crawl, host, may_be_empty=True).sample

    def groups(self, crawl: Crawl, host: str) -> tuple[SiteGroup, ...]:
        """Return the groups of alike addresses of a host. Raise ``ProblemError`` where the crawl has no page of it."""
        return self._shelved(crawl, host).groups

    def forget(self, crawl: Crawl, host: str) -> None:
        """Have the sample of a host drawn anew the next time."""
        with self._lock:
            forgotten = self._kept.pop((crawl.id, crawl.number, host), None)
        if forgotten is not None:
            forgotten.sample.close()

    def close(self) -> None:
        """Let go of all samples."""
        with self._lock:
            kept = list(self._kept.values())
            self._kept.clear()
        for each in kept:
            each.sample.close()

    def _shelved(self, crawl: Crawl, host: str, *, may_be_empty: bool = False) -> _Shelved:
        key = crawl.id, crawl.number, host
        found = self._found(key)
        if found is None:
            with self._drawing:  # One at a time: two would hold all addresses of their hosts at once.
                found = self._found(key) or self._drawn(crawl, key)
        if not (found.sample.pages or may_be_empty or found.is_whole):
            raise ProblemError(NOT_READY, "the crawl's pages are still being read into their index; try again soon")
        if not (found.sample.pages or may_be_empty):
            raise ProblemError(NO_SITE, f"the crawl has no page of {host[:200]!r} that can be looked at")
        return found

    def _found(self, key: _Key) -> _Shelved | None:
        with self._lock:
            found = self._kept.get(key)
            if found is None or self._clock() >= found.until:
                return None
            self._kept.move_to_end(key)
            return found

    def _drawn(self, crawl: Crawl, key: _Key) -> _Shelved:
        """Draw the sample of a host; one without pages is not kept, so that it is drawn anew once there are some."""
        host = key[2]
        with self._indexes.asked(crawl) as index:
            drawn, is_whole = page_sample(index.folder, index.base, host), index.progress.complete
        drawn.most_bytes = MAX_BYTES
        shelved = _Shelved(self._clock() + (FRESH_SECONDS if is_whole else _SOON), drawn, is_whole)
        if not drawn.pages:
            return shelved
        with self._lock:
            left = [self._kept.pop(key)] if key in self._kept else []
            self._kept[key] = shelved
            left += [self._kept.popitem(last=False)[1] for _ in range(len(self._kept) - MAX_SAMPLES)]
        for each in left:
            each.sample.close()
        return shelved


@dataclass(frozen=True)
class OpenPage:
    """A page opened in the studio: its sample, the page, and the work for which it is open."""

    crawl: Crawl
    work: OpenDraft
    record: str
    """The record of the page as addresses have it."""
    sample: PageSample
    sampled: SampledPage
    desk: "StudioService"

    @property
    def captured(self) -> CapturedPage:
        """The page as the index has it."""
        return self.sampled.captured

    @property
    def title(self) -> str:
        """The title of the page, empty where it has none."""
        return head_title(self.sampled.page)[:_TITLE]

    @cached_property
    def matches(self) -> PageMatches | None:
        """What the parts of the entry match; None where the entry cannot be used as it is."""
        application = self.work.application
        if application is None:
            return None
        text = self.work.state.text
        return self.desk.matched.of(
            self.sampled, self.work.loaded_with, lambda: matches(application, text, self.sampled.page)
        )

    def other(self, record: str) -> SampledPage | None:
        """Return another page of the crawl or of the work, by its record; None where it cannot be looked at."""
        try:
            return self.desk.page(self.crawl, self.work, record).sampled
        except ProblemError:
            return None

    def marks(self, chosen: int | None) -> tuple[Mark, ...]:
        """Return what is marked on the page."""
        if self.matches is None:
            return (Mark(chosen, MarkKind.CHOSEN, "chosen"),) if chosen is not None else ()
        return marks_of(self.sampled.tree, self.matches, self.work.parts, chosen)


class StudioService:
    """What the pages of the studio share. It may be used by several threads at once."""

    def __init__(self, site: Site) -> None:
        self.site = site
        self.shelf = SampleCache(site.instruments.indexes)
        self.counts, self.matched = HostCounts(), MatchCache()
        self.works = OpenDrafts(lambda: site.instruments.reach.knowledge)
        self.software = OtherSoftware(pages_folder(folder) for folder in self.works.knowledge.named)

    def hosts(self, crawl: Crawl) -> HostsView:
        """Return the hosts of a crawl with the software that their pages were recognised as."""
        with self.site.instruments.indexes.asked(crawl) as index:
            return self.counts.of(index)

    def host(self, crawl: Crawl, record: str) -> str:
        """Return the host of a captured page. Raise ``ProblemError`` where there is none of that record."""
        with self.site.instruments.indexes.asked(crawl) as index:
            return site_of(capture_row(index, record)["url"])

    def page(self, crawl: Crawl, work: OpenDraft, record: str) -> OpenPage:
        """Return a page of the crawl or of the work. Raise ``ProblemError`` where it cannot be looked at."""
        sample, captured = self._own(crawl, work, record) if record.startswith(OF_WORK) else self._of(crawl, record)
        sampled = sample.sampled(captured) if captured is not None else None
        if sampled is None:
            raise ProblemError(
                CONFLICT, "this capture cannot be looked at here: it is no HTML, too large, or not the newest one"
            )
        return OpenPage(crawl, work, record.removeprefix(RECORD), sample, sampled, self)

    def _of(self, crawl: Crawl, record: str) -> tuple[PageSample, CapturedPage | None]:
        sample = self.shelf.sample(crawl, self.host(crawl, long_record(record)))
        return sample, sample.captured(long_record(record))

    def _own(self, crawl: Crawl, work: OpenDraft, record: str) -> tuple[PageSample, CapturedPage | None]:
        """Return a page that the work itself has, added to the sample of its host."""
        name = record.removeprefix(OF_WORK)
        try:
            page = self.works.work(work.name).page(name).page
        except DraftEditError as error:
            raise ProblemError(NO_CAPTURE, str(error)) from error
        sample = self.shelf.sample_around(crawl, site_of(page.url))
        # Several works may have pages of one name, and one work another page of it after a while.
        known = f"{OF_WORK}{digest(page.body)}"
        return sample, sample.add(known, page)

    def framed(self, page: OpenPage, marks: tuple[Mark, ...]) -> str:
        """Return the path by which the replay shows a page with marks in a frame."""
        moment = "".join(sign for sign in page.captured.fetched_at[:19] if sign.isdigit())
        crawl, work, record, key = page.crawl, page.work, page.record, page.captured.key

        def made() -> MarkedPage | None:
            # Nothing of the page is kept: there may be hundreds of addresses.
            try:
                sampled = self.page(crawl, work, record).sampled
            except ProblemError:
                return None
            return MarkedPage(crawl.id, moment, replace(sampled.page), marks) if sampled.captured.key == key else None

        return self.site.marked.issue(made)

    def pages_of(self, work: OpenDraft) -> Iterator[tuple[str, str]]:
        """Yield record and name of the pages that a work itself has."""
        return ((f"{OF_WORK}{name}", name) for name in sorted(work.state.pages))


def long_record(record: str) -> str:
    """Return the full id of a record, given its short form in addresses."""
    return record if record.startswith(OF_WORK) else f"{RECORD}{record.removeprefix(RECORD)}"


def short_record(record: str) -> str:
    """Return the short form of a record's id, as addresses have it."""
    return record.removeprefix(RECORD)


JobName = Annotated[str, Path(max_length=40)]
_PATIENCE: Final = 2.5
"""Seconds that an act waits for its job, before it leads to the page that waits on."""
_MOMENT: Final = 0.3
WorkName = Annotated[str, Path(max_length=80)]
MAX_TRIED: Final = 300
"""Archived pages that an entry is tried on, some of each sort."""
MAX_SHOWN: Final = 40
"""Pages that would change and are shown, those with the weightiest changes."""
_TOLD: Final[TypeAdapter[Read | PageChanged | Summary]] = TypeAdapter(
    Annotated[Read | PageChanged | Summary, Field(discriminator="kind")]
)


class Done(Shown):
    """The outcome of a job: a message, and the page to go to."""

    to: str
    text: str
    kind: str = "good"
    lines: tuple[str, ...] = ()
    can_force: bool = False

    @property
    def said(self) -> Said:
        """What the page that it leads to tells."""
        return Said(self.text, self.kind, self.lines)


@dataclass(frozen=True, slots=True)
class StudioJobs:
    """Begins jobs of the studio, and redirects to their outcomes."""

    site: Site

    def begin(self, session: Session, crawl: Crawl, kind: str, work: Callable[[Progress], BaseModel]) -> JobView:
        """Begin a job, whose end the log of the service tells. Raise ``ProblemError`` where too many are under way."""
        jobs, act = self.site.instruments.helm.jobs, under_way()

        def noted(progress: Progress) -> BaseModel:
            outcome = "given up, or failed"
            try:
                made = work(progress)
                outcome = " ".join((made.text, *made.lines)) if isinstance(made, Done) else "done"
                return made
            finally:
                if act is not None:
                    act.note_later(ActOutcome.ENDED, detail=f"{kind}: {outcome}")

        return jobs.begin(Task(f"studio: {kind}", crawl.id, session.caller.name), noted)

    def led(self, session: Session, crawl: Crawl, job: JobView) -> Response:
        """Redirect to the outcome of a job, or to the page that waits for it."""
        jobs = self.site.instruments.helm.jobs
        now = jobs.wait(crawl.id, job.id, _PATIENCE)
        if now.state is JobState.DONE and isinstance(now.result, Done):
            return then(session, now.result.to, now.result.said)
        return then(session, address("crawls", crawl.id, "studio", "jobs", job.id))

    def now(self, crawl: Crawl, name: str) -> JobView:
        """Return a job, after waiting a moment for its end. Raise ``ProblemError`` if there is none."""
        jobs = self.site.instruments.helm.jobs
        job = jobs.job(crawl.id, name)
        return jobs.wait(crawl.id, name, _MOMENT) if job.state in UNDER_WAY else job


def routes(site: Site, jobs: StudioJobs) -> APIRouter:
    """Return the routes of the page that waits."""
    router = APIRouter(prefix="/crawls/{crawl}/studio/jobs/{job}")

    @router.get("")
    def wait(session: Reading, crawl: str, job: JobName) -> Response:
        found = site.crawl(crawl)
        now = jobs.now(found, job)
        if now.state is JobState.DONE and isinstance(now.result, Done):
            return then(session, now.result.to, now.result.said)
        return site.crawl_page(session, found, "studio", "studio/waiting.html", job=now)

    @router.get("/part")
    def wait_on(session: Reading, crawl: str, job: JobName) -> Response:
        found = site.crawl(crawl)
        return site.part(session, "studio/job.html", crawl=found, job=jobs.now(found, job))

    return router


class TrialDone(Shown):
    """What an entry would change in an archive; ``pages`` are those with the weightiest changes."""

    to: str
    host: str
    summary: Summary
    pages: tuple[PageChanged, ...]


def trial_routes(site: Site, desk: StudioService, jobs: StudioJobs) -> APIRouter:
    """Return the routes of trials."""
    router = APIRouter(prefix="/crawls/{crawl}/studio/works/{work}")

    @router.post("/try")
    def try_entry(session: Editing, crawl: str, work: WorkName, form: Sent) -> Response:
        found, held, host = site.crawl(crawl), desk.works.work(work), form.get("host")[:255]
        folder = found.folder
        if folder is None:
            raise ProblemError(NO_FOLDER, "this machine has none of the crawl's folder")
        to = address("crawls", crawl, "studio", "works", work)

        def trial(progress: Progress) -> BaseModel:
            return _trial(held, folder, host, to, progress)

        return jobs.led(session, found, jobs.begin(session, found, f"trying {work} on the archive", trial))

    return router


def _trial(work: OpenedDraft, crawl: Folder, host: str, to: str, progress: Progress) -> BaseModel:
    heaviest = HeaviestPages(MAX_SHOWN)
    summary: Summary | None = None
    # What it reads of itself is asked for; in a crawl, reading without a draft makes up for what that misses.
    confirmed = work.now().text.set("", "draft", None)
    try:
        with staged(Entry(work.name, confirmed.data), work.folders) as stage:
            process = _begun(crawl, host, stage)
            progress.waits_for(process.kill)
            for told in _told(process, progress):
                match told:
                    case Summary():
                        summary = told
                    case PageChanged():
                        heaviest.add(told)
    except (LoadError, OSError, ValidationError) as error:
        return Done(to=to, text=f"It could not be tried: {error}", kind="bad")
    if summary is None:
        why = process.problem or f"the process ended early, with the exit code {process.exit_code}"
        return Done(to=to, text=f"It could not be tried: {why}", kind="bad")
    return TrialDone(to=to, host=host, summary=summary, pages=heaviest.pages())


def _begun(crawl: Folder, host: str, stage: Staged) -> ReportingProcess:
    folders = os.pathsep.join(map(str, stage.folders))
    options = ["--json", "--pages", str(MAX_TRIED), "--kb", folders, *(["--host", host] if host else [])]
    return ReportingProcess(["kb", "try", *options, "--", str(crawl.absolute())], stage.folders[-1], {})


def _told(process: ReportingProcess, progress: Progress) -> Iterator[PageChanged | Summary]:
    """Yield the reports of a trial, and update its progress."""
    for told in process.told():
        result = _TOLD.validate_python(told)
        if isinstance(result, Read):
            progress.total = result.of
            progress.advance(result.done - progress.done)
        else:
            yield result
    progress.advance(0)
