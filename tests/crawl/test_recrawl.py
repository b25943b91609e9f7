"""The same definition again: what is asked for, what is kept, and what is said of what changed."""

import os
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pyoxigraph as ox
import pytest
from fastwarc.warc import ArchiveIterator

from aahcrawler.metadata import MEDIA_TYPE, Metadata, read_metadata
from aahcrawler.objects import vocabulary as v
from aahcrawler.revisits.change_log import ChangeKind, ChangeState, Visit, visits
from tests.crawl.board import FIELDS, FLOOD, a_month_later, board, know
from tests.crawl.crawling import EndedRun, aah, rows, running, summary, write_icd
from tests.crawl.site import Asked, Site, serving
from tests.crawl.verifying import assert_whole
from tests.offline.shapes import crawl_violations

UNCHANGED = ("/", "/t/tag", "/t/date", "/t/same")


@dataclass(frozen=True, slots=True)
class Record:
    kind: str
    url: str
    headers: dict[str, str]
    block: bytes


@dataclass
class Months:
    """The forum, the folder, and what was asked and said in each of its crawls."""

    site: Site
    folder: Path
    asked: list[list[Asked]] = field(default_factory=list)
    said: list[EndedRun] = field(default_factory=list)
    summaries: list[dict[str, Any]] = field(default_factory=list)

    @property
    def crawl(self) -> Path:
        return self.folder / "crawl"

    def again(self, *options: str) -> None:
        """Give the command once more."""
        before = len(self.site.asked)
        environment = {**os.environ, "AAH_KNOWLEDGE_BASE": str(self.folder / "known")}
        with running("crawl", self.folder / "icd.yaml", *options, environment=environment) as crawler:
            ended = crawler.ended()
        assert ended.code == 0, ended.err
        self.asked.append(self.site.asked[before:])
        self.said.append(ended)
        self.summaries.append(summary(self.crawl))

    def url(self, path: str) -> str:
        return self.site.url.rstrip("/") + path

    def pages(self, number: int) -> dict[str, dict[str, Any]]:
        """Return the rows of one crawl by path."""
        return {row["url"].removeprefix(self.url("")): row for row in rows(self.crawl) if row["crawl"] == number}


@pytest.fixture(scope="module")
def months(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Months]:
    """Crawl a forum, crawl it again a month later, and once more with a knowledge base that knows more of it."""
    folder = tmp_path_factory.mktemp("months")
    with serving(board()) as site:
        write_icd(folder, site.url)
        know(folder / "known")
        crawled = Months(site, folder)
        crawled.again()
        a_month_later(site)
        crawled.again()
        know(folder / "known", FIELDS + '<field name="title"><select css="b"/></field>')
        crawled.again()
        yield crawled


def conditions(asked: list[Asked]) -> dict[str, tuple[str | None, str | None]]:
    """Return what each request made its answer depend on: an entity tag, and a date."""
    return {
        one.path: (dict(one.headers).get("If-None-Match"), dict(one.headers).get("If-Modified-Since")) for one in asked
    }


def records(months: Months, number: int) -> list[Record]:
    """Return the records that one crawl wrote."""
    found = []
    for path in sorted((months.crawl / "archive").iterdir()):
        with path.open("rb") as file:
            for record in ArchiveIterator(file, parse_http=False):
                headers, block = dict(record.headers.items()), record.reader.read()
                found.append(Record(headers["WARC-Type"], headers.get("WARC-Target-URI", ""), headers, block))
    starts = [at for at, record in enumerate(found) if record.kind == "warcinfo"]
    parts = [found[begin:end] for begin, end in zip(starts, [*starts[1:], len(found)], strict=True)]
    return next(part for part in parts if f"crawl-number: {number}\r\n".encode() in part[0].block)


def by_path(months: Months, found: list[Record], *kinds: str) -> dict[str, Record]:
    return {record.url.removeprefix(months.url("")): record for record in found if record.kind in kinds}


def statements(months: Months) -> set[tuple[str, str, str, str]]:
    said = aah("objects", months.crawl, "--format", "nq").out.encode()
    return {
        (quad.graph_name.value, quad.subject.value, quad.predicate.value, quad.object.value)
        for quad in ox.parse(said, ox.RdfFormat.N_QUADS)
    }


def test_it_says_which_crawl_this_is_and_what_it_knows(months: Months) -> None:
    lines = [ended.err.splitlines()[0].partition(": ")[2] for ended in months.said]
    assert lines == [
        "crawl 1 begun",
        "crawl 2 begun anew, knowing 8 pages of the crawls before",
        "crawl 3 begun anew, knowing 9 pages of the crawls before",
    ]
    assert [found["crawl"] for found in months.summaries] == [1, 2, 3]
    assert [summary(months.crawl / "former" / number) for number in "12"] == months.summaries[:2]


def test_what_has_a_validator_is_asked_for_with_it(months: Months) -> None:
    assert set(conditions(months.asked[0]).values()) == {(None, None)}
    date = "Sat, 01 Feb 2020 10:00:00 GMT"
    asked = conditions(months.asked[1])
    assert asked == {
        "/robots.txt": ('"r"', None),
        **dict.fromkeys(("/", "/t/same", "/t/gone", "/t/new", "/old"), (None, None)),
        "/t/tag": ('W/"1"', None),
        "/t/edited": ('"e1"', None),
        "/t/lost": ('"l"', None),
        **dict.fromkeys(("/t/date", "/t/moved", "/more.css"), (None, date)),
        "/style.css": ('"s"', None),
        "/back.png": ('"b"', None),
    }
    assert Counter(one.path for one in months.asked[1]).most_common(1)[0][1] == 1
    sent = sum(condition != (None, None) for condition in asked.values())
    assert [found["conditional"] for found in months.summaries[:2]] == [0, sent]


def test_every_page_is_counted_by_what_became_of_it(months: Months) -> None:
    counts = [
        {name: found[name] for name in ("pages", "new", "changed", "unchanged", "gone")} for found in months.summaries
    ]
    assert counts == [
        {"pages": 8, "new": 8, "changed": 0, "unchanged": 0, "gone": 0},
        {"pages": 7, "new": 1, "changed": 2, "unchanged": 4, "gone": 2},
        {"pages": 7, "new": 0, "changed": 0, "unchanged": 7, "gone": 0},
    ]
    assert [found["objects"] for found in months.summaries] == [11, 10, 10]
    assert [found["application"] for found in months.summaries] == [{"Tiny Board": n} for n in (8, 7, 7)]
    assert months.summaries[1]["type"] == {"text/html": 7}
    assert months.summaries[1]["status"] == {"200": 5, "301": 1, "304": 5, "404": 1, "410": 1}


def test_every_visit_is_in_the_log_of_changes(months: Months) -> None:
    crawls: list[dict[str, Visit]] = [{}, {}, {}]
    for visit in visits(months.crawl):
        crawls[visit.crawl - 1][visit.url.removeprefix(months.url(""))] = visit
    first, second, third = crawls
    assert {visit.state for visit in first.values()} == {ChangeState.NEW}
    told = {path: (visit.state, visit.kind) for path, visit in second.items()}
    assert told == {
        **dict.fromkeys((*UNCHANGED, "/old"), (ChangeState.UNCHANGED, None)),
        **dict.fromkeys(("/t/edited", "/t/moved"), (ChangeState.CHANGED, ChangeKind.CONTENT)),
        **dict.fromkeys(("/t/gone", "/t/lost"), (ChangeState.GONE, ChangeKind.GONE)),
        "/t/new": (ChangeState.NEW, None),
    }
    assert {visit.state for visit in third.values()} == {ChangeState.UNCHANGED}
    assert second["/t/gone"].deleted == (months.url("/t/gone#p10"),)
    assert not any(visit.deleted for visit in third.values())
    unmodified, changed, moved = second["/t/tag"], second["/t/edited"], second["/t/moved"]
    assert (unmodified.status, unmodified.byte_digest) == (304, first["/t/tag"].byte_digest)
    assert changed.edited == (months.url("/t/edited#p7"),)
    assert (moved.new, moved.deleted) == ((months.url("/t/moved#p12"),), (months.url("/t/moved#p8"),))
    assert changed.previous == first["/t/edited"].at
    assert first["/old"].moved_to == months.url("/t/tag")
    assert all(visit.seconds is not None and visit.requests == 1 and visit.size for visit in second.values())
    written = {record.headers["WARC-Record-ID"] for record in records(months, 2) if record.kind != "request"}
    assert {visit.record_id for visit in second.values()} <= {name.strip("<>") for name in written}


def test_what_is_known_is_not_kept_twice(months: Months) -> None:
    first, second = records(months, 1), records(months, 2)
    originals = by_path(months, first, "response")
    revisits = by_path(months, second, "revisit")
    unmodified = {"/robots.txt", "/t/tag", "/t/date", "/style.css", "/more.css", "/back.png"}
    assert set(revisits) == {"/", "/t/same", "/old", *unmodified}
    for path, revisit in revisits.items():
        original = originals[path]
        said = revisit.headers
        profile = "server-not-modified" if path in unmodified else "identical-payload-digest"
        assert said["WARC-Profile"].endswith(profile)
        assert said["WARC-Refers-To"] == original.headers["WARC-Record-ID"]
        assert said["WARC-Refers-To-Target-URI"] == original.url
        assert said["WARC-Refers-To-Date"] == original.headers["WARC-Date"]
        assert said["WARC-Payload-Digest"] == original.headers["WARC-Payload-Digest"]
        assert revisit.block == b"" or revisit.block.endswith(b"\r\n\r\n")
    assert {"/t/edited", "/t/moved", "/t/new", "/t/gone", "/t/lost"} == set(by_path(months, second, "response"))


def metadata(months: Months, number: int) -> dict[str, Metadata]:
    """Return what one crawl wrote down of what it understood, by path."""
    written = records(months, number)
    answered = {one.headers["WARC-Record-ID"]: one.url.removeprefix(months.url("")) for one in written}
    told = [one for one in written if (one.kind, one.headers.get("Content-Type")) == ("metadata", MEDIA_TYPE)]
    return {answered[one.headers["WARC-Concurrent-To"]]: read_metadata(one.block) for one in told}


def test_metadata_is_written_of_pages_and_of_style_sheets_that_lead_on(months: Months) -> None:
    told = metadata(months, 1)
    pages = {path for path in by_path(months, records(months, 1), "response") if "." not in path}
    assert set(told) == {*pages, "/style.css", "/more.css"}
    assert [(link.url, link.type) for link in told["/old"].links] == [(months.url("/t/tag"), "redirect")]
    tag = told["/t/tag"]
    assert (tag.application, tag.level, tag.role, tag.language) == ("Tiny Board", "thread", "terminal", "en")
    assert {(link.url, link.type) for link in tag.links} == {
        (months.url("/no/1"), "page"),
        (months.url("/style.css"), "requisite"),
    }
    assert [web_object.first("body") for web_object in tag.objects] == [f"{FLOOD} {number}" for number in (1, 2, 3)]
    assert tag.priority is not None
    assert {one.understood_by for path, one in told.items()} == {tag.understood_by}


def test_what_is_remembered_is_neither_described_nor_stated_again(months: Months) -> None:
    assert set(metadata(months, 2)) == {"/t/edited", "/t/moved", "/t/new", "/t/gone", "/t/lost", "/old"}
    pages = months.pages(2)
    said = statements(months)
    for path in UNCHANGED:
        row, before = pages[path], months.pages(1)[path]
        assert row["unchanged"] == before["capture"]
        assert [row[name] for name in ("application", "level", "score", "relevant", "media_type")] == [
            before[name] for name in ("application", "level", "score", "relevant", "media_type")
        ]
        assert not [one for one in said if one[0] == row["capture"] and one[2] == v.DERIVED_FROM]


def changed(months: Months, number: int) -> dict[str, dict[str, set[str]]]:
    """Return which objects of each page are said to be added, edited and deleted, by their fragments."""
    said = statements(months)
    captures = {row["capture"]: path for path, row in months.pages(number).items()}
    found: dict[str, dict[str, set[str]]] = {}
    for _, subject, predicate, value in said:
        if subject in captures and predicate in {v.ADDED, v.EDITED, v.DELETED}:
            kinds = found.setdefault(captures[subject], {})
            kinds.setdefault(predicate.rpartition(":")[2], set()).add(value.rpartition("#")[2])
    return found


def test_what_changed_is_stated(months: Months) -> None:
    assert changed(months, 1) == {}
    assert changed(months, 2) == {
        "/t/edited": {"edited": {"p7"}},
        "/t/moved": {"added": {"p12"}, "deleted": {"p8"}},
        "/t/gone": {"deleted": {"p10"}},
        "/t/lost": {"deleted": {"p11"}},
    }
    assert changed(months, 3) == {}  # What stays gone was deleted when that was found first.
    first, second = months.pages(1), months.pages(2)
    lost = [row["deleted"] for row in rows(months.crawl, "objects") if row["iri"].endswith(("#p10", "#p11"))]
    assert sorted(lost) == sorted(second[path]["fetched_at"] for path in ("/t/gone", "/t/lost"))
    revised = {(one[1], one[3]) for one in statements(months) if one[2] == v.REVISION_OF}
    for path in ("/t/edited", "/t/moved", "/t/gone", "/t/lost"):
        assert (second[path]["capture"], first[path]["capture"]) in revised
    versions = {one for one in revised if one[0].startswith("urn:aahcrawler:version:")}
    assert len(versions) == 1


def test_a_knowledge_base_that_knows_more_is_asked_about_what_has_not_changed(months: Months) -> None:
    paths = Counter(one.path for one in months.asked[2])
    assert set(paths.values()) == {1}
    assert {path for path, row in months.pages(3).items() if row["status"] == 304} == {
        *("/t/tag", "/t/date", "/t/edited", "/t/moved", "/t/new"),
    }
    assert by_path(months, records(months, 3), "response") == {}
    told = metadata(months, 3)
    assert [web_object.first("title") for web_object in told["/t/tag"].objects] == ["p1", "p2", "p3"]
    titles = {row["title"] for row in rows(months.crawl, "objects") if row["deleted"] is None}
    assert titles == {"p1", "p2", "p3", "p4", "p5", "p6", "p7", "p9", "p12", "p13"}
    assert not any("edited" in kinds or "added" in kinds for kinds in changed(months, 3).values())
    assert all(row["unchanged"] for row in months.pages(3).values() if row["status"] in {200, 304})


def test_robots_txt_is_obeyed_in_every_crawl(months: Months) -> None:
    assert not [one for asked in months.asked for one in asked if one.path.startswith("/no")]
    assert [found["blocked"] for found in months.summaries] == [{"robots": 1}] * 3


def test_everything_holds_for_other_readers(months: Months) -> None:
    assert_whole(months.crawl)
    checked = aah("archive", "check", months.crawl)
    assert checked.code == 0, checked.out + checked.err
    assert crawl_violations(months.crawl) == []
    report = (months.crawl / "report.html").read_text("utf-8")
    assert "Crawl 3 of test" in report
    assert f"Crawl 2, begun {months.summaries[1]['begun_at']}, had 7 pages and " in report
