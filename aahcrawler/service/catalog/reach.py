"""The crawls of a service, and the way to the frontier of each."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from aahcrawler.frontier.redis.control import RedisControl
from aahcrawler.service.catalog.crawl_catalog import Catalog, Crawl
from aahcrawler.service.catalog.gateway import Gateway
from aahcrawler.service.catalog.knowledge_folders import KnowledgeFolders
from aahcrawler.service.catalog.shared_catalog import SharedCatalog, catalog_of
from aahcrawler.service.web.problems import NO_CRAWL, ProblemError


@dataclass(frozen=True, slots=True)
class Reach:
    """Finds crawls by id, and lends their frontiers. It may be used by several threads at once.

    ``shared`` is the URL of the shared server, None where there is none.
    """

    catalog: Catalog | SharedCatalog
    gateway: Gateway
    shared: str | None = None

    @classmethod
    def of(cls, local: Catalog, shared: str | None) -> "Reach":
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
