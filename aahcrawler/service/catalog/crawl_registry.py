"""The crawls of a service, in folders and on a shared server, and the way to the frontier of each."""

import logging
import os
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from aahcrawler.definition_bundle import unpacked
from aahcrawler.frontier.protocol import FrontierUnavailableError
from aahcrawler.frontier.redis.control import RedisControl
from aahcrawler.frontier.redis.registry import RedisRegistry
from aahcrawler.frontier.registry import CrawlState, Registered, RegistryError, UnknownCrawlError
from aahcrawler.service.catalog.crawl_catalog import Admission, Catalog, Crawl
from aahcrawler.service.catalog.gateway import Gateway
from aahcrawler.service.web.problems import NO_CRAWL, UNAVAILABLE, ProblemError
from knowledge_base.file_selection import OWN_NAME, SHIPPED, SHIPPED_WORD, VARIABLE, folders_for, named_folders
from online_analysis.icd import IcdError

_RETRY = {"Retry-After": "5"}
_logger = logging.getLogger(__name__)


class SharedCatalog:
    """Crawls by id: those that were submitted to a server, by what it has of them, and those of folders besides.

    While the server cannot be reached, the crawls that it was last seen to know are shown; of others nothing is known.
    May be used by several threads at once.
    """

    def __init__(self, server: str, local: Catalog) -> None:
        self._server = server
        self._local = local
        self._registry: RedisRegistry | None = None
        self._entries: tuple[Registered, ...] = ()
        self._known: dict[str, tuple[int, Crawl]] = {}
        self._lock = threading.Lock()

    def crawls(self) -> tuple[Crawl, ...]:
        """Return every crawl that is known.

        Raise ``ProblemError`` where the server cannot be reached, and none was known before.
        """
        with self._lock:
            problem = self._look()
            submitted = {crawl.id: crawl for crawl in self._submitted()}
        found = dict(submitted)
        for crawl in self._local.crawls():
            if crawl.id not in submitted or crawl.number > submitted[crawl.id].number:
                found[crawl.id] = crawl
        if problem is not None and not found:
            raise problem
        return tuple(found[name] for name in sorted(found))

    def crawl(self, name: str) -> Crawl | None:
        """Return the crawl of an id, None where there is none.

        Raise ``ProblemError`` where only the server could tell, and it cannot be reached.
        """
        found = next((crawl for crawl in self.crawls() if crawl.id == name), None)
        if found is None:
            with self._lock:
                problem = self._look()
            if problem is not None:
                raise problem
        return found

    def _look(self) -> ProblemError | None:
        """Take over what the server knows; return the problem where it cannot be asked."""
        try:
            if self._registry is None:
                self._registry = RedisRegistry(self._server)
            self._entries = tuple(self._registry.crawls())
        except (FrontierUnavailableError, RegistryError) as error:
            _logger.warning("the shared server: %s", error)
            detail = "the shared server, which knows the crawls, cannot be asked: see the service's log"
            return ProblemError(UNAVAILABLE, detail, headers=_RETRY)
        return None

    def _submitted(self) -> Iterator[Crawl]:
        for entry in self._entries:
            crawl = self._read(entry)
            if crawl is not None:
                yield crawl.of_server(entry.number, _ending(entry), self._local.folder_of(entry.id))

    def _read(self, entry: Registered) -> Crawl | None:
        """Return a crawl with its newest definition, the former one while that cannot be had."""
        version, crawl = self._known.get(entry.id, (0, None))
        if version == entry.version or self._registry is None:
            return crawl
        try:
            version, definition = self._registry.definition(entry.id)
            icd = unpacked(definition, Path())
        except (FrontierUnavailableError, RegistryError, UnknownCrawlError, IcdError) as error:
            _logger.warning("the definition of %s cannot be read: %s", entry.id, error)
            return crawl
        self._known[entry.id] = version, Crawl(None, icd, Admission(icd), entry.number)
        return self._known[entry.id][1]

    def passed_over(self) -> tuple[str, ...]:
        """Return why folders of crawls are not shown, a line each."""
        return self._local.passed_over()

    def place_for_new(self) -> Path | None:
        """Return the folder in which new crawls get folders of their own, None where there is none."""
        return self._local.place_for_new()

    def deleted(self) -> Iterator[Path]:
        """Yield the folders, beside those of crawls, that somebody had begun to delete."""
        return self._local.deleted()

    def close(self) -> None:
        """Let go of the connection."""
        if self._registry is not None:
            self._registry.close()


def _ending(entry: Registered) -> str:
    return (entry.reason or "ended") if entry.state is CrawlState.ENDED else ""


Crawls = Catalog | SharedCatalog


def catalog_of(shared: str | None, local: Catalog) -> Crawls:
    """Return the crawls of a service, those of the shared server among them where there is one."""
    return local if shared is None else SharedCatalog(shared, local)


@dataclass(frozen=True, slots=True)
class KnowledgeFolders:
    """The folders that are named, and the one that own entries are saved in; that need not be there yet.

    ``own`` is None where there is no place for one.
    """

    named: tuple[Path, ...]
    own: Path | None

    @classmethod
    def of(cls, place: Path | None) -> "KnowledgeFolders":
        """Return the folders that the environment names.

        Own entries go to the last of them. Where that is the one that ships, they go to a folder of their own in
        ``place``, which holds the crawls. Entries that are in that folder count in any case, as they do for its crawls.
        """
        given = named_folders(os.environ.get(VARIABLE, "")) if place is None else folders_for(place / "any crawl")
        named = tuple(folder.absolute() for folder in given)
        if named[-1] != SHIPPED.absolute():
            return cls(named, named[-1])
        return cls(named, None if place is None else (place / OWN_NAME).absolute())

    @property
    def folders(self) -> tuple[Path, ...]:
        """The folders that count now: those named, then that of own entries once it holds any."""
        if self.own is None or self.own in self.named or not (self.own / "applications").is_dir():
            return self.named
        return (*self.named, self.own)

    @property
    def environment(self) -> Mapping[str, str]:
        """What tells a process to use the same folders, whatever its working folder."""
        return {VARIABLE: os.pathsep.join(_word(folder) for folder in self.folders)}


def _word(folder: Path) -> str:
    return SHIPPED_WORD if folder == SHIPPED.absolute() else str(folder)


@dataclass(frozen=True, slots=True)
class CrawlRegistry:
    """Finds crawls by id, and lends their frontiers. It may be used by several threads at once.

    ``shared`` is the URL of the shared server, None where there is none.
    """

    catalog: Catalog | SharedCatalog
    gateway: Gateway
    shared: str | None = None

    @classmethod
    def of(cls, local: Catalog, shared: str | None) -> "CrawlRegistry":
        """Return the reach of a service: the crawls of its folders, and those of its shared server, if it has one."""
        return cls(catalog_of(shared, local), Gateway(shared), shared)

    @property
    def knowledge(self) -> KnowledgeFolders:
        """The folders of the knowledge base, as the environment and the folder of the crawls say."""
        return KnowledgeFolders.of(self.catalog.place_for_new())

    def crawls(self) -> tuple[Crawl, ...]:
        """Return every crawl that is known."""
        return self.catalog.crawls()

    def crawl(self, name: str) -> Crawl:
        """Return the crawl of an id. Raise ``ProblemError`` where there is none."""
        crawl = self.catalog.crawl(name)
        if crawl is None:
            raise ProblemError(NO_CRAWL, "no crawl of this id has begun in this service's folders, or was submitted")
        return crawl

    @contextmanager
    def frontier(self, crawl: Crawl) -> Iterator[RedisControl]:
        """Lend the frontier of a crawl, whether or not it runs. Raise ``ProblemError`` where it cannot be reached."""
        with self.gateway.frontier_at_rest(crawl) as frontier:
            yield frontier

    def close(self) -> None:
        """Let go of every connection."""
        self.catalog.close()
        self.gateway.close()
