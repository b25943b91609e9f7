"""Packages and collections in the cockpit: made as jobs, handed out in parts, and edited."""

import io
import json
import re
from zipfile import ZipFile

import pytest

from aahcrawler.crawl_collections import CollectionFile
from aahcrawler.layout import ARCHIVE, EXPORTS, TOMBSTONES
from aahcrawler.service.cockpit.site import COOKIE
from tests.cockpit.cockpit_browser import OPERATOR, READER, Cockpit
from tests.cockpit.shown_crawl import CRAWL
from tests.crawl.crawling import until
from tests.service.asking import Reply

pytestmark = pytest.mark.starts

HERE = f"/crawls/{CRAWL}"


class Visitor:
    """Somebody with a session."""

    def __init__(self, cockpit: Cockpit, token: str) -> None:
        self.cockpit, self.cookie = cockpit, cockpit.entered(token)

    def post(self, path: str, **fields: str) -> Reply:
        return self.cockpit.post(path, {"secret": self.cockpit.form_secret(self.cookie), **fields}, self.cookie)

    def ask(self, path: str, **headers: str) -> Reply:
        return self.cockpit.ask("GET", path, Cookie=f"{COOKIE}={self.cookie}", **headers)

    def text(self, path: str) -> str:
        return self.ask(path).body.decode()


def made(visitor: Visitor, path: str) -> str:
    """Have a package made, and return the page that offers it."""
    begun = visitor.post(f"{path}/package")
    assert begun.status == 303
    page = begun.headers["location"]
    job = page.rpartition("job=")[2]
    until(lambda: "data-again" not in visitor.text(f"{path}/package/{job}"))
    return visitor.text(page)


def test_a_package_is_made_and_handed_out_in_parts(shown: Cockpit) -> None:
    operator, reader = Visitor(shown, OPERATOR), Visitor(shown, READER)
    assert reader.post(f"{HERE}/package").status == 403
    assert reader.ask(f"{HERE}/files/archive.wacz").status == 409
    page = made(operator, HERE)
    assert re.search(r"made .*, with \d+ pages and \d+ captures", page)
    whole = reader.ask(f"{HERE}/files/archive.wacz")
    assert (whole.status, whole.headers["accept-ranges"]) == (200, "bytes")
    assert whole.headers["content-disposition"] == f'attachment; filename="{CRAWL}.wacz"'
    with ZipFile(io.BytesIO(whole.body)) as package:
        names = {path.name for path in (shown.place / CRAWL / ARCHIVE).glob("*.warc.gz")}
        assert {f"archive/{name}" for name in names} <= set(package.namelist())
    part = reader.ask(f"{HERE}/files/archive.wacz", Range="bytes=10-29")
    assert (part.status, part.body) == (206, whole.body[10:30])
    assert part.headers["content-range"] == f"bytes 10-29/{len(whole.body)}"
    assert reader.ask(f"{HERE}/files/archive.wacz", Range="bytes=-22").body == whole.body[-22:]
    beyond = reader.ask(f"{HERE}/files/archive.wacz", Range=f"bytes={len(whole.body)}-")
    assert (beyond.status, beyond.headers["content-range"]) == (416, f"bytes */{len(whole.body)}")
    assert [path.name for path in (shown.place / CRAWL / EXPORTS).glob("*.wacz")] == [f"{CRAWL}.wacz"]


def test_a_package_is_not_offered_once_something_was_taken_down(shown: Cockpit) -> None:
    operator, stones = Visitor(shown, OPERATOR), shown.place / CRAWL / TOMBSTONES
    made(operator, HERE)
    before = stones.read_bytes() if stones.exists() else None
    stones.write_bytes(before or b"")
    try:
        assert operator.ask(f"{HERE}/files/archive.wacz").status == 409
        assert "Make the file" in operator.text(f"{HERE}/manage")
    finally:
        if before is None:
            stones.unlink()


def test_a_collection_is_made_described_packed_and_deleted(shown: Cockpit) -> None:
    operator, reader = Visitor(shown, OPERATOR), Visitor(shown, READER)
    assert reader.post("/collections", name="floods", title="Floods").status == 403
    assert operator.post("/collections", name="floods", title="Floods").headers["location"] == "/collections/floods"
    here = "/collections/floods"
    assert operator.post(f"{here}/acts/add", folder=CRAWL).status == 303
    assert operator.post(f"{here}/acts/add", folder="../elsewhere").status == 422
    fields = {"title": "The floods", "creator": "City Archive\nIts friends", "date": "2024-05", "language": "de"}
    assert operator.post(f"{here}/acts/describe", **fields).status == 303
    mistaken = operator.post(f"{here}/acts/describe", **{**fields, "date": "in May"})
    assert (mistaken.status, b"write a year" in mistaken.body) == (422, True)
    file = CollectionFile(shown.place / "floods")
    assert (file.read().creator, file.read().crawls) == (("City Archive", "Its friends"), (CRAWL,))
    file.change({"crawls": [CRAWL, "was-here"]})
    page = reader.text(here)
    assert "The floods" in page
    assert "No crawl lies in this folder any more." in page
    assert "1 crawl gone" in reader.text("/collections")
    pages = re.findall(r"<dt>Pages</dt><dd>([\d,]+)", page)
    _, _, listed = reader.text("/").partition(f'<span class="mono">{CRAWL}</span>')
    assert pages == re.findall(r"<dt>Pages</dt><dd>([\d,]+)", listed)[:1]
    made(operator, here)
    package = reader.ask(f"{here}/collection.wacz")
    with ZipFile(io.BytesIO(package.body)) as packed:
        said = json.loads(packed.read("datapackage.json"))
    assert (said["title"], said["dublinCore"]["date"]) == ("The floods", ["2024-05"])
    assert operator.post(f"{here}/acts/remove", folder="was-here").status == 303
    assert operator.post(f"{here}/acts/delete").headers["location"] == "/collections"
    assert reader.ask(here).status == 404
    assert (shown.place / CRAWL).is_dir()


def test_a_file_with_mistakes_is_told_with_its_places(shown: Cockpit) -> None:
    reader, path = Visitor(shown, READER), shown.place / "odd.collection.yaml"
    path.write_text("title: Odd\nlanguage: [a language]\nmaker: me\n")
    try:
        page = reader.text("/collections/odd")
        assert "language.0: is no language tag; write a code" in page
        assert "maker: is no field of a collection" in page
        assert "its file has mistakes" in reader.text("/collections")
    finally:
        path.unlink()
