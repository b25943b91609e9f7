"""A forum that an entry of one's own reads, crawled once for all tests that go on from there."""

import shutil
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from knowledge_base.file_selection import OWN_NAME
from tests.crawl.site import Site
from tests.studio.crawled_software import crawled
from tests.studio.made_up.hearthstead import ENTRY, Hearthstead
from tests.studio.made_up.published import published


@dataclass(frozen=True, slots=True)
class CrawledForum:
    """A forum that is served, and the folder with an entry for it and the crawl ``forum`` that the entry has read."""

    forum: Hearthstead
    site: Site
    place: Path

    def copied(self, folder: Path) -> Path:
        """Return a copy of the folder, for tests that change the entry or crawl again."""
        return shutil.copytree(self.place, folder / "crawls")


@pytest.fixture(scope="session")
def crawled_forum(tmp_path_factory: pytest.TempPathFactory) -> Iterator[CrawledForum]:
    """Yield the forum in its first theme."""
    forum, place = Hearthstead(), tmp_path_factory.mktemp("forum") / "crawls"
    own = place / OWN_NAME / "applications"
    own.mkdir(parents=True)
    (own / ENTRY.name).write_bytes(ENTRY.read_bytes())
    with published(forum) as site:
        score = crawled(place, "forum", forum, site)
        assert score.is_whole, score.mistakes()
        yield CrawledForum(forum, site, place)
