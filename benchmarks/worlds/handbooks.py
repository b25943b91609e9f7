"""Generated sites of reference from installed material: a wiki of a dictionary of computing, and manual pages."""

import gzip
import posixpath
import re
import subprocess
import tarfile
import zipfile
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from random import Random
from urllib.parse import quote, unquote, urldefrag, urljoin

import lxml.html

from benchmarks.worlds.prose import (
    ArchivedPage,
    ArchivedResponse,
    Redirection,
    count_of,
    escaped,
    pager,
    pages_of,
    slug,
)

_HOST = "wiki.test"
_LISTED = 100
_FIELDS = re.compile(r"\s*<([^<>]{2,60})>\s*")
_REFERENCE = re.compile(r"\{([^{}()]{1,80})\}")
_MIN_TEXT_LENGTH = 60
"""The fewest characters of an article."""


@dataclass(frozen=True, slots=True)
class Article:
    """An article: its name, its paragraphs with references in braces, and its categories."""

    name: str
    paragraphs: tuple[str, ...]
    categories: tuple[str, ...]

    @property
    def path(self) -> str:
        """The path of its page."""
        return f"/wiki/{slug(self.name)}"


def dictionary_wiki(folder: Path, random: Random) -> Iterator[ArchivedPage]:
    """Yield the pages of a wiki: articles, categories, an index, and lists of the links to each much-linked article."""
    articles = {slug(each.name): each for each in _articles(folder)}
    linking = _linking(articles)
    ordered = list(articles.values())
    for article in ordered:
        yield _shown(article, articles, random.sample(ordered, 5))
    yield from _lists("Special:AllPages", ordered)
    for category in sorted({name for each in ordered for name in each.categories}):
        yield from _lists(f"Category:{slug(category)}", [each for each in ordered if category in each.categories])
    for name, found in linking.items():
        yield from _lists(f"Special:WhatLinksHere/{name}", found)


def _articles(folder: Path) -> Iterator[Article]:
    """Yield the entries of a dictionary in dictd's form: a line with the name, then its text, indented."""
    path = next(folder.rglob("*.dict.dz"))
    names: list[str] = []
    text: list[str] = []
    for line in [*gzip.decompress(path.read_bytes()).decode("utf-8", "replace").splitlines(), "end"]:
        if line.strip() and not line.startswith(" "):
            if text:
                yield from _article(names, text)
                names, text = [], []
            names.append(line.strip())
        elif names:
            text.append(line.strip())


def _article(names: Sequence[str], lines: Sequence[str]) -> Iterator[Article]:
    paragraphs = [" ".join(part.split()) for part in "\n".join(lines).split("\n\n") if part.strip()]
    found = _FIELDS.match(paragraphs[0]) if paragraphs else None
    if not found or sum(map(len, paragraphs)) < _MIN_TEXT_LENGTH or names[0].startswith("00-database"):
        return
    paragraphs[0] = paragraphs[0][found.end() :]
    yield Article(names[0], tuple(paragraphs), tuple(" ".join(each.split()) for each in found[1].split(",")))


def _linking(articles: Mapping[str, Article]) -> Mapping[str, Sequence[Article]]:
    linking: dict[str, list[Article]] = {}
    for article in articles.values():
        for target in {slug(name) for text in article.paragraphs for name in _REFERENCE.findall(text)}:
            if target in articles:
                linking.setdefault(target, []).append(article)
    return linking


def _shown(article: Article, articles: Mapping[str, Article], others: Sequence[Article]) -> ArchivedPage:
    text = "".join(f"<p>{_linked(each, articles)}</p>" for each in article.paragraphs)
    categories = " ".join(f'<a href="/wiki/Category:{slug(name)}">{escaped(name)}</a>' for name in article.categories)
    by_lot = "".join(f"<li>{_link(each)}</li>" for each in others)
    content = (
        f'<div class="mw-parser-output">{text}</div><div id="catlinks">Categories: {categories}</div>'
        f'<div class="portal"><a href="/wiki/Special:WhatLinksHere/{slug(article.name)}">What links here</a>'
        f"<h3>Recently changed</h3><ul>{by_lot}</ul></div>"
    )
    labels = tuple(f"category {name}" for name in article.categories)
    return _page(article.path, article.name, content, labels)


def _linked(text: str, articles: Mapping[str, Article]) -> str:
    pieces = _REFERENCE.split(text)
    shown = [escaped(piece).replace("{", "").replace("}", "") for piece in pieces]
    for at in range(1, len(pieces), 2):
        target = articles.get(slug(pieces[at]))
        shown[at] = f'<a href="{target.path}">{shown[at]}</a>' if target else shown[at]
    return "".join(shown)


def _lists(title: str, articles: Sequence[Article]) -> Iterator[ArchivedPage]:
    count = count_of(len(articles), _LISTED)
    for page, shown in pages_of(articles, _LISTED):
        rows = "".join(f"<li>{_link(each)}</li>" for each in shown)
        links = pager(page, count, lambda n: _paged(title, n), "mw-nav")
        yield _page(_paged(title, page), title, f"{links}<ul>{rows}</ul>{links}", ())


def _paged(title: str, page: int) -> str:
    return f"/wiki/{title}" if page == 1 else f"/wiki/{title}?page={page}"


def _page(path: str, title: str, content: str, labels: tuple[str, ...]) -> ArchivedPage:
    body = (
        f'<!DOCTYPE html><html lang="en"><head><meta charset="utf-8"><title>{escaped(title)} - Wiki</title></head>'
        f'<body class="mediawiki"><div id="content"><h1 id="firstHeading">{escaped(title)}</h1>'
        f'<div id="mw-content-text">{content}</div></div><div id="mw-panel">'
        f'<a href="/wiki/Special:AllPages">All pages</a></div></body></html>'
    )
    return ArchivedPage(f"https://{_HOST}{path}", body.encode(), labels)


def _link(article: Article) -> str:
    return f'<a href="{article.path}">{escaped(article.name)}</a>'


_ENDINGS = (".html", ".htm", ".xhtml")
_MAX_BYTES = 2_000_000
_LANGUAGE = "en"
"""The language of the pages that are used, and of those without a language, so that topics are not languages."""
_CODE = re.compile(r"[a-z]{2}([-_][A-Z]{2})?")
_MAX_DEPTH = 8
"""The most sections above a page that are labels."""
_WIDEST = 0.8
"""A section with this share of a manual's pages is the manual itself, and no label."""
_UP = "//link[contains(concat(' ', translate(@rel, 'UP', 'up'), ' '), ' up ')]/@href | //a[@accesskey='u' or @accesskey='U' or contains(concat(' ', @rel, ' '), ' up ')]/@href"  # noqa: E501


@dataclass(frozen=True, slots=True)
class _Manual:
    """A page of a manual: its path below the folder, its bytes, and the path of the page above it, if it names one."""

    path: str
    body: bytes
    above: str = ""


def manual(host: str, folder: Path) -> Iterator[ArchivedResponse]:
    """Yield the pages of a folder as a site of its own, and a redirect for each folder that has an index.

    The labels of a page are the pages that it names as above it, then its folder and those above.
    """
    pages = {page.path: page for page in _pages(folder)}
    labels = {path: _labels(path, pages) for path in pages}
    counted = Counter(label for names in labels.values() for label in names)
    for path, page in pages.items():
        url = f"https://{host}/{quote(path)}"
        telling = [name for name in labels[path] if counted[name] <= _WIDEST * len(pages)]
        yield ArchivedPage(url, page.body, tuple(f"{host}/{_plain(name)}" for name in telling))
        if posixpath.basename(path).startswith("index."):
            yield Redirection(f"{posixpath.dirname(url)}/", url)


def _pages(folder: Path) -> Iterator[_Manual]:
    files = sorted(path for path in folder.rglob("*") if path.suffix in _ENDINGS and not path.is_symlink())
    for file in files:
        body = file.read_bytes() if file.is_file() and file.stat().st_size <= _MAX_BYTES else b""
        path = file.relative_to(folder).as_posix()
        tree = _tree(body)
        if (
            tree is not None
            and not _is_translated(folder, path)
            and tree.get("lang", tree.get("xml:lang", _LANGUAGE)).startswith(_LANGUAGE)
        ):
            yield _Manual(path, body, _above(path, tree))


def _is_translated(folder: Path, path: str) -> bool:
    """Return whether a page lies in a folder of another language, beside one in the wanted language."""
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
    """Return the path of the page that a page names as the one above it, or ""."""
    targets = [unquote(urldefrag(urljoin(f"/{quote(path)}", str(href).strip()))[0]) for href in tree.xpath(_UP)[:3]]
    return next((target.lstrip("/") for target in targets if target.startswith("/") and target != f"/{path}"), "")


def _labels(path: str, pages: Mapping[str, _Manual]) -> Sequence[str]:
    labels, page = [], pages[path]
    for _ in range(_MAX_DEPTH):
        if page.above not in pages or page.above in labels or page.above == path:
            break
        labels.append(page.above)
        page = pages[page.above]
    parent = posixpath.dirname(path)
    while parent:
        labels.append(f"{parent}/")
        parent = posixpath.dirname(parent)
    return labels


def _plain(label: str) -> str:
    """Return a label without characters that separate fields and lines of a table."""
    return " ".join(label.replace("|", "/").split())


_WITHIN = 900
"""The most seconds that a client may take for one package."""


class PackageError(Exception):
    """A package cannot be downloaded, or its client is not installed."""


def debian_package(name: str, folder: Path) -> tuple[str, Path]:
    """Return the version of a Debian package and the folder it was unpacked into, below ``folder``."""
    return _fetched(["apt-get", "download", name], name, folder, ".deb")


def _fetched(command: list[str], name: str, folder: Path, suffix: str) -> tuple[str, Path]:
    """Download a package into a folder of its name, unless it is there, and unpack it."""
    kept, unpacked = folder / name, folder / name / "unpacked"
    kept.mkdir(parents=True, exist_ok=True)
    if not _archives(kept, suffix):
        _run(command, kept)
    archive = _archives(kept, suffix)[0]
    if not unpacked.exists():
        part = kept / "unpacking"
        _unpack(archive, part)
        part.rename(unpacked)
    return archive.name, unpacked


def _archives(folder: Path, suffix: str) -> list[Path]:
    return sorted(path for path in folder.iterdir() if path.is_file() and path.name.endswith(suffix))


def _unpack(archive: Path, target: Path) -> None:
    if archive.suffix == ".deb":
        _run(["dpkg-deb", "--extract", archive.name, target.name], archive.parent)
    elif archive.suffix in (".whl", ".zip"):
        zipfile.ZipFile(archive).extractall(target)  # noqa: S202 - zipfile keeps members below the folder
    else:
        with tarfile.open(archive) as members:
            members.extractall(target, filter="data")


def _run(command: list[str], folder: Path) -> None:
    try:
        subprocess.run(command, cwd=folder, check=True, capture_output=True, text=True, timeout=_WITHIN)
    except FileNotFoundError as error:
        raise PackageError(f"{command[0]} is not installed, so {command[-1]} cannot be had") from error
    except subprocess.TimeoutExpired as error:
        raise PackageError(f"{' '.join(command)}: not done after {_WITHIN} s") from error
    except subprocess.CalledProcessError as error:
        said = (error.stderr.strip().splitlines() or ["nothing"])[-1]
        raise PackageError(f"{' '.join(command)}: {said}") from error
