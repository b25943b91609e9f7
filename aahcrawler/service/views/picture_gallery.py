"""The pictures of a crawl: what is known of each, which look alike, and small versions."""

import json
import threading
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from contextlib import closing, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final
from urllib.parse import urlsplit

from pydantic import BaseModel, ConfigDict

from aahcrawler.annotations import SAID_BY, AnnotationIndex, Annotations
from aahcrawler.annotations import Kind as About
from aahcrawler.jobs import own_processes
from aahcrawler.service.catalog.crawl_catalog import Crawl
from aahcrawler.service.views.capture_view import NO_PICTURE, CapturePlace, exchange_of
from aahcrawler.service.views.enriched_crawl import Enriched
from aahcrawler.service.views.page_indexes import Asked, PageIndexes
from aahcrawler.service.views.page_pictures import PicturesBusyError, keep_picture, kept_picture
from aahcrawler.service.web.problems import ProblemError
from aahcrawler.tombstones import TakenDown
from aahcrawler.urls import canonicalize
from aahcrawler.wire.replay import replayed

SIDES: Final = {"small": 240, "large": 1_200}
"""Pixels of the longer side of a picture."""
MAX_PICTURES: Final = 200_000
"""Pictures of a crawl that are looked through."""
MAX_WAITING: Final = 16
"""Pictures that are waited for at once."""
_MAX_PICTURE_BYTES: Final = 20_000_000
_MEDIA: Final = "media"
_ALIKE: Final = "look-alikes"


@dataclass(frozen=True, slots=True)
class GalleryEntry:
    """The data kept in memory for each picture: its capture, site and day, and its group of look-alikes."""

    capture: str
    site: str
    day: str
    group: str


class PictureShown(BaseModel):
    """A picture as it is shown. ``page`` is the capture of the page that shows it, empty where none says so.

    ``text`` is what a program recognised in it, ``recognised_by`` that program: it is no text of the page. ``facts``
    are what its file says: dimensions, format, EXIF. ``alike`` counts the pictures that look like it, itself included.
    """

    model_config = ConfigDict(frozen=True)

    capture: str
    url: str
    site: str
    captured: str
    caption: str
    page: str
    indexed: bool
    facts: Mapping[str, str]
    text: str
    recognised_by: str
    group: str
    alike: int


@dataclass(frozen=True, slots=True)
class Gallery:
    """The pictures of a crawl, the newest first, with how many look alike in each group, and which sites they are of.

    ``old`` counts those that were annotated by an earlier version, which did not say where they are from.
    """

    entries: Sequence[GalleryEntry]
    groups: Mapping[str, int]
    sites: Mapping[str, int]
    old: int

    @classmethod
    def of(cls, annotations: Annotations) -> "Gallery":
        """Look through the annotations of a crawl; what is kept in memory of a picture is some 300 bytes."""
        groups = {capture: meant for capture, meant, _ in annotations.media(_ALIKE)}
        known: dict[str, str] = {}
        found, old = list[GalleryEntry](), 0
        for capture, _, details in annotations.media(_MEDIA):
            told = dict(json.loads(details))
            if told.get("medium") != "picture" or len(found) >= MAX_PICTURES:
                continue
            url = told.get("url", "")
            old += not url
            if url:
                site = urlsplit(url).hostname or ""
                day = told.get("captured", "")[:10]
                found.append(GalleryEntry(capture, known.setdefault(site, site), day, groups.get(capture, "")))
        found.sort(key=lambda each: (each.day, each.capture), reverse=True)
        return cls(found, _counted(each.group for each in found), _counted(each.site for each in found), old)

    def months(self, site: str, group: str) -> Mapping[str, int]:
        """Return how many pictures of a site and a group were captured in each month, of all where these are empty."""
        chosen = self.chosen(site, "", "", group)
        return _counted(each.day[:7] for each in chosen)

    def chosen(self, site: str, since: str, until: str, group: str) -> list[GalleryEntry]:
        """Return the pictures of a site, of days from one to another (ISO 8601, as exact as wanted), and of a group."""
        return [
            each
            for each in self.entries
            if (not site or each.site == site)
            and (not since or each.day >= since)
            and (not until or each.day[: len(until)] <= until)
            and (not group or each.group == group)
        ]


def folded(entries: Sequence[GalleryEntry]) -> list[tuple[GalleryEntry, int]]:
    """Return one picture for each group of look-alikes with their number, the largest groups first, then the others."""
    counts = _counted(each.group for each in entries)
    seen: set[str] = set()
    groups, others = list[tuple[GalleryEntry, int]](), list[tuple[GalleryEntry, int]]()
    for each in entries:
        if counts.get(each.group, 1) < 2:
            others.append((each, 1))
        elif each.group not in seen:
            seen.add(each.group)
            groups.append((each, counts[each.group]))
    return sorted(groups, key=lambda each: -each[1]) + others


def shown_pictures(enriched: Enriched, entries: Sequence[tuple[GalleryEntry, int]]) -> list[PictureShown]:
    """Return what is known of pictures; those that are taken down are not among them."""
    taken = TakenDown.of(enriched.pages.folder)
    found = (_shown(enriched, entry, alike) for entry, alike in entries)
    return [each for each in found if each is not None and not taken.covers(canonicalize(each.url) or each.url)]


def table_of_pictures(enriched: Enriched, entries: Sequence[GalleryEntry]) -> Iterator[tuple[object, ...]]:
    """Yield pictures as rows of a table, its head first."""
    yield (
        "url",
        "captured",
        "caption",
        "width",
        "height",
        "format",
        "taken",
        "camera",
        "text recognised",
        "alike",
        "record",
    )
    for at in range(0, len(entries), 100):
        for each in shown_pictures(enriched, [(entry, 0) for entry in entries[at : at + 100]]):
            told = (each.facts.get(name, "") for name in ("width", "height", "format", "taken", "camera"))
            yield each.url, each.captured, each.caption, *told, each.text, each.group, each.capture


def _shown(enriched: Enriched, entry: GalleryEntry, alike: int) -> PictureShown | None:
    said = [each for each in enriched.annotations.of_capture(entry.capture) if each.annotator == _MEDIA]
    own = next((each for each in said if dict(each.values).get("medium") == "picture"), None)
    if own is None:
        return None
    told = dict(own.values)
    recognised = next((each for each in said if dict(each.values).get("recognised-by")), None)
    page = told.get(SAID_BY, "")
    return PictureShown(
        capture=entry.capture,
        url=told.get("url", ""),
        site=entry.site,
        captured=told.get("captured", ""),
        caption=told.get("caption", ""),
        page=page if page and _is_indexed(enriched.pages, page) else "",
        indexed=_is_indexed(enriched.pages, entry.capture),
        facts={name: value for name, value in told.items() if name not in (SAID_BY, "url", "captured", "caption")},
        text=recognised.quote if recognised is not None else "",
        recognised_by=dict(recognised.values)["recognised-by"] if recognised is not None else "",
        group=entry.group,
        alike=alike,
    )


def _is_indexed(pages: Asked, record: str) -> bool:
    return pages.base.execute("SELECT 1 FROM capture WHERE record = ?", (record,)).fetchone() is not None


def _counted(names: Iterator[str]) -> dict[str, int]:
    counts: dict[str, int] = {}
    for name in names:
        if name:
            counts[name] = counts.get(name, 0) + 1
    return dict(sorted(counts.items(), key=lambda item: (-item[1], item[0])))


@dataclass
class ShrunkenPictures:
    """Shrinks archived pictures in a process of its own, which a hostile file can crash at worst. Thread-safe.

    The result is a newly made JPEG with nothing of the file but its colours. It is kept with the crawl's indexes, which
    a takedown deletes.
    """

    _pool: ProcessPoolExecutor | None = None
    _waiting: int = 0
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def picture(self, indexes: PageIndexes, crawl: Crawl, record: str, size: str) -> bytes:
        """Return an archived picture in small. Raise ``ProblemError`` where there is none, ``PicturesBusyError``."""
        name = record if ":" in record else f"urn:uuid:{record}"
        place, folder = _place(indexes, crawl, name)
        key = f"{name}#{size}"
        made = kept_picture(folder, key)
        if made is None:
            with self._lock:
                if self._waiting >= MAX_WAITING:
                    raise PicturesBusyError
                self._waiting += 1
            try:
                made = self._made(_body(folder, place), SIDES[size])
            finally:
                with self._lock:
                    self._waiting -= 1
            _place(indexes, crawl, name)  # It may have been taken down meanwhile.
            if made is not None:
                with suppress(OSError):  # Where the folder cannot be written to, pictures are made each time.
                    keep_picture(folder, key, made)
        if not made:
            raise ProblemError(NO_PICTURE, "the archive does not hold it whole, or it cannot be decoded")
        return made

    def close(self) -> None:
        """End the process."""
        with self._lock:
            pool, self._pool = self._pool, None
        if pool is not None:
            pool.shutdown(wait=False, cancel_futures=True)

    def _made(self, body: bytes, side: int) -> bytes | None:
        """Return a JPEG; empty if the file cannot be decoded, None if that could not be determined."""
        if not body:
            return None
        try:
            from offline.enrichment import media_metadata  # noqa: PLC0415 (an extra has what it needs)
        except ModuleNotFoundError:
            return None
        with self._lock:
            if self._pool is None:
                self._pool = own_processes(1, media_metadata.limit)
            pool = self._pool
        try:
            return pool.submit(media_metadata.in_small_within_limits, body, side).result()
        except BrokenProcessPool:  # It was this file, or another one before it.
            with self._lock:
                if self._pool is pool:
                    self._pool = None
            return None


def _place(indexes: PageIndexes, crawl: Crawl, record: str) -> tuple[CapturePlace, Path]:
    """Return where a picture is. Raise ``ProblemError`` where nothing is known of it, as after a takedown."""
    with indexes.asked(crawl, AnnotationIndex) as asked:
        for said in Annotations(asked.base).of_capture(record):
            told = dict(said.values)
            if said.kind is About.MEDIUM and told.get("medium") == "picture" and told.get("captured"):
                return CapturePlace(record, told["url"], told["captured"]), asked.folder
    raise ProblemError(NO_PICTURE, "no picture of this crawl has this id")


def _body(folder: Path, place: CapturePlace) -> bytes:
    """Return the bytes of a picture, none where they are not kept whole."""
    exchange = exchange_of(folder, place)
    if exchange is None:
        return b""
    with closing(exchange):
        page = replayed(exchange, _MAX_PICTURE_BYTES, as_sent=True)
    return page.body if page is not None and page.complete else b""
