"""What of a crawl's folder may hold secrets is read by nobody but its owner."""

import stat
from pathlib import Path

from tests.crawl.crawling import aah
from tests.crawl.site import Answer, Reply, Site, html, links, serving
from tests.crawl.world import crawl, define

PRIVATE = ("icd.json", "crawl.log", "former/1/icd.json", "former/1/crawl.log", "indexes/events.sqlite")
"""Files that may hold secrets; all in ``frontier`` may."""
COOKIE = "session=0123456789abcdef-the-secret"


def mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


def test_what_may_hold_secrets_is_its_owners_alone(tmp_path: Path) -> None:
    front = html("Harbour", links("/1"))
    pages: dict[str, Answer] = {
        "/": Reply(front.body, headers={"Set-Cookie": COOKIE}),
        "/1": html("Flood", "<p>The flood.</p>"),
    }
    headers = {"127.0.0.1": {"X-Visitor": "a-word-in-plain-text"}}
    network = {"allow_private": ["127.0.0.0/8"], "headers": headers}
    with serving(Site(pages)) as site:
        done = crawl(tmp_path, [site.url], network=network)
        assert done.ended.code == 0, done.ended.err
        done = crawl(tmp_path, [site.url], network=network)
    assert done.ended.code == 0, done.ended.err
    assert aah("events", done.folder, "--search", "flood").code == 0
    assert mode(done.folder / "crawl.json") == 0o644  # So files are readable unless somebody takes care.
    assert mode(done.folder) == 0o700
    held = [path for path in (done.folder / "frontier").rglob("*") if path.is_file()]
    assert any(b"session" in path.read_bytes() for path in held)
    for path in [*held, *(done.folder / name for name in PRIVATE)]:
        assert mode(path) == 0o600, path
    for path in (done.folder / "frontier", *(each.parent for each in held)):
        assert mode(path) == 0o700, path


def test_files_of_an_older_crawl_are_closed_when_it_is_opened(tmp_path: Path) -> None:
    with serving(Site({"/": html("Harbour", links("/1")), "/1": html("Flood", "<p>The flood.</p>")})) as site:
        folder = crawl(tmp_path, [site.url], limits={"pages": 1}).folder
        for path in (folder / "frontier").rglob("*"):
            path.chmod(0o755 if path.is_dir() else 0o644)
        (folder / "crawl.log").chmod(0o644)
        ended = aah("crawl", define(tmp_path, [site.url], limits={"pages": 2}), "--accept-changes")
    assert ended.code == 0, ended.err
    assert {mode(path) for path in (folder / "frontier").rglob("*")} <= {0o700, 0o600}
    assert mode(folder / "crawl.log") == 0o600


def test_an_archive_that_keeps_sessions_is_closed(tmp_path: Path) -> None:
    with serving(Site({"/": html("Harbour", "<p>The flood.</p>")})) as site:
        done = crawl(tmp_path, [site.url], archive={"redact": False})
    assert mode(done.folder / "archive") == 0o700
