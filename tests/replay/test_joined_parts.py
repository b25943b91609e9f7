"""A file that came in parts is shown as one where they are of one file and none is missing, else as it came."""

from pathlib import Path

import pytest

from aahcrawler.exchange import Truncation
from aahcrawler.replay.addresses import Modifier
from aahcrawler.replay.replay_app import FixedFolders, replay_app
from tests.replay.archived import MOMENT, Archived, body_of, shown
from tests.replay.serving import serving

FILM = b"\0\0\0\x18ftypmp42" + bytes(range(256)) * 8
NAME = "http://a.test/film.mp4"
LATER = "20260102030{}05"
TAG = {"ETag": '"one"'}
DATED = {"Last-Modified": "Thu, 01 Jan 2026 00:00:00 GMT", "Date": "Fri, 02 Jan 2026 03:04:05 GMT"}


def begun(crawl: Archived, validator: dict[str, str], **fields: str) -> None:
    headers = {"Content-Type": "video/mp4", "Content-Length": f"{len(FILM)}", **validator, **fields}
    crawl.add(FILM[:900], url=NAME, headers=headers, truncated=Truncation.DISCONNECT)


def part(crawl: Archived, place: tuple[int, int], validator: dict[str, str], minute: int) -> None:
    first, end = place
    told = {"Content-Range": f"bytes {first}-{end - 1}/{len(FILM)}", **validator}
    crawl.add(FILM[first:end], NAME, LATER.format(minute), {"Content-Type": "video/mp4", **told}, 206)


@pytest.mark.parametrize("validator", [TAG, DATED])
@pytest.mark.parametrize("asked", [MOMENT, LATER.format(9)])
def test_the_rest_of_a_file_is_shown_behind_its_beginning(
    tmp_path: Path, validator: dict[str, str], asked: str
) -> None:
    crawl = Archived(tmp_path)
    begun(crawl, validator)
    part(crawl, (850, 1500), validator, 5)
    part(crawl, (1500, len(FILM)), validator, 6)
    response = shown(crawl.close(), NAME, asked, Modifier.MEDIA)
    assert (response.status, response.size, body_of(response)) == (200, len(FILM), FILM)


def test_parts_of_it_can_be_asked_for(tmp_path: Path) -> None:
    crawl = Archived(tmp_path)
    part(crawl, (0, 800), TAG, 5)
    part(crawl, (800, len(FILM)), TAG, 6)
    crawl.close()
    with serving(replay_app(FixedFolders({"test": tmp_path}), ["localhost"])) as replay:
        response = replay.ask(f"/test/{MOMENT}oe_/{NAME}", Range="bytes=790-809")
    assert (response.status, response.body) == (206, FILM[790:810])
    assert response.headers["content-range"] == f"bytes 790-809/{len(FILM)}"


@pytest.mark.parametrize(
    ("validator", "rest", "place"),
    [
        (TAG, TAG, (901, len(FILM))),
        (TAG, TAG, (900, len(FILM) - 1)),
        (TAG, {"ETag": '"two"'}, (900, len(FILM))),
        ({"ETag": 'W/"one"'}, {"ETag": 'W/"one"'}, (900, len(FILM))),
        ({}, {}, (900, len(FILM))),
        ({**DATED, "Date": DATED["Last-Modified"]}, DATED, (900, len(FILM))),
        (TAG, {**TAG, "Content-Encoding": "gzip"}, (900, len(FILM))),
    ],
)
def test_what_does_not_fit_is_not_put_together(
    tmp_path: Path, validator: dict[str, str], rest: dict[str, str], place: tuple[int, int]
) -> None:
    crawl = Archived(tmp_path)
    begun(crawl, validator)
    part(crawl, place, rest, 5)
    response = shown(crawl.close(), NAME, LATER.format(9), Modifier.MEDIA)
    assert body_of(response) == FILM[:900]


def test_the_whole_file_comes_before_a_part_of_it(tmp_path: Path) -> None:
    crawl = Archived(tmp_path)
    crawl.add(FILM, NAME, headers={"Content-Type": "video/mp4"})
    part(crawl, (5, 10), TAG, 5)
    assert body_of(shown(crawl.close(), NAME, LATER.format(9), Modifier.MEDIA)) == FILM


def test_a_part_alone_is_shown_as_the_part_that_it_is(tmp_path: Path) -> None:
    crawl = Archived(tmp_path)
    part(crawl, (900, 1800), TAG, 5)
    captures = crawl.close()
    assert body_of(shown(captures, NAME, modifier=Modifier.MEDIA)) == FILM[900:1800]
    assert b"Only a part of it is shown" in body_of(shown(captures, NAME))
