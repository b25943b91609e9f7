"""Pages of one shell, read again and selected: each by the document that a browser made of it."""

import gzip
from contextlib import closing
from dataclasses import replace
from pathlib import Path

from aahcrawler.archive.records import Resource
from aahcrawler.archive.writer import WarcWriter
from aahcrawler.captures import ArchivedCaptures
from offline.selection.warc_selection import SelectedCaptures
from tests.archive.exchanges import INFO, exchange_of
from tests.archive.test_rendered_pages import DOM, SHELL, Known, made, shell

URL, OTHER, PLAIN = "http://forum.test/thread?id=1", "http://forum.test/other", "http://forum.test/plain"


def body_of(source: ArchivedCaptures, record: str) -> bytes:
    capture = source.of_record(record)
    assert capture is not None
    assert capture.page is not None
    return capture.page.body


def taken(selected: SelectedCaptures, record: str) -> list[str]:
    capture = selected.source.of_record(record)
    assert capture is not None
    return [each.record_id for each in selected.take([capture])]


def resources(selected: SelectedCaptures) -> int:
    return gzip.decompress(b"".join(selected.copies())).count(b"WARC-Type: resource\r\n")


def test_each_capture_is_read_as_it_was_read(tmp_path: Path) -> None:
    with closing(Known(tmp_path)) as known:
        first = known.write(shell(), made())
        other = known.write(shell(OTHER), made(OTHER, b"<p>other"))
        plain = known.write(shell(PLAIN), ())
        unmodified = exchange_of(b"HTTP/1.1 304 Not Modified\r\n\r\n", url=URL)
        original = known.history.original(shell().payload_digest)
        same = known.write(unmodified, (), original)
        changed = known.write(replace(unmodified), made(URL, b"<p>newer"), original)
    with ArchivedCaptures(tmp_path / "archive") as source, SelectedCaptures(source) as selected:
        assert body_of(source, first.record_id) == DOM
        assert body_of(source, other.record_id) == b"<p>other"
        assert body_of(source, plain.record_id) == SHELL
        assert body_of(source, same.record_id) == DOM
        assert body_of(source, changed.record_id) == b"<p>newer"
        # What is selected comes with all that a browser made of it, and with nothing of the others.
        assert taken(selected, other.record_id) == [other.record_id, first.record_id]
        assert resources(selected) == 6
        assert taken(selected, plain.record_id) == [plain.record_id]
        assert resources(selected) == 6


def test_what_the_page_asked_for_is_known(tmp_path: Path) -> None:
    with WarcWriter(tmp_path, INFO) as writer:
        writer.write(shell(), resources=made())
        data = exchange_of(b"HTTP/1.1 200 OK\r\n\r\n[1]", b"[1]", url="http://api.test/posts")
        asked = writer.write(replace(data, resource_type="Fetch", shown_on=URL))
        writer.write(replace(data, shown_on=OTHER))
    with ArchivedCaptures(tmp_path) as source:
        assert [each.record_id for each in source.shown_on(URL)] == [asked.record_id]
        assert list(source.shown_on("")) == []


def test_a_document_of_another_payload_is_none_of_this_one(tmp_path: Path) -> None:
    with WarcWriter(tmp_path, INFO) as writer:
        writer.write(shell(), resources=(Resource.rendered_dom(URL, DOM),))
        changed = writer.write(exchange_of(b"HTTP/1.1 200 OK\r\n\r\n<p>now plain", b"<p>now plain", url=URL))
    with ArchivedCaptures(tmp_path) as source:
        assert body_of(source, changed.record_id) == b"<p>now plain"
