"""The studio as a browser asks it, for the benchmark of the cockpit: an entry is drafted, looked at and tried.

The work is begun of the largest host, of all groups of whose addresses what is suggested is said. Of its page that
stands first a body is chosen.
"""

import re
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import closing
from html import unescape
from http.client import HTTPConnection
from urllib.parse import quote

from benchmarks.cockpit_browsing import Cockpit
from benchmarks.cockpit_crawl import CRAWL
from benchmarks.results import Row
from benchmarks.service import cpu_seconds

STUDIO = f"/crawls/{CRAWL}/studio"
HOST = "thread0.varhaven0.example"
_WORK = f"{STUDIO}/works/{{work}}"
PAGES: Mapping[str, str] = {
    "studio: home": STUDIO,
    "studio: begin an entry": f"{STUDIO}/begin?host={HOST}",
    "studio: a work": _WORK,
    "studio: parts counted": f"{_WORK}/parts?host={HOST}",
    "studio: pages": f"{_WORK}/pages?host={HOST}",
    "studio: one page": f"{_WORK}/pages/{{page}}",
    "studio: an element chosen": f"{_WORK}/pages/{{page}}/chosen?element={{element}}",
    "studio: rules suggested": f"{_WORK}/pages/{{page}}/chosen?{{choice}}",
    "studio: values on twenty pages": f"{_WORK}/pages/{{page}}/chosen?{{rule}}",
    "studio: the text": f"{_WORK}/xml",
    "studio: learned repairs": f"{STUDIO}/repairs",
}
"""The pages of the studio, each with its path, to be filled in with what ``studied`` finds."""
_PATIENCE = 120.0
_WORDS = 4
"""Words of a body by which it is found on its page."""


def studio_pages(told: Mapping[str, str]) -> Iterator[tuple[str, str]]:
    """Yield the pages of the studio with their paths."""
    return ((name, path.format(**told)) for name, path in PAGES.items())


def studied(browser: Cockpit) -> tuple[dict[str, str], list[Row]]:
    """Draft an entry, and try it on the archive; return what paths are filled in with, and the rows of both."""

    def page(path: str) -> str:
        # A connection for each: one that rests while a job goes on is closed.
        with closing(HTTPConnection("127.0.0.1", browser.port, timeout=120)) as connection:
            status, body = browser.fetched(connection, path)
        assert status == 200, (path, status, body[:300])
        return body.decode()

    begin = page(f"{STUDIO}/begin?host={HOST}")
    secret = _only(r'name="secret" value="([^"]+)"', begin)
    groups = dict(re.findall(r'name="(group-\d+)" value="(\w+)" checked', begin))
    asked = {"host": HOST, "name": "Varhaven", "kind": "web-forum", "site": "yes", "secret": secret, **groups}
    to, drafted = _done(browser, f"{STUDIO}/begin", asked)
    work = _only(r"/works/([a-z0-9-]+)", to)
    told = {"work": work, **_chosen(page, f"{STUDIO}/works/{work}")}
    _, tried = _done(browser, f"{STUDIO}/works/{work}/try", {"host": HOST, "secret": secret})
    return told, [{"view": "studio: a draft", **drafted}, {"view": "studio: tried on the archive", **tried}]


def _chosen(page: Callable[[str], str], work: str) -> dict[str, str]:
    """Return a page of a work, an element of it that holds a body, what it is chosen for, and a rule for it."""
    first = _only(rf'href="{work}/pages/([0-9a-f-]+)', page(f"{work}/pages?host={HOST}"))
    shown = f"{work}/pages/{first}"
    words = _only(r"<dt>body</dt><dd><bdi>([^<]+)<", page(shown)).split()[:_WORDS]
    element = _only(r"\?element=(\d+)#chosen", page(f"{shown}?text={quote(' '.join(words))}"))
    choice = _query(page(f"{shown}/chosen?element={element}"), "as=field.*field=body")
    rule = _query(page(f"{shown}/chosen?{choice}"), "as=field.*expression=")
    return {"page": first, "element": element, "choice": choice, "rule": rule}


def _query(text: str, holding: str) -> str:
    """Return the query of the first link that holds some words."""
    links: Iterator[str] = (unescape(each) for each in re.findall(r'href="([^"]+)"', text))
    return next(link.partition("?")[2].partition("#")[0] for link in links if re.search(holding, link))


def _only(pattern: str, text: str) -> str:
    found = re.search(pattern, text)
    assert found is not None, (pattern, text[:300])
    return unescape(found[1])


def _done(browser: Cockpit, path: str, fields: Mapping[str, str]) -> tuple[str, Row]:
    """Begin a job, and wait for its end; return where it leads to, and its cost."""
    began, spent = time.perf_counter(), cpu_seconds(browser.pid)
    to = browser.sent(path, fields)
    with closing(HTTPConnection("127.0.0.1", browser.port, timeout=120)) as connection:
        while "/jobs/" in to:
            connection.request("GET", to, headers={"Cookie": browser.cookie})
            answer = connection.getresponse()
            text = answer.read().decode()
            to = answer.getheader("Location") or to
            if answer.status == 200 and "data-again" not in text:
                break
            assert time.perf_counter() - began < _PATIENCE, text[-500:]
            time.sleep(0.1)
    wall, cost = time.perf_counter() - began, cpu_seconds(browser.pid) - spent
    return to, {"p50_ms": cost * 1000, "p99_ms": wall * 1000, "bytes": None}
