"""The benchmark of real applications from end to end, with an application of the test's own."""

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from functools import partial
from http.server import BaseHTTPRequestHandler, SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread as Runner

import pytest

from benchmarks.software.content import Content, Place, edited, html, read_edits
from benchmarks.software.front import Redesign
from benchmarks.software.installation import Application
from benchmarks.software.measuring import Case, Plan, measure
from benchmarks.software.writing import Size

PAGE = (
    """<!DOCTYPE html><html lang="en"><head><title>{title}</title></head><body><h1>{title}</h1>{body}</body></html>"""
)
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
    def serving(self, home: Path, port: int) -> Iterator[None]:
        """Serve the files."""
        with running(port, partial(_Quiet, directory=str(home / "site"))):
            yield


class _Quiet(SimpleHTTPRequestHandler):
    def log_message(self, *_: object) -> None:
        pass


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
def test_every_case_has_a_row_and_mistakes_are_kept(tmp_path: Path) -> None:
    size = Size(single=1, few=6, overhanging=1, long=1)
    cases = [Case.UNKNOWN, Case.TEMPLATE, Case.WITHOUT_MEMORY, Case.EDITS]
    plan = Plan(frozenset(Case), (Redesign.IDS,), size, 1, tmp_path / "kept")
    (tmp_path / "work").mkdir()
    rows = list(measure(Written("written", "forum", 6), plan, tmp_path / "work"))

    assert [row["case"] for row in rows] == cases
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
