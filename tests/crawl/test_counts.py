"""Terminal, ``crawl.json``, report and tables count the same pages, requests and web objects."""

import os
import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, replace
from io import StringIO
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from fastwarc.warc import ArchiveIterator
from rich.console import Console

from aahcrawler.crawl.reporting.summary import tell_repeated
from aahcrawler.crawl.stats.collector import Stats
from aahcrawler.objects.capture_statements import PageRow
from aahcrawler.objects.counts import object_counts
from aahcrawler.objects.reader import object_rows, page_rows
from aahcrawler.objects.vocabulary import SOFT_404
from aahcrawler.refusals import read_refusals
from aahcrawler.traps.patterns import Trap
from tests.adaptation.redesigned import Post, old, posts, thread
from tests.crawl.crawling import aah, running, summary, write_icd
from tests.crawl.site import Reply, Site, serving
from tests.crawl.test_learned import FORUM

THREADS = range(1, 5)
SHEET = b'<link rel="stylesheet" href="/style.css">'


def shown(number: int, *wanted: Post, tag: str = "") -> Reply:
    """Return a page of a thread with a style sheet; with a ``tag`` it need not be sent again."""
    body = thread(number, old, wanted).body.replace(b"</head>", SHEET + b"</head>")
    headers = {"Content-Type": "text/html; charset=utf-8", **({"ETag": tag} if tag else {})}
    return Reply(body, headers=headers)


def forum() -> Site:
    """Return a forum whose second pages begin with the last post of the first; some answers are errors or redirects."""
    site = Site({"/robots.txt": Reply(b"User-agent: *\nDisallow: /no\n"), "/style.css": Reply(b"p { margin: 0 }")})
    for number in THREADS:
        first, second, third, last = posts(number, 4)
        site.pages[f"/thread?t={number}"] = shown(number, first, second, third, tag=f'"{number}"')
        site.pages[f"/thread?t={number}&page=2"] = shown(number, third, last)
    site.pages["/moved"] = Reply(b"", 301, {"Location": "/thread?t=1"})
    site.pages["/broken"] = Reply(b"<h1>Sorry</h1>", 500)
    site.pages["/gone"] = Reply(b"<h1>Gone</h1>", 410)
    return site


@dataclass(frozen=True)
class Crawled:
    """Two crawls of a forum, the first by two workers: their summaries, and what they printed last."""

    folder: Path
    summaries: list[dict[str, Any]]
    said: list[str]


@pytest.fixture(scope="module")
def crawled(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Crawled]:
    root = tmp_path_factory.mktemp("counts")
    known = root / "known" / "applications" / "harbour.xml"
    known.parent.mkdir(parents=True)
    paged = FORUM.replace('parameters="t"/>', 'parameters="t"/><paging parameter="page"/>')
    known.write_text(paged, "utf-8")
    found = Crawled(root / "crawl", [], [])
    environment = {**os.environ, "AAH_KNOWLEDGE_BASE": str(root / "known")}
    site = forum()
    paths = [f"thread?t={number}{page}" for number in THREADS for page in ("", "&page=2")]
    with serving(site):
        write_icd(root, *(site.url + path for path in (*paths, "moved", "broken", "gone", "no/1")))
        definition = root / "icd.yaml"
        definition.write_text(definition.read_text("utf-8").replace("timeout: 10 min", "timeout: 10 min, retries: 1"))
        for options in (("--workers", "2"), ()):
            with running("crawl", definition, *options, environment=environment) as process:
                ended = process.ended()
            assert ended.code == 3, f"some seeds give nothing: {ended.err}"
            found.said.append(ended.err.splitlines()[-1])
            found.summaries.append(summary(found.folder))
            first, *_ = posts(2, 1)
            site.pages["/thread?t=2"] = shown(2, replace(first, body="Taken back."), tag='"edited"')
        yield found


def requests_of(folder: Path) -> Counter[int]:
    """Return the number of requests in the archive by the crawl that made them."""
    found: Counter[int] = Counter()
    for path in sorted((folder / "archive").iterdir()):
        number = 0
        with path.open("rb") as file:
            for record in ArchiveIterator(file, parse_http=False):
                match record.headers["WARC-Type"]:
                    case "warcinfo":
                        told = re.search(rb"crawl-number: (\d+)", record.reader.read())
                        number = int(told[1]) if told else 0
                    case "request":
                        found[number] += 1
    return found


@pytest.mark.parametrize("number", [1, 2])
def test_pages_are_the_same_everywhere(crawled: Crawled, number: int) -> None:
    told = crawled.summaries[number - 1]
    pages = [row for row in page_rows(crawled.folder, number) if row.is_page]
    assert told["pages"] == len(pages) == len({row.url for row in pages}) == 8
    assert sum(told["application"].values()) == sum(told["level"].values()) == 8
    assert f": {told['pages']} pages, " in crawled.said[number - 1]


@pytest.mark.parametrize("number", [1, 2])
def test_web_objects_are_the_same_everywhere(crawled: Crawled, number: int) -> None:
    told = crawled.summaries[number - 1]
    listed = aah("objects", crawled.folder, "--crawl", str(number)).out.splitlines()
    assert told["objects"] == len(listed) == sum(told["object"].values())
    counted = object_counts(crawled.folder, number)
    assert told["object"] == counted.types
    rows = list(object_rows(crawled.folder, number))
    fields = [(row.type, name) for row in rows for name in ("title", "author", "date") if getattr(row, name)]
    assert fields
    assert counted.complete == Counter(fields)
    assert f" {told['objects']} web objects; " in crawled.said[number - 1]


def test_an_object_on_two_pages_counts_once(crawled: Crawled) -> None:
    first, second = crawled.summaries
    assert first["objects"] == 4 * len(THREADS)
    assert second["objects"] == first["objects"] - 1, "of two posts that a page has lost the next page has one"
    assert (
        len(aah("objects", crawled.folder).out.splitlines()) == sum(object_counts(crawled.folder).types.values()) == 16
    )


@pytest.mark.parametrize("number", [1, 2])
def test_requests_are_those_of_the_archive(crawled: Crawled, number: int) -> None:
    told = crawled.summaries[number - 1]
    assert told["requests"] == requests_of(crawled.folder)[number]
    assert told["answers"] + told["robots"] + told["retries"] == told["requests"]


def test_the_report_says_the_same(crawled: Crawled) -> None:
    report, told = (crawled.folder / "report.html").read_text("utf-8"), crawled.summaries[-1]
    figures = dict(re.findall(r"<dt>([^<]*)</dt><dd>([^<]*)</dd>", report))
    assert figures["pages"] == str(told["pages"])
    assert figures["web objects"] == str(told["objects"])
    assert figures["requests"] == str(told["requests"])


def test_a_soft_error_is_no_page() -> None:
    assert SOFT_404 == Trap.SOFT_404
    row = PageRow("http://a.test/", 200, None, None, None, "", None, None, None, None, None, None, "urn:uuid:1")
    assert row.is_page
    assert not replace(row, trap=Trap.SOFT_404.value).is_page
    assert replace(row, trap=Trap.NEAR_DUPLICATE.value).is_page


def test_every_counted_refusal_is_kept_with_its_link(tmp_path: Path) -> None:
    links = ("/login?return=1", "/members?order=name", "http://elsewhere.test/", "/page.html", "/print?id=7", "/gone")
    page = "".join(f'<p>The dike held when the flood came. <a href="{link}">More of it</a></p>' for link in links)
    replies = {"/": Reply(f"<title>Dikes</title>{page}".encode()), "/page.html": Reply(b"<p>Here it is.")}
    gone = "http://moved.test/dikes"
    site = Site({**replies, "/gone": Reply(b"", 301, {"Location": gone})})
    with serving(site):
        write_icd(tmp_path, site.url)
        aah("crawl", tmp_path / "icd.yaml")
        told, crawl = summary(tmp_path / "crawl"), tmp_path / "crawl"
        kept = Counter(each.reason for each in read_refusals(crawl / "refused", 1))
        assert told["refused"] == dict(kept)
        assert gone in {each.offer.url for each in read_refusals(crawl / "refused", 1)}
        for each in read_refusals(crawl / "refused", 1):
            explained = aah("explain-score", crawl, each.offer.url)
            assert each.reason in explained.out + explained.err, explained


@pytest.mark.parametrize(("links", "told"), [(0, ""), (1, "1 link; new pages"), (3_000, "3,000 links; new pages")])
def test_links_left_out_for_what_others_show_are_told_at_the_end(links: int, told: str) -> None:
    console = Console(file=StringIO())
    crawl: Any = SimpleNamespace(stats=Stats({f"refused:{Trap.REPEATED}": links} if links else {}))
    tell_repeated(console, crawl)
    said = console.file.getvalue()  # type: ignore[attr-defined]
    assert told in said
    assert bool(said) == bool(links)
