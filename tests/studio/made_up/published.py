"""What a made-up site holds, and the pages that show it."""

import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime
from functools import cache
from pathlib import Path
from typing import Any, Protocol

from jinja2 import Environment, FileSystemLoader, StrictUndefined

from benchmarks.software.scorer import Described
from tests.crawl.site import Reply, Site, serving
from tests.crawl.world import network

TEMPLATES = Path(__file__).parent / "templates"
HTML = {"Content-Type": "text/html; charset=utf-8"}
PIXEL = bytes.fromhex(
    "89504e470d0a1a0a0000000d49484452000000010000000108060000001f15c4890000000d49444154789c6360606060000000"
    "05000195a3e6d80000000049454e44ae426082"
)
_WORD = re.compile(r"[a-z0-9]+")


@dataclass(frozen=True, slots=True)
class Published:
    """One contribution: its own URL, its sort, what it says, and the paths of all pages that show it whole.

    The first of the ``pages`` is the one to read it on. ``title``, ``author`` and ``date`` (ISO 8601) are None where
    the software shows none.
    """

    url: str
    sort: str
    pages: tuple[str, ...]
    body: str
    title: str | None = None
    author: str | None = None
    date: str | None = None

    def described(self) -> Described:
        """Return it as the scorer takes it."""
        return Described(self.url, self.pages[0], self.body, self.title, self.author, self.date)


class Software(Protocol):
    """A made-up site: what answers its paths, and what it holds."""

    host: str

    def answer(self, path: str) -> Reply:
        """Answer a request."""
        ...

    def holds(self) -> Sequence[Published]:
        """Return all contributions."""
        ...


def page(folder: str, name: str, **told: Any) -> Reply:
    """Return a page by a template of a folder, that of one software or of one of its themes."""
    return Reply(_environment(folder).get_template(f"{name}.html").render(**told).encode(), headers=HTML)


@cache
def _environment(folder: str) -> Environment:
    loader = FileSystemLoader(TEMPLATES / folder)
    made = Environment(loader=loader, autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True)
    made.filters |= {"slug": slug, "when": when, "lines": str.splitlines, "start": start}
    return made


@contextmanager
def published(software: Software) -> Iterator[Site]:
    """Serve a made-up site until the block ends: at each request it is as it is then."""
    with serving(Site(other=software.answer)) as site:
        yield site


def led(site: Site, *software: Software) -> dict[str, object]:
    """Return the section of a definition that leads the hosts of made-up sites to where one is served."""
    return network(site, *(each.host for each in software))


def slug(text: str) -> str:
    """Return a text as it stands in addresses.

    >>> slug("Network and Security")
    'network-and-security'
    """
    return "-".join(_WORD.findall(text.lower().translate(str.maketrans("éèäöü", "eeaou"))))


def when(moment: str, form: str) -> str:
    """Write a moment; ``%-d`` is the day without a zero before it."""
    return datetime.fromisoformat(moment).strftime(form)


def start(text: str, words: int) -> str:
    """Return the first words of a text, and the sign that says that it goes on."""
    said = text.split()
    return " ".join(said[:words]) + ("…" if len(said) > words else "")


def sheet(path: str) -> Reply | None:
    """Return a style sheet, a script or a picture; None for what is a page."""
    ending = path.partition("?")[0].rpartition(".")[2]
    sorts = {"css": "text/css", "js": "text/javascript", "png": "image/png", "jpg": "image/png", "ico": "image/png"}
    if ending not in sorts:
        return None
    said = PIXEL if sorts[ending] == "image/png" else b"/* %s */" % path.encode()
    return Reply(said, headers={"Content-Type": sorts[ending]})


def absent() -> Reply:
    """Return what is said of a page that is not there."""
    return Reply(
        b"<!DOCTYPE html><html><head><title>Not found</title></head><body><h1>404</h1></body></html>", 404, HTML
    )


def away(to: str) -> Reply:
    """Return what leads elsewhere."""
    return Reply(b"", 302, {"Location": to, **HTML})
