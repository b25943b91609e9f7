"""Find the URLs of records: fragments of their page, and permalinks."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import NamedTuple

from lxml.etree import _Element as Element

from aahcrawler.induction.headings import is_front
from aahcrawler.induction.outline import Outline, numbered
from aahcrawler.induction.record_bodies import RecordPart
from aahcrawler.induction.shown_names import names_author
from aahcrawler.page.text import excerpt
from aahcrawler.urls import resolve

Template = tuple[str, str]
"""A URL and its fragment, with ``NUMBER`` in place of the part that distinguishes records."""

NUMBER = "\0"
MAX_ADDRESSED = 0.6
"""The share of records that must have a link of a template for it to be the template of their URLs."""

_BY_LINK = 1
_BY_WORDS = 2
_MAX_ROUNDS = 10
_BY_NUMBER = 1
_BY_FRAGMENT = 3

_HEADINGS = ("h1", "h2", "h3", "h4", "h5", "h6")
_LAST = re.compile(r"[/=?&]")
_DIGEST = re.compile(r"[0-9a-fA-F]{8,}|[A-Z0-9]{16,}")
_IDENTIFIER = re.compile(r"(?=\D*\d)[\w.@+~%-]{6,}")
_MAX_OWN_LENGTH = 24
"""The most characters of a link that shows a number and leads to its record; a longer one is a title."""
_DEED = re.compile(
    r"(?:^|[/?&=;_.])(?:new|post|do|add|un)?(?:repl|quot|edit|report|delet|vot|like|rat[ei]|flag|login|register|shar[ei]|"
    r"print|histor|revision|diff|complain|bookmark|subscri|moderat|reput|karma|warn|ignor)[a-z]{0,9}(?=$|[/?&=;_.#\d])|"
    r"mode=|action=|do=",
    re.IGNORECASE,
)
_MAX_KEPT = 200
"""The longest reference for which the answer whether it is an action is cached: most links are on several pages."""
_PERMALINK = re.compile(r"permalink|permalien|bookmark|direct ?link|anchor|\burl\b", re.IGNORECASE)
_NUMBER = re.compile(r"\W*\d{1,7}\W*")
_LINK_WORD = re.compile(
    r"\W*(?:link|url|permalink|permalien|permanent link|direct link|anchor|¶|🔗|∞)\W*", re.IGNORECASE
)
"""The text of a link to a record itself: its number, or a word for link."""


class RecordIdentity(NamedTuple):
    """The URL of a record: its fragment within the page, and the URL it gives for itself.

    ``template`` is that URL and its fragment with a NUL in place of the record's number; None without a URL.
    """

    key: str | None
    permalink: str | None
    template: Template | None = None


@dataclass(frozen=True, slots=True)
class _Reference:
    """A link of a record that may lead to the record itself; the higher its ``rank``, the surer."""

    rank: int
    template: Template
    key: str | None
    number: str


def addresses(
    outline: Outline, parts: Sequence[RecordPart], base: str, own: frozenset[str], known: Template | None = None
) -> list[RecordIdentity]:
    """Find the identifiers of records, and their URLs, which differ only in their numbers.

    Such a URL is in the links of most records; its fragment lies within the record, or it repeats the number of the
    record's identifier and is marked as the record's link or leads to this page (``own``). For a single record, the
    fragment must show it, or the URL must match a ``known`` template.
    """
    keys = [tuple(_keys(outline, part)) for part in parts]
    found = [_references(outline, part, names, base, own) for part, names in zip(parts, keys, strict=True)]
    if base and not any(found):
        links = [_own_links(outline, part, base, own, keyed=all(keys)) for part in parts]
        found = links if not all(keys) or _template(links, known) is not None else found
    template = _template(found, known)
    owned = _owned([[each for each in references if each.template == template] for references in found])
    given = zip(keys, found, owned, strict=True)
    return [_addressed(names, each, own, template) for names, each, own in given]


def _owned(found: Sequence[Sequence[_Reference]]) -> list[_Reference | None]:
    """Return the reference that leads to each record itself, among those with the template of such URLs.

    Answers link to what they answer in the same way. So references of the highest rank are used, and if there are
    several, the one that no other record needs: a record with a single reference owns it.
    """
    left = [[each for each in references if each.rank == max(one.rank for one in references)] for references in found]
    for _ in range(_MAX_ROUNDS):
        taken = {each[0].number: place for place, each in enumerate(left) if len({one.number for one in each}) == 1}
        rest = [[one for one in each if taken.get(one.number, place) == place] for place, each in enumerate(left)]
        if rest == left:
            break
        left = [kept or each for kept, each in zip(rest, left, strict=True)]
    return [each[0] if each else None for each in left]


def _template(found: Sequence[Sequence[_Reference]], known: Template | None) -> Template | None:
    """Return the template of the URLs that most records have; if there are several, the one with the highest rank."""
    ranks: dict[Template, int] = {}
    numbers: dict[Template, list[str]] = {}
    for references in found:
        for template, each in {each.template: each for each in references}.items():
            ranks[template] = max(each.rank, ranks.get(template, 0))
            numbers.setdefault(template, []).append(each.number)
    if known in numbers:
        return known
    least = max(2, MAX_ADDRESSED * len(found)) if len(found) > 1 else 1
    lowest = 1 if len(found) > 1 else _BY_FRAGMENT
    shared = [
        template
        for template, given in numbers.items()
        if len(given) >= least and len(set(given)) == len(given) and ranks[template] >= lowest
    ]
    return max(shared, key=lambda each: (ranks[each], len(numbers[each])), default=None)


def _addressed(
    keys: Sequence[str], found: Sequence[_Reference], own: _Reference | None, template: Template | None
) -> RecordIdentity:
    best = max((each for each in found if each.key), key=lambda each: each.rank, default=None)
    key = own.key if own and own.key else best.key if best else keys[0] if keys else None
    if own is None or template is None or not template[0]:
        return RecordIdentity(key, None)
    url, fragment = (part.replace(NUMBER, own.number) for part in template)
    return RecordIdentity(key, f"{url}#{fragment}" if fragment else url, template)


def _references(
    outline: Outline, part: RecordPart, keys: Sequence[str], base: str, own: frozenset[str]
) -> list[_Reference]:
    """Return the links of a record that may lead to itself."""
    known = frozenset(keys)
    numbers = frozenset(parts[1] for key in keys if (parts := numbered(key)) and len(parts[1]) <= 15)
    found: list[_Reference] = []
    for place in part.places(outline):
        href = outline.elements[place].get("href") if outline.tags[place] == "a" else None
        if not href or len(href) > 2_000:
            continue
        plain, fragment = _halves(href)
        rank = _rank(plain, fragment, known, numbers)
        if not rank:
            continue
        url = resolve(base, plain) if plain else ""
        if rank == _BY_NUMBER and not (url and (_is_marked(outline, place) or _is_here(url, own))):
            continue
        number = _number(fragment or plain, known, numbers)
        if url is not None and number:
            template = (_templated(url, number), _templated(fragment, number))
            found.append(_Reference(rank, template, fragment or None, number))
    return found


def _own_links(outline: Outline, part: RecordPart, base: str, own: frozenset[str], *, keyed: bool) -> list[_Reference]:
    """Return the links of a record to a page of its own: they show its number, a date, or a word for link.

    These records have no identifiers that their links repeat; if they have others (``keyed``), a link must say that it
    is the record's. A link with words of its own leads to the record's subject, and one to a page of its author is not
    the record's, whatever number is in the name.
    """
    found: list[_Reference] = []
    titled: set[str] = set()
    for place in part.places(outline):
        href = outline.elements[place].get("href") if outline.tags[place] == "a" else None
        if not href or len(href) > 2_000 or _is_deed(href):
            continue
        plain, fragment = _halves(href)
        url = resolve(base, plain) if plain else None
        tail = _identifier(plain)
        if fragment or url is None or not tail or is_front(url) or names_author(outline, place):
            continue
        is_marked = _is_marked(outline, place)
        if url in own and not (keyed and is_marked):
            continue
        shown = excerpt(outline.elements[place], _MAX_OWN_LENGTH + 1)
        if len(shown) > _MAX_OWN_LENGTH or (outline.is_within(place, _HEADINGS) and not is_marked):
            titled.add(url)
        elif is_marked or (not keyed and tail in shown):
            rank = _BY_WORDS if says_link(outline, place) else _BY_LINK
            found.append(_Reference(rank, (_templated(url, tail), ""), None, tail))
    return [each for each in found if each.template[0].replace(NUMBER, each.number) not in titled]


def _identifier(address: str) -> str:
    """Return the number, the digest or another long identifier at the end of a reference's path or query.

    >>> _identifier("/post/120/"), _identifier("/list/message/4TQWXH2Z7K/"), _identifier("/wiki/Harbour")
    ('120', '4TQWXH2Z7K', '')
    """
    address = address.rstrip("/")
    last = _LAST.split(address)[-1]
    tail = None if _DIGEST.fullmatch(last) else numbered(address)
    if tail is not None:
        return tail[1]
    return last if _IDENTIFIER.fullmatch(last) or _DIGEST.fullmatch(last) else ""


def _is_deed(href: str) -> bool:
    """Return whether a reference leads to an action on a record. The answers for short ones are cached."""
    return _is_short_deed(href) if len(href) <= _MAX_KEPT else _DEED.search(href) is not None


@lru_cache(maxsize=20_000)
def _is_short_deed(href: str) -> bool:
    return _DEED.search(href) is not None


def _halves(href: str) -> tuple[str, str]:
    plain, _, fragment = href.partition("#")
    return plain, fragment


def _rank(plain: str, fragment: str, known: frozenset[str], numbers: frozenset[str]) -> int:
    """Return how surely a reference within a record leads to the record itself; 0 if it does not."""
    if _is_deed(plain):
        return 0
    if fragment in known:
        return 4 if plain else 2
    if plain and not fragment and plain.rstrip("/").rpartition("/")[2] in known:
        return _BY_NUMBER
    if fragment and (parts := numbered(fragment)) and parts[1] in numbers:
        return _BY_FRAGMENT if plain else 0
    return _BY_NUMBER if plain and not fragment and _ends_with_number(plain, numbers) else 0


def _ends_with_number(address: str, numbers: frozenset[str]) -> bool:
    found = numbered(address.rstrip("/"))
    return found is not None and found[1] in numbers


def _number(text: str, known: frozenset[str], numbers: frozenset[str]) -> str:
    """Return the number at the end of a reference, or the whole fragment if it is an identifier without one."""
    text = text.rstrip("/")
    found = numbered(text)
    if found is not None and (found[1] in numbers or text in known):
        return found[1]
    last = text.rpartition("/")[2]
    return last if last in known else ""


def _templated(text: str, number: str) -> str:
    """Return a text with a NUL in place of each run of digits, or whole segment, that equals the number."""
    return re.sub(rf"(?<![0-9A-Za-z]){re.escape(number)}(?![0-9A-Za-z])|(?<=\D){re.escape(number)}(?!\d)", NUMBER, text)


def _is_marked(outline: Outline, place: int) -> bool:
    """Return whether a link is marked as the permalink of its record: by its words, a number or a date."""
    return says_link(outline, place) or _NUMBER.fullmatch(excerpt(outline.elements[place], 40)) is not None


def says_link(outline: Outline, place: int) -> bool:
    """Return whether a link is called a link in words, or contains a date."""
    element = outline.elements[place]
    words = " ".join(element.get(name) or "" for name in ("rel", "class", "title", "itemprop", "aria-label"))
    if _PERMALINK.search(words) or next(element.iter("time"), None) is not None:
        return True
    return _LINK_WORD.fullmatch(excerpt(element, 40)) is not None


def _is_here(url: str, own: frozenset[str]) -> bool:
    """Return whether a URL is that of this page, apart from its query."""
    return not is_front(url) and any(url.partition("?")[0] == page.partition("?")[0] for page in own)


def _anchor_before(element: Element) -> str | None:
    """Return the numbered identifier of an empty anchor right before an element."""
    anchor = element.getprevious()
    if anchor is None or anchor.tag != "a" or anchor.get("href") or len(anchor) or (anchor.text or "").strip():
        return None
    key = anchor.get("id") or anchor.get("name")
    return key if key and numbered(key) else None


def _keys(outline: Outline, part: RecordPart) -> Iterator[str]:
    """Yield identifiers that end with a number, first those of the outermost elements, then all others."""
    others: list[str] = []
    for root in part.roots:
        if key := _anchor_before(outline.elements[root]):
            yield key
        for place in (root, *list(outline.ancestors(root))[:2]):
            key = outline.elements[place].get("id")
            if root > place + 1 and key and outline.free(place) > 1.3 * outline.free(root) + 50:
                break
            if key and numbered(key):
                yield key
    for place in part.places(outline):
        element = outline.elements[place]
        for key in (element.get("id"), element.get("name") if element.tag == "a" else None):
            if key and place not in part.roots:
                if numbered(key):
                    yield key
                else:
                    others.append(key)
    yield from others
