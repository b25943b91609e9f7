"""The gallery of pictures: look-alikes together, each in small, and none of what was taken down."""

import io
from collections.abc import Iterator
from concurrent.futures import Future
from pathlib import Path
from typing import Any

import pytest
from PIL import Image

from aahcrawler.service.catalog.crawl_catalog import Catalog, Crawl
from aahcrawler.service.views import picture_gallery
from aahcrawler.service.views.capture_view import NO_PICTURE
from aahcrawler.service.views.enriched_crawl import enriched_of
from aahcrawler.service.views.page_indexes import PageIndexes
from aahcrawler.service.views.page_pictures import kept_picture
from aahcrawler.service.views.picture_gallery import (
    Gallery,
    PictureShown,
    ShrunkenPictures,
    folded,
    shown_pictures,
    table_of_pictures,
)
from aahcrawler.service.web.problems import ProblemError
from aahcrawler.takedown.removal import WantedRemoval, remove
from offline.enrichment.media_metadata import describe, in_small
from tests.enrichment.test_captured_media import ALBUM, COPY, MILL, NAMELESS, crawl, drawn, run
from tests.imports.archives import record
from tests.offline.crawls import capture

__all__ = ["crawl"]


class InThisProcess:
    """Does at once what a process of its own would do."""

    def submit(self, _work: Any, *given: Any) -> "Future[bytes]":
        done: Future[bytes] = Future()
        done.set_result(in_small(*given))
        return done

    def shutdown(self, **_: bool) -> None:
        """Do nothing."""


@pytest.fixture(autouse=True)
def _in_process(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("offline.enrichment.media.MediaReader", _Reading)
    monkeypatch.setattr(picture_gallery, "own_processes", lambda *_: InThisProcess())
    monkeypatch.setenv("PATH", "")


class _Reading:
    def read(self, body: bytes) -> dict[str, str]:
        return describe(body)

    def close(self) -> None:
        """Do nothing."""


@pytest.fixture
def shown(crawl: Path) -> Crawl:
    run(crawl)
    (found,) = Catalog([crawl.parent]).crawls()
    return found


@pytest.fixture
def indexes() -> Iterator[PageIndexes]:
    made = PageIndexes()
    yield made
    made.close()


def gallery(indexes: PageIndexes, crawl: Crawl, **asked: str) -> tuple[Gallery, list[PictureShown]]:
    with enriched_of(indexes, crawl) as enriched:
        found = Gallery.of(enriched.annotations)
        wanted = {"site": "", "since": "", "until": "", "group": "", **asked}
        return found, shown_pictures(enriched, folded(found.chosen(**wanted)))


def test_pictures_that_look_alike_are_shown_once_with_their_number(indexes: PageIndexes, shown: Crawl) -> None:
    found, tiles = gallery(indexes, shown)
    assert (len(found.entries), list(found.sites.items())) == (3, [("dikes.test", 3)])
    assert [(each.alike, each.url in (MILL, COPY)) for each in tiles] == [(2, True), (1, False)]
    _, group = gallery(indexes, shown, group=tiles[0].group)
    assert group[0].alike == 2
    by_url = {each.url: each for entry in found.entries for each in _of(indexes, shown, entry.capture)}
    mill = by_url[MILL]
    assert (mill.caption, mill.page) == ("The mill in spring", capture(50).iri)
    assert (mill.facts["width"], mill.facts["format"], mill.captured[:10]) == ("200", "jpeg", "2011-02-03")
    assert (by_url[COPY].caption, by_url[COPY].page, by_url[COPY].text) == ("", "", "")
    assert NAMELESS in by_url


def _of(indexes: PageIndexes, crawl: Crawl, record_id: str) -> list[PictureShown]:
    with enriched_of(indexes, crawl) as enriched:
        found = Gallery.of(enriched.annotations)
        return shown_pictures(enriched, [(each, 1) for each in found.entries if each.capture == record_id])


def test_a_site_and_a_time_narrow_it(indexes: PageIndexes, shown: Crawl) -> None:
    assert gallery(indexes, shown, site="other.test")[1] == []
    assert len(gallery(indexes, shown, since="2011-02", until="2011")[1]) == 2
    assert gallery(indexes, shown, until="2011-02-02")[1] == []
    assert gallery(indexes, shown, since="2011-02-04")[1] == []
    with enriched_of(indexes, shown) as enriched:
        rows = [*table_of_pictures(enriched, Gallery.of(enriched.annotations).entries)]
    assert {row[0] for row in rows[1:]} == {MILL, COPY, NAMELESS}


def test_a_picture_is_shown_in_small_and_kept_until_it_is_taken_down(indexes: PageIndexes, shown: Crawl) -> None:
    made, name = ShrunkenPictures(), record(5, b"").record_id
    small = made.picture(indexes, shown, name.removeprefix("urn:uuid:"), "small")
    with Image.open(io.BytesIO(small)) as picture:
        assert (picture.format, picture.size) == ("JPEG", (200, 160))
    assert shown.folder is not None
    assert kept_picture(shown.folder, f"{name}#small") == small
    remove(shown.folder, WantedRemoval(urls=(COPY,)), "Ida", "asked for")
    with pytest.raises(ProblemError) as gone:
        made.picture(indexes, shown, name, "small")
    assert gone.value.kind is NO_PICTURE
    assert kept_picture(shown.folder, f"{name}#small") is None
    assert {each.url for each in gallery(indexes, shown)[1]} == {MILL, NAMELESS}
    remove(shown.folder, WantedRemoval(urls=(ALBUM,)), "Ida", "asked for")
    assert {each.url for each in gallery(indexes, shown)[1]} == {NAMELESS}


@pytest.mark.parametrize("body", [b"", b"\x89PNG\r\n\x1a\n" + b"\0" * 99, b"<svg onload='x'/>", drawn(3)[:400]])
def test_what_cannot_be_decoded_gives_no_picture_and_no_error(body: bytes) -> None:
    assert in_small(body, 100) == b""


def test_a_picture_in_small_is_turned_as_it_is_meant_and_says_nothing_else() -> None:
    written, exif = io.BytesIO(), Image.Exif()
    exif[0x0112], exif[0x010F] = 6, "Secret"
    Image.new("RGB", (400, 200), "red").save(written, "JPEG", exif=exif, comment=b"Secret")
    made = in_small(written.getvalue(), 100)
    with Image.open(io.BytesIO(made)) as picture:
        assert picture.size == (50, 100)
    assert b"Secret" not in made
