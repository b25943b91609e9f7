"""What operators do to a frontier: while its crawl runs, and while it does not."""

import json
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from aahcrawler.cli import app
from aahcrawler.crawls import frontier_settings
from aahcrawler.definition_bundle import pack_definition
from aahcrawler.frontier.protocol import Offer, State
from aahcrawler.frontier.redis.control import RedisControl
from aahcrawler.frontier.redis.registry import RedisRegistry
from aahcrawler.frontier.server.embedded import EmbeddedServer
from tests.crawl.crawling import Running, running, until
from tests.crawl.site import Reply, Site, html, links, serving
from tests.crawl.world import define

EACH = 400
PAUSE = 0.1
NO_TRAPS = {"pages": "0", "duplicates": "follow", "soft_404": "ignore"}


def site() -> Site:
    """Return a front page that leads to many pages of two kinds."""
    targets = (f"/{kind}/{n}" for n in range(EACH) for kind in ("a", "b"))
    pages = {"/robots.txt": Reply(b"", 404), "/": html("Front", links(*targets))}
    return Site({**pages}, other=Reply(html("Page").body, pause=PAUSE))


@contextmanager
def crawling(folder: Path) -> Iterator[tuple[Site, Running]]:
    with serving(site()) as served, running("crawl", define(folder, [served.url], traps=NO_TRAPS)) as crawler:
        until(lambda: len(served.asked) > 4)
        yield served, crawler


def invoke(*arguments: str | Path) -> str:
    ended = CliRunner().invoke(app, ["frontier", *map(str, arguments)])
    assert ended.exit_code == 0, ended.stderr
    return ended.stdout


def counts(crawl: Path) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(invoke("counts", crawl, "--json"))
    return found


def kinds(served: Site, begun: int) -> set[str]:
    return {path[1] for path in served.paths()[begun + 1 :]}


def test_urls_are_blocked_and_let_go_while_the_crawl_runs(tmp_path: Path) -> None:
    crawl = tmp_path / "crawl"
    with crawling(tmp_path) as (served, crawler):
        assert f"rules: prefix {served.url}a/" in invoke("block", crawl, "--prefix", f"{served.url}a/")
        begun = len(served.paths())
        crawler.until(lambda: len(served.paths()) > begun + 4)
        assert kinds(served, begun) == {"b"}
        found = counts(crawl)
        assert found["rules"] == [f"prefix {served.url}a/"]
        assert found["pages"]["blocked"] == found["reasons"][f"prefix {served.url}a/"] > EACH / 2
        assert "URLs are queued again" in invoke("unblock", crawl, "--prefix", f"{served.url}a/")
        invoke("block", crawl, "--pattern", "*/b/*")
        begun = len(served.paths())
        crawler.until(lambda: len(served.paths()) > begun + 4)
        assert kinds(served, begun) == {"a"}
        invoke("unblock", crawl, "--pattern", "*/b/*")
        assert counts(crawl)["pages"]["blocked"] == 0
        crawler.interrupt()
        assert crawler.ended().code == 0


def test_a_crawl_is_paused_and_resumed_while_it_runs(tmp_path: Path) -> None:
    crawl = tmp_path / "crawl"
    with crawling(tmp_path) as (served, crawler):
        for named, paused in (((), "paused"), (("--host", f"127.0.0.1:{served.port}"), "paused_queues")):
            invoke("pause", crawl, *named)
            begun = len(served.asked)
            assert counts(crawl)[paused]
            assert len(served.asked) <= begun + 1
            invoke("resume", crawl, *named)
            crawler.until(lambda begun=begun: len(served.asked) > begun + 3)  # type: ignore[misc]
            assert not counts(crawl)[paused]
        crawler.interrupt()
        assert crawler.ended().code == 0


@pytest.fixture(scope="module")
def stopped(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Site, Path]]:
    """Stop a crawl before it is over."""
    folder = tmp_path_factory.mktemp("stopped")
    with crawling(folder) as (served, crawler):
        crawler.interrupt()
        crawler.ended()
        yield served, folder / "crawl"


def test_a_crawl_that_does_not_run_is_asked_as_well(stopped: tuple[Site, Path]) -> None:
    served, crawl = stopped
    table = invoke("counts", crawl)
    assert "queued" in table
    best = invoke("top", crawl, "-n", "3").splitlines()
    assert len(best) == 3
    assert all(line.split()[2:] == ["page", line.split()[3]] and served.url in line for line in best)
    (first,) = json.loads(invoke("top", crawl, "-n", "1", "--json"))
    assert (first["kind"], first["depth"], first["via"]) == ("page", 1, served.url)


def test_a_page_is_due_again(stopped: tuple[Site, Path]) -> None:
    served, crawl = stopped
    before = counts(crawl)["pages"]
    assert invoke("revisit", crawl, served.url, "--in", "2 h") == "1 pages are due again\n"
    assert (counts(crawl)["pages"]["due"], before["due"]) == (1, 0)
    ended = CliRunner().invoke(app, ["frontier", "revisit", str(crawl), f"{served.url}nowhere"])
    assert (ended.exit_code, "has not been fetched" in ended.stderr) == (2, True)


def test_a_frontier_goes_on_from_a_snapshot(stopped: tuple[Site, Path], tmp_path: Path) -> None:
    _, crawl = stopped
    kept, before = tmp_path / "frontier.snapshot", counts(crawl)
    urls = sum(before["pages"].values())
    assert f"{urls:,} URLs" in invoke("snapshot", crawl, kept)
    invoke("block", crawl, "--host", "127.0.0.1")
    assert counts(crawl)["pages"]["queued"] == 0
    refused = CliRunner().invoke(app, ["frontier", "restore", str(crawl), str(kept)])
    assert (refused.exit_code, "is not empty" in refused.stderr) == (2, True)
    torn = tmp_path / "torn.snapshot"
    torn.write_bytes(kept.read_bytes()[:-20])
    refused = CliRunner().invoke(app, ["frontier", "restore", str(crawl), str(torn), "--replace"])
    assert (refused.exit_code, counts(crawl)["rules"]) == (2, ["host 127.0.0.1"])
    assert f"{urls:,} URLs" in invoke("restore", crawl, kept, "--replace")
    assert counts(crawl) == before


def test_a_crawl_that_runs_is_not_restored(tmp_path: Path) -> None:
    crawl = tmp_path / "crawl"
    with crawling(tmp_path) as (_, crawler):
        invoke("snapshot", crawl, tmp_path / "kept")
        refused = CliRunner().invoke(app, ["frontier", "restore", str(crawl), str(tmp_path / "kept"), "--replace"])
        assert (refused.exit_code, "stop it first" in refused.stderr) == (2, True)
        crawler.interrupt()
        assert crawler.ended().code == 0


def test_a_crawl_of_a_shared_server_is_named_by_its_id(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    icd, definition = pack_definition(define(tmp_path, ["http://a.test/"], limits={"pages_per_domain": "1"}))
    with EmbeddedServer(tmp_path / "server") as server:
        monkeypatch.setenv("AAH_REDIS_URL", server.url)
        RedisRegistry(server.url).submit(icd.id, definition)
        with closing(RedisControl(server.url, icd.id, frontier_settings(icd))) as frontier:
            frontier.offer([Offer(f"http://a.test/{n}", "a.test", 0.5) for n in range(3)])
            (lease,) = frontier.lease("worker", 9)
            assert "2 queued URLs are blocked" in invoke("block", icd.id, "--host", "a.test")
            assert "2 URLs are queued again" in invoke("unblock", icd.id, "--host", "a.test")
            frontier.finish(lease, State.DONE)
            assert (frontier.lease("worker", 9), frontier.next_ready()) == ((), None)
        unknown = CliRunner().invoke(app, ["frontier", "counts", "other"])
    assert (unknown.exit_code, "nor the id of one" in unknown.stderr) == (2, True)


@pytest.mark.parametrize(
    ("arguments", "why"),
    [
        (("block",), "give --url, --prefix, --host or --pattern"),
        (("block", "--prefix", "a.test/"), "begins no URL"),
        (("block", "--url", "nothing"), "is no http or https URL"),
        (("block", "--pattern", "*"), "matches every URL"),
        (("unblock", "--host", "a.test"), "no such rules: host a.test"),
        (("pause", "--host", "a b"), "is no http or https URL"),
        (("revisit", "nothing"), "is no http or https URL"),
        (("revisit", "http://a.test/", "--in", "soon"), "soon"),
    ],
)
def test_what_is_wrong_is_told(stopped: tuple[Site, Path], arguments: tuple[str, ...], why: str) -> None:
    _, crawl = stopped
    command, *rest = arguments
    ended = CliRunner().invoke(app, ["frontier", command, str(crawl), *rest])
    assert (ended.exit_code, why in ended.stderr) == (2, True), ended.stderr


def test_a_folder_without_a_crawl(tmp_path: Path) -> None:
    ended = CliRunner().invoke(app, ["frontier", "counts", str(tmp_path)])
    assert (ended.exit_code, "holds no crawl" in ended.stderr) == (2, True)
