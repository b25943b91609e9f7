"""What two crawls wrote is the same but for identifiers and times; any other difference is found."""

from dataclasses import replace
from pathlib import Path
from uuid import uuid4

import pytest

from aahcrawler.archive.writer import WarcWriter
from aahcrawler.layout import NQUADS
from aahcrawler.segments import SegmentWriter, Series
from benchmarks.same_output import differences, written
from tests.archive.exchanges import INFO, STARTED, page_exchange

URL = "http://a.test/"


def crawl(folder: Path, body: bytes = b"same", score: str = "0.5") -> Path:
    """Write a page and two statements of it into the folder of a crawl."""
    archive = WarcWriter(folder / "archive", INFO)
    capture = archive.write(replace(page_exchange(body), url=URL))
    archive.close()
    graph = f"<{capture.record_id}>"
    lines = (f'{graph} <https://schema.org/url> "{URL}" {graph} .', f'{graph} <urn:score> "{score}" {graph} .')
    triples = SegmentWriter(Series(folder / "objects", "c", NQUADS), lambda: STARTED)
    triples.append(["".join(f"{line}\n" for line in lines).encode()])
    triples.close()
    return folder


@pytest.mark.parametrize(
    ("other", "differing"),
    [
        ({}, []),
        ({"body": b"other"}, [("content", "response", URL)]),
        ({"score": "0.6"}, [("content", "triples", URL)]),
    ],
)
def test_differences_are_found(tmp_path: Path, other: dict[str, object], differing: list[tuple[str, str, str]]) -> None:
    before, after = crawl(tmp_path / "a"), crawl(tmp_path / str(uuid4()), **other)  # type: ignore[arg-type]
    assert list(differences(written(before), written(after))) == differing


def test_what_only_one_has_is_found(tmp_path: Path) -> None:
    before = written(crawl(tmp_path / "a"))
    assert {how for how, _, _ in differences(before, {})} == {"before"}
    assert {how for how, _, _ in differences({}, before)} == {"after"}
