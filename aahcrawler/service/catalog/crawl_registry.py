"""All crawls of a service, in folders and on a shared server, with connections to their frontiers."""

import logging
import os
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from aahcrawler.definition_bundle import unpack_definition
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
    """Crawls by id: those submitted to a shared server, as it knows them, and those that are only in folders.

    While the server cannot be reached, its last known crawls are returned. Thread-safe.
    """

    def __init__(self, server: str, local: Catalog) -> None:
        self._server = server
        self._local = local
        self._registry: RedisRegistry | None = None
        self._entries: tuple[Registered, ...] = ()
        self._known: dict[str, tuple[int, Crawl]] = {}
        self._lock = threading.Lock()

    def crawls(self) -> tuple[Crawl, ...]:
        """Return all crawls.

        Raise ``ProblemError`` if the server cannot be reached and none is known from before.
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
        """Return the crawl with an id, None if there is none.

        Raise ``ProblemError`` if only the server could tell, and it cannot be reached.
        """
        found = next((crawl for crawl in self.crawls() if crawl.id == name), None)
        if found is None:
            with self._lock:
                problem = self._look()
            if problem is not None:
                raise problem
        return found

    def _look(self) -> ProblemError | None:
        """Update the known crawls from the server; return the problem if it cannot be reached."""
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
        """Return a crawl with its newest definition, or with the former one if the newest cannot be read."""
        version, crawl = self._known.get(entry.id, (0, None))
        if version == entry.version or self._registry is None:
            return crawl
        try:
            version, definition = self._registry.definition(entry.id)
            icd = unpack_definition(definition, Path())
        except (FrontierUnavailableError, RegistryError, UnknownCrawlError, IcdError) as error:
            _logger.warning("the definition of %s cannot be read: %s", entry.id, error)
            return crawl
        self._known[entry.id] = version, Crawl(None, icd, Admission(icd), entry.number)
        return self._known[entry.id][1]

    def passed_over(self) -> tuple[str, ...]:
        """Return a message for each folder that is left out."""
        return self._local.passed_over()

    def place_for_new(self) -> Path | None:
        """Return the folder in which new crawls are created, None if there is none."""
        return self._local.place_for_new()

    def deleted(self) -> Iterator[Path]:
        """Yield the folders of crawls whose deletion was begun."""
        return self._local.deleted()

    def close(self) -> None:
        """Close the connection."""
        if self._registry is not None:
            self._registry.close()


def _ending(entry: Registered) -> str:
    return (entry.reason or "ended") if entry.state is CrawlState.ENDED else ""


Crawls = Catalog | SharedCatalog


def catalog_of(shared: str | None, local: Catalog) -> Crawls:
    """Return the crawls in local folders, together with those of the shared server if there is one."""
    return local if shared is None else SharedCatalog(shared, local)


@dataclass(frozen=True, slots=True)
class KnowledgeFolders:
    """The named folders of the knowledge base, and the folder of own entries, which may not exist yet.

    ``own`` is None if there is no place for own entries.
    """

    named: tuple[Path, ...]
    own: Path | None

    @classmethod
    def of(cls, place: Path | None) -> "KnowledgeFolders":
        """Return the folders that the environment names.

        Own entries are saved in the last of them; if that is the one that ships with the software, in a folder in
        ``place``, which holds the crawls. Entries in that folder always count, as they do for its crawls.
        """
        given = named_folders(os.environ.get(VARIABLE, "")) if place is None else folders_for(place / "any crawl")
        named = tuple(folder.absolute() for folder in given)
        if named[-1] != SHIPPED.absolute():
            return cls(named, named[-1])
        return cls(named, None if place is None else (place / OWN_NAME).absolute())

    @property
    def folders(self) -> tuple[Path, ...]:
        """The folders in force: the named ones, then that of own entries if it has any."""
        if self.own is None or self.own in self.named or not (self.own / "applications").is_dir():
            return self.named
        return (*self.named, self.own)

    @property
    def environment(self) -> Mapping[str, str]:
        """The environment variables that make a process use the same folders from any working folder."""
        return {VARIABLE: os.pathsep.join(_word(folder) for folder in self.folders)}


def _word(folder: Path) -> str:
    return SHIPPED_WORD if folder == SHIPPED.absolute() else str(folder)


@dataclass(frozen=True, slots=True)
class CrawlRegistry:
    """Finds crawls by id, and lends their frontiers. Thread-safe.

    ``shared`` is the URL of the shared server, None if there is none.
    """

    catalog: Catalog | SharedCatalog
    gateway: Gateway
    shared: str | None = None

    @classmethod
    def of(cls, local: Catalog, shared: str | None) -> "CrawlRegistry":
        """Return the registry of the crawls in local folders and on the shared server, if there is one."""
        return cls(catalog_of(shared, local), Gateway(shared), shared)

    @property
    def knowledge(self) -> KnowledgeFolders:
        """The folders of the knowledge base, from the environment and the folder of the crawls."""
        return KnowledgeFolders.of(self.catalog.place_for_new())

    def crawls(self) -> tuple[Crawl, ...]:
        """Return all crawls."""
        return self.catalog.crawls()

    def crawl(self, name: str) -> Crawl:
        """Return the crawl with an id. Raise ``ProblemError`` if there is none."""
        crawl = self.catalog.crawl(name)
        if crawl is None:
            raise ProblemError(NO_CRAWL, "no crawl of this id has begun in this service's folders, or was submitted")
        return crawl

    @contextmanager
    def frontier(self, crawl: Crawl) -> Iterator[RedisControl]:
        """Lend the frontier of a crawl, whether or not the crawl runs.

        Raise ``ProblemError`` if it cannot be reached.
        """
        with self.gateway.frontier_at_rest(crawl) as frontier:
            yield frontier

    def close(self) -> None:
        """Close all connections."""
        self.catalog.close()
        self.gateway.close()
