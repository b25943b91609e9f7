"""Crawls whose pages come from archives and from sites."""

from pathlib import Path

from aahcrawler.captures import ArchivedCaptures
from aahcrawler.objects.reader import page_rows
from tests.crawl.crawling import aah, summary
from tests.crawl.site import Reply, Site, serving
from tests.crawl.world import NOWHERE, crawl, define, network
from tests.sources.dated import Dated, page, write_archive

OLD = [
    Dated("http://dikes.test/", "2013-06-05T10:00:00Z", page("Flood", "/both", "/live", "/neither")),
    Dated("http://dikes.test/both", "2013-06-06T10:00:00Z", page("Then")),
    Dated("http://dikes.test/both", "2013-06-26T10:00:00Z", page("Later", "/later")),
    Dated("http://dikes.test/gone", "2013-06-06T10:00:00Z", page("Gone since")),
]


def live() -> Site:
    site = Site({"/robots.txt": Reply(status=404)})
    site.pages["/"] = Reply(page("Today", "/both", "/gone", "/neither").encode())
    site.pages["/both"] = Reply(page("Today, too").encode())
    site.pages["/live"] = Reply(page("Only today").encode())
    return site


def test_what_no_archive_has_is_fetched_and_what_nobody_has_is_listed(tmp_path: Path) -> None:
    sources = [{"archive": str(write_archive(tmp_path / "old.warc.gz", OLD))}, "live"]
    with serving(live()) as site:
        crawled = crawl(
            tmp_path / "c",
            ["http://dikes.test/"],
            captures={"sources": sources, "snapshot": "all"},
            network=network(site, "dikes.test"),
        )
        asked = set(site.paths())
    assert crawled.ended.code == 0, crawled.ended.err
    assert asked == {"/live", "/neither", "/later"}
    found = sorted((row.url.rpartition("/")[2], row.fetched_at[:7], row.archive) for row in page_rows(crawled.folder))
    told = [each for each in found if each[2] is not None]
    assert told == [
        ("", "2013-06", "old.warc.gz"),
        ("both", "2013-06", "old.warc.gz"),
        ("both", "2013-06", "old.warc.gz"),
    ]
    assert next(each for each in found if each[2] is None and each[0] == "live")[1] > "2020"
    assert crawled.summary["from_sources"] == 3
    assert crawled.summary["pages"] == 4
    nobody_has = ["http://dikes.test/neither", "http://dikes.test/later"]
    assert sorted(aah("missing", crawled.folder).out.split()) == sorted(nobody_has)


def test_what_a_site_has_no_more_is_taken_from_an_archive(tmp_path: Path) -> None:
    sources = ["live", {"archive": str(write_archive(tmp_path / "old.warc.gz", OLD))}]
    seeds = ["http://dikes.test/", "http://dead.test/"]
    dead = Dated("http://dead.test/", "2013-06-07T10:00:00Z", page("Dead"))
    write_archive(tmp_path / "old.warc.gz", [*OLD, dead])
    with serving(live()) as site:
        crawled = crawl(
            tmp_path / "c",
            seeds,
            captures={"sources": sources},
            network=network(site, "dikes.test", **{"dead.test": NOWHERE}),
            politeness={"robots": "ignore"},
        )
    found = {row.url: (row.fetched_at[:4], row.archive) for row in page_rows(crawled.folder) if row.status == 200}
    assert found["http://dikes.test/gone"] == ("2013", "old.warc.gz")
    assert found["http://dead.test/"] == ("2013", "old.warc.gz")
    assert found["http://dikes.test/both"][1] is None
    assert crawled.summary["status"]["404"] == 2  # /gone and /neither, as the site answered them.


def test_missing_pages_are_seeds_of_another_crawl(tmp_path: Path) -> None:
    sources = [{"archive": str(write_archive(tmp_path / "old.warc.gz", OLD))}]
    crawled = crawl(tmp_path / "c", ["http://dikes.test/"], captures={"sources": sources})
    missing = aah("missing", crawled.folder)
    assert missing.out.split() == [f"http://dikes.test/{name}" for name in ("live", "neither", "later")]
    assert (crawled.folder / "missing.txt").read_text("utf-8").split() == missing.out.split()
    (crawled.folder / "crawl.json").unlink()
    assert aah("missing", crawled.folder).out == missing.out, "also where the crawl was killed"
    assert "missing.txt" in (crawled.folder / "report.html").read_text("utf-8")


def test_what_a_page_is_shown_with_is_as_near_to_it_as_it_is_had(tmp_path: Path) -> None:
    style, css = "http://dikes.test/style.css", {"Content-Type": "text/css"}
    body = page("Late in the event").replace("</title>", "</title><link rel=stylesheet href=/style.css>")
    dates = ("2013-06-01", "2013-06-19", "2013-09-01")
    held = [
        Dated("http://dikes.test/", "2013-06-20T10:00:00Z", body),
        *(Dated(style, f"{day}T00:00:00Z", f"p {{ color: #{day[5:7]}{day[8:]}00 }}", fields=css) for day in dates),
    ]
    crawled = crawl(
        tmp_path / "c",
        ["http://dikes.test/"],
        captures={"sources": [{"archive": str(write_archive(tmp_path / "old.warc.gz", held))}]},
        event={"start": "2013-06-01", "end": "2013-06-30"},
    )
    assert crawled.summary["from_sources"] == 2
    with ArchivedCaptures(crawled.folder) as source:
        assert [f"{each.date:%Y-%m-%d}" for each in source.of_url(style)] == ["2013-06-19"]


def test_a_dead_archive_is_told_in_words_and_by_the_exit_code(tmp_path: Path) -> None:
    dead = {"memento": {"timegate": f"http://{NOWHERE}/"}}
    old = {"archive": str(write_archive(tmp_path / "old.warc.gz", OLD[:2]))}
    crawled = crawl(tmp_path / "c", ["http://dikes.test/both"], captures={"sources": [dead, old]})
    assert crawled.summary["pages"] == 1
    assert crawled.ended.code == 3
    assert f"archive {NOWHERE}: connect, 1 time" in crawled.ended.err


def test_an_archive_that_is_cut_off_is_told_in_words_by_the_summary_and_by_the_exit_code(tmp_path: Path) -> None:
    old = write_archive(tmp_path / "old.warc.gz", OLD)
    old.write_bytes(old.read_bytes()[:-20])
    crawled = crawl(tmp_path / "c", ["http://dikes.test/both"], captures={"sources": [{"archive": str(old)}]})
    assert crawled.summary["pages"] == 1
    assert crawled.ended.code == 3
    assert "archive old.warc.gz: 1 place of it cannot be read" in crawled.ended.err
    assert crawled.summary["source_damage"] == {"old.warc.gz": 1}
    assert "old.warc.gz: places that cannot be read" in (crawled.folder / "report.html").read_text("utf-8")


def test_seeds_are_looked_up_before_a_crawl(tmp_path: Path) -> None:
    sources = [{"archive": str(write_archive(tmp_path / "old.warc.gz", OLD))}]
    seeds = ["http://dikes.test/", "http://dikes.test/neither"]
    found = aah("icd", "try", define(tmp_path / "c", seeds, captures={"sources": sources}))
    assert "http://dikes.test/: held by an archive" in found.out
    assert "captured 2013-06-05, old.warc.gz" in found.out
    assert "http://dikes.test/neither: in no archive" in found.out
    assert found.code == 1
    assert not (tmp_path / "c" / "crawl").exists()


def test_a_crawl_that_goes_on_has_the_same_missing_list(tmp_path: Path) -> None:
    sources = [{"archive": str(write_archive(tmp_path / "old.warc.gz", OLD))}]
    seeds = ["http://dikes.test/"]
    first = crawl(tmp_path / "c", seeds, captures={"sources": sources}, limits={"pages": 1})
    assert first.summary["pages"] == 1
    definition = define(tmp_path / "c", seeds, captures={"sources": sources})
    ended = aah("crawl", definition, "--accept-changes")
    told = summary(first.folder)
    assert told["pages"] == 2, ended.err
    assert told["unchanged"] == 0  # Captures of this crawl are older than it, and yet none of a former one.
    found = aah("missing", first.folder).out.split()
    assert found == [f"http://dikes.test/{name}" for name in ("live", "neither", "later")]
