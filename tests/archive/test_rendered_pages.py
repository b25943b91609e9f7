"""What a browser made of a page: records of their own beside its response, found again by all who read the archive."""

import gzip
import json
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import pytest

from aahcrawler.archive.checking import Tally, check
from aahcrawler.archive.history import History, HistoryRecord
from aahcrawler.archive.index import IndexWriter, rebuild
from aahcrawler.archive.records import Original, Resource
from aahcrawler.archive.writer import WarcWriter, WrittenCapture
from aahcrawler.captures import ArchivedCaptures, shown_pages
from aahcrawler.exchange import Exchange, Rendered
from aahcrawler.metadata import Metadata, write_metadata
from aahcrawler.segments import DiskFullError
from aahcrawler.wire.replay import replayed
from tests.archive.exchanges import INFO, exchange_of, identity, page_exchange, places, read_back, written_at
from tests.archive.test_segments import files_up_to
from tests.archive.test_writer import only_file
from tests.crawl.verifying import warcio_check

URL = "http://forum.test/thread?id=1"
SHELL = b"<div id=app></div><script src=/app.js></script>"
DOM = b"<html><body><p>Made by <a href='next'>scripts</a></body></html>"


def made(url: str = URL, dom: bytes = DOM, at: str = "") -> tuple[Resource, ...]:
    """Return what a browser makes of a page, the ids of the records being told by the document."""
    number = sum(dom) % 1000
    return (
        Resource.rendered_dom(url, dom, at, record_id=f"urn:uuid:00000000-0000-4000-9000-{number:012d}"),
        Resource.screenshot(url, b"\x89PNG" + dom),
        Resource.thumbnail(url, b"\xff\xd8" + dom),
    )


def shell(url: str = URL) -> Exchange:
    return replace(page_exchange(SHELL), url=url)


def records(path: Path) -> list[tuple[dict[str, str], bytes]]:
    found = []
    for text in gzip.decompress(path.read_bytes()).split(b"WARC/1.1\r\n")[1:]:
        head, _, block = text.partition(b"\r\n\r\n")
        fields = dict(line.split(": ", 1) for line in head.decode().split("\r\n"))
        found.append((fields, block.removesuffix(b"\r\n\r\n")))
    return found


def test_they_are_records_of_their_own_that_never_stand_for_the_answer(tmp_path: Path) -> None:
    asked = replace(shell(), resource_type="Document", initiator="other")
    with WarcWriter(tmp_path, INFO, identity=identity()) as writer:
        capture = writer.write(asked, metadata=write_metadata(Metadata(url=URL)), resources=made())
    found = records(only_file(tmp_path))
    kinds = [fields["WARC-Type"] for fields, _ in found]
    assert kinds == ["warcinfo", "response", "request", "metadata", *["resource"] * 3]
    assert [fields.get("WARC-Resource-Type") for fields, _ in found[1:4]] == ["document", "document", None]
    assert [(fields["WARC-Target-URI"], fields["Content-Type"], block) for fields, block in found[4:]] == [
        (f"urn:dom:{URL}", "text/html;charset=utf-8", DOM),
        (f"urn:view:{URL}", "image/png", b"\x89PNG" + DOM),
        (f"urn:thumbnail:{URL}", "image/jpeg", b"\xff\xd8" + DOM),
    ]
    for fields, _ in found[4:]:
        assert fields["WARC-Concurrent-To"] == f"<{capture.record_id}>"
        assert fields["WARC-Date"] == capture.warc_date
        assert fields["WARC-Payload-Digest"] == fields["WARC-Block-Digest"]
        assert "WARC-Refers-To" not in fields  # WARC 1.1, section 5.11
    places = [each.offset for each in capture.resources]
    whole = only_file(tmp_path).read_bytes()
    assert [gzip.decompress(whole[begin:])[:40].split(b"\r\n")[1] for begin in places] == [b"WARC-Type: resource"] * 3
    assert warcio_check(only_file(tmp_path)).code == 0
    tally = Tally()
    assert list(check(only_file(tmp_path), tally)) == []
    assert tally.records == 7


def test_all_of_them_are_written_or_none(tmp_path: Path) -> None:
    with WarcWriter(tmp_path, INFO) as writer:
        writer.write(shell())
        path = next(tmp_path.glob("*.open"))
        before = path.read_bytes()
        large = Resource.screenshot(URL, bytes(range(256)) * 200)
        with files_up_to(len(before) + 3000), pytest.raises(DiskFullError):
            writer.write(shell(), resources=(*made(), replace(large, block=_noise())))
        assert path.read_bytes() == before
        assert len(writer.write(shell(), resources=made()).resources) == 3


def _noise() -> bytes:
    state, found = 1, bytearray()
    for _ in range(20_000):
        state = state * 1103515245 + 12345 & 0x7FFFFFFF
        found.append(state >> 16 & 255)
    return bytes(found)


def test_the_index_has_them_under_their_names_also_when_it_is_made_again(tmp_path: Path) -> None:
    files, folder = tmp_path / "archive", tmp_path / "indexes"
    index = IndexWriter(files, folder)
    with WarcWriter(files, INFO, index=index) as writer:
        writer.write(shell(), metadata=b"{}", resources=made())
        writer.write(page_exchange(b"next"))
    index.close()
    lines = (folder / "index.cdxj").read_text().splitlines()
    assert rebuild(files, tmp_path / "other").read_text().splitlines() == lines
    told = {line.split(" ")[0]: json.loads(line.split(" ", 2)[2]) for line in lines if line.startswith("urn:")}
    assert {key: (said["url"], said["mime"]) for key, said in told.items()} == {
        f"urn:dom:{URL}": (f"urn:dom:{URL}", "text/html"),
        f"urn:view:{URL}": (f"urn:view:{URL}", "image/png"),
        f"urn:thumbnail:{URL}": (f"urn:thumbnail:{URL}", "image/jpeg"),
    }
    assert len(lines) == 5


def test_a_page_is_read_as_it_was_read_then(tmp_path: Path) -> None:
    with WarcWriter(tmp_path, INFO) as writer:
        capture = writer.write(shell(), resources=made(at="http://forum.test/shown/here"))
        ((again, exchange),) = read_back(tmp_path)
    assert places([again]) == written_at([capture])
    assert again.has_document
    with closing(exchange):
        page, sent = replayed(exchange), replayed(exchange, as_sent=True)
    assert page is not None
    assert sent is not None
    assert (page.body, page.rendered, page.media_type, page.encoding) == (DOM, True, "text/html", "utf-8")
    assert (page.url, page.base_url, page.status) == (URL, "http://forum.test/shown/here", 200)
    assert page.headers.get("X-Twice") == "a"
    assert (sent.body, sent.rendered, sent.base_url) == (SHELL, False, URL)
    cut = page.as_rendered(DOM, most=10)
    assert (cut.body, cut.complete, page.complete) == (DOM[:10], False, True)


class Known:
    """A crawl whose pages are all the same shell."""

    def __init__(self, folder: Path) -> None:
        self.files, self.folder = folder / "archive", folder / "indexes"
        self.history = History(self.files, self.folder)
        self.writer = WarcWriter(self.files, INFO, size=1)

    def write(
        self, exchange: Exchange, resources: tuple[Resource, ...], original: Original | None = None
    ) -> WrittenCapture:
        original = original or self.history.original(exchange.payload_digest)
        said = Metadata(url=exchange.url, priority=0.5)
        capture = self.writer.write(exchange, original=original, metadata=write_metadata(said), resources=resources)
        self.history.add(HistoryRecord.of(capture, exchange, 1, original=original, metadata=said))
        return capture

    def rendered(self, url: str) -> Rendered | None:
        former = self.history.former(url)
        assert former is not None
        exchange = self.history.exchange(former)
        assert exchange is not None
        with closing(exchange):
            assert exchange.response.read().endswith(SHELL)
            return exchange.rendered

    def reopen(self) -> None:
        """Make the history anew from the files."""
        self.history.close()
        for path in self.folder.glob("history*"):
            path.unlink()
        self.history = History(self.files, self.folder)

    def close(self) -> None:
        self.writer.close()
        self.history.close()


def test_each_url_of_one_shell_has_a_document_of_its_own(tmp_path: Path) -> None:
    other, plain = "http://forum.test/other", "http://forum.test/plain"
    with closing(Known(tmp_path)) as known:
        assert not known.write(shell(), made()).revisit
        assert known.write(shell(other), made(other, b"<p>other")).revisit
        known.write(shell(plain), ())
        unmodified = exchange_of(b"HTTP/1.1 304 Not Modified\r\n\r\n", url=URL)
        former = known.history.former(URL)
        assert former is not None
        for again in (False, True):
            if again:
                known.reopen()
            ours, others = known.rendered(URL), known.rendered(other)
            assert ours is not None
            assert others is not None
            assert (ours.dom, others.dom) == (DOM, b"<p>other")
            assert known.rendered(plain) is None
        assert known.write(unmodified, (), former.original).revisit
        kept = known.rendered(URL)
        assert kept == ours  # The newest capture has none of its own.
        newest = known.write(replace(unmodified), made(URL, b"<p>newer"), former.original)
        for again in (False, True):
            if again:
                known.reopen()
            kept = known.rendered(URL)
            assert kept is not None
            assert newest.rendered is not None
            assert (kept.dom, kept.record_id) == (b"<p>newer", newest.rendered.record_id)
    with ArchivedCaptures(tmp_path / "archive") as source:
        shown = [(page.url, page.body) for page in shown_pages(source)]
    # Of what the server says to be unchanged, what the browser made of it is a page by itself.
    assert shown == [(URL, DOM), (other, b"<p>other"), (URL, b"<p>newer")]


def test_a_document_that_is_damaged_or_another_one_is_not_shown(tmp_path: Path) -> None:
    with closing(Known(tmp_path)) as known:
        capture = known.write(shell(), made())
        known.write(shell("http://forum.test/b"), ())
        former = known.history.former(URL)
        assert former is not None
        assert former.rendered
        picture = capture.resources[1]
        assert known.history.rendered(replace(former, document_offset=picture.offset)) is None
        assert known.history.rendered(replace(former, document_of="urn:uuid:1")) is None
        path = known.files / capture.file
        path.write_bytes(path.read_bytes()[: capture.resources[0].offset + 40])
        assert known.history.rendered(former) is None
        assert known.rendered(URL) is None  # What the server sent is still there.
