"""The HTML pages of unpacked documentation, with the sections that its authors put them into."""

import posixpath
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import quote, unquote, urldefrag, urljoin

import lxml.html

from benchmarks.worlds.archived_page import Answer, ArchivedPage, Redirection

_ENDINGS = (".html", ".htm", ".xhtml")
_LARGEST = 2_000_000
_DEEPEST = 8
"""The sections above a page that are looked at."""
_WIDEST = 0.8
"""The share of a manual's pages at which a section is the manual, and labels none of them."""
_UP = "//link[contains(concat(' ', translate(@rel, 'UP', 'up'), ' '), ' up ')]/@href | //a[@accesskey='u' or @accesskey='U' or contains(concat(' ', @rel, ' '), ' up ')]/@href"  # noqa: E501


@dataclass(frozen=True, slots=True)
class _Manual:
    """A page of a manual: its path below the folder, its bytes, and the path of the page above it, if it names one."""

    path: str
    body: bytes
    above: str


def manual(host: str, folder: Path) -> Iterator[Answer]:
    """Yield the pages of a folder as a site of its own, and a redirection for each folder that has an index.

    The labels of a page are the pages that it names as above it, then its folder and those above.
    """
    pages = {page.path: page for page in _pages(folder)}
    labels = {path: _labels(path, pages) for path in pages}
    counted = Counter(label for names in labels.values() for label in names)
    for path, page in pages.items():
        url = _url(host, path)
        telling = [name for name in labels[path] if counted[name] <= _WIDEST * len(pages)]
        yield ArchivedPage(url, page.body, tuple(f"{host}/{_plain(name)}" for name in telling))
        if posixpath.basename(path).startswith("index."):
            yield Redirection(f"{posixpath.dirname(url)}/", url)


def _pages(folder: Path) -> Iterator[_Manual]:
    files = sorted(path for path in folder.rglob("*") if path.suffix in _ENDINGS and not path.is_symlink())
    for file in files:
        body = file.read_bytes() if file.is_file() and file.stat().st_size <= _LARGEST else b""
        path = file.relative_to(folder).as_posix()
        if body.strip():
            yield _Manual(path, body, _above(path, body))


def _above(path: str, body: bytes) -> str:
    """Return the path of the page that a page names as the one above it, or nothing."""
    try:
        found = lxml.html.document_fromstring(body).xpath(_UP)
    except (lxml.etree.ParserError, ValueError):
        return ""
    targets = [unquote(urldefrag(urljoin(f"/{quote(path)}", str(href).strip()))[0]) for href in found[:3]]
    return next((target.lstrip("/") for target in targets if target.startswith("/") and target != f"/{path}"), "")


def _labels(path: str, pages: Mapping[str, _Manual]) -> Sequence[str]:
    labels, page = [], pages[path]
    for _ in range(_DEEPEST):
        if page.above not in pages or page.above in labels or page.above == path:
            break
        labels.append(page.above)
        page = pages[page.above]
    parent = posixpath.dirname(path)
    while parent:
        labels.append(f"{parent}/")
        parent = posixpath.dirname(parent)
    return labels


def _url(host: str, path: str) -> str:
    return f"https://{host}/{quote(path)}"


def _plain(label: str) -> str:
    """Return a label that fits into a table: neither bars nor tabulators nor ends of lines."""
    return " ".join(label.replace("|", "/").split())
