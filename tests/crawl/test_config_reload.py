"""A definition that is changed while its crawl runs."""

import json
import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from tests.crawl.crawling import Running, aah, running, until
from tests.crawl.site import Asked, Reply, Site, html, links, serving
from tests.crawl.world import Crawled, crawl, define, gaps

PAUSE = 0.15
"""Seconds that the site takes for each page, so that a crawl of it runs for a while."""
EACH = 300
"""Pages of a kind, more than are fetched while a test runs."""
ENDLESS = "/{}/{}"


def endless(path: str) -> Reply:
    """Return a page that leads on and on: /a/1 to /a/2, /b/1 to /b/2."""
    branch, _, number = path.strip("/").partition("/")
    page = html(path, links(ENDLESS.format(branch, int(number or 0) + 1), *(("/b/1",) if path == "/a/1" else ())))
    return Reply(page.body, pause=PAUSE)


@dataclass(frozen=True, slots=True)
class Live:
    """A crawl that runs, and whose definition can be changed."""

    site: Site
    folder: Path
    crawler: Running
    sections: dict[str, object]

    def change(self, **sections: object) -> None:
        """Write the definition anew, with other sections, and wait until the crawl has looked at it."""
        seen = self.log.count("\n")
        define(self.folder, [f"{self.site.url}a/1"], **{**self.sections, **sections})
        self.crawler.until(lambda: "definition" in "".join(self.log.splitlines(keepends=True)[seen:]))

    @property
    def log(self) -> str:
        return (self.folder / "crawl" / "crawl.log").read_text("utf-8")

    def fetched(self, branch: str) -> list[Asked]:
        return [asked for asked in self.site.asked if asked.path.startswith(f"/{branch}/")]

    def until(self, condition: Callable[[], bool]) -> None:
        self.crawler.until(condition)

    def end(self) -> Crawled:
        """End the crawl as Ctrl-C does."""
        self.crawler.interrupt()
        return Crawled(self.crawler.ended(), self.folder / "crawl")


def told_apart(path: str) -> Reply:
    """Return pages that lead nowhere, but for the first one: to some with telling addresses, and some with anchors."""
    if path != "/a/1":
        return Reply(html("Page").body, pause=PAUSE)
    named = (f'<p><a href="/storm-surge-flood/{n}">Recipes for cake and bread</a></p>' for n in range(EACH))
    anchored = (f'<p><a href="/page/{n}">Storm surge and flood at the harbour dike</a></p>' for n in range(EACH))
    return html("Front", "".join((*anchored, *named)))


@contextmanager
def live(folder: Path, answer: Callable[[str], Reply] = endless, **sections: object) -> Iterator[Live]:
    """Begin a crawl of a site, by default of the endless one."""
    with serving(Site({"/robots.txt": Reply(b"", 404)}, other=answer)) as site:
        path = define(folder, [f"{site.url}a/1"], **sections)
        with running("crawl", path) as crawler:
            until(lambda: len(site.asked) > 3)
            yield Live(site, folder, crawler, sections)


def test_limits_and_delays_that_are_changed_hold_at_once(tmp_path: Path) -> None:
    with live(tmp_path, limits={"pages": "500"}) as crawled:
        crawled.change(limits={"pages": "500"}, politeness={"delay": "700 ms"})
        crawled.until(lambda: not (tmp_path / "crawl" / "redefining.json").exists())
        begun = len(crawled.site.asked)
        crawled.until(lambda: len(crawled.site.asked) >= begun + 4)
        assert min(gaps(crawled.site.asked[begun + 1 :])) >= 0.5  # The site's clock reads late where it is busy.
        crawled.change(limits={"pages": str(len(crawled.site.asked) + 1)}, politeness={"delay": "0"})
        done = Crawled(crawled.crawler.ended(), tmp_path / "crawl")
    assert done.ended.code == 0
    assert done.summary["reason"] == "limits.pages reached"
    kept = json.loads((done.folder / "icd.json").read_text())
    assert kept["politeness.delay"] == '"0 s"'


def test_a_changed_scope_holds_for_new_links_what_is_queued_and_what_was_refused(tmp_path: Path) -> None:
    with live(tmp_path, told_apart, scope={"deny": ["/storm"]}) as crawled:
        crawled.change(scope={"deny": ["/page/"]})
        crawled.until(lambda: "brought into line with the scope; blocked for denied" in crawled.log)
        assert f"offered after all: {EACH}" in crawled.log
        begun = len(crawled.site.asked)
        crawled.until(lambda: len(crawled.site.asked) > begun + 3)
        assert {asked.path.split("/")[1] for asked in crawled.site.asked[begun + 1 :]} == {"storm-surge-flood"}
        fetched = len(crawled.fetched("page"))
        told = json.loads(aah("frontier", "counts", tmp_path / "crawl", "--json").out)
        assert told["reasons"] == {"scope:denied": EACH - fetched}
        crawled.change(scope={"deny": ["/storm"]})
        crawled.until(lambda: "queued again" in crawled.log)
        crawled.until(lambda: len(crawled.fetched("page")) > fetched)
        done = crawled.end()
    assert done.summary["refused"] == {"denied": EACH}
    assert done.summary["frontier"]["pages_blocked"] == EACH - len(crawled.fetched("storm-surge-flood"))


def test_a_crawl_that_is_started_with_another_scope_acts_on_what_is_queued(tmp_path: Path) -> None:
    with live(tmp_path, told_apart, scope={"deny": ["/storm"]}) as crawled:
        crawled.end()
        begun = len(crawled.site.asked)
        path = define(tmp_path, [f"{crawled.site.url}a/1"], scope={"deny": ["/page/"]}, limits={"pages": "12"})
        assert aah("crawl", path, "--accept-changes").code == 0
        assert {asked.path.split("/")[1] for asked in crawled.site.asked[begun + 1 :]} == {"storm-surge-flood"}
    counts = json.loads(aah("frontier", "counts", tmp_path / "crawl", "--json").out)
    assert counts["reasons"]["scope:denied"] > EACH - 20


def test_changed_weights_hold_for_what_waits(tmp_path: Path) -> None:
    def scoring(**weights: str) -> dict[str, object]:
        off = dict.fromkeys(("text", "url", "application", "ranker"), "0")
        return {"weights": {**off, **weights}, "url_patterns": {"/page/": "0.1", "/storm-surge-flood/": "0.9"}}

    with live(tmp_path, told_apart, scoring=scoring(text="1", url="0.01")) as crawled:
        crawled.until(lambda: len(crawled.site.asked) > 5)
        before = {asked.path.split("/")[1] for asked in crawled.site.asked[2:]}
        crawled.change(scoring=scoring(text="0.01", url="1"))
        crawled.until(lambda: "by the changed weights" in crawled.log)
        begun = len(crawled.site.asked)
        crawled.until(lambda: len(crawled.site.asked) > begun + 4)
        after = {asked.path.split("/")[1] for asked in crawled.site.asked[begun + 1 :]}
        done = crawled.end()
    assert (before, after) == ({"page"}, {"storm-surge-flood"})
    (waits,) = (url for url in [f"{crawled.site.url}storm-surge-flood/49"] if url not in done.statuses())
    told = json.loads(aah("explain-score", done.folder, waits, "--json").out)
    assert [event["what"] for event in told["history"]] == ["linked", "re-weighed"]
    assert {part["analyser"]: part["weight"] for part in told["parts"]} == {"text": 0.01, "url": 1}
    assert told["score"] == pytest.approx(sum(part["share"] for part in told["parts"]), abs=1e-3)


def test_changes_that_cannot_be_used_are_told_and_leave_the_crawl_as_it_is(tmp_path: Path) -> None:
    with live(tmp_path) as crawled:
        crawled.change(scope={"dney": ["/b/"]})
        assert re.search(r"icd\.yaml:[0-9]+: scope\.dney: is no field of an ICD; write `deny`", crawled.log)
        assert "the one before it stays in use" in crawled.log
        crawled.change(topic={"keywords": ["train"]}, title="Another", limits={"pages": "400"})
        done = crawled.end()
    assert done.log.count("changes of title, topic.keywords are left aside while the crawl runs") == 1
    kept: dict[str, Any] = json.loads((done.folder / "icd.json").read_text())
    assert (kept["title"], kept["limits.pages"]) == ('"A test"', "400")


def test_a_crawl_goes_on_with_what_was_changed_while_it_ran(tmp_path: Path) -> None:
    with live(tmp_path) as crawled:
        crawled.change(limits={"pages": "400"})
        crawled.end()
        begun, seed = len(crawled.site.asked), f"{crawled.site.url}a/1"
        refused = crawl(tmp_path, [seed])
        assert "changed: limits.pages" in refused.ended.err
        with running("crawl", define(tmp_path, [seed], limits={"pages": "400"})) as again:
            again.until(lambda: len(crawled.site.asked) > begun + 1)
            again.interrupt()
            assert again.ended().code == 0
