"""The log of refused links: what is kept of them, how often, and what a reader finds after a crash."""

import gzip
from datetime import UTC, datetime
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from aahcrawler import refusals as log_module
from aahcrawler.frontier.protocol import Offer
from aahcrawler.layout import REFUSAL_LOG
from aahcrawler.refusals import (
    MAX_A_PAGE,
    MAX_REMEMBERED,
    RefusalLog,
    Refused,
    read_refusals,
)
from aahcrawler.segments import DamageError, recover
from aahcrawler.urls import queue_of

PAGE = "http://a.test/"


def log(folder: Path, number: int = 1) -> RefusalLog:
    return RefusalLog(folder, "test", number, lambda: datetime(2026, 1, 1, tzinfo=UTC))


def offer(name: str, score: float = 0.5, **more: object) -> Offer:
    url = f"http://{name}.test/"
    return Offer(url, queue_of(url), score, via=PAGE, **more)  # type: ignore[arg-type]


offers = st.builds(
    offer,
    st.from_regex(r"[a-z]{1,8}", fullmatch=True),
    st.integers(0, 10_000).map(lambda n: n / 10_000),
    depth=st.integers(0, 9),
    kind=st.sampled_from(("page", "requisite")),
    path=st.text("LNRE", max_size=9),
)
reasons = st.sampled_from(("denied", "other_site", "rule:no calendars", "novelty"))


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow])
@given(
    st.dictionaries(reasons, st.lists(offers, max_size=4, unique_by=lambda each: each.url)), st.none() | st.just("de")
)
def test_what_is_kept_is_read_again(
    tmp_path_factory: pytest.TempPathFactory, refused: dict[str, list[Offer]], language: str | None
) -> None:
    folder = tmp_path_factory.mktemp("refused")
    with log(folder) as kept:
        kept.refused(PAGE, language, refused)
        expected = [Refused(each, reason, language) for reason, found in refused.items() for each in found]
        assert list(read_refusals(folder, 1)) == expected
    assert list(read_refusals(folder, 1)) == expected
    assert list(read_refusals(folder, 2)) == []


def test_a_link_is_kept_once_for_each_reason(tmp_path: Path) -> None:
    with log(tmp_path) as kept:
        for page in "xyz":
            kept.refused(f"http://{page}.test/", None, {"denied": [offer("menu")], "too_deep": [offer("menu")]})
    assert [(each.reason, each.offer.via) for each in read_refusals(tmp_path, 1)] == [
        ("denied", "http://x.test/"),
        ("too_deep", "http://x.test/"),
    ]


def test_a_page_of_links_and_a_crawl_of_pages_are_bounded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(log_module, "MAX_REMEMBERED", 800)
    assert MAX_REMEMBERED > MAX_A_PAGE
    with log(tmp_path) as kept:
        many = [offer(f"n{n}") for n in range(3 * MAX_A_PAGE)]
        kept.refused(PAGE, None, {"denied": many, "too_deep": many})
        assert sum(1 for _ in read_refusals(tmp_path, 1)) == MAX_A_PAGE
        kept.refused(PAGE, None, {"denied": many[MAX_A_PAGE - 10 : MAX_A_PAGE]})
        assert sum(1 for _ in read_refusals(tmp_path, 1)) == MAX_A_PAGE
        assert len(kept._remembered) <= 800


def test_what_a_killed_crawl_had_kept_is_there(tmp_path: Path) -> None:
    with log(tmp_path / "live") as kept:
        kept.refused(PAGE, None, {"denied": [offer("a")]})
        (segment,) = (tmp_path / "live").glob("*.open")
        torn = gzip.compress(b'{"via": "http://b.test/", "refused": {}}\n')[:-5]
        (tmp_path / segment.name).write_bytes(segment.read_bytes() + torn)
    assert [each.offer.url for each in read_refusals(tmp_path, 1)] == ["http://a.test/"]
    assert len(recover(tmp_path, REFUSAL_LOG)) == 1
    assert [each.offer.url for each in read_refusals(tmp_path, 1)] == ["http://a.test/"]


@pytest.mark.parametrize(
    "line", [b"nothing\n", b'{"via": 7}\n', b'{"via": "x", "refused": {"denied": [["u", 0.5]]}}\n']
)
def test_damage_is_told_after_what_was_before_it(tmp_path: Path, line: bytes) -> None:
    with log(tmp_path) as kept:
        kept.refused(PAGE, None, {"denied": [offer("a")]})
    (segment,) = tmp_path.iterdir()
    segment.write_bytes(segment.read_bytes() + gzip.compress(line))
    found = read_refusals(tmp_path, 1)
    assert next(found).offer.url == "http://a.test/"
    with pytest.raises(DamageError, match=f"{segment.name}: is damaged"):
        next(found)


def test_another_version_is_not_read(tmp_path: Path) -> None:
    (tmp_path / "test-20260101000000-00000.refused.gz").write_bytes(gzip.compress(b'{"format": 99, "crawl": 1}\n'))
    with pytest.raises(DamageError, match="another version"):
        list(read_refusals(tmp_path, 1))
