"""Crawls in the registry of a shared server: how a definition gets there, and how a worker sees it."""

from contextlib import closing
from dataclasses import dataclass
from pathlib import Path

from aahcrawler.crawl.directory.crawl_runs import EndedRun, is_over
from aahcrawler.crawls import frontier_name, frontier_settings
from aahcrawler.definition_bundle import pack_definition, unpack_definition
from aahcrawler.frontier.protocol import FrontierUnavailableError, State
from aahcrawler.frontier.redis.frontier import RedisFrontier
from aahcrawler.frontier.registry import CrawlState, Presence, Registered, Registry, RegistryError, UnknownCrawlError
from online_analysis.icd import Icd, IcdError, Mistake


class SubmissionRefusedError(Exception):
    """A definition cannot be submitted now; the message says why and what to do."""


@dataclass(frozen=True, slots=True)
class Submission:
    """A submitted definition: its entry on the server, and the entry before, None if there was none."""

    now: Registered
    before: Registered | None

    def __str__(self) -> str:
        """Say it for people."""
        crawl, before = self.now, self.before
        if before is None or before.number != crawl.number:
            return f"{crawl.id}: crawl {crawl.number} is active"
        again = "goes on" if before.state is CrawlState.ENDED else "is active"
        changed = "the definition is as it was" if before.version == crawl.version else "with a changed definition"
        return f"{crawl.id}: crawl {crawl.number} {again}, version {crawl.version}: {changed}"


def submit(path: Path, address: str, registry: Registry, presence: Presence) -> Submission:
    """Submit the definition in a file to the server at a URL.

    A crawl that is active takes over what has changed. One that ended begins anew, or goes on where a limit ended it
    that is raised now. Raise ``IcdError`` for mistakes, and ``SubmissionRefusedError`` while workers are still leaving
    a crawl that is to begin anew.
    """
    icd, definition = pack_definition(path)
    before = next((each for each in registry.crawls() if each.id == icd.id), None)
    number = 0
    if before is not None and before.state is CrawlState.ENDED and _is_over(before, icd, address, registry):
        number = before.number + 1
        if any(icd.id in worker.crawls for worker in presence.workers()):
            raise SubmissionRefusedError(f"{icd.id}: workers are still leaving the crawl that ended; try again soon")
        with closing(_frontier(before, icd, address)) as over:
            over.remove()
    return Submission(registry.submit(icd.id, definition, title=icd.title, number=number), before)


def _is_over(crawl: Registered, icd: Icd, address: str, registry: Registry) -> bool:
    with closing(_frontier(crawl, icd, address)) as frontier:
        stats, counts = frontier.stats(), frontier.counts()
    ended = EndedRun(
        crawl=crawl.number,
        state="finished" if crawl.reason == "finished" else "stopped",
        reason=crawl.reason,
        bytes=int(stats.get("bytes", 0)),
        seconds=stats.get("seconds", 0.0),
        frontier={"pages_done": counts.pages.get(State.DONE, 0)},
    )
    try:
        meant = RegisteredDefinition(registry, crawl.id, icd.output).load().meaning()
    except IcdError:
        meant = {}
    return is_over(ended, icd, meant)


def _frontier(crawl: Registered, icd: Icd, address: str) -> RedisFrontier:
    return RedisFrontier(address, frontier_name(crawl.id, crawl.number), frontier_settings(icd))


class RegisteredDefinition:
    """The definition of a registered crawl, which writes to ``output``. See ``DefinitionSource``."""

    def __init__(self, registry: Registry, crawl: str, output: Path) -> None:
        self._registry = registry
        self._crawl = crawl
        self._output = output
        self._version = 0

    def load(self) -> Icd:
        """Return the newest version."""
        try:
            self._version, definition = self._registry.definition(self._crawl)
        except (UnknownCrawlError, RegistryError) as error:
            advice = "submit it again: aah submit"
            raise IcdError([Mistake(self._crawl, 1, "", str(error).partition(";")[0], advice)]) from error
        return unpack_definition(definition, self._output)

    def newer(self) -> Icd | None:
        """Return the definition where there is a newer version; None as well while the server cannot be asked."""
        try:
            known = {each.id: each.version for each in self._registry.crawls()}
            return self.load() if known.get(self._crawl, 0) > self._version else None
        except (FrontierUnavailableError, RegistryError):
            return None


@dataclass(frozen=True, slots=True)
class RegisteredTopic:
    """The topic of a crawl in the registry. See ``SharedTopic``."""

    registry: Registry
    crawl: str
    number: int

    def read(self) -> str | None:
        """Return what another worker has shared."""
        return self.registry.topic(self.crawl, self.number)

    def keep(self, text: str) -> None:
        """Share it with the others."""
        self.registry.keep_topic(self.crawl, self.number, text)
