"""The requests of a page in a browser: who answers them, what is kept of them, and what is never asked."""

import gzip
from collections import Counter
from pathlib import Path

from tests.crawl.crawling import rows, summary
from tests.crawl.site import Reply, Site, html, serving
from tests.crawl.verifying import archived, assert_whole
from tests.crawl.visiting import AGENT, USUAL, Asking, Plan, crawl_visiting
from tests.crawl.warc_records import blocks, fields
from tests.crawl.world import network

TEXT = {"Content-Type": "text/plain"}
SCRIPT = {"Content-Type": "text/javascript"}
SHELL = html("Shell", "<p>The harbour is flooded, and the dike holds.</p>")


def robots(*rules: str) -> Reply:
    return Reply("\n".join(("User-agent: *", *rules)).encode(), headers=TEXT)


def test_a_page_is_answered_and_all_of_it_is_archived_byte_for_byte(tmp_path: Path) -> None:
    coded = gzip.compress(b"let x = 1;" * 500)
    chunked = (
        b"HTTP/1.1 200 Fine\r\nx-ODD-case: 1\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n2\r\nde\r\n0\r\n\r\n"
    )
    with serving(Site()) as site:
        site.pages = {
            "/": Reply(b"<h1>Shell</h1>", headers={"Content-Type": "text/html", "Set-Cookie": "a=1", "X-Own": "yes"}),
            "/a.js": Reply(coded, headers={**SCRIPT, "Content-Encoding": "gzip"}),
            "/chunked": Reply(raw=lambda: [chunked]),
            "/gone": Reply(b"no", 404, TEXT),
            "/moved": Reply(b"", 302, {"Location": "/a.js"}),
        }
        site.posted = {("/api", "q=flood"): Reply(b'{"hits": 1}', headers={"Content-Type": "application/json"})}
        url = site.url
        steps = [
            [Asking(url, resource_type="Document")],
            [Asking(f"{url}{path}") for path in ("a.js", "chunked", "gone", "moved")],
            [Asking(f"{url}api", "POST", [*USUAL, ["Content-Type", "text/plain"]], "q=flood")],
            [Asking(f"{url}a.js", "HEAD"), Asking(f"{url}a.js#again")],
            [Asking(f"{url}api", "DELETE"), Asking("ftp://127.0.0.1/x"), Asking("data:text/plain,x")],
        ]
        ended, (visit,) = crawl_visiting(tmp_path, [url], {url: Plan(steps, allows=["POST"])}, scope={"depth": 0})
        asked = {(each.method, each.path): dict(each.headers) for each in site.asked}
        paths = Counter(each.path for each in site.asked)
    assert ended.code == 0, ended.err
    crawl = tmp_path / "crawl"
    page, script, piece, gone, moved, posted, head, again, deleted, ftp, data = visit.given
    assert (page.status, page.body, page.header("X-Own"), page.header("Set-Cookie")) == (
        200,
        "<h1>Shell</h1>",
        "yes",
        "a=1",
    )
    assert (script.status, script.body.encode("latin-1"), script.header("Content-Encoding")) == (200, coded, "gzip")
    assert (piece.body, ["x-ODD-case", "1"] in piece.headers) == ("abcde", True)
    assert [(each.status, each.begun) for each in (gone, moved, posted, head)] == [
        (404, 1),
        (302, 1),
        (200, 1),
        (200, 1),
    ]
    assert (posted.body, head.body, again.body) == ('{"hits": 1}', "", script.body)
    assert [each.refused for each in (deleted, ftp, data)] == ["method", "scheme", "scheme"]
    assert paths["/"] == 1
    assert blocks(crawl, "response", f"{url}chunked") == [chunked]
    assert blocks(crawl, "response", f"{url}a.js")[0].endswith(b"\r\n\r\n" + coded)
    sent = asked["GET", "/a.js"]
    assert sent["User-Agent"] != AGENT
    assert sent["User-Agent"].startswith("AAHCrawler")
    assert sent["Accept-Encoding"] == "gzip, deflate, br, zstd"
    assert list(sent)[2:] == [name for name, _ in USUAL]
    assert b"q=flood" in b"".join(blocks(crawl, "request", f"{url}api"))
    told = summary(crawl)
    assert told["browser_refused"] == {"scheme": 2, "method": 1}
    assert told["browser_requests"] == 7
    assert told["requests"] == sum(paths.values())


def test_robots_scope_and_limits_hold_for_what_a_page_asks(tmp_path: Path) -> None:
    def anything(path: str) -> Reply:
        return Reply(path.encode() * 20, headers=TEXT)

    with serving(Site(other=anything)) as site:
        site.pages = {
            "/robots.txt": Reply(b"", 404),
            "//other.test/robots.txt": robots("Disallow: /closed"),
            "//down.test/robots.txt": Reply(b"", 503),
            "/": SHELL,
        }
        url, own = "http://a.test/", "http://a.test"
        wanted = [
            f"{own}/open",
            "http://other.test/open",
            "http://other.test/closed/x",
            "http://down.test/x",
            f"{own}/denied/x",
            "http://nowhere.test/x",
        ]
        large = {"limits": {"requisites_per_page": 6, "requisite_file_bytes": "150 B"}}
        steps = [
            [Asking(url)],
            *([Asking(each)] for each in wanted),
            [Asking(f"{own}/{'l' * 20}")],
            *([Asking(f"{own}/{number}")] for number in range(4)),
        ]
        ended, (visit,) = crawl_visiting(
            tmp_path,
            [url],
            {url: Plan(steps)},
            scope={"deny": ["/denied/"], "depth": 0},
            network=network(site, "a.test", "other.test", "down.test"),
            **large,
        )
        asked = Counter(f"{each.host}{each.path}" for each in site.asked)
    assert ended.code == 0, ended.err
    assert [visit.of(each).refused for each in wanted] == ["", "", "robots", "robots.txt", "denied", "resolve"]
    assert visit.given[7].refused == "requisite_file_bytes"
    assert [each.refused for each in visit.given[8:]] == ["", "", "requisites_per_page", "requisites_per_page"]
    crawl = tmp_path / "crawl"
    assert asked["other.test/robots.txt"] == asked["down.test/robots.txt"] == 1
    assert asked["other.test/closed/x"] == asked["a.test/denied/x"] == asked["down.test/x"] == 0
    assert archived(crawl)["http://other.test/robots.txt"] == 1
    assert summary(crawl)["browser_refused"] == visit.said["refused"]
    assert_whole(crawl)


def test_what_was_captured_once_is_given_to_pages_and_leases_alike(tmp_path: Path) -> None:
    page = (
        "<p>The harbour is flooded.</p><link rel=stylesheet href=/a.css><script src=/a.js></script><a href=/two>2</a>"
    )
    with serving(Site()) as site:
        site.pages = {
            "/": html("One", page + "<iframe src=/frame></iframe>"),
            "/two": html("Two", page),
            "/frame": html("Frame", "<p>A dike in a frame.</p><a href=/three>3</a>"),
            "/three": html("Three", "<p>No visit here, but the same harbour.</p>"),
            "/a.css": Reply(b"body { background: url(/bg.png) }", headers={"Content-Type": "text/css"}),
            "/a.js": Reply(b"let a;", headers=SCRIPT),
            "/bg.png": Reply(b"\x89PNG", headers={"Content-Type": "image/png"}),
            "/news": Reply(b"1", headers={**TEXT, "Cache-Control": "private, no-store"}),
            "/mine": Reply(b"2", headers={**TEXT, "Vary": "Cookie"}),
            "/shared": Reply(b"3", headers={**TEXT, "Vary": "accept-encoding, Origin"}),
            "/api": Reply(b"4", headers=TEXT),
        }
        url = site.url
        parts = [f"{url}{name}" for name in ("a.css", "a.js", "news", "mine", "shared")]
        foreign = [*USUAL, ["Origin", "http://else.test"]]
        special = [*USUAL, ["X-Requested-With", "XMLHttpRequest"]]
        once = [
            [Asking(each) for each in parts],
            [Asking(f"{url}api"), Asking(f"{url}frame", resource_type="Document")],
        ]
        again = [
            [Asking(each) for each in parts],
            [Asking(f"{url}shared", headers=foreign), Asking(f"{url}api", headers=special)],
            [
                Asking(f"{url}api"),
                Asking(f"{url}", resource_type="XHR"),
                Asking(f"{url}frame", resource_type="Document"),
            ],
            [Asking(f"{url}a.js")],
        ]
        plans = {url: Plan([[Asking(url)], *once]), f"{url}two": Plan([[Asking(f"{url}two")], *again])}
        ended, (first, second) = crawl_visiting(tmp_path, [url], plans)
        asked = Counter(each.path for each in site.asked)
    assert ended.code == 0, ended.err
    assert [each.refused for each in (*first.given, *second.given)] == [""] * (8 + 12)
    assert [each.body for each in second.given[1:6]] == [each.body for each in first.given[1:6]]
    assert (first.said["from_archive"], second.said["from_archive"]) == (0, 4)
    assert {path: asked[path] for path in ("/a.css", "/bg.png", "/frame", "/three")} == dict.fromkeys(
        ("/a.css", "/bg.png", "/frame", "/three"), 1
    )
    assert {path: asked[path] for path in ("/a.js", "/news", "/mine", "/shared", "/api", "/")} == {
        "/a.js": 2,  # A page that asks for the same once more wants it anew.
        "/news": 2,
        "/mine": 2,
        "/shared": 2,
        "/api": 3,
        "/": 2,
    }
    crawl = tmp_path / "crawl"
    told = summary(crawl)
    assert told["from_archive"] == 3  # The style sheet, the script and the frame.
    assert told["browser_answered_from_archive"] == 4
    assert told["requests"] == sum(asked.values())
    (capture,) = (row["capture"] for row in rows(crawl) if row["url"] == f"{url}frame")
    response, revisit = (fields(crawl, kind, f"{url}frame") for kind in ("response", "revisit"))
    assert revisit["WARC-Record-ID"] == f"<{capture}>"
    assert [revisit[name] for name in ("WARC-Refers-To", "WARC-Date")] == [
        response[name] for name in ("WARC-Record-ID", "WARC-Date")
    ]
    assert len(list(blocks(crawl, "request", f"{url}frame"))) == 1, "what was asked for once is kept once"
    assert_whole(crawl)


def test_players_are_given_parts_and_the_archive_has_the_whole(tmp_path: Path) -> None:
    film, playlist = bytes(range(256)) * 40, b"#EXTM3U\n#EXT-X-ENDLIST\n"
    with serving(Site(other=SHELL)) as site:
        site.pages["/film.mp4"] = Reply(film, headers={"Content-Type": "video/mp4"})
        site.pages["/list.m3u8"] = Reply(playlist, headers={"Content-Type": "application/vnd.apple.mpegurl"})
        url, at = site.url, f"{site.url}film.mp4"

        def part(asked: str) -> Asking:
            return Asking(at, headers=[*USUAL, ["Range", f"bytes={asked}"]], resource_type="Media")

        steps = [
            [part("0-")],
            [part("1000-1999"), part("-10"), part("99999-"), part("0-1,5-6")],
            [Asking(f"{url}list.m3u8")],
        ]
        ended, (visit,) = crawl_visiting(tmp_path, [url], {url: Plan(steps)}, scope={"depth": 0})
        sent = [dict(each.headers).get("Range") for each in site.asked if each.path == "/film.mp4"]
    assert ended.code == 0, ended.err
    whole, middle, end, beyond, several, _ = visit.given
    assert (whole.status, whole.body.encode("latin-1")) == (206, film)
    assert whole.header("Content-Range") == "bytes 0-10239/10240"
    assert (middle.status, middle.body.encode("latin-1")) == (206, film[1000:2000])
    assert (end.body.encode("latin-1"), end.header("Content-Range")) == (film[-10:], "bytes 10230-10239/10240")
    assert (sent[0], {*sent[1:]}) == (None, {"bytes=99999-", "bytes=0-1,5-6"})
    assert (beyond.status, several.status) == (200, 200)
    assert visit.said["manifests"] == [f"{url}list.m3u8"]
    assert blocks(tmp_path / "crawl", "response", at)[0].endswith(film)
    kept = fields(tmp_path / "crawl", "response", at)
    assert (kept["WARC-Resource-Type"], kept["AAH-Shown-On"]) == ("media", url)


SECRET, PASSWORD = "session-0123456789abcdef", "open-sesame-4711"
API = "http://a.test/api"


def test_a_site_knows_the_browser_as_it_knows_the_crawl(tmp_path: Path) -> None:
    secret = tmp_path / "secret"
    secret.write_text(PASSWORD, "ascii")
    secret.chmod(0o600)
    challenge = Reply(b"who?", 401, {"WWW-Authenticate": 'Basic realm="r"', **TEXT})
    with serving(Site(other=challenge)) as site:
        site.pages = {
            "/robots.txt": Reply(b"", 404),
            "/": Reply(
                SHELL.body + b"<a href=/next>next</a>",
                headers={"Content-Type": "text/html", "Set-Cookie": f"id={SECRET}; HTTPONLY; samesite=lax"},
            ),
            "/set": Reply(b"set", headers={**TEXT, "Set-Cookie": "later=1"}),
            "//other.test/x": Reply(b"x", headers={**TEXT, "Set-Cookie": "theirs=1"}),
            "/next": html("Next", "<p>The dike again.</p>"),
        }
        site.posted = {("/api", f"password={PASSWORD}"): Reply(b"welcome", headers=TEXT)}
        url = "http://a.test/"
        cookie = [*USUAL, ["Cookie", f"id={SECRET}; scripts=own"]]
        steps = [
            [Asking(url)],
            [Asking(f"{url}set", headers=cookie), Asking("http://other.test/x", headers=cookie[:-1])],
            [Asking(f"{url}closed", headers=cookie), Asking("http://other.test/closed")],
            [Asking(API, "POST", cookie, f"password={PASSWORD}")],
            [Asking(f"{url}logout?x=1", headers=cookie)],
        ]
        ended_with = [
            {"name": "scripts", "value": "own", "domain": "a.test"},
            {"name": "x", "value": "1", "domain": "b.test"},
        ]
        shown = f"<p>{PASSWORD} and {SECRET}</p>"
        plans = {
            url: Plan(steps, ["POST"], ended_with, shown),
            f"{url}next": Plan([[Asking(f"{url}next")]]),
        }
        _, (first, second) = crawl_visiting(
            tmp_path,
            [url],
            plans,
            network={
                **network(site, "a.test", "other.test"),
                "accounts": {"a.test": {"user": "me", "password": {"file": str(secret)}}},
                "secrets_over_http": ["a.test"],
            },
            archive={"redact": True},
        )
        sent = {f"{each.host}{each.path}": dict(each.headers) for each in site.asked}
        closed = [dict(each.headers) for each in site.asked if each.path == "/closed" and each.host == "a.test"]
    crawl = tmp_path / "crawl"
    assert [each["name"] for each in first.said["cookies"]] == ["id"]
    assert (first.said["cookies"][0]["http_only"], first.said["cookies"][0]["same_site"]) == (True, "Lax")
    assert sent["a.test/set"]["Cookie"] == f"id={SECRET}; scripts=own"
    assert "Cookie" not in sent["other.test/x"]
    assert {each["name"]: each["value"] for each in second.said["cookies"]} == {
        "id": SECRET,
        "later": "1",
        "scripts": "own",
    }
    assert "scripts=own" in sent["a.test/next"]["Cookie"]
    assert ["Authorization" in each for each in closed] == [False, True]
    assert (first.of(f"{url}closed").status, first.of(f"{url}closed").begun) == (401, 1)
    assert first.of("http://other.test/closed").status == 401
    assert first.of(API).body == "welcome"
    assert first.said["concealed"] == "<p>REDACTED and REDACTED</p>"
    everything = b"".join(path.read_bytes() for path in crawl.rglob("*.nt*") if path.is_file())
    everything += b"".join(gzip.decompress(path.read_bytes()) for path in (crawl / "archive").iterdir())
    assert PASSWORD.encode() not in everything
    assert SECRET.encode() not in everything
    assert archived(crawl)[f"{url}closed"] == 2


def test_without_cookies_none_goes_either_way(tmp_path: Path) -> None:
    with serving(Site(other=SHELL)) as site:
        site.pages["/"] = Reply(SHELL.body, headers={"Content-Type": "text/html", "Set-Cookie": "a=1"})
        steps = [[Asking(site.url)], [Asking(f"{site.url}x", headers=[*USUAL, ["Cookie", "a=1"]])]]
        cookies = [{"name": "a", "value": "1", "domain": "127.0.0.1"}]
        off = {"allow_private": ["127.0.0.0/8"], "cookies": "off"}
        plan = {site.url: Plan(steps, cookies=cookies)}
        ended, (visit,) = crawl_visiting(tmp_path, [site.url], plan, network=off, scope={"depth": 0})
        assert all("Cookie" not in dict(each.headers) for each in site.asked)
    assert ended.code == 0, ended.err
    assert visit.said["cookies"] == []
