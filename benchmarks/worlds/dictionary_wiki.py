"""A wiki of a computing dictionary: its articles with the links that its authors wrote, in their categories."""

import gzip
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from random import Random

from benchmarks.worlds.archived_page import ArchivedPage
from benchmarks.worlds.paging import count_of, pager, pages_of
from benchmarks.worlds.prose import escaped, slug

_HOST = "wiki.test"
_LISTED = 100
_FIELDS = re.compile(r"\s*<([^<>]{2,60})>\s*")
_REFERENCE = re.compile(r"\{([^{}()]{1,80})\}")
_SHORTEST = 60
"""The characters that an article has at least."""


@dataclass(frozen=True, slots=True)
class Article:
    """An article: the name it is called by, its paragraphs with references in braces, and its categories."""

    name: str
    paragraphs: tuple[str, ...]
    categories: tuple[str, ...]

    @property
    def path(self) -> str:
        """The path of its page."""
        return f"/wiki/{slug(self.name)}"


def dictionary_wiki(folder: Path, random: Random) -> Iterator[ArchivedPage]:
    """Yield the pages of a wiki: articles, categories, an index, and what links to each article that much links to."""
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
    """Yield the entries of a dictionary of dictd's form: a line with the name, then its text, indented."""
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
    if not found or sum(map(len, paragraphs)) < _SHORTEST or names[0].startswith("00-database"):
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
