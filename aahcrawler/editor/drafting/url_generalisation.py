"""Generalise the URLs of pages: their shape, their page numbers, and the URLs to avoid."""

import re
from collections.abc import Iterable, Sequence

from aahcrawler.editor.drafting.address_groups import FILE, NAME, ROLES, SAFE, Shape, anywhere, glob_of
from aahcrawler.page.generic import PageLink
from aahcrawler.page.text import fold
from knowledge_base.url_rules import Paging, ParsedUrl

LONGEST_WORD = 10
"""Letters of a part of a path that still looks like a fixed word."""
MANY_VALUES = 3
"""The number of values at one place of a path from which the place is a variable."""

_STATIC = re.compile(r"(?!index\.)[A-Za-z][A-Za-z_-]*(\.html?)")
_DIGITS = re.compile(r"\d+")
_PAGE_PART = re.compile(r"([/_.-]?(?:[A-Za-z]{1,8}-)?(?:[A-Za-z]{1,8}[-_/=.]?)?)(\d{1,6})")
_PAGE_WORDS = re.compile(
    r"\b(?:next|older|more|previous|prev|last|page|weiter|suivant|siguiente)\b|[»›→>]", re.IGNORECASE
)
_SESSION = re.compile(r"[0-9a-f]{26,64}", re.IGNORECASE)
_TRACKING = re.compile(
    r"ref(?:errer|erer|_src|_source)?|source|src|campaign|mc_[ce]id|pk_\w+|mtm_\w+|yclid|msclkid|igshid|_ga|share(?:d|_id)?|from",
    re.IGNORECASE,
)
_COUNTED = re.compile(r"\d+")
_COUNTED_ON = re.compile(r"[.,;_-](?:[a-z]{1,8}=?)?\d{1,6}")
_SLUG_SIGNS = re.compile(r"[-_.~%+]")


def shape_of(address: ParsedUrl, others: Iterable[ParsedUrl] = (), paging: Sequence[Paging] = ()) -> Shape:
    """Return the shape of a URL; places that vary among URLs that are alike otherwise are left open.

    >>> shape_of(ParsedUrl.parse("http://a.test/board/topic.php?id=7&mode=flat")).attributes()
    {'path': '**/topic.php', 'parameters': 'id mode=flat'}
    >>> shape_of(ParsedUrl.parse("http://a.test/threads/which-oars.12/")).attributes()
    {'path': '**/threads/*.#/'}
    """
    for rule in paging:
        address = rule.strip(address)
    alike = [other for other in others if len(other.segments) == len(address.segments)]
    parts = [_open_part(address, place, alike) for place in range(len(address.segments))]
    _open_title(parts, address)
    path = anywhere(parts)
    if address.query and "=" not in address.query[0]:
        return Shape(path, query="/".join(map(_open_word, address.query[0].split("/"))))
    counted = {rule.parameter for rule in paging}
    pairs = [(name, value) for name, value in address.parameters.items() if name not in counted]
    return Shape(path, tuple(_pair(name, value) for name, value in pairs if NAME.fullmatch(name)))


def paging_of(address: ParsedUrl, links: Iterable[PageLink]) -> tuple[Paging, ...]:
    """Return how pages of the same thing are numbered, as far as links to them show it."""
    found: dict[Paging, None] = {}
    for link in links:
        if _looks_like_page_number(link):
            other = ParsedUrl.parse(link.url)
            paging = _paging_between(address, other) or _paging_between(other, address)
            if paging is not None and _spares(paging, address, other):
                found[paging] = None
    return tuple(found)[:2]


def beyond_paging(address: ParsedUrl, links: Iterable[PageLink]) -> tuple[str, ...]:
    """Return the URLs of further pages whose numbers a file cannot tell from those of things, as in ``t-12-2.html``."""
    numbered = (link.url for link in links if _looks_like_page_number(link))
    return tuple(url for url in numbered if _is_beyond(address, ParsedUrl.parse(url)))


def _is_beyond(address: ParsedUrl, other: ParsedUrl) -> bool:
    paging = _paging_between(address, other)
    return not _spares(paging, address, other) if paging is not None else _counts_within(address, other)


def _counts_within(first: ParsedUrl, other: ParsedUrl) -> bool:
    """Return whether one parameter holds the thing and the number of its page, as in ``t=12.20``, ``t=12;s=20``."""
    if other.prefix != first.prefix or other.path != first.path or other.parameters.keys() != first.parameters.keys():
        return False
    changed = [(first.parameters[name], value) for name, value in other.parameters.items()]
    different = [(here, there) for here, there in changed if here != there]
    if len(different) != 1:
        return False
    here, there = different[0]
    shared = _COUNTED.match(here)
    if shared is None or not there.startswith(shared[0]):
        return False
    return _COUNTED_ON.fullmatch(there.removeprefix(shared[0])) is not None


def _spares(paging: Paging, *addresses: ParsedUrl) -> bool:
    """Return whether a page number is taken off once, so that numbers of things are not taken for it."""
    firsts = {paging.strip(address).url for address in addresses}
    bare = {url.rstrip("/") for url in firsts}
    return len(bare) == 1 and all(paging.strip(ParsedUrl.parse(url)).url == url for url in firsts)


def first_numbers(paging: Paging, links: Iterable[PageLink]) -> tuple[str, ...]:
    """Return the values of a parameter that mean the first page, as far as links show it: ``0``, ``1``, or none.

    Where the link to the second page says 1, pages are counted from 0. Those whose numbers grow by more than one count
    what is passed over, so that 0 is the first.
    """
    shown: dict[int, int] = {}
    for link in links:
        value = ParsedUrl.parse(link.url).parameters.get(paging.parameter, "")
        named = fold(link.anchor).strip("[]()")
        if value.isdecimal() and named.isdecimal() and len(value) < LONGEST_WORD and len(named) < LONGEST_WORD:
            shown.setdefault(int(named), int(value))
    if not shown:
        return ()
    if all(named == value for named, value in shown.items()):
        return ("1",)
    return ("0",) if all(value == 0 or value >= named - 1 for named, value in shown.items()) else ()


def session_parameters(urls: Iterable[str]) -> tuple[str, ...]:
    """Return the parameters whose values look like those of a session."""
    addresses = (ParsedUrl.parse(url) for url in urls)
    names = (name for address in addresses for name, value in address.parameters.items() if _SESSION.fullmatch(value))
    return tuple(dict.fromkeys(names))


def tracking_parameters(urls: Iterable[str]) -> tuple[str, ...]:
    """Return the parameters that say where a reader came from, whatever the site."""
    names = (name for url in urls for name in ParsedUrl.parse(url).parameters)
    return tuple(dict.fromkeys(name for name in names if _TRACKING.fullmatch(name)))


def _open_part(address: ParsedUrl, place: int, alike: Sequence[ParsedUrl]) -> str:
    """Write one part of a path: digits as ``#``, words that vary as ``*``."""
    part = address.segments[place]
    if not part and place < len(address.segments) - 1:
        return "*"
    if not part or FILE.fullmatch(part) or part.lower() in ROLES:
        return part
    values = {
        other.segments[place]
        for other in alike
        if all(a == b for i, (a, b) in enumerate(zip(other.segments, address.segments, strict=True)) if i != place)
    }
    return "*" if len(values | {part}) > MANY_VALUES and not _DIGITS.search(part) else _open_word(part)


def _open_title(parts: list[str], address: ParsedUrl) -> None:
    """Leave the last word of a path open where nothing else tells pages apart, or where numbers stand before it."""
    places = [place for place, part in enumerate(parts) if part]
    page = _STATIC.fullmatch(parts[-1])
    if page and not address.query and parts[-1].partition(".")[0].lower() not in ROLES:
        parts[-1] = f"*{page[1]}"
        return
    last = parts[places[-1]] if places else ""
    if not last.isalpha() or last.lower() in ROLES or any(map(_varies, address.parameters.values())):
        return
    before = [parts[place] for place in places[:-1]]
    if before and (before[-1] == "#" or not any("#" in part or "*" in part for part in before)):
        parts[places[-1]] = "*"


def _open_word(part: str) -> str:
    """Write a part of a URL: numbers as ``#``, titles as ``*``.

    >>> [_open_word(part) for part in ("which-oars.12", "12-which-oars", "topic12", "topic", "der_alte_mann")]
    ['*.#', '#-*', 'topic#', 'topic', '*']
    """
    if _DIGITS.search(part):
        return glob_of(part)
    is_title = bool(_SLUG_SIGNS.search(part)) or len(part) > LONGEST_WORD
    return "*" if is_title or not SAFE.fullmatch(part) else part


def _pair(name: str, value: str) -> str:
    return name if _varies(value) or not SAFE.fullmatch(value) else f"{name}={value}"


def _varies(value: str) -> bool:
    return bool(_DIGITS.search(value)) or len(value) > LONGEST_WORD or not value


def _looks_like_page_number(link: PageLink) -> bool:
    words = " ".join((link.anchor, link.element.get("rel") or "", link.element.get("class") or ""))
    return fold(link.anchor).strip("[]()").isdigit() or bool(_PAGE_WORDS.search(words))


def _paging_between(first: ParsedUrl, other: ParsedUrl) -> Paging | None:
    if other.prefix != first.prefix:
        return None
    if other.path == first.path:
        changed = {pair for pair in other.parameters.items() if pair not in first.parameters.items()}
        gone = set(first.parameters) - set(other.parameters)
        if len(changed) == 1 and not gone:
            ((name, value),) = changed
            return Paging(parameter=name) if value.isdigit() and first.parameters.get(name, "0").isdigit() else None
        return None
    if set(other.query) != set(first.query):
        return None
    for found in _PAGE_PART.finditer(other.path):
        before, after = other.path[: found.start()], other.path[found.end() :]
        if found[1] and (before + after).rstrip("/") == first.path.rstrip("/"):
            sign = found[1] if found[1][0] in "/_.-" else f"/{found[1]}" if before.endswith("/") else found[1]
            return Paging(part=f"{sign}#")
    return None
