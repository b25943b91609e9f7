"""Annotations go along with the captures that are exported, and come back with them."""

import gzip
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from zipfile import ZipFile

import pytest

from aahcrawler.annotations import Annotation, annotations_of
from aahcrawler.captures import ArchivedCaptures
from aahcrawler.layout import ANNOTATIONS
from offline.enrichment.enriching import enrich
from offline.export.wacz_export import WantedPages, export
from tests.enrichment.annotators import FREQUENT, WORDS
from tests.enrichment.archives import define
from tests.imports.archives import imported, members, pages
from tests.offline.crawls import capture, post, writer

TEXTS = "the water is up", "under water again", "a quiet night"


@pytest.fixture
def crawl(tmp_path: Path) -> Path:
    crawl, file = tmp_path / "crawl", tmp_path / "others.warc.gz"
    file.write_bytes(members(pages(len(TEXTS))))
    imported(crawl, file)
    define(crawl)
    with writer(crawl) as objects:
        for number, (record, text) in enumerate(zip(records(crawl), TEXTS, strict=True), 1):
            page = replace(capture(number), iri=record, url=f"http://dikes.test/{number}")
            objects.write(page, [post(number, 1, "ann", text)])
    list(enrich(crawl, [WORDS, FREQUENT]))
    return crawl


def records(crawl: Path) -> Iterator[str]:
    with ArchivedCaptures(crawl) as source:
        yield from (each.record_id for each in source.captures())


def said(crawl: Path) -> list[Annotation]:
    with annotations_of(crawl) as annotations:
        return list(annotations)


def test_annotations_come_back_from_a_package(crawl: Path, tmp_path: Path) -> None:
    export([crawl], WantedPages(), tmp_path / "whole.wacz")
    assert imported(tmp_path / "back", tmp_path / "whole.wacz")[1] == []
    assert said(tmp_path / "back") == said(crawl) != []
    imported(tmp_path / "back", tmp_path / "whole.wacz")
    assert said(tmp_path / "back") == said(crawl)


def test_of_chosen_pages_go_along_only_those_that_rest_on_them(crawl: Path, tmp_path: Path) -> None:
    chosen = list(records(crawl))[1]
    export([crawl], WantedPages(records=[chosen]), tmp_path / "one.wacz")
    imported(tmp_path / "back", tmp_path / "one.wacz")
    own = [each for each in said(crawl) if each.capture == chosen and each.annotator == WORDS.name]
    assert said(tmp_path / "back") == own != []
    export([crawl], WantedPages(annotations=False), tmp_path / "bare.wacz")
    assert not any(name.startswith(ANNOTATIONS) for name in ZipFile(tmp_path / "bare.wacz").namelist())


def test_what_is_no_annotation_is_told_and_what_was_said_here_stays(crawl: Path, tmp_path: Path) -> None:
    export([crawl], WantedPages(), tmp_path / "whole.wacz")
    with ZipFile(tmp_path / "whole.wacz") as whole, ZipFile(tmp_path / "odd.wacz", "w") as odd:
        for name in whole.namelist():
            text = whole.read(name)
            odd.writestr(name, text if not name.startswith(ANNOTATIONS) else gzip.compress(b"<no> words\n") + text)
    before = said(crawl)
    told = imported(crawl, tmp_path / "odd.wacz")[1]
    assert any(f"{ANNOTATIONS}/" in each.file and "nothing says what made them" in each.why for each in told)
    assert said(crawl) == before
