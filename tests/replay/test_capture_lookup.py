"""Captures are found by URL and moment, whatever state the index is in."""

import random
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from aahcrawler.archive.history import History
from aahcrawler.archive.index import update
from aahcrawler.replay.capture_lookup import CaptureLookup, GrowingLines, NoIndexError, SortedLines
from aahcrawler.replay.recorded_responses import RecordedResponses
from aahcrawler.replay.replayed_captures import ReplayedCaptures
from tests.replay.archived import URL, Archived, body_of, shown

lines = st.lists(st.text("abc 12", min_size=1, max_size=9).map(lambda text: text.encode() + b"\n"), max_size=40)


@given(lines, st.text("abc 12", max_size=5))
def test_sorted_lines_are_found_in_both_directions(
    tmp_path_factory: pytest.TempPathFactory, given: list[bytes], key: str
) -> None:
    path = tmp_path_factory.mktemp("lines") / "lines"
    ordered = sorted(set(given))
    path.write_bytes(b"".join(ordered))
    wanted = key.encode()
    found = SortedLines(path)
    assert list(found.ascending(wanted)) == [line for line in ordered if line >= wanted]
    assert list(found.descending(wanted)) == [line for line in reversed(ordered) if line < wanted]


def test_long_lines_are_found_backwards_over_blocks(tmp_path: Path) -> None:
    ordered = sorted(b"%06d %s\n" % (number, b"x" * (number * 977 % 200_000)) for number in range(40))
    (tmp_path / "lines").write_bytes(b"".join(ordered))
    assert list(SortedLines(tmp_path / "lines").descending(b"000030")) == ordered[29::-1]


def test_growing_lines_are_taken_in_as_they_come(tmp_path: Path) -> None:
    path = tmp_path / "lines"
    path.write_bytes(b"b 2 x\nc 1 y\nunfinished")
    growing = GrowingLines(path)
    growing.refresh()
    assert list(growing.ascending(b"b")) == [b"b 2 x\n", b"c 1 y\n"]
    with path.open("ab") as file:
        file.write(b" 3\na 1 z\n")
    growing.refresh()
    assert list(growing.descending(b"c")) == [b"b 2 x\n", b"a 1 z\n"]
    assert list(growing.ascending(b"u")) == [b"unfinished 3\n"]


def test_a_capture_is_found_while_the_crawl_runs_and_after_it(tmp_path: Path) -> None:
    crawl = Archived(tmp_path)
    captures = ReplayedCaptures(tmp_path)
    assert shown(captures).status == 404
    crawl.add("<p>First", moment="20260101000000")
    assert b"First" in body_of(shown(captures))
    crawl.add("<p>Second", moment="20260201000000")
    assert b"Second" in body_of(shown(captures, moment="20260301000000"))
    crawl.close()
    assert b"Second" in body_of(shown(captures, moment="20260301000000"))
    assert b"First" in body_of(shown(captures, moment="20250101000000"))


def test_the_nearest_of_many_captures_is_found_in_any_state_of_the_index(tmp_path: Path) -> None:
    months = [f"2026{month:02}15000000" for month in range(1, 13)]
    random.Random(7).shuffle(months)
    for half in (months[:6], months[6:]):
        crawl = Archived(tmp_path)
        for moment in half:
            crawl.add(f"<p>{moment}", moment=moment)
            crawl.add("other", url=f"{URL}/{moment}", moment=moment)
        crawl.close()
    lookup = CaptureLookup(tmp_path)
    assert [found.moment for found in lookup.nearest(URL, "20260614000000")][:3] == [
        *("20260615000000", "20260515000000", "20260715000000"),
    ]
    response = RecordedResponses(tmp_path).nearest(URL, "20260614000000")
    assert response is not None
    assert (response.earlier, response.moment, response.later) == ("20260515000000", "20260615000000", "20260715000000")


def test_another_url_of_the_same_key_does_not_hide_the_right_one(tmp_path: Path) -> None:
    crawl = Archived(tmp_path)
    crawl.add("<p>Upper", url="http://a.test/Page")
    crawl.add("<p>Lower", url="http://a.test/page", moment="20200101000000")
    captures = crawl.close()
    assert b"Lower" in body_of(shown(captures, "https://www.a.test/page"))
    assert b"Upper" in body_of(shown(captures, "http://a.test/Page"))


def test_the_list_of_captures_is_in_parts_and_by_beginnings_of_urls(tmp_path: Path) -> None:
    crawl = Archived(tmp_path)
    for number in range(7):
        crawl.add("x", url=f"http://a.test/p/{number}")
    crawl.add("x", url="http://a.test/q.png", headers={"Content-Type": "image/png"})
    crawl.add("x", url="http://ab.test/p")
    crawl.close()
    lookup = CaptureLookup(tmp_path)
    first = lookup.listed("a.test/p", "", 4)
    second = lookup.listed("a.test/p", first.following, 4)
    assert [found.url[-1] for found in (*first.captures, *second.captures)] == list("0123456")
    assert not second.following
    assert len(lookup.listed("http://a.test", "", 50).captures) == 7
    assert len(lookup.listed("http://a.test", "", 50, pages_only=False).captures) == 8
    assert [found.url for found in lookup.listed("ab.test", "", 50).captures] == ["http://ab.test/p"]
    assert len(lookup.listed("", "", 50).captures) == 8


def test_without_an_index_it_is_said_how_to_make_one(tmp_path: Path) -> None:
    crawl = Archived(tmp_path)
    crawl.add("x")
    crawl.close()
    (tmp_path / "indexes" / "index.cdxj").unlink()
    with pytest.raises(NoIndexError, match="aah archive index"):
        shown(ReplayedCaptures(tmp_path))
    update(tmp_path / "archive", tmp_path / "indexes")
    assert shown(ReplayedCaptures(tmp_path)).status == 200


def test_a_capture_that_was_taken_out_of_its_file_is_not_shown(tmp_path: Path) -> None:
    crawl = Archived(tmp_path)
    crawl.add("<p>Gone")
    captures = crawl.close()
    (warc,) = (tmp_path / "archive").glob("*.warc.gz")
    warc.write_bytes(warc.read_bytes()[:300])
    assert shown(captures).status == 404
    with History(tmp_path / "archive", tmp_path / "indexes"):
        pass
    assert shown(captures).status == 404
