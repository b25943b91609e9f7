"""Replays pages of a crawl in a real browser, with their scripts, and compares their text with that of the live ones.

Two replay systems show them: pywb, by the index that the crawl wrote, and ReplayWeb.page, from the WARC files alone.
The site itself is gone meanwhile; what asks it all the same leaks.
"""

import shutil
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Final
from urllib.parse import urlencode

from playwright.sync_api import Error, Frame

from aahcrawler.archive.folders import ArchiveFolder
from aahcrawler.layout import INDEX, WARC
from aahcrawler.segments import is_open, segments
from benchmarks import pywb_index
from benchmarks.browser.exact_server import ExactServer
from benchmarks.browser.installing import environment
from benchmarks.browser.person import Looked, Person, somebody
from benchmarks.browser.replies import HTML, SCRIPT, Reply, Request, not_found, ranged, reply
from benchmarks.software.installation import ENVIRONMENTS
from benchmarks.truth import words

MOST: Final = 8
"""Pages of a site that are replayed, taken evenly."""
_PYWB: Final = ENVIRONMENTS / "pywb"
_WITHIN: Final = 40.0
_HOST: Final = """<!doctype html><html><head><meta charset="utf-8"><script src="/ui.js"></script></head><body>
<script>
const told = new URLSearchParams(location.search);
const shown = document.createElement('replay-web-page');
for (const [name, value] of Object.entries({source: told.get('source'), replayBase: '/replay/', embed: 'replayonly',
  url: told.get('url'), style: 'display: block; height: 700px'})) shown.setAttribute(name, value);
document.body.append(shown);
</script></body></html>
"""


@dataclass(frozen=True, slots=True)
class Replay:
    """How many of the replayed pages show the text of the live ones, and what the others show instead."""

    pages: int
    same: int
    faults: Sequence[str] = ()

    @property
    def same_text(self) -> float | None:
        """The share of pages with the same text."""
        return round(self.same / self.pages, 4) if self.pages else None


Addressing = Callable[[str], tuple[str, Callable[[Frame], bool]]]
"""Where a replay system shows a URL, and how its frame is known that holds the page."""


def replayed_by_pywb(crawled: Path, looked: Sequence[Looked], origin: str) -> Replay:
    """Replay by pywb."""
    archive = ArchiveFolder.at(crawled)
    files = [path for path in segments(archive.files, WARC) if not is_open(path)]
    programs = pywb_index.installed(_PYWB)
    with pywb_index.replaying(programs, files, archive.indexes / INDEX) as port:
        base = f"http://127.0.0.1:{port}/{pywb_index.COLLECTION}/"
        return _compared(looked, origin, lambda url: (base + url, lambda frame: "mp_/" in frame.url))


def replayed_by_replay_web_page(crawled: Path, looked: Sequence[Looked], origin: str, folder: Path) -> Replay:
    """Replay by ReplayWeb.page: all WARC files as one."""
    files = [path for path in segments(ArchiveFolder.at(crawled).files, WARC) if not is_open(path)]
    whole = folder / "crawl.warc.gz"
    with whole.open("wb") as target:
        for path in files:
            with path.open("rb") as source:
                shutil.copyfileobj(source, target)
    with replay_web_page(whole) as addressing:
        return _compared(looked, origin, addressing)


@contextmanager
def replay_web_page(archive: Path) -> Iterator["Addressing"]:
    """Serve ReplayWeb.page and an archive, a WARC file or a WACZ package, as static files of one server."""
    package = environment("replaywebpage") / "node_modules" / "replaywebpage"
    files: Mapping[str, Reply] = {
        "/": reply(_HOST, HTML),
        "/ui.js": reply((package / "ui.js").read_bytes(), SCRIPT),
        "/replay/sw.js": reply((package / "sw.js").read_bytes(), SCRIPT),
        f"/{archive.name}": reply(archive.read_bytes(), "application/octet-stream"),
    }

    def answer(request: Request) -> Reply:
        return ranged(files[request.path], request) if request.path in files else not_found()

    with ExactServer().running() as server:
        server.answering = answer

        def addressed(url: str) -> tuple[str, Callable[[Frame], bool]]:
            asked = urlencode({"source": f"/{archive.name}", "url": url})
            return f"{server.origin}/?{asked}", lambda frame: "/w/" in frame.url and "mp_/" in frame.url

        yield addressed


def _compared(looked: Sequence[Looked], origin: str, addressing: Addressing) -> Replay:
    same, faults = 0, []
    chosen = looked[:: max(1, len(looked) // MOST)][:MOST]
    for live in chosen:
        address, is_page = addressing(origin + live.view.path)
        # A person of its own for each page: where one page hangs, the next is not late.
        with somebody() as person:
            text = _text(person, live, address, is_page)
        if _bag(text) == _bag(live.text):
            same += 1
        else:
            faults.append(f"{live.view.path}: {_difference(live.text, text)}")
    return Replay(len(chosen), same, tuple(faults))


def _text(person: Person, live: Looked, address: str, is_page: Callable[[Frame], bool]) -> str:
    try:
        person.page.goto(address, wait_until="load")
        until = time.monotonic() + _WITHIN
        while time.monotonic() < until:
            frame = next(filter(is_page, person.page.frames), None)
            if frame is not None and frame.locator(live.view.shows).locator("visible=true").count():
                person.wait()
                return person.look(live.view, frame).text
            person.page.wait_for_timeout(200)
        return "\n".join(each.locator("body").inner_text(timeout=2000) for each in person.page.frames)
    except Error as error:
        return f"(failed: {str(error).splitlines()[0]})"


def _bag(text: str) -> Counter[str]:
    return Counter(words(text))


def _difference(live: str, replayed: str) -> str:
    """Say what words one text has more than the other."""
    less, more = _bag(live) - _bag(replayed), _bag(replayed) - _bag(live)
    return (
        f"lacks {less.total()} words ({' '.join(list(less)[:8])}), has {more.total()} more ({' '.join(list(more)[:8])})"
    )
