"""What servers and pages do to a crawl, and what it makes of it: one crawl meets them all."""

import os
import zlib
from collections.abc import Iterator
from pathlib import Path

import pytest
from fastwarc.warc import ArchiveIterator, WarcRecordType

from benchmarks.process_memory import Finished, run
from tests.crawl.crawling import PATIENCE, EndedRun, command
from tests.crawl.gate import Gate
from tests.crawl.hostility import (
    BODILESS,
    ENCODINGS,
    FAULTS,
    LARGE,
    MARKUP,
    ODD_LINKS,
    coded,
    front,
    gzip_bomb,
    odd_pages,
    page_with,
)
from tests.crawl.site import Reply, Site, html, links, serving
from tests.crawl.world import LOOPBACK, Crawled, crawl, define, network
from tests.pace import allowed

MAX_MEMORY = 480
LONGEST = 100
FOUND = ("large", "bomb", "bomb-of-bombs", "iframe", *(name for name in MARKUP if name != "many-codings"))


def write(site: Site) -> None:
    bomb = gzip_bomb(1024)
    hosts = {
        "large": Reply(page_with("/found", after=(b"<p>" + b"harbour " * 500 + b"</p>") * (LARGE // 4007))),
        "bomb": coded(bomb, "gzip"),
        "bomb-of-bombs": coded(zlib.compress(bomb * 2, wbits=31), "gzip, gzip"),
        "iframe": html("Frames", '<iframe src="/frame"></iframe><object data="/o"></object><a href="/found">f</a>'),
        "itself": Reply(b"", 301, {"Location": "/"}),
        "loop": Reply(b"", 302, {"Location": "/other"}),
        "chain": Reply(b"", 301, {"Location": "/1"}),
        "endless": Reply(b"", 307, {"Location": "/?1"}),
        "abroad": Reply(b"", 301, {"Location": "http://elsewhere.test/"}),
        "nowhere": Reply(b"", 301, {"Location": "javascript:alert(1)"}),
        "unsaid": Reply(b"", 301),
        **MARKUP,
        **ENCODINGS,
        **{name: reply for name, (reply, _) in FAULTS.items()},
        **BODILESS,
    }
    for name, reply in hosts.items():
        site.pages |= front(name, reply)
    site.pages["//loop.test/other"] = Reply(b"", 302, {"Location": "/"})
    site.pages |= {f"//chain.test/{hop}": Reply(b"", 301, {"Location": f"/{hop + 1}"}) for hop in range(1, 5)}
    site.pages["//chain.test/5"] = html("The end of the chain")
    site.pages |= {f"//endless.test/?{hop}": Reply(b"", 307, {"Location": f"/?{hop + 1}"}) for hop in range(100)}
    site.pages |= {f"//odd.test{path}": reply for path, reply in odd_pages().items()}


@pytest.fixture(scope="module")
def site() -> Iterator[Site]:
    site = Site()
    write(site)
    with serving(site) as served:
        yield served


@pytest.fixture(scope="module")
def met(site: Site, tmp_path_factory: pytest.TempPathFactory) -> tuple[Finished, Crawled]:
    folder = tmp_path_factory.mktemp("hostile")
    hosts = sorted({path[2:].partition("/")[0] for path in site.pages if path.startswith("//")})
    definition = define(
        folder,
        [*(f"http://{host}/" for host in hosts), "https://tls.test/"],
        politeness={"delay": "0", "timeout": "10 min", "retries": "0"},
        network=network(site, *hosts, "tls.test"),
    )
    finished = run(command("crawl", definition), os.environ, PATIENCE)
    return finished, Crawled(EndedRun(finished.code, finished.output, ""), folder / "crawl")


@pytest.fixture(scope="module")
def crawled(met: tuple[Finished, Crawled]) -> Crawled:
    return met[1]


def test_the_crawl_ends_in_good_order_time_and_memory(met: tuple[Finished, Crawled]) -> None:
    finished, crawled = met
    assert finished.code == 3, f"some seeds give nothing: {finished.output}"
    assert crawled.summary["state"] == "finished"
    assert "unforeseen trouble" not in crawled.log
    assert "Traceback" not in finished.output + crawled.log
    assert finished.cpu_seconds < allowed(LONGEST)
    assert finished.peak_mib < MAX_MEMORY


@pytest.mark.usefixtures("crawled")
@pytest.mark.parametrize("host", FOUND)
def test_what_can_be_read_of_a_page_is_read(site: Site, host: str) -> None:
    assert "/found" in [asked.path for asked in site.of(f"{host}.test")]


@pytest.mark.usefixtures("crawled")
@pytest.mark.parametrize("host", ENCODINGS)
def test_pages_are_read_in_the_encoding_a_browser_takes(site: Site, host: str) -> None:
    assert "/%C3%BCbung" in [asked.path for asked in site.of(f"{host}.test")]


@pytest.mark.usefixtures("crawled")
def test_addresses_are_asked_for_as_a_browser_does(site: Site) -> None:
    asked = [request.path for request in site.of("odd.test")]
    assert sorted(asked) == sorted(["/robots.txt", "/", *ODD_LINKS.values()])


def test_a_large_body_is_archived_whole(site: Site, crawled: Crawled) -> None:
    reply = site.pages["//large.test/"]
    assert isinstance(reply, Reply)
    assert archived(crawled, "http://large.test/") == [len(reply.body)]
    assert archived(crawled, "http://large.test/found")


def archived(crawled: Crawled, url: str) -> list[int]:
    """Return the lengths of the payloads archived for an address, those included that were known already."""
    lengths = []
    for path in (crawled.folder / "archive").glob("*.warc.gz"):
        with path.open("rb") as file:
            wanted = WarcRecordType.response | WarcRecordType.revisit
            for record in ArchiveIterator(file, record_types=wanted, parse_http=True):
                if record.headers["WARC-Target-URI"] == url:
                    lengths.append(int(record.http_headers["Content-Length"]))
                    assert record.reader is not None
                    left_out = lengths[-1] if record.record_type == WarcRecordType.revisit else 0
                    assert len(record.reader.read()) == lengths[-1] - left_out
    return lengths


@pytest.mark.parametrize("host", FAULTS)
def test_an_answer_that_is_none_fails_with_its_reason(crawled: Crawled, host: str) -> None:
    event = crawled.log_of(f"http://{host}.test/")
    assert FAULTS[host][1] in event


def test_a_silent_server_is_waited_for_no_longer_than_the_definition_says(tmp_path: Path) -> None:
    gate = Gate()
    with serving(Site({"/": gate.holding(html("Late"))})) as site:
        politeness = {"delay": "0", "timeout": "2 s", "retries": "0", "robots": "ignore"}
        silent = crawl(tmp_path, [site.url], politeness=politeness)
    assert gate.held == 1
    assert "timeout" in silent.log_of(site.url)
    assert silent.summary["error"] == {"timeout": 1}


def test_every_trouble_is_counted_once(crawled: Crawled) -> None:
    reasons = [reason for _, reason in FAULTS.values()]
    assert crawled.summary["error"] == {reason: reasons.count(reason) for reason in reasons} | {"tls": 1}


def test_answers_without_a_page_are_answers(crawled: Crawled) -> None:
    statuses = crawled.statuses()
    expected = {"no-content": 204, "not-modified": 304, "empty": 200, "teapot": 418, "no-type": 200}
    assert {host: statuses[f"http://{host}.test/"] for host in BODILESS} == expected


@pytest.mark.usefixtures("crawled")
def test_a_chain_of_redirects_is_followed_and_archived(site: Site, crawled: Crawled) -> None:
    asked = [request.path for request in site.of("chain.test")]
    assert asked == ["/robots.txt", "/", "/1", "/2", "/3", "/4", "/5"]
    for path in asked:
        assert len(archived(crawled, f"http://chain.test{path}")) == 1


def test_redirects_without_end_come_to_one(site: Site, crawled: Crawled) -> None:
    assert [asked.path for asked in site.of("itself.test")] == ["/robots.txt", "/"]
    assert [asked.path for asked in site.of("loop.test")] == ["/robots.txt", "/", "/other"]
    assert len(site.of("endless.test")) == 1 + 1 + 20
    assert crawled.summary["refused"]["redirects"] == 1


def test_redirects_out_of_the_scope_are_not_followed(site: Site, crawled: Crawled) -> None:
    assert site.of("elsewhere.test") == []
    assert crawled.summary["refused"]["other_site"] >= 1
    for host in ("nowhere", "unsaid"):
        assert [asked.path for asked in site.of(f"{host}.test")] == ["/robots.txt", "/"]


# Addresses


def private_network(port: int) -> dict[str, str]:
    """Return addresses that must not be connected to, each with how it is queued; a server listens at most of them."""
    return {
        f"http://127.0.0.2:{port}/plain": f"http://127.0.0.2:{port}/plain",
        f"http://0x7f000002:{port}/hex": f"http://127.0.0.2:{port}/hex",
        f"http://2130706434:{port}/decimal": f"http://127.0.0.2:{port}/decimal",
        f"http://127.2:{port}/short": f"http://127.0.0.2:{port}/short",
        f"http://0177.0.0.2:{port}/octal": f"http://127.0.0.2:{port}/octal",
        f"http://[::ffff:127.0.0.2]:{port}/mapped": f"http://[::ffff:7f00:2]:{port}/mapped",
        f"http://[::1]:{port}/six": f"http://[::1]:{port}/six",
        f"http://0.0.0.0:{port}/zero": f"http://0.0.0.0:{port}/zero",
        f"http://inside.test:{port}/named": f"http://inside.test:{port}/named",
        "http://169.254.169.254/latest/meta-data/": "http://169.254.169.254/latest/meta-data/",
        "http://10.0.0.1/": "http://10.0.0.1/",
        "http://[fe80::1]/": "http://[fe80::1]/",
    }


ELSEWHERE = ("file:///etc/passwd", "javascript:location='http://10.0.0.2/'", "gopher://10.0.0.3/", "ftp://10.0.0.4/")


@pytest.fixture(scope="module")
def confined(tmp_path_factory: pytest.TempPathFactory) -> tuple[Crawled, Site, dict[str, str]]:
    """Crawl a site that leads into private networks in every way it can; only its own address is allowed."""
    with serving(Site(other=html("Inside")), "127.0.0.2") as inside, serving(Site()) as outside:
        private = private_network(inside.port)
        redirects = {f"/{number}": target for number, target in enumerate((*private, *ELSEWHERE))}
        outside.pages |= {path: Reply(b"", 302, {"Location": target}) for path, target in redirects.items()}
        needed = "".join(f'<img src="{target}?image">' for target in private)
        outside.pages["/"] = html("Outside", links(*redirects, *private, *ELSEWHERE) + needed)
        outside.pages["/robots.txt"] = Reply(b"", 404)
        outside.pages["//odd-robots.test/robots.txt"] = Reply(b"", 302, {"Location": next(iter(private))})
        confined = crawl(
            tmp_path_factory.mktemp("confined"),
            [outside.url, "http://odd-robots.test/"],
            scope={"sites": "anywhere"},
            traps={"barren": 0},  # All of its pages lead to what is refused.
            network={
                "allow_private": ["127.0.0.1/32"],
                "resolve": {"inside.test": "127.0.0.2", "odd-robots.test": f"127.0.0.1:{outside.port}"},
            },
        )
        assert confined.ended.code == 3, f"a seed gives nothing: {confined.ended.err}"
        assert len(outside.paths()) == 1 + len(redirects)
    return confined, inside, private


def test_no_link_and_no_redirect_leads_into_a_private_network(confined: tuple[Crawled, Site, dict[str, str]]) -> None:
    crawled, inside, private = confined
    assert inside.connections == 0
    for address in private.values():
        assert crawled.log_of(address) == " blocked: address"
        assert crawled.log_of(f"{address}?image") == " blocked: address"
    assert crawled.summary["blocked"] == {"address": 2 * len(private)}


def test_a_robots_txt_that_leads_into_a_private_network_cannot_be_had(
    confined: tuple[Crawled, Site, dict[str, str]],
) -> None:
    crawled, _, _ = confined
    assert crawled.summary["error"] == {"robots.txt": 1}


def test_private_addresses_are_refused_unless_the_definition_allows_them(tmp_path: Path) -> None:
    with serving(Site(other=html("Private"))) as site:
        section = {"resolve": {"public.test": f"127.0.0.1:{site.port}"}}
        refused = crawl(tmp_path, [site.url, "http://public.test/", f"http://localhost:{site.port}/"], network=section)
    assert refused.ended.code == 3, f"the seeds give nothing: {refused.ended.err}"
    assert site.connections == 0
    assert refused.summary["blocked"] == {"address": 3}
    assert refused.summary["frontier"]["pages_blocked"] == 3
    assert refused.summary["bytes"] == 0
    assert refused.summary["retries"] == 0


# Links


@pytest.mark.parametrize("number", [2_000, pytest.param(100_000, marks=pytest.mark.soak)])
def test_a_page_of_links_takes_bounded_time_and_place(tmp_path: Path, number: int) -> None:
    site = Site(other=html("One of many"))
    own = b"".join(b'<a href="/%d">flood %d</a>' % (at, at) for at in range(number))
    foreign = b"".join(b'<a href="http://h%d.test/">dike</a>' % at for at in range(1_000))
    site.pages = {"/": Reply(b"<html><body>" + foreign + own), "/robots.txt": Reply(b"", 404)}
    with serving(site):
        definition = define(tmp_path, [site.url], limits={"pages_per_domain": "3"}, network={"allow_private": LOOPBACK})
        finished = run(command("crawl", definition), os.environ, PATIENCE)
    crawled = Crawled(EndedRun(finished.code, finished.output, ""), tmp_path / "crawl")
    assert finished.code == 0, finished.output
    assert finished.cpu_seconds < allowed(LONGEST)
    assert finished.peak_mib < MAX_MEMORY
    assert len(site.paths()) == 3
    assert crawled.summary["refused"]["other_site"] == 1_000
    assert min(4_000, number * 4 // 5) <= crawled.summary["frontier"]["pages_queued"] <= number
