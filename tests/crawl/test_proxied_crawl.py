"""Crawls through proxies: all comes through, nothing is lost while the proxy is away, passwords stay secret."""

import gzip
import socket
from pathlib import Path

import pytest

from tests.crawl.crawling import running, summary
from tests.crawl.site import Site, html, links, serving
from tests.crawl.verifying import archived
from tests.crawl.world import crawl, define
from tests.wire.proxies import RunningProxy, http_proxy, proxying, socks_proxy

PAGES = 6
WORD = "the-proxys-word"


@pytest.fixture
def site() -> Site:
    pages = {f"/{n}": html(f"Flood {n}", f"<p>The dike broke in the flood of year {n}.</p>") for n in range(1, PAGES)}
    front = html("Floods", links(*pages) + "<p>All floods of the harbour.</p>")
    return Site({"/": front, **pages})


def everything_written(folder: Path) -> bytes:
    """Return all bytes of all files of a crawl's folder, archives decompressed."""
    files = [path for path in sorted(folder.rglob("*")) if path.is_file() and not path.is_socket()]
    return b"\n".join(
        gzip.decompress(path.read_bytes()) if path.name.endswith(".gz") else path.read_bytes() for path in files
    )


@pytest.mark.parametrize(("kind", "protocol"), [("http", http_proxy), ("socks5h", socks_proxy)])
def test_all_of_a_site_comes_through_and_the_password_stands_nowhere(
    tmp_path: Path, site: Site, monkeypatch: pytest.MonkeyPatch, kind: str, protocol: object
) -> None:
    monkeypatch.setenv("TEST_PROXY_WORD", WORD)
    with serving(site), proxying(RunningProxy({"flood.test": site.port}, login=("me", WORD)), protocol) as proxy:
        section = {"url": f"{kind}://127.0.0.1:{proxy.port}", "user": "me", "password": {"env": "TEST_PROXY_WORD"}}
        crawled = crawl(tmp_path, ["http://flood.test/"], network={"proxy": section})
    assert crawled.ended.code == 0, crawled.ended.err
    assert crawled.summary["pages"] == PAGES
    assert crawled.summary["addresses_not_judged"] == [section["url"]]
    assert "not judged" in crawled.log
    assert set(proxy.asked) == {"flood.test:80"}
    records = archived(crawled.folder)
    assert records
    everything = everything_written(crawled.folder)
    assert b"WARC-Target-URI: http://flood.test/5" in everything
    assert b"WARC-IP-Address" not in everything
    assert WORD.encode() not in everything
    assert WORD not in crawled.ended.out + crawled.ended.err


def test_crawl_waits_for_its_proxy_and_loses_nothing(tmp_path: Path, site: Site) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
    definition = define(tmp_path, ["http://flood.test/"], network={"proxy": f"http://127.0.0.1:{port}"})
    folder = tmp_path / "crawl"
    with serving(site), running("crawl", definition) as process:
        process.until(lambda: (folder / "crawl.json").exists() and summary(folder)["state"] == "paused")
        assert "cannot be reached" in summary(folder)["reason"]
        with proxying(RunningProxy({"flood.test": site.port}), port=port):
            ended = process.ended()
    assert ended.code == 0, ended.err
    said = summary(folder)
    assert said["pages"] == PAGES
    assert said["error"] == {}
    assert said["retries"] == 0
    assert "is back after" in (folder / "crawl.log").read_text("utf-8")


def test_a_refusal_of_the_proxy_is_a_verdict(tmp_path: Path, site: Site) -> None:
    with serving(site), proxying(RunningProxy({"flood.test": site.port}, frozenset({"forbidden.test"}))) as proxy:
        section = {"proxy": f"http://127.0.0.1:{proxy.port}"}
        crawled = crawl(tmp_path, ["http://flood.test/", "http://forbidden.test/"], network=section)
    assert crawled.summary["seeds"][1]["verdict"] == "proxy refused"
    assert crawled.summary["pages"] == PAGES
    assert crawled.summary["error"] == {"proxy refused": 1}


def test_the_environment_names_no_proxy(tmp_path: Path, site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("http_proxy", "http://127.0.0.1:1")
    with serving(site):
        crawled = crawl(tmp_path, [site.url])
    assert crawled.summary["pages"] == PAGES
    assert crawled.log.count("HTTP_PROXY is set and not used") == 1


def test_a_password_that_cannot_be_had_is_a_mistake_in_its_line(tmp_path: Path) -> None:
    secret = tmp_path / "word"
    secret.write_text(f"{WORD}\n")
    secret.chmod(0o644)
    section = {"proxy": {"url": "http://127.0.0.1:1", "user": "me", "password": {"file": str(secret)}}}
    crawled = crawl(tmp_path, ["http://flood.test/"], network=section)
    assert crawled.ended.code != 0
    assert "network.proxy.password" in crawled.ended.err
    assert "others may read" in crawled.ended.err
    assert WORD not in crawled.ended.err
