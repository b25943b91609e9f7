"""Names variants after the template of their pages, such as its theme or a class of its own; never after a site."""

import re
from collections.abc import Container, Iterable, Iterator, Sequence
from dataclasses import dataclass
from urllib.parse import urlsplit

from aahcrawler.adaptation.store.learned import Learned, LearnedAction, LearnedLinks
from aahcrawler.page import Page
from aahcrawler.wrapper_induction.robust_paths import Expression

OTHERWISE = "redesigned"
LONGEST = 40
_FOLDERS = re.compile(
    r"(/(?:themes?|skins?|styles?|templates?|layouts?)/)([A-Za-z][A-Za-z0-9_-]{2,39})/", re.IGNORECASE
)
_PLAIN = re.compile(r"[A-Za-z][A-Za-z0-9 ._-]{1,60}")
_PLAIN_CLASS = re.compile(r"[A-Za-z][A-Za-z0-9_-]{1,60}")
_COMMON = frozenset(
    {
        *("all", "assets", "base", "build", "common", "css", "default", "dist", "fonts", "global", "icons", "images"),
        *("img", "lib", "main", "media", "public", "shared", "static", "style", "styles", "template", "templates"),
        *("theme", "themes", "vendor"),
    }
)
"""Folders that say nothing of the theme in them."""
_SAYS_THEME = re.compile(r"theme|skin|template|layout", re.IGNORECASE)
_CLASS = re.compile(r"[.#]([A-Za-z][A-Za-z0-9_-]+)|['\" ]([A-Za-z][A-Za-z0-9_-]{2,})['\" ]")
_LEAST = 3


@dataclass(frozen=True, slots=True)
class Template:
    """A template: its name, and a sign that all pages in it show, None where the name is no sign of them."""

    name: str
    sign: Expression | None = None


def template_of(
    learned: Learned, pages: Sequence[Page], others: Sequence[Page], templates: Container[str] = ()
) -> Template:
    """Return the template of some pages; ``others`` are saved pages of the application.

    What these show too is no name of the template, unless it is one of the ``templates`` that the file has variants
    for; nor is what is part of the site's own name. `OTHERWISE` names it if there is no other.
    """
    for name, sign in _candidates(learned, pages, others, templates):
        cleaned = _cleaned(name)
        if len(cleaned) >= _LEAST and not _is_of_site(cleaned, learned, pages):
            return Template(cleaned, sign)
    return Template(OTHERWISE)


_Found = tuple[str, Expression | None]
"""A name with the sign of it."""


def _candidates(
    learned: Learned, pages: Sequence[Page], others: Sequence[Page], templates: Container[str]
) -> Iterator[_Found]:
    themes = _shared([_themes(page) for page in pages])
    generators = _shared([_generators(page, learned.application) for page in pages])
    classes = _shared([_body_classes(page) for page in pages])
    shown = {name.lower() for page in others for name, _ in (*_themes(page), *_body_classes(page))}
    known = {name for name in shown if _cleaned(name) not in templates}
    yield from (found for found in themes if found[0].lower() not in known)
    yield from generators
    new = [found for found in classes if found[0].lower() not in known and not re.search(r"\d", found[0])]
    yield from (found for found in new if _SAYS_THEME.search(found[0]))
    yield from ((name, None) for name in _item_names(learned))
    yield from new


def _shared(found: Sequence[Iterable[_Found]]) -> list[_Found]:
    """Return what is on all pages, in the order of the first."""
    lists = [list(dict.fromkeys(each)) for each in found]
    return [one for one in lists[0] if all(one in other for other in lists[1:])] if lists else []


def _themes(page: Page) -> Iterator[_Found]:
    for element in page.tree.iter("link", "script"):
        attribute = "href" if element.tag == "link" else "src"
        for folder, name in _FOLDERS.findall(element.get(attribute) or ""):
            if name.lower() not in _COMMON:
                yield name, Expression(xpath=f"//{element.tag!s}[contains(@{attribute}, '{folder}{name}/')]")


def _generators(page: Page, application: str) -> Iterator[_Found]:
    """Yield what generators there are beside the application itself, without their versions."""
    for meta in page.tree.iter("meta"):
        kind = (meta.get("name") or "").lower()
        if kind in ("generator", "theme", "template"):
            name = re.split(r"\s+v?\d|[;(]", meta.get("content") or "")[0].strip()
            if _PLAIN.fullmatch(name) and _cleaned(application) not in _cleaned(name):
                yield name, Expression(css=f"meta[name='{meta.get('name')}'][content^='{name}']")


def _body_classes(page: Page) -> Iterator[_Found]:
    body = page.tree.find("body")
    for name in (body.get("class") or "").split() if body is not None else ():
        if _PLAIN_CLASS.fullmatch(name):
            yield name, Expression(css=f"body.{name}")


def _item_names(learned: Learned) -> Iterator[str]:
    """Yield the classes and ids by which what was learned is found."""
    match learned:
        case LearnedAction():
            sources = [selector.css or selector.source for selector in learned.wrapper.action.items]
        case LearnedLinks():
            sources = [learned.expression.css or learned.expression.xpath]
        case _:
            sources = [learned.expression.css or learned.expression.xpath]
    for source in sources:
        yield from (one or other for one, other in _CLASS.findall(source))


def _cleaned(name: str) -> str:
    """Return a name as files write names of variants.

    >>> _cleaned("Twenty_Twenty-Four ")
    'twenty-twenty-four'
    """
    spelled = re.sub(r"[^a-z0-9]+", "-", name.lower()).strip("-")
    return re.sub(r"^[^a-z]+", "", spelled)[:LONGEST].strip("-")


def _is_of_site(name: str, learned: Learned, pages: Sequence[Page]) -> bool:
    """Return whether a name is, or holds, a part of the site's host but for its suffix and common words."""
    hosts = {learned.site.partition(":")[0], *(urlsplit(page.url).hostname or "" for page in pages)}
    labels = {label for host in hosts for label in host.split(".")[:-1] if len(label) >= _LEAST and label != "www"}
    parts = set(name.split("-"))
    return any(label == name or label in parts or (len(label) > LONGEST // 8 and label in name) for label in labels)
