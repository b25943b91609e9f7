"""The benchmark of real applications from end to end, with an application of the test's own."""

import json
import secrets
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from functools import partial
from http.server import BaseHTTPRequestHandler, SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread as Runner
from urllib.parse import parse_qs

import pytest

from benchmarks.software.content import Content, Place, edited, read_edits
from benchmarks.software.front import Asked
from benchmarks.software.installation import Application, Login
from benchmarks.software.markup import html
from benchmarks.software.measuring import Case, Plan, measure
from benchmarks.software.membership import Member
from benchmarks.software.template import Redesign
from benchmarks.software.writing import Size

PAGE = (
    """<!DOCTYPE html><html lang="en"><head><title>{title}</title></head><body><h1>{title}</h1>{body}</body></html>"""
)
LOGIN = Login("login", "user", "word", "xpath=//h1[. != 'Log in']")
POST = """<div class="post" id="{id}"><div class="head"><a class="author" href="/people.html">{author}</a>
<time datetime="{date}">{date}</time></div><div class="text">{text}</div></div>"""


class Written(Application):
    """A forum that is a file for each thread, and a front page with all of them."""

    def install(self) -> Path:
        """Install nothing."""
        return Path()

    def run(self, command: str, home: Path, argument: Path) -> Mapping[str, Place]:
        """Write the files."""
        home.mkdir(exist_ok=True)
        if command == "create":
            content = Content.read(argument)
        else:
            content = edited(Content.read(home / "content.json"), read_edits(argument))
        content.write(home / "content.json")
        (home / "site").mkdir(exist_ok=True)
        for thread in content.threads:
            posts = (
                POST.format(id=post.id, author=post.author, date=post.date, text=html(post)) for post in thread.posts
            )
            (home / "site" / f"{thread.id}.html").write_text(
                PAGE.format(title=thread.title, body="".join(posts)), "utf-8"
            )
        links = "".join(f'<p><a href="/{thread.id}.html">{thread.title}</a></p>' for thread in content.threads)
        (home / "site" / "index.html").write_text(PAGE.format(title="Forum", body=links), "utf-8")
        return {post.id: Place(f"/{thread.id}.html") for thread, post in content.posts()}

    @contextmanager
    def serving(self, home: Path, port: int, *, members_only: bool = False) -> Iterator[None]:
        """Serve the files."""
        assert not members_only
        with running(port, partial(_Quiet, directory=str(home / "site"))):
            yield


class _Quiet(SimpleHTTPRequestHandler):
    def log_message(self, *_: object) -> None:
        pass


class Members(Written):
    """A forum whose pages are shown to members who are logged in."""

    def join(self, home: Path, member: Path) -> None:
        """Note the name and the password."""
        (home / "members.json").write_bytes(member.read_bytes())

    def end_sessions(self, home: Path) -> None:
        """Forget all sessions."""
        (home / "sessions.json").unlink()

    @contextmanager
    def serving(self, home: Path, port: int, *, members_only: bool = False) -> Iterator[None]:
        """Serve the files to those who are known."""
        kind = _MembersAlone if members_only else _Quiet
        with running(port, partial(kind, directory=str(home / "site"))):
            yield


class _MembersAlone(_Quiet):
    _FORM = '<form method="post"><input name="user"><input name="word" type="password"><button>Log in</button></form>'

    def do_GET(self) -> None:
        if self.path == "/login":
            self._answer(200, PAGE.format(title="Log in", body=self._FORM))
        elif self.path == "/robots.txt" or self.headers.get("Cookie") in self._known():
            super().do_GET()
        else:
            self._answer(302, "", Location="/login")

    def do_POST(self) -> None:
        said = parse_qs(self.rfile.read(int(self.headers["Content-Length"])).decode())
        member = json.loads((Path(self.directory).parent / "members.json").read_text("utf-8"))
        if (said["user"], said["word"]) != ([member["name"]], [member["password"]]):
            self._answer(200, PAGE.format(title="Log in", body=self._FORM))
            return
        session = f"session={secrets.token_hex(16)}"
        self._sessions.write_text(json.dumps([*self._known(), session]), "utf-8")
        self._answer(302, "", **{"Location": "/", "Set-Cookie": f"{session}; Path=/"})

    @property
    def _sessions(self) -> Path:
        return Path(self.directory).parent / "sessions.json"

    def _known(self) -> list[str]:
        found: list[str] = json.loads(self._sessions.read_text("utf-8")) if self._sessions.exists() else []
        return found

    def _answer(self, status: int, body: str, **headers: str) -> None:
        self.send_response(status)
        for name, value in {**headers, "Content-Type": "text/html", "Content-Length": str(len(body))}.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(body.encode())


@contextmanager
def running(port: int, handler: Callable[..., BaseHTTPRequestHandler]) -> Iterator[None]:
    """Serve on a port of loopback."""
    with ThreadingHTTPServer(("127.0.0.1", port), handler) as server:
        runner = Runner(target=server.serve_forever, args=(0.05,), daemon=True)
        runner.start()
        yield
        server.shutdown()
        runner.join()


@pytest.mark.soak
@pytest.mark.starts
def test_every_case_has_a_row_and_mistakes_are_kept(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    size = Size(single=1, few=6, overhanging=1, long=1)
    cases = [Case.UNKNOWN, Case.TEMPLATE, Case.WITHOUT_MEMORY, Case.EDITS]
    plan = Plan(frozenset(Case), (Redesign.IDS,), size, 1, tmp_path / "kept")
    (tmp_path / "work").mkdir()
    rows = list(measure(Written("written", "forum", 6), plan, tmp_path / "work"))

    assert [row["case"] for row in rows] == cases
    assert "written: has no pages for members alone" in capsys.readouterr().err
    assert all(float(str(row["recall"])) > 0.5 for row in rows)
    assert all(float(str(row["requests_per_needed_page"])) >= 1 for row in rows)
    assert [row["false_changes"] is None for row in rows] == [True, False, True, False]
    assert int(str(rows[-1]["missed_changes"])) < 6
    assert sorted(kept.name for kept in (tmp_path / "kept").iterdir()) == [
        "written-edits",
        "written-template-ids",
        "written-template-without-memory-ids",
        "written-unknown",
    ]
    assert all((kept / "mistakes.jsonl").is_file() for kept in (tmp_path / "kept").iterdir())


@pytest.mark.soak
@pytest.mark.starts
def test_members_read_all_and_lose_nothing_where_their_session_ends(tmp_path: Path) -> None:
    plan = Plan(frozenset({Case.LOGIN, Case.LOGIN_LOST}), (), Size(single=1, few=6, overhanging=1, long=1), 1)
    whole, lost = measure(Members("members", "forum", 6, login=LOGIN), plan, tmp_path)

    assert (whole["case"], whole["logins"], lost["case"], lost["logins"]) == ("login", 1, "login-lost", 2)
    assert whole["recall"] == lost["recall"] == 1
    assert (whole["lost_pages"], lost["lost_pages"]) == (0, 0)
    assert (whole["leaks"], lost["leaks"]) == (0, 0)


def test_what_tells_a_password_or_a_session_is_a_leak(tmp_path: Path) -> None:
    member = Member(LOGIN, "archivist", "open & close")
    for name, text in {
        "frontier/log": "cookie=0123456789abcdef",
        "frontier/urls": "word=open+%26+close",
        "crawl.log": "0123456789abcdef",
        "report.html": "open",
    }.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(text)
    said = {"output": "open &amp; close", "definition": member.network("http://127.0.0.1/")}
    found = member.leaks(tmp_path, said, ["0123456789abcdef", '""'])
    assert found == ["crawl.log", "frontier/urls", "output"]


def test_a_page_is_lost_where_the_login_is_the_last_that_is_seen_of_it() -> None:
    to_login, page = "/login?next=/a", partial(Asked, "GET")
    log = [page("/a", 302, to_login), page("/b", 302, to_login), page("/c", 302, "/d"), page("/a", 200)]
    assert Member(LOGIN, "archivist").missed(log) == {"/b"}
    posts = [Asked("POST", "/login", 200), Asked("POST", "/login", 302, "/"), Asked("POST", "/search", 302, "/")]
    assert Member(LOGIN, "archivist").logins([*log, *posts]) == 1
