"""The server of the world, asked over loopback."""

import http.client
import json
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from examples.serve import WorldServer, serve
from tests.crawl.crawling import PATIENCE

FORUM = "harbourforum.example"
TOWN = "townhall-varhaven.example"


@pytest.fixture(scope="module")
def server() -> Iterator[WorldServer]:
    with serve() as running:
        yield running


def ask(server: WorldServer, host: str, path: str, method: str = "GET") -> tuple[int, dict[str, str], str]:
    connection = http.client.HTTPConnection("127.0.0.1", server.port, timeout=PATIENCE)
    try:
        connection.request(method, path, headers={"Host": host, "User-Agent": "asker/1"})
        answer = connection.getresponse()
        return answer.status, {name.lower(): value for name, value in answer.getheaders()}, answer.read().decode()
    finally:
        connection.close()


def test_the_host_header_chooses_the_site(server: WorldServer) -> None:
    assert "Varhaven Harbour Forum" in ask(server, FORUM, "/")[2]
    assert "Sailboard" in ask(server, f"SAILBOARD.test:{server.port}", "/")[2]


@pytest.mark.parametrize("host", ["unknown.example", "", "harbourforum.example.evil.test", "..", "[bad"])
def test_other_hosts_are_not_found(server: WorldServer, host: str) -> None:
    assert ask(server, host, "/")[0] in {400, 404}


@pytest.mark.parametrize("path", ["/nowhere", "/viewtopic.php?t=999", "/../site.json", "/pages/00001.html", "//[x"])
def test_other_paths_are_not_found(server: WorldServer, path: str) -> None:
    assert ask(server, FORUM, path)[0] in {400, 404}


def test_robots_differ_by_site(server: WorldServer) -> None:
    status, headers, body = ask(server, TOWN, "/robots.txt")
    assert (status, headers["content-type"]) == (200, "text/plain")
    assert "Crawl-delay: 0.2" in body
    assert "Disallow: /subscribers/" in ask(server, "coastcourier.example", "/robots.txt")[2]


def test_redirects_are_honoured(server: WorldServer) -> None:
    status, headers, body = ask(server, "varhaven-chronicle.example", "/article/the-lock")
    assert (status, headers["location"], body) == (301, "http://varhaven-chronicle.example/article/grey-lock", "")
    assert ask(server, "sailboard.test", "/showthread.php?tid=3&action=lastpost")[0] == 302


def test_session_ids_mean_nothing_where_the_site_says_so(server: WorldServer) -> None:
    plain = ask(server, FORUM, "/viewtopic.php?t=11")
    assert ask(server, FORUM, "/viewtopic.php?t=11&sid=0123456789abcdef0123456789abcdef")[2] == plain[2]
    assert ask(server, "coastcourier.example", "/?sid=1")[0] == 404


def test_the_calendar_has_no_end_but_months_have_names(server: WorldServer) -> None:
    status, _, body = ask(server, TOWN, "/calendar/?month=2019-11")
    assert status == 200
    assert '/calendar/?month=2019-12"' in body
    assert '/calendar/?month=2019-10"' in body
    assert ask(server, TOWN, "/calendar/?month=7311-02&week=3")[0] == 200
    assert "0000-" not in ask(server, TOWN, "/calendar/?month=0001-01")[2]
    for wrong in ("", "?month=2019-13", "?month=x", "?month=0-1", "?month=10000-01", "?week=1"):
        assert ask(server, TOWN, f"/calendar/{wrong}")[0] == 404
    assert ask(server, FORUM, "/calendar/?month=2019-11")[0] == 404


def test_head_has_no_body(server: WorldServer) -> None:
    status, headers, body = ask(server, FORUM, "/", "HEAD")
    assert (status, body) == (200, "")
    assert int(headers["content-length"]) > 1000


def test_a_connection_serves_many_requests(server: WorldServer) -> None:
    connection = http.client.HTTPConnection("127.0.0.1", server.port, timeout=PATIENCE)
    try:
        for path in ("/", "/nowhere", "/viewtopic.php?t=1"):
            connection.request("GET", path, headers={"Host": FORUM})
            connection.getresponse().read()
    finally:
        connection.close()


def test_a_proxy_request_names_its_host_in_the_line(server: WorldServer) -> None:
    assert "Sailboard" in ask(server, FORUM, "http://sailboard.test/")[2]


def test_every_request_is_a_line_of_the_log(tmp_path: Path) -> None:
    log = tmp_path / "log.jsonl"
    with serve(log=log) as server:
        ask(server, FORUM, "/viewtopic.php?t=11&sid=0")
        ask(server, "unknown.example", "/x")
    lines = [json.loads(line) for line in log.read_text().splitlines()]
    found = [(line["host"], line["path"], line["status"], line["user_agent"]) for line in lines]
    assert sorted(found) == [
        (FORUM, "/viewtopic.php?t=11&sid=0", 200, "asker/1"),
        ("unknown.example", "/x", 404, "asker/1"),
    ]
    assert all(line["time"] > 0 for line in lines)
    assert {request.path for request in server.requests} == {line["path"] for line in lines}


def test_the_end_of_the_server_ends_idle_connections() -> None:
    with serve() as server:
        idle = socket.create_connection(("127.0.0.1", server.port), timeout=PATIENCE)
        idle.sendall(f"GET / HTTP/1.1\r\nHost: {FORUM}\r\n\r\n".encode())
        assert idle.recv(12) == b"HTTP/1.1 200"
    with idle:
        while idle.recv(65536):
            pass
    with pytest.raises(ConnectionRefusedError):
        socket.create_connection(("127.0.0.1", server.port), timeout=PATIENCE)


def test_a_folder_without_sites_is_refused(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError, match="make_world"), serve(tmp_path):
        pass


def test_a_taken_port_is_said_plainly(server: WorldServer) -> None:
    command = [sys.executable, "-m", "examples.serve", "--port", str(server.port)]
    ended = subprocess.run(command, capture_output=True, text=True, timeout=PATIENCE, check=False)
    assert ended.returncode == 2
    assert str(server.port) in ended.stderr
    assert "Traceback" not in ended.stderr
