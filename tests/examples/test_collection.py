"""The demo of a collection: its archives are the same ones every time, and a crawl of them is as its user sees it."""

import re
from pathlib import Path
from shutil import copyfile

import pytest
from warcio.archiveiterator import ArchiveIterator

from aahcrawler.report import read_collection
from examples import collection
from examples.serve import WORLD


def test_archives_hold_each_capture_whole_and_the_same_ones_every_time(tmp_path: Path) -> None:
    collection.write_archives(WORLD, tmp_path / "one")
    collection.write_archives(WORLD, tmp_path / "two")
    for holdings in (collection.LIBRARY, collection.MUSEUM):
        assert len({(tmp_path / name / holdings.file).read_bytes() for name in ("one", "two")}) == 1
    with (tmp_path / "one" / collection.LIBRARY.file).open("rb") as file:
        urls = {record.rec_headers["WARC-Target-URI"] for record in ArchiveIterator(file) if record.content_stream()}
    assert "http://coastcourier.example/" in urls
    assert 0.6 < len(urls) / 597 < 0.8


@pytest.mark.slow
def test_a_collection_comes_out_of_both_archives(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    definition = tmp_path / collection.DEFINITION.name
    definition.write_text(collection.DEFINITION.read_text("utf-8").replace("pages: 150", "pages: 60"), "utf-8")
    copyfile(collection.DEFINITION.parent / "reference.txt", tmp_path / "reference.txt")
    monkeypatch.setattr(collection, "DEFINITION", definition)
    monkeypatch.chdir(tmp_path)
    assert collection.main() == 0
    crawl = Path("crawls/demo-collection")
    found = read_collection(crawl)
    assert {each.archive for each in found.contributions} == {collection.LIBRARY.file, collection.MUSEUM.file}
    assert len(found.relevant) > 20
    assert len(found.depths) > 2
    told = capfd.readouterr().out
    assert re.search(rf"Collected  {len(found.pages)} pages of 2 archives, {len(found.relevant)} relevant", told)
    shown = (crawl / "report.html").read_text("utf-8")
    assert str(crawl / "report.html") in told
    for heading in ("Relevance gathered, over time", "Contribution of each archive", "deepest relevant page"):
        assert heading in shown
