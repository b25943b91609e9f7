"""The replay answers those whom it lets in, from the archive alone, and nothing it sends may act."""

import gzip
import os
import re
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import urlencode

import pytest

from aahcrawler.replay.link_format import links_in
from aahcrawler.replay.replay_app import MAX_TICKETS, FixedFolders, ReplayAccess, Tickets, replay_app
from aahcrawler.replay.replay_server import RefusedToReplayError, folders_of, serve
from tests.replay.archived import MOMENT, URL, Archived
from tests.replay.serving import Replay, serving

COCKPIT = "http://127.0.0.1:9"
PAGE = f"/test/{MOMENT}mp_/{URL}"


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    crawl = Archived(tmp_path_factory.mktemp("crawl"))
    hostile = {
        "Content-Type": "text/html",
        "Set-Cookie": "a=b",
        "Refresh": "0;url=http://evil.test/",
        "Clear-Site-Data": '"*"',
        "Content-Security-Policy": "default-src *",
        "Link": "<http://evil.test/>; rel=preload",
        "Strict-Transport-Security": "max-age=99999",
        "Report-To": "{}",
        "Access-Control-Allow-Origin": "*",
        "Service-Worker-Allowed": "/",
    }
    crawl.add("<p>Archived", headers=hostile)
    crawl.add("<p>Searched", url="http://a.test/s?q=%C3%A4%2Fb&c=1")
    crawl.add("h1{}", url="http://a.test/s.css", headers={"Content-Type": "text/css"})
    crawl.add(status=302, url="http://a.test/r", headers={"Location": "//a.test/dir/page"})
    crawl.close()
    return crawl.folder


@pytest.fixture(scope="module")
def replay(folder: Path) -> Iterator[Replay]:
    with serving(replay_app(FixedFolders({"test": folder}), ("localhost",))) as served:
        yield served


@pytest.mark.parametrize(
    ("path", "status"),
    [
        (PAGE, 200),
        (f"/test/{MOMENT}mp_/http://a.test/s?q=%C3%A4%2Fb&c=1", 200),
        (f"/test/2026mp_/{URL}", 200),
        (f"/test/{MOMENT}mp_/http:/a.test/dir/page", 200),
        (f"/test/{MOMENT}cs_/http://a.test/s.css", 200),
        (f"/test/{MOMENT}id_/{URL}", 200),
        (f"/test/{MOMENT}mp_/http://a.test/r", 302),
        (f"/test/{MOMENT}mp_/http://a.test/unknown", 404),
        (f"/other/{MOMENT}mp_/{URL}", 404),
        (f"/test/{MOMENT}xx_/{URL}", 404),
        ("/test/99999999999999mp_/http://a.test/", 404),
        (f"/test/{MOMENT}mp_/file:///etc/passwd", 404),
        (f"/test/{MOMENT}mp_/http://a.test/" + "x" * 30_000, 404),
        ("/../../etc/passwd", 404),
        ("/%2e%2e/indexes/", 404),
        ("/", 200),
        ("/test/", 200),
        ("/test/?beginning=a.test/s&all=1", 200),
        ("/test", 302),
    ],
)  # fmt: skip
def test_every_response_has_fields_that_keep_it_from_acting(replay: Replay, path: str, status: int) -> None:
    response = replay.ask(path)
    assert response.status == status
    fields = {name.lower(): value for name, value in response.headers.items()}
    policy = fields["content-security-policy"]
    assert policy.startswith("sandbox allow-same-origin")
    assert "default-src 'none'" in policy
    assert "script-src 'none'" in policy
    assert not re.search(r"allow-(scripts|popups|top|modals)|unsafe-eval|https?:", policy)
    assert fields["x-content-type-options"] == "nosniff"
    assert fields["referrer-policy"] == "no-referrer"
    assert fields["cross-origin-resource-policy"] == "same-origin"
    assert "camera=()" in fields["permissions-policy"]
    assert fields["cache-control"].startswith("private")
    unwanted = {"set-cookie", "refresh", "clear-site-data", "strict-transport-security", "report-to"}
    assert unwanted.isdisjoint(fields)
    relations = {relation for link in links_in(fields.get("link", "")) for relation in link.relations}
    assert relations <= {"original", "timegate", "timemap", "memento", "prev", "next"}  # Never those of the page.
    assert not any(name.startswith(("access-control-", "service-worker")) for name in fields)


def test_what_is_not_captured_is_said_to_be_so(replay: Replay) -> None:
    response = replay.ask(f"/test/{MOMENT}mp_/http://a.test/<b>\u202e".replace("\u202e", "%E2%80%AE"))
    assert response.status == 404
    assert b"Not captured" in response.body
    assert b"<b>" not in response.body


def test_lists_lead_to_captures(replay: Replay) -> None:
    assert b'<a href="/test/">test</a>' in replay.ask("/").body
    listed = replay.ask("/test/?beginning=http://a.test/dir").body
    assert f'<a href="{PAGE}">'.encode() in listed
    assert b"s.css" not in listed


def test_other_hosts_and_methods_are_refused(replay: Replay) -> None:
    assert replay.ask(PAGE, Host="evil.test").status == 421
    assert replay.ask(PAGE, Host=f"127.0.0.1:{replay.port}").status == 421
    for method in ("POST", "PUT", "DELETE", "OPTIONS"):
        response = replay.ask(PAGE, method)
        assert (response.status, {**response.headers}["allow"]) == (405, "GET, HEAD")
    assert replay.ask("/enter", "POST", b"ticket=x").status == 405
    assert replay.ask(PAGE, "HEAD").status == 200
    assert replay.ask(PAGE, Sec_Fetch_Dest="serviceworker").status == 403


def test_the_door_lets_in_who_has_a_ticket_and_once(folder: Path) -> None:
    door = ReplayAccess.new(COCKPIT)
    with serving(replay_app(FixedFolders({"test": folder}), ("localhost",), door=door)) as replay:
        assert replay.ask(PAGE).status == 403
        assert replay.ask(PAGE, Cookie="aah-replay=guess").status == 403
        form = urlencode({"ticket": door.tickets.issue(PAGE)}).encode()
        entered = replay.ask("/enter", "POST", form, Content_Type="application/x-www-form-urlencoded")
        assert (entered.status, entered.headers["location"]) == (303, PAGE)
        name, *attributes = entered.headers["set-cookie"].split("; ")
        assert {"HttpOnly", "Secure", "SameSite=None", "Partitioned", "Path=/"} < set(attributes)
        response = replay.ask(PAGE, Cookie=name)
        assert response.status == 200
        assert response.headers["content-security-policy"].endswith(f"frame-ancestors 'self' {COCKPIT}")
        assert "x-frame-options" not in response.headers
        assert replay.ask("/enter", "POST", form).status == 403
        assert replay.ask("/enter", "POST", b"x" * 5000).status == 413
        assert replay.ask("/enter").status == 405


def test_tickets_and_sessions_end_and_are_bounded() -> None:
    now = 0.0
    door = ReplayAccess.new(COCKPIT, lambda: now)
    old = door.tickets.issue("/old")
    first = door.tickets.issue("/first")
    now = 59.0
    entered = door.enter(first)
    assert entered is not None
    cookie = entered[1].partition(";")[0]
    assert door.admits(f"other=1; {cookie}")
    now = 61.0
    assert door.enter(old) is None
    now = 13 * 3600.0
    assert not door.admits(cookie)
    tickets = Tickets(lambda: now)
    forgotten = tickets.issue("/x")
    kept = [tickets.issue("/x") for _ in range(MAX_TICKETS)]
    assert tickets.take(forgotten) is None
    assert tickets.take(kept[0]) == ("/x", "")
    for path in ("http://evil.test/", "//evil.test/", "/\\evil.test/", "/a\r\nb", "x"):
        with pytest.raises(ValueError, match="no path"):
            tickets.issue(path)


def test_crawls_are_found_by_their_ids_and_others_are_refused(folder: Path, tmp_path: Path) -> None:
    assert folders_of([folder]) == {"test": folder}
    inner = Archived(tmp_path / "crawls" / "inner", "inner")
    inner.add("<p>x")
    inner.close()
    assert folders_of([tmp_path / "crawls", folder]) == {"inner": inner.folder, "test": folder}
    with pytest.raises(RefusedToReplayError, match="holds no crawl"):
        folders_of([tmp_path])
    begun = tmp_path / "crawls" / "begun"
    begun.mkdir()
    (begun / "icd.json").write_bytes((inner.folder / "icd.json").read_bytes())
    told: list[str] = []
    assert folders_of([tmp_path / "crawls"], told.append) == {"inner": inner.folder}, "one of them has no archive yet"
    assert [str(begun) in line for line in told] == [True]
    with pytest.raises(RefusedToReplayError, match="begun"):
        folders_of([begun])
    with pytest.raises(RefusedToReplayError, match="can be reached by others"):
        serve([folder], "0.0.0.0", 0, print)  # noqa: S104


def test_the_command_tells_its_address_and_ends_in_good_order(folder: Path) -> None:
    command = [sys.executable, "-m", "aahcrawler.cli", "replay", str(folder), "--port", "0"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=dict(os.environ)) as process:
        assert process.stdout is not None
        told = process.stdout.readline()
        found = re.fullmatch(r"http://127\.0\.0\.1:(\d+)/\n", told)
        assert found, told
        assert b"Archived" in Replay(int(found[1])).ask(PAGE).body
        process.send_signal(signal.SIGINT)
        assert process.wait(60) == 0


@pytest.fixture(scope="module")
def film(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Replay]:
    crawl = Archived(tmp_path_factory.mktemp("film"))
    crawl.add(FILM, url="http://a.test/f.mp4", headers={"Content-Type": "video/mp4"})
    frames = b"".join(b"%x\r\n%b\r\n" % (len(piece), piece) for piece in (FILM[:100_000], FILM[100_000:]))
    chunked = {"Content-Type": "video/mp4", "Transfer-Encoding": "chunked"}
    crawl.add(frames + b"0\r\n\r\n", url="http://a.test/c.mp4", headers=chunked)
    coded = {"Content-Type": "video/mp4", "Content-Encoding": "gzip"}
    crawl.add(gzip.compress(FILM), url="http://a.test/z.mp4", headers=coded)
    crawl.close()
    with serving(replay_app(FixedFolders({"test": crawl.folder}), ("localhost",))) as served:
        yield served


FILM = bytes(range(256)) * 3000


@pytest.mark.parametrize("name", ["f", "c", "z"])
@pytest.mark.parametrize("modifier", ["oe_", "id_"])
def test_film_can_be_wound_forward(film: Replay, name: str, modifier: str) -> None:
    path = f"/test/{MOMENT}{modifier}/http://a.test/{name}.mp4"
    whole = film.ask(path)
    assert (whole.status, whole.body) == (200, FILM)
    for asked, begin, end in (
        ("bytes=0-", 0, len(FILM)),
        ("bytes=99990-100009", 99_990, 100_010),
        ("bytes=-7", len(FILM) - 7, len(FILM)),
        ("bytes=700000-9999999", 700_000, len(FILM)),
    ):
        part = film.ask(path, Range=asked)
        assert (part.status, part.body) == (206, FILM[begin:end])
        assert part.headers["content-range"] == f"bytes {begin}-{end - 1}/{len(FILM)}"
        assert part.headers["content-length"] == str(end - begin)
        assert "sandbox" in part.headers["content-security-policy"]
    beyond = film.ask(path, Range=f"bytes={len(FILM)}-")
    assert (beyond.status, beyond.headers["content-range"]) == (416, f"bytes */{len(FILM)}")
    for whole_again in ({"Range": "bytes=0-1,5-6"}, {"Range": "lines=0-1"}, {"Range": "bytes=0-1", "If_Range": '"x"'}):
        assert film.ask(path, "GET", None, **whole_again).status == 200
    assert film.ask(path, "HEAD", Range="bytes=0-1").headers.get("accept-ranges") == "bytes"


def test_pages_come_whole(replay: Replay) -> None:
    response = replay.ask(PAGE, Range="bytes=0-1")
    assert response.status == 200
    assert b"Archived" in response.body
