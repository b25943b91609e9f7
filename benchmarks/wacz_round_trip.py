"""Measures what exports as WACZ packages, and imports of these, keep of archives.

    python -m benchmarks.wacz_round_trip ARCHIVE... [--replay N] [--validate] --json FILE

An ARCHIVE is a crawl's folder, or a file that ``aah import`` reads, of which a folder is made first. Each is exported
completely, and the package is imported into another folder. The columns of its row:

- ``case``; ``records`` in the archive of the folder; ``kept``: those of them that the import of the package kept, with
  the same id, header and block; ``different``: those with the id and another header or block; ``lost``: those that are
  missing; ``told``: lines that the import reported. Goal: none lost, none different.
- ``seconds`` of the export, ``bytes`` of the package.
- ``valid``, with ``--validate``: whether ``wacz validate`` (py-wacz, in an environment of its own) accepts it.
- ``replayed`` of ``asked``, with ``--replay``: pages of the list of pages that ReplayWeb.page shows in Chromium, from
  the package as a static file that it requests in parts: at least .9 of the words of their texts are visible.
"""

import argparse
import hashlib
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Final
from urllib.parse import urlencode
from zipfile import ZipFile

from playwright.sync_api import Error, Page, sync_playwright
from warcio.archiveiterator import ArchiveIterator

from aahcrawler.layout import ARCHIVE, WARC
from aahcrawler.segments import segments
from benchmarks.exact_server import HTML, SCRIPT, ExactServer, Reply, Request, not_found, reply
from benchmarks.results import Cell, Row, report
from benchmarks.software.installation import ENVIRONMENTS, REQUIREMENTS, installed
from benchmarks.truth import words

SHOWN = 0.9
"""The share of a page's words that must be visible."""
REPLAY_WEB_PAGE: Final = ("replaywebpage@2.5.3", "warcio@2.4.10")
_WITHIN = 40.0
_RANGE: Final = re.compile(r"bytes=(\d*)-(\d*)$")
_HOST: Final = """<!doctype html><html><head><meta charset="utf-8"><script src="/ui.js"></script></head><body>
<script>
const told = new URLSearchParams(location.search);
const shown = document.createElement('replay-web-page');
for (const [name, value] of Object.entries({source: told.get('source'), replayBase: '/replay/', embed: 'replayonly',
  url: told.get('url'), style: 'display: block; height: 700px'})) shown.setAttribute(name, value);
document.body.append(shown);
</script></body></html>
"""
Records = Mapping[str, tuple[str, str]]
"""The header and the digest of the block of each record, by its id and the number of earlier records with this id."""


def records(folder: Path) -> Records:
    """Return the records in the archive of a folder."""
    found: dict[str, tuple[str, str]] = {}
    for path in segments(folder / ARCHIVE, WARC):
        with path.open("rb") as file:
            for record in ArchiveIterator(file, no_record_parse=True):
                digest = hashlib.sha256()
                while piece := record.content_stream().read(1 << 20):
                    digest.update(piece)
                found[record.rec_headers["WARC-Record-ID"]] = (str(record.rec_headers), digest.hexdigest())
    return found


def aah(*arguments: str | Path) -> tuple[int, Sequence[str]]:
    """Run a command; return its exit code and the lines of its standard error."""
    command = [sys.executable, "-m", "aahcrawler.cli", *map(str, arguments)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    return done.returncode, done.stderr.splitlines()


def round_trip(archive: Path, folder: Path, asked: int, *, validate: bool) -> Row:
    """Export an archive and import it again, in a folder for temporary files; return the row."""
    crawl, package, back = archive, folder / "package.wacz", folder / "back"
    if not archive.is_dir():
        crawl = folder / "crawl"
        aah("import", archive, crawl)
    began = time.monotonic()
    code, said = aah("export", crawl, "--wacz", package)
    seconds = time.monotonic() - began
    before = records(crawl)
    row: dict[str, Cell] = {"case": archive.name, "records": len(before)}
    if code:
        print("\n".join(said), file=sys.stderr)
        none = {"kept": 0, "lost": len(before), "told": len(said), "different": 0}
        return {**row, **none, "seconds": round(seconds, 2), "bytes": 0}
    told = aah("import", "--no-read", package, back)[1]
    after = records(back)
    kept = sum(after.get(name) == record for name, record in before.items())
    lost = sum(name not in after for name in before)
    row |= {"kept": kept, "lost": lost, "told": len(told), "different": len(before) - kept - lost}
    row |= {"seconds": round(seconds, 2), "bytes": package.stat().st_size}
    if validate:
        row["valid"] = "yes" if is_valid(package) else "no"
    if asked:
        pages = list(listed(package))
        chosen = pages[:: max(1, len(pages) // asked)][:asked]
        with replay_web_page(package) as origin:
            row |= {"asked": len(chosen), "replayed": sum(is_shown(page, origin, package.name) for page in chosen)}
    return row


def is_valid(package: Path) -> bool:
    """Return whether py-wacz accepts a package."""
    program = installed("wacz", REQUIREMENTS / "wacz.txt", ()).with_name("wacz")
    done = subprocess.run([program, "validate", "-f", package], capture_output=True, text=True, check=False)
    if done.returncode:
        print(done.stdout, done.stderr, file=sys.stderr)
    return done.returncode == 0


def listed(package: Path) -> Iterator[Mapping[str, str]]:
    """Yield the pages of a package that have a text."""
    with ZipFile(package) as opened:
        for name in sorted(opened.namelist()):
            if name.startswith("pages/"):
                lines = opened.read(name).decode().splitlines()[1:]
                yield from (page for page in map(json.loads, lines) if page.get("text"))


@contextmanager
def replay_web_page(package: Path) -> Iterator[str]:
    """Serve ReplayWeb.page and a package as static files of one server; yield its origin."""
    installed("replaywebpage", REQUIREMENTS / "replaywebpage.txt", REPLAY_WEB_PAGE)
    programs = ENVIRONMENTS / "replaywebpage" / "node_modules" / "replaywebpage"
    files: Mapping[str, Reply] = {
        "/": reply(_HOST, HTML),
        "/ui.js": reply((programs / "ui.js").read_bytes(), SCRIPT),
        "/replay/sw.js": reply((programs / "sw.js").read_bytes(), SCRIPT),
        f"/{package.name}": reply(package.read_bytes(), "application/octet-stream"),
    }
    with ExactServer().running() as server:
        server.respond = lambda request: ranged(files[request.path], request) if request.path in files else not_found()
        yield server.origin


def ranged(response: Reply, request: Request) -> Reply:
    """Return the range of a response that a request asks for (RFC 9110, section 14), or all of it without a range."""
    whole = replace(response, fields=(*response.fields, ("Accept-Ranges", "bytes")))
    asked = _RANGE.match(request.field("Range"))
    if asked is None or not any(asked.groups()):
        return whole
    body, size = response.body, len(response.body)
    first = int(asked[1]) if asked[1] else max(0, size - int(asked[2]))
    last = min(int(asked[2]), size - 1) if asked[1] and asked[2] else size - 1
    if first >= size or last < first:
        return replace(whole, pieces=(), status=416, fields=(*response.fields, ("Content-Range", f"bytes */{size}")))
    fields = (*whole.fields, ("Content-Range", f"bytes {first}-{last}/{size}"))
    return replace(whole, pieces=(body[first : last + 1],), status=206, fields=fields)


@contextmanager
def browser_page() -> Iterator[Page]:
    """Start Chromium with an unused page; close it when the block ends."""
    rights = ["--no-sandbox"] if os.geteuid() == 0 else []
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=shutil.which("chromium"), args=rights)
        try:
            yield browser.new_page()
        finally:
            browser.close()


def is_shown(listed_page: Mapping[str, str], origin: str, package: str) -> bool:
    """Return whether ReplayWeb.page shows the words of a page."""
    address = f"{origin}/?{urlencode({'source': f'/{package}', 'url': listed_page['url']})}"
    wanted, seen = set(words(listed_page["text"])), set[str]()
    with browser_page() as page:
        try:
            page.goto(address, wait_until="load")
            until = time.monotonic() + _WITHIN
            while time.monotonic() < until:
                for frame in page.frames:
                    if "/w/" in frame.url and "mp_/" in frame.url:
                        seen |= set(words(frame.locator("body").inner_text(timeout=2_000)))
                if len(wanted & seen) >= SHOWN * len(wanted):
                    return True
                page.wait_for_timeout(200)
        except Error as error:
            print(f"{listed_page['url']}: {str(error).splitlines()[0]}", file=sys.stderr)
    print(f"{listed_page['url']}: {len(wanted & seen)} of {len(wanted)} words are seen", file=sys.stderr)
    return False


def main() -> None:
    """Measure and report."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("archives", metavar="ARCHIVE", nargs="+", type=Path)
    parser.add_argument("--replay", metavar="N", type=int, default=0)
    parser.add_argument("--validate", action="store_true")
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    rows = []
    for archive in options.archives:
        with tempfile.TemporaryDirectory() as folder:
            rows.append(round_trip(archive, Path(folder), options.replay, validate=options.validate))
    names = dict.fromkeys(name for row in rows for name in row)
    report([{name: row.get(name) for name in names} for row in rows], options.json)
    sys.exit(any(row["lost"] or row["different"] for row in rows))


if __name__ == "__main__":
    main()
