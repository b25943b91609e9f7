"""An entry is taught between two crawls of a folder: what it finds since is no edit, wherever changes are told."""

import os
import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from urllib.parse import quote

import pytest

from aahcrawler.objects.capture_statements import ObjectRow
from aahcrawler.objects.reader import object_changes, object_rows
from aahcrawler.service.api.app import ServiceSettings
from aahcrawler.service.catalog.crawl_catalog import Catalog
from aahcrawler.service.cockpit.site import Pages
from aahcrawler.service.views.object_list import object_history
from aahcrawler.service.views.page_indexes import PageIndexes
from tests.adaptation.redesigned import Post, old, posts, thread
from tests.crawl.crawling import aah, running, write_icd
from tests.crawl.site import Reply, Site
from tests.crawl.site import serving as serving_site
from tests.crawl.test_learned import FORUM
from tests.service.asking import Service, serving

AUTHOR = '      <field name="author" kind="person"><select css=".who"/></field>\n'
UNTAUGHT = FORUM.replace(AUTHOR, "").replace('<select css=".said"/>', '<select css=".said"/><select css="b"/>')
EDITED = "Somebody has written something else here, and more of it."


@dataclass(frozen=True)
class Taught:
    """A folder crawled by an entry that knows no authors, and again by one that does; one post was edited between."""

    folder: Path
    posts: tuple[Post, ...]
    said: str

    def object_of(self, post: Post) -> ObjectRow:
        (found,) = (row for row in object_rows(self.folder) if row.iri.endswith(f"p{post.number}"))
        return found


def shown(*wanted: Post) -> Reply:
    return Reply(thread(1, old, wanted).body, headers={"Content-Type": "text/html; charset=utf-8"})


@pytest.fixture(scope="module")
def taught(tmp_path_factory: pytest.TempPathFactory) -> Taught:
    root = tmp_path_factory.mktemp("taught")
    entry = root / "known" / "applications" / "harbour.xml"
    entry.parent.mkdir(parents=True)
    assert AUTHOR in FORUM
    first, second, third = posts(1, 3)
    site = Site({"/thread?t=1": shown(first, second, third)})
    with serving_site(site):
        definition = write_icd(root, f"{site.url}thread?t=1")
        environment = {**os.environ, "AAH_KNOWLEDGE_BASE": str(root / "known")}
        for text, now in ((UNTAUGHT, second), (FORUM, replace(second, body=EDITED))):
            entry.write_text(text, "utf-8")
            site.pages["/thread?t=1"] = shown(first, now, third)
            with running("crawl", definition, environment=environment) as process:
                ended = process.ended()
    return Taught(root / "crawl", (first, second, third), ended.err)


@pytest.fixture(scope="module")
def service(taught: Taught) -> Iterator[Service]:
    with serving(ServiceSettings(Catalog([taught.folder]))) as opened:
        yield opened


def test_the_entry_finds_more_than_before(taught: Taught) -> None:
    assert [row.author is not None for row in object_rows(taught.folder)] == [True] * 3
    assert "0 unchanged, 1 changed" not in taught.said


def test_one_object_is_told_as_edited_and_none_as_added_or_deleted(taught: Taught) -> None:
    found = object_changes(taught.folder, 2)
    assert (found.added, found.edited, found.deleted) == (0, 1, 0)
    report = (taught.folder / "report.html").read_text("utf-8")
    for name, number in (("added", 0), ("edited", 1), ("deleted", 0)):
        assert re.search(rf"web objects {name}.{{0,200}}?\b{number}\b", report, re.DOTALL)
    assert not any(row.deleted for row in object_rows(taught.folder))


def test_the_service_tells_what_only_the_reader_changed(taught: Taught, service: Service) -> None:
    first, second, _ = taught.posts
    for post, fields in ((first, set()), (second, {"body"})):
        iri = quote(taught.object_of(post).iri, safe="")
        newest, oldest = service.get(f"/v1/crawls/test/objects/versions?iri={iri}").json["versions"]
        assert {change["field"] for change in newest["changes"]} >= fields
        assert bool(newest["changes"]) is bool(fields)
        assert ("author" in {change["field"] for change in newest["read_otherwise"]}) is not bool(fields)
        assert not oldest["changes"]


def test_the_cockpit_says_so_in_words(taught: Taught) -> None:
    first, second, _ = taught.posts
    (crawl,) = Catalog([taught.folder]).crawls()
    indexes = PageIndexes()
    pages = Pages({"address": lambda *_, **__: "", "replay_origin": "", "secret": ""})
    try:
        for post, words in ((first, "read it otherwise"), (second, "body changed")):
            with indexes.asked(crawl) as asked:
                history = object_history(asked, taught.object_of(post).iri)
            values = {"crawl": crawl, "history": history, "session": None, "said": None, "tabs": ()}
            assert words in pages.text("object.html", values)
    finally:
        indexes.close()


def test_a_query_for_edits_finds_the_one(taught: Taught) -> None:
    ended = aah("query", taught.folder, "--ready", "edited-posts", "--format", "csv")
    assert ended.code == 0, ended.err
    assert EDITED in ended.out
    assert ended.out.count("#p") <= 2
