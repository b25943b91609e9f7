"""What is counted of archives is what their lists hold, and links between sites are those of their pages."""

import gzip
import re
import shutil
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pyoxigraph as ox
import pytest
from lxml import html
from typer.testing import CliRunner
from warcio.archiveiterator import ArchiveIterator

from aahcrawler.cli import app
from aahcrawler.exits import MISTAKE
from aahcrawler.layout import ARCHIVE, NQUADS, OBJECTS, WARC
from aahcrawler.metadata import Link, LinkType, Metadata, write_metadata
from aahcrawler.objects.vocabulary import NAME
from aahcrawler.overview.archive_overview import GatheredArchives
from aahcrawler.overview.link_graph import SiteLinks, strongest
from aahcrawler.overview.overview_report import report_archives
from aahcrawler.overview.overview_sections import bars
from aahcrawler.search import Question, search
from aahcrawler.service.catalog.crawl_catalog import Catalog, Crawl
from aahcrawler.service.views.collected_view import HeldArchives, held_archives, parts_held
from aahcrawler.service.views.object_list import ObjectFilter, object_list
from aahcrawler.service.views.page_indexes import PageIndexes
from aahcrawler.service.views.page_list import PageFilter, page_list
from aahcrawler.takedown.removal import WantedRemoval, remove
from tests.crawl.crawling import until
from tests.imports.archives import Written, members, record
from tests.replay.archived import Archived
from tests.search.archives import caught_up

HEAD = b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n\r\n"
POST = (
    '<html lang="en"><title>Post {0}</title><script type="application/ld+json">{{"@context": "https://schema.org", '
    '"@type": "BlogPosting", "headline": "Post {0}", "author": {{"@type": "Person", "name": "Ann Boyd"}}, '
    '"datePublished": "{1}", "articleBody": "The river has risen, and the dike holds."}}</script>'
    "<h1>Post {0}</h1><p>The river has risen by two metres since Monday, and the dike holds against the water.</p>{2}"
)
HOSTILE = "<script>alert(1)</script>"


def page(number: int, site: str, year: int, published: str, *targets: str) -> Written:
    links = "".join(f'<a href="http://{each}/x">There</a> <a href="http://{each}/y">and there</a>' for each in targets)
    block = HEAD + POST.format(number, published, links).encode()
    return record(number, block, url=f"http://{site}/{number}", WARC_Date=f"{year}-05-06T07:08:09Z")


def imported(folder: Path, *records: Written) -> Path:
    path = folder.parent.parent / f"{folder.name}.warc.gz"
    path.write_bytes(members(records))
    assert CliRunner().invoke(app, ["import", str(path), str(folder)]).exit_code == 0
    return folder


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder with two imports."""
    place = tmp_path_factory.mktemp("made") / "archives"
    first = [
        page(1, "www.dikes.example", 2011, "2010-12-01", "floods.example", "www.dikes.example"),
        page(2, "dikes.example", 2012, "2011", "floods.example"),
        page(3, "floods.example", 2012, "2011-03-04", "dikes.example", "river.example"),
        record(4, b"HTTP/1.1 302 Moved\r\nLocation: http://river.example/new\r\n\r\n", url="http://old.example/"),
        record(5, b"HTTP/1.1 404 Not Found\r\nContent-Type: text/html\r\n\r\n<p>Gone", url="http://dikes.example/gone"),
    ]
    imported(place / "first", *first)
    imported(place / "second", page(11, "river.example", 2019, "last spring", "dikes.example"))
    return place


@pytest.fixture
def place(made: Path, tmp_path: Path) -> Path:
    return shutil.copytree(made, tmp_path / "archives")


@contextmanager
def linked(*folders: Path, step: int = 1000) -> Iterator[GatheredArchives]:
    with GatheredArchives() as gathered:
        for folder in folders:
            with SiteLinks(folder) as index:
                index.at_once = step  # type: ignore[misc]
                index.catch_up()
                with index.asked() as base:
                    gathered.add_sites(base)
                    gathered.add_links(base)
        yield gathered


def edges(gathered: GatheredArchives) -> set[tuple[str, str, int, str, str]]:
    found = strongest(gathered.base, 50).links
    return {(each.source, each.target, each.captures, each.first, each.last) for each in found}


FIRST = {
    ("dikes.example", "floods.example", 2, "2011-05-06", "2012-05-06"),
    ("floods.example", "dikes.example", 1, "2012-05-06", "2012-05-06"),
    ("floods.example", "river.example", 1, "2012-05-06", "2012-05-06"),
    ("old.example", "river.example", 1, "2011-02-03", "2011-02-03"),
}
SECOND = {("river.example", "dikes.example", 1, "2019-05-06", "2019-05-06")}


@pytest.mark.slow
def test_links_are_those_of_captures_that_lead_to_another_site(place: Path) -> None:
    with linked(place / "first", place / "second") as gathered:
        assert edges(gathered) == FIRST | SECOND
        found = strongest(gathered.base, 2)
        assert (found.names, found.sites) == (("dikes.example", "floods.example"), 4)
        assert [(each.source, each.target) for each in found.links] == [found.names, found.names[::-1]]


def test_it_does_not_matter_in_how_many_steps_links_are_read(place: Path) -> None:
    with linked(place / "first", step=1) as gathered:
        assert edges(gathered) == FIRST


def test_what_was_taken_down_counts_nowhere(place: Path) -> None:
    with linked(place / "first"):
        remove(place / "first", WantedRemoval(urls=("http://floods.example/3",)), "somebody", "asked to")
    with linked(place / "first") as gathered:
        assert edges(gathered) == {each for each in FIRST if each[0] != "floods.example"}


def test_links_of_a_crawl_are_those_that_it_understood(tmp_path: Path) -> None:
    crawl = Archived(tmp_path)
    links = (
        Link("http://b.example/1"),
        Link("http://b.example/2"),
        Link("http://cdn.example/style.css", LinkType.REQUISITE),
        Link("http://c.example/", LinkType.REDIRECT),
    )
    said = write_metadata(Metadata(language="de", links=links))
    first = crawl.add("<p>One <a href='http://not.example/'>not asked for</a>", url="http://a.example/", metadata=said)
    crawl.add("<p>One", url="http://a.example/", moment="20260301000000", original=first, metadata=said)
    crawl.add("<p>Robots <a href='http://not.example/'>of nobody</a>", url="http://a.example/robots.txt")
    crawl.close()
    with linked(tmp_path) as gathered:
        day = "2026-01-02"
        assert edges(gathered) == {
            ("a.example", "b.example", 1, day, day),
            ("a.example", "c.example", 1, day, day),
        }
        assert gathered.base.execute("SELECT name, n FROM tally").fetchall() == [("de", 1)]


@pytest.mark.parametrize("ending", ["graphml", "gexf"])
def test_graphs_can_be_read_by_others(place: Path, tmp_path: Path, ending: str) -> None:
    import networkx

    path = tmp_path / f"links.{ending}"
    done = report_archives([place], tmp_path / "archive.html", path)
    assert done.graph == (4, 5)
    read: Any = networkx.read_graphml(path) if ending == "graphml" else networkx.read_gexf(path)
    found = {(a, b, told["weight"], told["first"], told["last"]) for a, b, told in read.edges(data=True)}
    assert found == FIRST | SECOND
    assert read.nodes["dikes.example"]["pages"] == 2
    again = tmp_path / f"again.{ending}"
    report_archives([place / "first", place / "second"], tmp_path / "archive.html", again)
    assert again.read_bytes() == path.read_bytes()


def until_read(indexes: PageIndexes, crawls: Sequence[Crawl]) -> HeldArchives:
    """Return what is held once indexes, which threads of their own make, have caught up."""
    until(lambda: not (shown := held_archives(indexes, crawls)).notes and shown.graph is not None)
    return held_archives(indexes, crawls)


def test_every_number_is_that_of_the_list_which_it_leads_to(place: Path) -> None:
    indexes, crawls = PageIndexes(), Catalog([place]).crawls()
    try:
        shown = until_read(indexes, crawls)
        held = shown.held
        assert shown.graph is not None
        found = {(each.source, each.target, each.captures, each.first, each.last) for each in shown.graph.links}
        assert found == FIRST | SECOND
        assert (held.captures, held.objects, held.undated) == (6, 4, 2)
        assert held.published == {"2010-12": 1, "2011-03": 1}
        assert held.months == {"2011-02": 2, "2011-05": 1, "2012-05": 2, "2019-05": 1}
        assert [each.count for each in shown.archives] == [5, 1]
        named = {"site": held.sites, "application": held.applications, "media": held.media}
        wanted = [(by, name, n) for by, ranked in named.items() for name, n in ranked.counts.items()]
        wanted += [("captured", name, n) for name, n in [*held.months.items(), ("2012", 2), ("201", 6)]]
        for by, name, n in wanted:
            assert sum(each.count for each in parts_held(indexes, crawls, by, name)) == n
            values = {by: (name or "-") if by == "media" else name}
            listed = 0
            for crawl in crawls:
                with indexes.asked(crawl) as index:
                    listed += page_list(index, PageFilter(**values)).total  # type: ignore[arg-type]
            assert listed == n, (by, name)
        for period, n in (("2011", 1), ("2011-03", 1), ("20", 2)):
            assert sum(each.count for each in parts_held(indexes, crawls, "published", period)) == n
            with indexes.asked(crawls[0]) as index:
                assert object_list(index, ObjectFilter(published=period)).total == n
    finally:
        indexes.close()


def answers_in(place: Path) -> Iterator[tuple[str, str, int, str]]:
    """Yield URL, month, status and media type of each answer, as the WARC files have them."""
    for path in sorted(place.glob(f"*/{ARCHIVE}/*.{WARC}")):
        with path.open("rb") as file:
            for each in ArchiveIterator(file):
                if each.rec_type == "response":
                    told, http = each.rec_headers, each.http_headers
                    media = (http.get_header("Content-Type") or "").partition(";")[0]
                    yield told["WARC-Target-URI"], told["WARC-Date"][:7], int(http.get_statuscode()), media


def objects_in(place: Path) -> Iterator[Mapping[str, str]]:
    """Yield the properties of each object by their last parts, as the N-Quads have them."""
    for path in sorted(place.glob(f"*/{OBJECTS}/*.{NQUADS}")):
        quads = [*ox.parse(gzip.decompress(path.read_bytes()), ox.RdfFormat.N_QUADS)]
        names = {each.subject: str(getattr(each.object, "value", "")) for each in quads if each.predicate.value == NAME}
        said: dict[tuple[object, object], dict[str, str]] = {}
        for each in quads:
            value = names.get(each.object) or str(getattr(each.object, "value", ""))
            said.setdefault((each.graph_name, each.subject), {})[re.split("[/:#]", each.predicate.value)[-1]] = value
        yield from (properties for properties in said.values() if "objectType" in properties)


def test_counts_of_overview_and_search_are_those_of_the_files_recounted(place: Path) -> None:
    answers, objects = [*answers_in(place)], [*objects_in(place)]
    sites = [url.split("/")[2].removeprefix("www.") for url, *_ in answers]
    assert (len(answers), len(objects)) == (6, 4)
    indexes, crawls = PageIndexes(), Catalog([place]).crawls()
    try:
        held = until_read(indexes, crawls).held
    finally:
        indexes.close()
    assert (held.captures, held.objects) == (len(answers), len(objects))
    assert held.months == Counter(month for _, month, *_ in answers)
    assert held.sites.counts == Counter(sites)
    declared = Counter(media for *_, media in answers if media)  # What declares none is told by its bytes.
    assert {each: held.media.counts[each] for each in declared} == declared
    dated = [each["datePublished"][:7] for each in objects if each.get("datePublished", "")[4:5] == "-"]
    assert held.published == Counter(dated)
    pages = [(site, media) for site, (*_, status, media) in zip(sites, answers, strict=True) if status < 300]
    facets = search([caught_up(each).opened() for each in sorted(place.iterdir())], Question("")).facets
    assert facets["kind"] == {"page": len(pages), "object": len(objects)}
    assert facets["author"] == Counter(each["author"] for each in objects)
    assert facets["site"] == Counter(site for site, _ in pages) + Counter(
        each["url"].split("/")[2].removeprefix("www.") for each in objects
    )
    assert facets["media_type"] == Counter([media for _, media in pages] + [media for _, media in pages])
    types = Counter(each["objectType"] for each in objects)
    assert {each: facets["type"][each] for each in types} == types


def test_the_report_shows_pictures_with_tables_and_runs_nothing(place: Path) -> None:
    hostile = place / HOSTILE.replace("/", "\u2044")
    (place / "second").rename(hostile)
    result = CliRunner().invoke(app, ["report", "--archive", str(place)])
    assert result.exit_code == 0
    text = (place / "archive.html").read_text("utf-8")
    tree = html.fromstring(text)
    assert tree.xpath("//script") == []
    assert "<script>" not in text
    headings = [each.text for each in tree.iterfind(".//h2")]
    assert headings == [
        *("Archives", "Captures over time", "Publications over time", "Sites", "Applications", "Media types"),
        *("Languages", "Links between sites"),
    ]
    for section in tree.iterfind(".//section"):
        assert section.xpath("string(.//svg/@aria-label)")
        assert section.find(".//table") is not None
    assert tree.xpath("string(//dt[.='captures']/following-sibling::dd)") == "6"
    assert not tree.xpath("//a")


def test_long_names_of_bars_differ_and_stand_above_them() -> None:
    long = "a-very-long-name-of-a-site-about-floods-and-dikes"
    names = [f"{long}{number}.in-the-north.example.org" for number in range(3)]
    drawn = bars("Sites", dict.fromkeys(names, 3), {}, lambda name: f"/{name}", "captures")
    labels = re.findall(r'<text x="0"[^>]*>([^<]*)<', drawn)
    assert len({*labels}) == 3
    assert max(map(len, labels)) <= 46
    places = re.findall(r'<text x="0" y="(\d+)"|<rect class="held" x="0" y="(\d+)"', drawn)
    lines = [int(name or bar) for name, bar in places]
    assert lines == sorted(lines)


def test_mistakes_are_told(place: Path, tmp_path: Path) -> None:
    for arguments, words in (
        (["--archive", str(tmp_path / "nowhere")], "holds none"),
        (["--graph", str(tmp_path / "links.txt"), str(place)], ".gexf"),
        ([str(place / "first"), str(place / "second")], "--archive"),
    ):
        result = CliRunner().invoke(app, ["report", *arguments])
        assert (result.exit_code, words in result.output) == (MISTAKE, True), result.output
