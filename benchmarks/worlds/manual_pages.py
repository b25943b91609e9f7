"""The HTML pages of unpacked documentation, with the sections that its authors put them into."""

import posixpath
import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import quote, unquote, urldefrag, urljoin

import lxml.html

from benchmarks.worlds.archived_page import Answer, ArchivedPage, Redirection

_ENDINGS = (".html", ".htm", ".xhtml")
_LARGEST = 2_000_000
_LANGUAGE = "en"
"""The language of the pages that are taken, and of those that do not say theirs: topics are none of languages."""
_CODE = re.compile(r"[a-z]{2}([-_][A-Z]{2})?")
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
    above: str = ""


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
        tree = _tree(body)
        if (
            tree is not None
            and not _is_translated(folder, path)
            and tree.get("lang", tree.get("xml:lang", _LANGUAGE)).startswith(_LANGUAGE)
        ):
            yield _Manual(path, body, _above(path, tree))


def _is_translated(folder: Path, path: str) -> bool:
    """Return whether a page lies in a folder of another language, beside one of the language that is taken."""
    parents = [Path(*Path(path).parts[: depth + 1]) for depth in range(len(Path(path).parts) - 1)]
    return any(
        _CODE.fullmatch(parent.name)
        and not parent.name.startswith(_LANGUAGE)
        and any((folder / parent).with_name(name).is_dir() for name in (_LANGUAGE, f"{_LANGUAGE}-US"))
        for parent in parents
    )


def _tree(body: bytes) -> lxml.html.HtmlElement | None:
    try:
        return lxml.html.document_fromstring(body) if body.strip() else None
    except (lxml.etree.ParserError, ValueError):
        return None


def _above(path: str, tree: lxml.html.HtmlElement) -> str:
    """Return the path of the page that a page names as the one above it, or nothing."""
    targets = [unquote(urldefrag(urljoin(f"/{quote(path)}", str(href).strip()))[0]) for href in tree.xpath(_UP)[:3]]
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
