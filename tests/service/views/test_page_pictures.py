"""Small pictures of captured pages, made of the archive alone."""

import sqlite3
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from aahcrawler.layout import INDEXES, PICTURES
from aahcrawler.service.views import page_pictures
from aahcrawler.service.views.page_pictures import PagePictures, Pictured, PicturesBusyError
from tests.browsing import sandboxed_chromium
from tests.replay.archived import MOMENT, URL, Archived

RED = "<style>html { background: #ff0000 }</style><p>text"
GREEN, BLUE = RED.replace("#ff0000", "#00ff00"), RED.replace("#ff0000", "#0000ff")
STYLED = "<link rel=stylesheet href=/style.css><p>text"
SCRIPTED = f"{RED}<script>document.documentElement.style.background = '#0000ff'; document.body.remove()</script>"
OUTSIDE = f"{RED}<img src=http://127.0.0.1:1/pixel alt=''><iframe hidden src=http://other.test/></iframe>"


@pytest.fixture
def pictures(monkeypatch: pytest.MonkeyPatch) -> Iterator[PagePictures]:
    sandboxed_chromium()
    monkeypatch.setattr(page_pictures, "_BOUNDS", replace(page_pictures._BOUNDS, seconds=60.0))
    made = PagePictures()
    yield made
    made.close()


def folder(place: Path, **pages: str) -> Path:
    """Write captures of pages by the last part of their paths."""
    archived = Archived(place / "crawl")
    for name, text in pages.items():
        archived.add(text, url=f"http://a.test/{name}")
    archived.close()
    return place / "crawl"


def of(name: str, moment: str = MOMENT) -> Pictured:
    return Pictured(f"urn:uuid:{name}-{moment}", f"http://a.test/{name}", moment)


def test_pages_are_pictured_without_their_scripts_and_without_the_network(
    tmp_path: Path, pictures: PagePictures
) -> None:
    archived = Archived(tmp_path / "crawl")
    pages = {"red": RED, "green": GREEN, "scripted": SCRIPTED, "outside": OUTSIDE, "styled": STYLED}
    for name, text in pages.items():
        archived.add(text, url=f"http://a.test/{name}")
    archived.add("html { background: #00ff00 }", url="http://a.test/style.css", headers={"Content-Type": "text/css"})
    archived.close()
    seen = {name: pictures.picture(archived.folder, of(name)) for name in pages}
    assert seen["red"] != seen["green"]
    assert seen["scripted"] == seen["outside"] == seen["red"]
    assert seen["styled"] == seen["green"]
    assert pictures.picture(archived.folder, of("missing")) == b""


def test_each_capture_has_the_picture_of_its_moment_which_is_made_once(
    tmp_path: Path, pictures: PagePictures, monkeypatch: pytest.MonkeyPatch
) -> None:
    archived = Archived(tmp_path / "crawl")
    archived.add(RED, url=URL, moment="20200101000000")
    archived.add(BLUE, url=URL, moment="20210101000000")
    archived.close()
    wanted = [Pictured(f"urn:uuid:{year}", URL, f"{year}0101000000") for year in (2020, 2021)]
    made = [pictures.picture(archived.folder, each) for each in wanted]
    assert len(set(made)) == 2
    assert all(each.startswith(b"\xff\xd8") for each in made)
    assert (archived.folder / INDEXES / PICTURES).stat().st_mode & 0o777 == 0o600
    monkeypatch.setattr(page_pictures, "_ArchivedWeb", None)
    assert [pictures.picture(archived.folder, each) for each in wanted] == made


def test_only_so_many_are_kept_and_a_damaged_file_is_made_anew(
    tmp_path: Path, pictures: PagePictures, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(page_pictures, "MAX_KEPT", 2)
    crawl = folder(tmp_path, one=RED, two=RED, three=RED)
    kept = crawl / INDEXES / PICTURES
    for name in ("one", "two", "one", "three"):
        assert pictures.picture(crawl, of(name))
    with sqlite3.connect(kept) as base:
        assert {name for (name,) in base.execute("SELECT record FROM picture")} == {
            of("one").record,
            of("three").record,
        }
    kept.write_bytes(b"no database" * 1_000)
    assert pictures.picture(crawl, of("one"))
    assert pictures.picture(crawl, of("one"))
    with sqlite3.connect(kept) as base:
        assert base.execute("SELECT count(*) FROM picture").fetchone() == (1,)


def test_who_asks_for_too_many_at_once_is_told(
    tmp_path: Path, pictures: PagePictures, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(page_pictures, "MAX_WAITING", 0)
    with pytest.raises(PicturesBusyError):
        pictures.picture(folder(tmp_path, one=RED), of("one"))


def test_a_machine_without_a_browser_makes_none(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AAH_CHROMIUM", "/nowhere/chromium")
    assert not PagePictures().available
