"""Pictures, sound and film of an archive are annotated once each, with what pages say of them."""

import gzip
import hashlib
import io
import shutil
import sys
from base64 import b32encode
from collections.abc import Iterator
from pathlib import Path
from random import Random

import pytest
from PIL import Image, ImageDraw

from aahcrawler.annotations import SAID_BY, Annotation, Kind, annotations_of
from aahcrawler.layout import ANNOTATIONS, INDEXES, NQUADS
from aahcrawler.segments import open_segment, segments
from aahcrawler.takedown.removal import WantedRemoval, remove
from aahcrawler.webobject import Reference, Value, WebObject
from offline.enrichment import media
from offline.enrichment.enriching import StepResult, enrich
from offline.enrichment.media_metadata import describe
from offline.enrichment.steps import MissingLibraryError, chosen_steps
from tests.enrichment.archives import define
from tests.imports.archives import Written, imported, members, pages, record
from tests.offline.crawls import capture, writer
from tests.offline.shapes import violations

MILL, COPY, NAMELESS = "http://dikes.test/mill.jpg", "http://dikes.test/copy.jpg", "http://dikes.test/lock.png"
ALBUM = "http://forum.test/t/1"


class Reading(media.MediaReader):
    """Reads in this process."""

    def read(self, body: bytes) -> dict[str, str]:
        return describe(body)


@pytest.fixture(autouse=True)
def _in_process(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(media, "MediaReader", Reading)
    monkeypatch.setenv("PATH", "")


def drawn(seed: int, quality: int = 90) -> bytes:
    rng, picture, file = Random(seed), Image.new("RGB", (200, 160), "white"), io.BytesIO()
    pen = ImageDraw.Draw(picture)
    for _ in range(12):
        left, top = rng.randrange(160), rng.randrange(120)
        pen.rectangle((left, top, left + rng.randrange(9, 90), top + rng.randrange(9, 90)), fill=rng.randrange(1 << 24))
    picture.save(file, "JPEG", quality=quality)
    return file.getvalue()


def answer(number: int, url: str, body: bytes, media_type: str = "image/jpeg", status: str = "200 OK") -> Written:
    head = f"HTTP/1.1 {status}\r\nContent-Type: {media_type}\r\nContent-Length: {len(body)}\r\n\r\n".encode()
    digest = "sha1:" + b32encode(hashlib.sha1(body, usedforsecurity=False).digest()).decode()
    return record(number, head + body, url=url, WARC_Payload_Digest=digest)


@pytest.fixture
def crawl(tmp_path: Path) -> Path:
    """Import pictures by reference, and state what a page shows of one of them."""
    root, file = tmp_path / "crawl", tmp_path / "others.warc.gz"
    define(root)
    found = [
        *pages(2),
        answer(3, MILL, drawn(1)),
        answer(4, MILL, drawn(1)),
        answer(5, COPY, drawn(1, 40)),
        answer(6, NAMELESS, drawn(2), "application/octet-stream"),
        answer(7, "http://dikes.test/gone.jpg", b"gone", status="404 Not Found"),
        answer(8, "http://dikes.test/no.jpg", b"no picture"),
        answer(50, ALBUM, b"<title>Mills</title>", "text/html"),
    ]
    file.write_bytes(members(found))
    imported(root, file, by_reference=True)
    shown: dict[str, tuple[Value, ...]] = {"title": ("The mill in spring",), "media": (Reference(MILL),)}
    with writer(root) as objects:
        objects.write(capture(50, 1), [WebObject(f"{ALBUM}#mill", "photo", ALBUM, shown, ALBUM)])
    return root


def run(crawl: Path, *names: str, processes: int = 1) -> list[StepResult]:
    return list(enrich(crawl, chosen_steps(names or ("media", "look-alikes")), processes=processes))


def said(crawl: Path, annotator: str = "media") -> list[Annotation]:
    with annotations_of(crawl) as annotations:
        return [each for each in annotations if each.annotator == annotator]


def written(crawl: Path) -> Iterator[bytes]:
    for path in segments(crawl / ANNOTATIONS, NQUADS):
        with open_segment(path) as file:
            yield gzip.decompress(file.read())


def test_each_picture_is_annotated_once_as_the_object_whose_file_it_is(crawl: Path) -> None:
    done, alike = run(crawl)
    assert (done.captures, done.done.objects, done.done.annotations, done.done.failures) == (4, 4, 3, 0)
    assert done.notes == ("text in pictures: not read; install the program tesseract, or the extra `ocr`",)
    told = {each.object: each for each in said(crawl)}
    mill = told.pop(f"{ALBUM}#mill")
    assert (mill.kind, mill.label, mill.capture) == (Kind.MEDIUM, "The mill in spring", record(3, b"").record_id)
    assert dict(mill.values)[SAID_BY] == capture(50).iri
    assert (dict(mill.values)["url"], dict(mill.values)["captured"]) == (MILL, "2011-02-03T04:03:06+00:00")
    assert {(iri, each.capture, each.label) for iri, each in told.items()} == {
        (record(number, b"").record_id, record(number, b"").record_id, name)
        for number, name in ((5, "copy.jpg"), (6, "lock.png"))
    }
    assert alike.done.annotations == 2
    assert {each.object for each in said(crawl, "look-alikes")} == {f"{ALBUM}#mill", record(5, b"").record_id}
    assert all(violations(each) == [] for each in written(crawl))


def test_only_what_is_new_is_read_again(crawl: Path, tmp_path: Path) -> None:
    run(crawl)
    assert [each.captures for each in run(crawl)] == [0, 0]
    more = tmp_path / "more.warc.gz"
    more.write_bytes(members([answer(9, MILL, drawn(3))]))
    imported(crawl, more)
    done, _ = run(crawl)
    assert (done.captures, done.done.annotations) == (1, 1)
    assert len(said(crawl)) == 4


def test_what_a_page_said_of_a_picture_goes_with_the_page(crawl: Path) -> None:
    run(crawl)
    remove(crawl, WantedRemoval(urls=(ALBUM,)), "Ida", "asked for")
    assert all(b"The mill in spring" not in each for each in written(crawl))
    assert f"{ALBUM}#mill" not in {each.object for each in said(crawl)}
    run(crawl)
    assert {each.label for each in said(crawl)} == {"mill.jpg", "copy.jpg", "lock.png"}
    remove(crawl, WantedRemoval(urls=(MILL,)), "Ida", "asked for")
    run(crawl)
    assert {each.label for each in said(crawl)} == {"copy.jpg", "lock.png"}


@pytest.mark.slow
@pytest.mark.starts
def test_several_processes_say_the_same_and_end(crawl: Path) -> None:
    run(crawl, "media")
    alone = said(crawl)
    shutil.rmtree(crawl / ANNOTATIONS)
    shutil.rmtree(crawl / INDEXES)
    run(crawl, "media", processes=2)
    assert said(crawl) == alone


def test_a_step_without_its_libraries_is_left_out(crawl: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "imagehash", None)
    for name in ("offline.enrichment.media", "offline.enrichment.media_metadata"):
        monkeypatch.delitem(sys.modules, name)
    with pytest.raises(MissingLibraryError, match="rests on imagehash"):
        run(crawl, "media")
    (left,) = enrich(crawl, chosen_steps(("media",)), leave_out=True)
    assert left.is_left_out
