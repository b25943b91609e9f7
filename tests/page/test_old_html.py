"""Pages as they were written from 1996 on are read: a corpus of them, with what a reader sees of each beside it."""

from collections.abc import Mapping
from datetime import UTC, date, datetime
from pathlib import Path
from typing import NamedTuple
from urllib.parse import urljoin

import pytest
import yaml

from aahcrawler.helper import ApplicationAwareHelper
from aahcrawler.page import Headers, Page, onward
from aahcrawler.page.requisites import frames
from aahcrawler.page.text import fold
from knowledge_base.model import KnowledgeBase

CORPUS = Path(__file__).parents[1] / "data" / "old_html"
TRUTH = yaml.safe_load((CORPUS / "truth.yaml").read_text("utf-8"))
LATER = datetime(2002, 5, 1, tzinfo=UTC)
ROOT = "http://old.test/"


class Reading(NamedTuple):
    """What was read of a page."""

    title: str
    says: str
    links: list[str]
    frames: list[str]
    leads_to: str | None
    date: date | None


@pytest.fixture(scope="module")
def readings() -> dict[str, Reading]:
    return {name: read(name) for name in TRUTH}


def read(name: str) -> Reading:
    headers = Headers((("Content-Type", "text/html"),))
    page = Page(f"{ROOT}site/{name}", 200, headers, (CORPUS / name).read_bytes(), LATER)
    found = ApplicationAwareHelper(KnowledgeBase(())).assist(page)
    assert not found.failed_actions
    document = found.document
    sure = (each.first("date") for each in found.objects if "date" not in each.inferred)
    moment = next((each for each in sure if isinstance(each, datetime)), document.published)
    refresh = onward.refresh(page)
    return Reading(
        document.title,
        fold(document.text),
        sorted(link.url for link in document.outlinks),
        list(frames(page)),
        refresh.url if refresh is not None else None,
        moment.date() if moment is not None else None,
    )


def absolute(urls: list[str]) -> list[str]:
    return [urljoin(ROOT, each) for each in urls]


def expected(name: str, field: str) -> pytest.MarkDecorator | None:
    """Return the mark of a field that is known not to be read: the test fails once it is."""
    reason = TRUTH[name].get("unread", {}).get(field)
    return pytest.mark.xfail(reason=reason, strict=True) if reason else None


def pages(field: str) -> list[object]:
    return [pytest.param(name, marks=mark) if (mark := expected(name, field)) else name for name in TRUTH]


def test_every_page_of_the_corpus_has_its_truth() -> None:
    assert {path.name for path in CORPUS.glob("*.html")} == set(TRUTH)
    assert len(TRUTH) >= 40


@pytest.mark.parametrize("name", pages("title"))
def test_title(name: str, readings: Mapping[str, Reading]) -> None:
    assert readings[name].title == TRUTH[name]["title"]


@pytest.mark.parametrize("name", pages("says"))
def test_text(name: str, readings: Mapping[str, Reading]) -> None:
    text = readings[name].says
    places = [text.find(sentence) for sentence in TRUTH[name].get("says", ())]
    assert -1 not in places
    assert not [never for never in TRUTH[name].get("never", ()) if never in text]


@pytest.mark.parametrize("name", pages("links"))
def test_links(name: str, readings: Mapping[str, Reading]) -> None:
    assert readings[name].links == sorted(absolute(TRUTH[name].get("links", [])))
    assert readings[name].frames == absolute(TRUTH[name].get("frames", []))


@pytest.mark.parametrize("name", pages("leads_to"))
def test_refresh(name: str, readings: Mapping[str, Reading]) -> None:
    wanted = TRUTH[name].get("leads_to")
    assert readings[name].leads_to == (wanted and urljoin(ROOT, wanted))


@pytest.mark.parametrize("name", pages("date"))
def test_date(name: str, readings: Mapping[str, Reading]) -> None:
    assert readings[name].date == TRUTH[name].get("date")


def test_what_nobody_sees_who_sees_the_page_is_left_out() -> None:
    body = "<p>Shown.<noframes><p><a href=a.html>For others</a></noframes><noembed><b>No plug-in</b></noembed><p>Too."
    page = Page(f"{ROOT}x", 200, Headers((("Content-Type", "text/html"),)), body.encode(), LATER)
    document = ApplicationAwareHelper(KnowledgeBase(())).assist(page).document
    assert fold(document.text) == "Shown. Too."
    assert not document.outlinks


def test_frames_without_end_within_their_own_replacement_end() -> None:
    body = "<frameset><noframes>" * 5_000
    page = Page(f"{ROOT}x", 200, Headers((("Content-Type", "text/html"),)), body.encode(), LATER)
    assert not ApplicationAwareHelper(KnowledgeBase(())).assist(page).failed_actions
