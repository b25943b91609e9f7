"""Find the title of a page with one text: the part that shown and declared titles share, without the site's name.

Headings contain kickers and the name of the site, declared titles are written for search engines, and either may be
that of something else; the part that both agree on is the title.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from enum import IntEnum
from itertools import islice

from lxml.etree import _Element as Element

from aahcrawler.page import Page, claims
from aahcrawler.page.text import bare, excerpt, fold, headline
from aahcrawler.urls import canonicalize, queue_of, resolve

TELLING = 12
"""Characters of a heading that no other title has in it by chance."""

MAX_HEADINGS = 300
MAX_LINKS = 2_000
MAX_TEXTS = 5_000
MAX_TITLE_LENGTH = 320

_MIN_TITLE_LENGTH = 4
_MIN_LABEL = 5
"""The fewest letters of a host's name that a part of a title shares with it by no chance."""
_SEPARATOR = re.compile(r"(\s+(?:[-–—|•»«·/›‹→~]|::)\s+|\s*\|\s*)")
_KICKER = re.compile(
    r"kicker|over-?line|roof-?line|dach-?zeile|spitz-?marke|top-?line|eyebrow|pre-?(?:title|head)|super-?title|sur-?titre",
    re.IGNORECASE,
)
_JOINED = re.compile(r"[:,;–—-]")
_WORD = re.compile(r"\w+")
_NUMBERED = re.compile(
    r"\W{0,2}(?:[^\W\d_]{2,12}\W{1,2})?#?(?P<number>\d{1,12})\W?(?:\s*[-–—:|»]\s+|\s+(?=\W)|(?<=[\])])\s+)"
    r"|#(?P<marked>\d{1,12})\s+"
)
_NUMBER_BEHIND = re.compile(r"\s+\(?#(?P<number>\d{1,12})\)?")
_RUNS = re.compile(r"(?<![^\W\d][-_])(?<!\d)0*([1-9]\d*)")
"""The numbers of a URL but those that words of a title stand before: ``/12/part-7-the-harbour`` has the first alone."""
_NAMES = ("og:title", "twitter:title", "dcterms.title")


class _Agreement(IntEnum):
    """The ways in which a heading agrees with a declared title, the strongest last."""

    WORDS = 0
    """At least half of its words are those of the title, and it is the page's only one of the first rank."""
    HOLDS = 1
    """The heading begins or ends with the title."""
    BORDERS = 2
    """The title begins or ends with it."""
    PART = 3
    """The heading is a part of the title, or the title one of its parts."""
    EQUAL = 4


@dataclass(frozen=True, slots=True)
class _Heading:
    """A heading as it is shown, and its words without a kicker; ``away`` if it leads to another page of the site."""

    shown: str
    text: str
    rank: int
    away: bool


@dataclass(frozen=True, slots=True)
class _Agreed:
    """The text that a heading and a declared title share."""

    heading: _Heading
    how: _Agreement
    title: str


def title_of(page: Page, found: str) -> str:
    """Return the title of the one text of a page: ``found``, the one read for it, unless the page contradicts it.

    The title is the heading that agrees best with the declared titles, without its kicker and its site's name. A
    heading of the second or third rank does not replace one of the first rank, and no heading replaces one that agrees
    as well. Empty where nothing but the site's name is found, unless the page is the first one of its site.
    """
    title = _title_of(page, found)
    if not _is_site(page, title) or claims.is_front_page(page):
        return title
    return _own(page, next((each for each in page.once(_declared) if not _is_site(page, each)), ""))


def _is_site(page: Page, title: str) -> bool:
    """Return whether a title is the name of the site or of its host, and nothing else.

    One that only begins like the host is a name of the site where no heading of the page agrees with it.
    """
    queue = queue_of(page.url)
    if not page.once(_agreed) and _is_of_host(page, title):
        return True
    return bare(title) in map(bare, (claims.meta(page).get("og:site_name", ""), queue, queue.partition(".")[0]))


def _title_of(page: Page, found: str) -> str:
    agreed = page.once(_agreed)
    own = next((each for each in agreed if bare(found) in (bare(each.heading.shown), bare(each.title))), None)
    best = agreed[0] if agreed else None
    if own is not None and best is not None and (own.how >= best.how or _is_of_site(own, best)):
        return _own(page, own.title)
    if best is not None and (best.heading.rank == 1 or bare(found) not in page.once(_first_rank)):
        return _own(page, best.title)
    if bare(found) in page.once(claims.site_names):
        return _without_site(page, head_title(page)) or found
    return _own(page, found)


def _is_of_site(own: _Agreed, best: _Agreed) -> bool:
    """Return whether a first heading of a word or two stands behind another one in the title: a site, a project."""
    if best.how is not _Agreement.WORDS or own.how < _Agreement.PART:
        return False
    return not bare(best.title).startswith(bare(best.heading.text)) or bare(best.title) == bare(best.heading.text)


def subject_of(page: Page, title: str) -> str:
    """Return the part of a page's title that names its subject, without the names of its site and of what it lies in.

    What a page lies in are the lists that it links to by their names: ``The harbour - Ports - Boats and ports`` on a
    page with links to "Ports" is called "The harbour". One part is always left.
    """
    title = without_number(page, title)
    pieces = _SEPARATOR.split(title)
    if len(pieces) < 3:
        return title
    above = page.once(claims.site_names) | page.once(_linked)
    while len(pieces) > 2 and bare(pieces[-1]) in above:
        pieces = pieces[:-2]
    while len(pieces) > 2 and bare(pieces[0]) in above:
        pieces = pieces[2:]
    return "".join(pieces).strip()


def without_number(page: Page, title: str) -> str:
    """Return a title without the number that its page's URL has, and a word before that: ``Bug 7: The harbour``.

    So ends a title with a mark before such a number: ``The harbour #7``.

    It is empty where what is left stands nowhere on the page: in ``Message 7 - Works`` that is the name of the site.
    """
    runs = _RUNS.findall(page.url)
    behind = next((each for each in _NUMBER_BEHIND.finditer(title) if each.end() == len(title)), None)
    if behind is not None and behind["number"] in runs:
        title = title[: behind.start()]
    found = _NUMBERED.match(title)
    number = (found["number"] or found["marked"]).lstrip("0") if found else ""
    if found is None or number not in runs or len(title) == found.end():
        return title
    rest = title[found.end() :]
    key = bare(_SEPARATOR.split(rest)[0])
    return rest if any(key in text for text in page.once(_shown)) else ""


def _shown(page: Page) -> frozenset[str]:
    """Return the short texts of a page other than its title, those of its fields included."""
    body = page.tree.find("body")
    if body is None:
        return frozenset()
    texts = (str(text) for text in islice(body.itertext(), MAX_TEXTS) if len(text) <= MAX_TITLE_LENGTH)
    values = (field.get("value") or "" for field in islice(body.iter("input"), MAX_LINKS))
    return frozenset(map(bare, (*texts, *values)))


def _linked(page: Page) -> frozenset[str]:
    """Return what the links of a page to others of its site are called, in lower case without spaces and signs."""
    own = {url.partition("#")[0].rstrip("/") for url in (claims.permalink(page), page.url)}
    below = tuple(url + mark for url in own for mark in "?&;/")
    called: set[str] = set()
    for link in islice(page.tree.iter("a"), MAX_LINKS):
        target = resolve(page.base_url, link.get("href") or "")
        if target is None or target.partition("#")[0].rstrip("/") in own or target.startswith(below):
            continue
        if queue_of(target) == queue_of(page.url):
            called.add(bare(excerpt(link, MAX_TITLE_LENGTH)))
    return frozenset(called - {""})


def parts(title: str) -> tuple[str, ...]:
    """Return the parts of a title that dashes, bars and points set off, each without white space and signs.

    >>> parts("The harbour - Harbour News | Hill Town")
    ('theharbour', 'harbournews', 'hilltown')
    """
    return tuple(filter(None, map(bare, _SEPARATOR.split(title)[::2])))


def _clauses(title: str) -> frozenset[str]:
    """Return what stands behind a colon in the parts of a title: ``Bug #7: The harbour - Works``."""
    return frozenset(bare(part.partition(": ")[2]) for part in _SEPARATOR.split(title)[::2] if ": " in part)


def ends(title: str) -> tuple[str, ...]:
    """Return the parts of a title, the first one parted once more at a colon: sites write their names there as well.

    >>> ends("Harbour News: The ferry")
    ('harbournews', 'theferry')
    """
    first, *others = _SEPARATOR.split(title)[::2]
    return tuple(filter(None, map(bare, (*first.split(": ", 1), *others))))


def head_title(page: Page) -> str:
    """Return the title in a page's head, empty if it has none."""
    return next((excerpt(element, MAX_TITLE_LENGTH) for element in page.tree.iter("title")), "")


def _own(page: Page, title: str) -> str:
    """Return a title without the name of its site, or that part of it which the page declares to be its title."""
    pieces = _SEPARATOR.split(title)
    declared = frozenset(map(bare, page.once(_declared)))
    shown_title = next((piece for piece in pieces[::2] if len(piece) >= TELLING and bare(piece) in declared), "")
    if shown_title and len(pieces) > 1:
        return shown_title
    return _without_site(page, title)


def _without_site(page: Page, title: str) -> str:
    """Return a title without the name of its site at either end, and without what stands behind that name."""
    pieces = _SEPARATOR.split(title)
    names = page.once(claims.site_names) | page.once(_front_names)
    before, colon, rest = pieces[0].partition(": ")
    if colon and rest and bare(before) in names:
        pieces[0] = rest
    is_site = [bare(each) in names for each in pieces[::2]]
    is_site[-1] = is_site[-1] or (len(is_site) > 1 and _is_of_host(page, pieces[-1]))
    first = next((number for number, named in enumerate(is_site) if not named), 0)
    end = next((number for number in range(first + 1, len(is_site)) if is_site[number]), len(is_site))
    return "".join(pieces[2 * first : 2 * end - 1]).strip()


def _is_of_host(page: Page, part: str) -> bool:
    """Return whether a part of a title is the name of the page's host, the beginning of it, or that and a word more."""
    name, label = bare(part), bare(queue_of(page.url).partition(".")[0])
    short, long = sorted((name, label), key=len)
    return len(short) >= _MIN_LABEL and long.startswith(short) and len(name) <= 2 * len(label)


def _front_names(page: Page) -> frozenset[str]:
    """Return what the links of a page to the first page of its site are called, its logo among them."""
    called: set[str] = set()
    for link in islice(page.tree.iter("a"), MAX_LINKS):
        href = link.get("href") or ""
        target = resolve(page.base_url, href) if "#" not in href else None
        if target is None or not claims.is_front(target) or queue_of(target) != queue_of(page.url):
            continue
        images = (image.get("alt") or "" for image in islice(link.iter("img"), 1))
        called.update(map(bare, (excerpt(link, MAX_TITLE_LENGTH), link.get("title") or "", *images)))
    return frozenset(called - {""})


def _agreed(page: Page) -> Sequence[_Agreed]:
    """Return the texts that headings and declared titles share, headings of the first rank and best agreement first."""
    declared = page.once(_declared)
    sites = page.once(claims.site_names)
    headings = [
        each for each in _headings(page) if len(bare(each.text)) >= _MIN_TITLE_LENGTH and bare(each.text) not in sites
    ]
    first = sum(each.rank == 1 for each in headings)
    found: list[_Agreed] = []
    for heading in headings:
        alone = heading.rank == 1 and first == 1
        how = (one for title in declared if (one := _agreement(heading, title, alone=alone)) is not None)
        best = max(how, key=lambda one: one[0], default=None)
        if best is not None:
            found.append(_Agreed(heading, *best))
    return sorted(found, key=lambda each: (each.heading.rank, -each.how))


def _agreement(heading: _Heading, title: str, *, alone: bool) -> tuple[_Agreement, str] | None:
    """Return how a heading agrees with a declared title and their shared text; ``alone`` if no other has its rank."""
    shown, declared = bare(heading.text), bare(title)
    if shown == declared:
        return _Agreement.EQUAL, heading.text
    if heading.away:
        return None
    if len(heading.text) >= TELLING and (shown in parts(title) or shown in _clauses(title)):
        return _Agreement.PART, heading.text
    if len(title) >= TELLING and declared in parts(heading.text):
        return _Agreement.PART, next(part for part in _SEPARATOR.split(heading.text)[::2] if bare(part) == declared)
    if len(heading.text) >= TELLING and _borders(_words(heading.text), _words(title)):
        return _Agreement.BORDERS, heading.text
    if len(title) >= TELLING and _is_set_apart(title, heading.text):
        return _Agreement.HOLDS, title
    words = _words(heading.text)
    if alone and 2 * len(set(words) & set(_words(title))) >= len(set(words)):
        return _Agreement.WORDS, heading.text
    return None


def _borders(short: Sequence[str], long: Sequence[str]) -> bool:
    return bool(short) and (long[: len(short)] == short or long[-len(short) :] == short)


def _is_set_apart(title: str, text: str) -> bool:
    """Return whether a text begins or ends with a title, and no sign joins it to the rest as parts of one sentence."""
    found, number = list(_WORD.finditer(text)), len(_words(title))
    if number >= len(found) or not _borders(_words(title), _words(text)):
        return False
    first = len(found) - number if _words(text)[-number:] == _words(title) else number
    return _JOINED.search(text[found[first - 1].end() : found[first].start()]) is None


def _declared(page: Page) -> tuple[str, ...]:
    """Return the titles of a page's work, its meta elements and its head, as declared and without the site's name."""
    work = claims.work_of(page)
    found = [fold(work.text("headline", "name"))] if work is not None else []
    meta = claims.meta(page)
    found += [meta[name] for name in _NAMES if name in meta]
    found.append(head_title(page))
    found += [_without_site(page, title) for title in found]
    return tuple(dict.fromkeys(filter(None, found)))


def _first_rank(page: Page) -> frozenset[str]:
    return frozenset(bare(each.shown) for each in _headings(page) if each.rank == 1)


def _headings(page: Page) -> Iterator[_Heading]:
    """Yield the headings of a page but those that lead to the front page of its site."""
    own = {claims.permalink(page), canonicalize(page.url), page.url}
    queue = queue_of(claims.permalink(page))
    for element in islice(page.tree.iter("h1", "h2", "h3"), MAX_HEADINGS):
        target = _target(element, page.base_url)
        if target is None or target in own or not claims.is_front(target):
            shown = headline(element, MAX_TITLE_LENGTH)
            away = target is not None and target not in own and queue_of(target) == queue
            yield _Heading(shown, _without_kicker(element, shown), 1 if element.tag == "h1" else 2, away)


def _target(heading: Element, base: str) -> str | None:
    above = heading.getparent()
    link = above if above is not None and above.tag == "a" else next(heading.iter("a"), None)
    return resolve(base, link.get("href") or "") if link is not None else None


def _without_kicker(heading: Element, text: str) -> str:
    """Return the words of a heading without the kicker that its markup sets above them."""
    for element in heading.iterdescendants():
        if _KICKER.search(element.get("class") or ""):
            kicker = excerpt(element, MAX_TITLE_LENGTH)
            rest = text.removeprefix(kicker).lstrip(" :|–—-•·")
            return rest if kicker and rest and text.startswith(kicker) else text
    return text


def _words(text: str) -> list[str]:
    return _WORD.findall(text.casefold())
