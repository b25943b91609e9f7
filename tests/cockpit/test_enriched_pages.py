"""What pages say of enriched crawls where there is little to show, and what commands they name."""

import csv
import html
import io
import re
import shlex
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from functools import partial
from pathlib import Path
from urllib.parse import parse_qs

import pytest

from aahcrawler.annotations import Annotation, Kind
from aahcrawler.annotations.annotation_settings import AnnotationSettings
from aahcrawler.layout import ARCHIVE
from aahcrawler.service.views.cited_capture import mail_address, names_of
from aahcrawler.service.views.page_list import PageShown
from aahcrawler.tombstones import Tombstone, write_tombstones
from offline.enrichment.enriching import enrich
from offline.enrichment.steps import chosen_steps
from tests.cockpit.cockpit_browser import READER, Cockpit, serving
from tests.cockpit.test_packages import Visitor
from tests.crawl.crawling import until
from tests.enrichment.archives import LONG, define, write_posts

TEXTS = [[("ann", f"The dike of Leeds broke at night. {LONG}"), ("bob", f"So it did, @ann, and nobody knew. {LONG}")]]
REPOSTED = f"The harbour master closed the lock after the second flood, and read a letter aloud. {LONG} {LONG[::-1]}"
THERE = "/crawls/demo/archive/conversations"


@dataclass(frozen=True)
class Enriched:
    """A cockpit with a crawl that is enriched, one that is not, and one that has the id of the first."""

    place: Path
    cockpit: Cockpit
    reader: Visitor

    def text(self, path: str) -> str:
        return html.unescape(self.reader.text(path))

    def names(self, path: str, command: str) -> bool:
        return command in self.text(path)


@pytest.fixture(scope="module")
def shown_there(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Enriched]:
    place = tmp_path_factory.mktemp("at rest") / "the crawls"
    place.mkdir()
    for name, crawl_id in (("a dike", "demo"), ("b dike", "demo"), ("c dike", "bare")):
        define(place / name, name=crawl_id)
        write_posts(place / name, TEXTS)
        (place / name / ARCHIVE).mkdir()
    list(enrich(place / "a dike", chosen_steps(["conversations"])))
    define(place / "reposts", name="reposts")
    write_posts(
        place / "reposts", [[("ann", REPOSTED)], [("bob", f"{REPOSTED} Says Ann.")], [("eve", "Quite another.")]]
    )
    (place / "reposts" / ARCHIVE).mkdir()
    list(enrich(place / "reposts", chosen_steps(["near-duplicates"])))
    with serving(place) as cockpit:
        yield Enriched(place, cockpit, Visitor(cockpit, READER))


def test_a_folder_that_is_passed_over_is_named_where_the_crawls_are(shown_there: Enriched) -> None:
    text = shown_there.text("/")
    assert "Folders that are not shown" in text
    assert f"{shlex.quote(str(shown_there.place / 'b dike'))}: has the id demo" in text.replace("<wbr>", "")


def test_commands_name_the_folder_as_a_shell_takes_it(shown_there: Enriched, monkeypatch: pytest.MonkeyPatch) -> None:
    absolute = f"aah enrich {shlex.quote(str(shown_there.place / 'c dike'))}"
    assert absolute in shown_there.text("/crawls/bare/archive/spoken")
    monkeypatch.chdir(shown_there.place.parent)
    for path in ("/crawls/bare/archive/spoken", "/archive/spoken", "/search?q=dike", "/crawls/bare/archive/keep"):
        until(partial(shown_there.names, path, "aah enrich 'the crawls/c dike'"))


def test_a_site_that_is_not_there_is_said_to_be_none(shown_there: Enriched) -> None:
    assert "<bdi>forum.test</bdi>, as far as it is archived" in shown_there.text(f"{THERE}?site=forum.test")
    text = shown_there.text(f"{THERE}?site=nosuch")
    assert "Nobody is known to answer anybody on <bdi>nosuch</bdi>" in text
    assert "as far as it is archived" not in text


def test_what_cannot_be_read_is_told_with_its_field_and_what_to_write(shown_there: Enriched) -> None:
    dates = "is no date; write a year, a month or a day, such as 2026, 2026-01 or 2026-01-31"
    assert f"since: {dates}" in shown_there.text(f"{THERE}?since=March")
    assert "lowest: is no score; write a number such as 0.5" in shown_there.text("/crawls/demo/queue?lowest=much")
    assert "after: is no whole number; write one in digits" in shown_there.text("/crawls/demo/archive/keep?after=x")


def test_who_is_in_no_community_has_none(shown_there: Enriched) -> None:
    (_, *rows) = csv.reader(io.StringIO(shown_there.reader.text(f"{THERE}.csv")))
    assert rows
    assert all(row[-1] != "0" for row in rows)


def test_texts_that_say_nearly_the_same_are_listed_and_lead_to_their_words(shown_there: Enriched) -> None:
    (head, *rows) = csv.reader(io.StringIO(shown_there.reader.text("/crawls/reposts/archive/alike.csv")))
    assert [row[0] for row in rows] == ["cluster", "cluster"]
    assert "1.0" in [row[head.index("likeness")] for row in rows]
    listed = shown_there.text("/crawls/reposts/archive/alike")
    assert "The harbour master closed the lock" in listed
    for author in ("ann", "bob"):
        assert f"forum.test, {author}, 2020-05-01" in " ".join(re.sub("<[^>]+>", "", listed).split())
    assert {row[head.index("author")] for row in rows} == {"ann", "bob"}
    assert "None are known" in listed  # Nobody did the step of related texts.
    (group,) = set(re.findall(r'href="(/crawls/reposts/archive/alike/cluster[^"]+)"', listed))
    told = shown_there.text(group)
    assert "2 web objects on 1 site" in told
    assert "forum.test · bob · 2020-05-01" in re.sub("<[^>]+>", "", told)
    (words, _) = re.findall(r'href="(/crawls/reposts/captures/[^"]+)"', told)
    assert "words=%22The+harbour+master" in words
    capture = shown_there.text(words.partition("?")[0])
    assert "says nearly the same as" in capture
    assert "1 other web object" in capture


def test_a_takedown_since_then_is_told(shown_there: Enriched) -> None:
    folder = shown_there.place / "a dike"
    said = "Pages were taken down since this was found"
    assert said not in shown_there.text(THERE)
    for days, is_told in ((1, True), (-1, False)):
        at = (datetime.now(UTC) + timedelta(days=days)).isoformat()
        write_tombstones(folder, [Tombstone(id="1", at=at, by="ann", reason="asked", urls=("http://x/",), captures=1)])
        assert (said in shown_there.text(THERE)) is is_told


def test_a_capture_says_at_once_where_it_is_archived_and_what_it_is_cited_by(shown_there: Enriched) -> None:
    (page, *_) = re.findall(r'href="(/crawls/reposts/captures/[^"/?]+)', shown_there.text("/crawls/reposts/pages"))
    told = shown_there.text(page)
    assert "At a glance" in told
    assert "1 capture, " in told
    assert "nothing says whether it is relevant" in told or "relevant, by its score" in told
    (mail,) = re.findall(r'href="(mailto:[^"]+)"', told)
    asked = parse_qs(mail.removeprefix("mailto:?"))
    assert "http://forum.test/" in asked["body"][0]
    assert f"{page.rpartition('/')[2]}" in asked["body"][0]
    written = shown_there.reader.text(f"{page}/text.txt")
    assert "archive reposts, record urn:uuid:" in written
    assert REPOSTED in written or "Quite another." in written


def test_pages_of_people_stay_off_at_a_glance() -> None:
    said = [
        Annotation("urn:o", "urn:c", kind, name, "entities", "1", 0.8, f"urn:{name}")
        for kind, name in (
            (Kind.PERSON, "Ida Berg"),
            (Kind.PLACE, "Leeds"),
            (Kind.PLACE, "Leeds"),
            (Kind.PLACE, "York"),
        )
    ]
    assert names_of(said, AnnotationSettings()) == {Kind.PLACE: [("urn:Leeds", "Leeds"), ("urn:York", "York")]}
    assert names_of(said, AnnotationSettings(people=True))[Kind.PERSON] == [("urn:Ida Berg", "Ida Berg")]


def test_a_mail_is_as_short_as_programs_take_it_and_tells_nobody_to_send_it() -> None:
    page = PageShown.model_construct(
        title="A \r\n& b?", url="http://forum.test/?a=1&b=2", fetched_at="2026-01-02T03:04:05Z", record="urn:uuid:1"
    )
    address = mail_address(page, "demo", f"{'dike ' * 5000}", "http://localhost/crawls/demo/captures/1")
    assert address.startswith("mailto:?subject=A%20%26%20b%3F&body=")
    assert len(address) < 2_000
    asked = parse_qs(address.removeprefix("mailto:?"))
    assert asked.keys() == {"subject", "body"}
    assert (
        "http://forum.test/?a=1&b=2 (captured 2026-01-02T03:04:05Z, archive demo, record urn:uuid:1)"
        in asked["body"][0]
    )
