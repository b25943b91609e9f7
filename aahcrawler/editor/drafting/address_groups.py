"""Clusters the URLs of a site into groups that are alike, each with the shape that its URLs share.

URLs are alike if they have as many segments and the same parameters, and if what stands at each place is of one sort: a
number, a number with a title, a title, or the same word. Words that name sorts of pages on many sites (``topic``,
``tag``) are never taken for titles.
"""

import re
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace

from knowledge_base.url_rules import Paging, ParsedUrl, PathGlob, QueryGlob, UrlRule, first_page

FILE = re.compile(r"[A-Za-z][A-Za-z_-]*\.(?:php\d?|html?|aspx?|jsp|cgi|pl|do)")
SCRIPT = re.compile(r"[A-Za-z][A-Za-z_-]*\.(?:php\d?|aspx?|jsp|cgi|pl|do)")
INDEX = re.compile(r"(?:index|default)\.(?:php\d?|html?|aspx?|jsp|cgi|pl)")
"""The file that a server shows for a folder."""
SAFE = re.compile(r"[A-Za-z0-9_.~!$()+,;=:@|-]*")
"""Characters that a rule contains unescaped; blanks separate, quotation marks end, and others are wildcards."""
NAME = re.compile(r"[A-Za-z0-9_.~-]+")
"""Names of parameters that a rule can name."""
MAX_URLS = 20_000
MAX_SEGMENTS = 24
MAX_PARAMETERS = 12
FEW_WORDS = 3
"""Words at one place of URLs that are alike otherwise, up to which each word makes a group of its own."""
MOSTLY = 0.6
"""The share of titles with a number from which the number belongs to the shape."""
_SEPARATORS = "-_.~,+"
_DIGITS = re.compile(r"\d+")
_LED = re.compile(rf"\d+([{_SEPARATORS}]).+", re.DOTALL)
_TRAILED = re.compile(rf".+?([{_SEPARATORS}])\d+", re.DOTALL)
_STEM = re.compile(rf"([A-Za-z]{{1,20}}[-_]?)\d+(?:([{_SEPARATORS}]).+)?", re.DOTALL)
_SCRIPT = re.compile(r"[A-Za-z][A-Za-z_-]*\.(?:php\d?|aspx?|jsp|cgi|pl|do)|index\.html?")
_ENDING = re.compile(r"(?<=.)\.[A-Za-z][A-Za-z0-9]{1,4}")
_SURE = re.compile(r"stem (?:index|page|topic|thread|forum|board|post|msg|showthread|viewtopic)#")
"""Numbered words that are never titles."""
_CHOSEN = re.compile(r"\.?[A-Za-z][A-Za-z_-]*;?")
_WORD = re.compile(r"[A-Za-z]{1,20}")
_SPACE = re.compile(r"[A-Za-z]{3,20}:(?=[^\s_-])")
_SORTED = re.compile(rf"([A-Za-z]{{3,12}})([{_SEPARATORS}]).+", re.DOTALL)
_SORTS = """
topic topics thread threads discussion discussions forum forums board boards subforum viewtopic viewforum showthread
forumdisplay showtopic showforum post posts message messages comment comments replies question questions answer
answers q a article articles story stories news blog blogs entry entries archive archives section sections rubric
pages page wiki album albums photo photos picture pictures gallery galleries image images set sets video videos channel
channels playlist track tracks song songs artist artists list lists index recent latest popular help faq about contact
privacy terms rules policy imprint calendar events map sitemap notifications inbox private settings preferences p t f u
c s d id display detail details media files attachment attachments download downloads feed feeds rss atom group groups
"""
_TAKING = frozenset(
    [
        "category",
        "categories",
        "cat",
        "tag",
        "tags",
        "tagged",
        "label",
        "labels",
        "keyword",
        "keywords",
        "term",
        "author",
        "authors",
        "user",
        "users",
        "member",
        "members",
        "profile",
        "profiles",
        "people",
        "account",
        "topic-tag",
    ]
)
"""Words that one of many names follows."""
_DEEDS = """
login logout signin signout signup register registration join password reset edit delete move history revisions diff
publish unpublish new create add reply quote report flag like unlike upvote downvote vote mark mark-all subscribe
unsubscribe follow unfollow bookmark share print admin moderate moderation search find unread active online view show
read upload preview compose
"""
ROLES = frozenset((*_SORTS.split(), *_DEEDS.split())) | _TAKING
"""Words that say what sort of page a URL leads to, whatever the site is about."""
_CHOOSING = frozenset(
    [
        "action",
        "act",
        "do",
        "mode",
        "op",
        "cmd",
        "task",
        "sa",
        "option",
        "controller",
        "module",
        "view",
        "type",
        "func",
        "route",
        "r",
        "tab",
    ]
)
"""Parameters whose value says what sort of page a URL leads to."""
_SORTS_AS_NAMES = frozenset(_SORTS.split()) | _TAKING
"""Words that may be a name as well, behind one of those that names follow."""


@dataclass(frozen=True, slots=True)
class Shape:
    """The common form of URLs of one sort: a glob of the path, and the parameters present; some are absent."""

    path: str
    parameters: tuple[str, ...] = ()
    query: str = ""
    absent: tuple[str, ...] = ()

    @property
    def rule(self) -> UrlRule:
        """The rule as the knowledge base applies it, other parameters allowed."""
        pairs = (part.partition("=") for part in self.parameters)
        present = tuple((name, value if sign else "*") for name, sign, value in pairs)
        query = QueryGlob(self.query) if self.query else None
        return UrlRule(PathGlob(self.path), present, frozenset(self.absent), query=query)

    def address(self, optional: Iterable[str] = ()) -> UrlRule:
        """Return the rule of URLs that are documented: no parameters but those of the shape and the optional ones."""
        return replace(self.rule, allowed=frozenset(optional))

    def attributes(self) -> dict[str, str]:
        """Return the attributes for a file."""
        parameters, absent = " ".join(self.parameters), " ".join(self.absent)
        given = {"path": self.path, "parameters": parameters, "query": self.query, "absent": absent}
        return {name: value for name, value in given.items() if value}


def anywhere(parts: Sequence[str]) -> str:
    """Write the parts of a path so that they fit wherever the software is installed, if a word or file says enough.

    >>> anywhere(("forum", "#-*", "")), anywhere(("#", "*", "")), anywhere(("board", "topic.php"))
    ('**/forum/#-*/', '/#/*/', '**/topic.php')
    """
    if FILE.fullmatch(parts[-1]):
        return f"**/{parts[-1]}"
    if len([part for part in parts if part]) > 1 and parts[0].isalpha():
        return "/".join(("**", *parts))
    return "/" + "/".join(parts)


def literal(address: ParsedUrl) -> Shape | None:
    """Return the shape of a single URL, nothing left open; None if it has signs that mean something in a rule."""
    pairs = tuple(f"{name}={value}" for name, value in address.parameters.items())
    if not SAFE.fullmatch("".join(address.segments)) or not all(SAFE.fullmatch(pair) for pair in pairs):
        return None
    return Shape("/" + "/".join(address.segments), pairs)


@dataclass(frozen=True, slots=True)
class AddressGroup:
    """URLs of one site that are alike, in the order given, and the shape that fits all of them."""

    shape: Shape
    urls: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class _Parts:
    """The parts by which URLs are compared: path, a path in the query, and parameter values with their names."""

    url: str
    path: tuple[str, ...]
    query: tuple[str, ...]
    values: tuple[str, ...]
    names: tuple[str, ...]

    @property
    def places(self) -> tuple[str, ...]:
        return (*self.path, *self.query, *self.values)

    @property
    def signature(self) -> tuple[int, int, tuple[str, ...], bool]:
        return (len(self.path), len(self.query), self.names, self.path[-1] == "")


def address_groups(urls: Iterable[str], paging: Sequence[Paging] = ()) -> tuple[AddressGroup, ...]:
    """Return the groups of canonical URLs of one site, the largest first.

    Page numbers of ``paging`` are left out before. Deterministic: the same URLs in the same order give the same groups,
    and the order has no influence on the shapes. At most `MAX_URLS` URLs are looked at; each is in one group, but for
    those that are too long for rules.

    >>> [(each.shape.path, len(each.urls)) for each in address_groups([
    ...     "http://a.test/forum/1-music-2/", "http://a.test/forum/3-the-arts-4/", "http://a.test/topic/7-wet/"])]
    [('**/forum/#-*/', 2), ('**/topic/#-*/', 1)]
    """
    found: dict[tuple[str, object], dict[str, _Parts]] = defaultdict(dict)
    for number, url in enumerate(dict.fromkeys(urls)):
        if number == MAX_URLS:
            break
        address = first_page(ParsedUrl.parse(url), paging)
        if not address.is_too_long and len(address.segments) <= MAX_SEGMENTS:
            parts = _parts_of(url, address)
            found[address.prefix, parts.signature][url] = parts
    groups = [group for alike in found.values() for group in _split(list(alike.values()), 0, ())]
    return tuple(sorted(_joined(groups), key=lambda group: (-len(group.urls), group.shape.path, group.urls[0])))


def group_of(url: str, groups: Iterable[AddressGroup]) -> AddressGroup | None:
    """Return the group that has a URL, None if none has."""
    return next((group for group in groups if url in group.urls), None)


def _parts_of(url: str, address: ParsedUrl) -> _Parts:
    query: tuple[str, ...] = ()
    pairs = sorted(address.parameters.items())[:MAX_PARAMETERS]
    if address.query and "=" not in address.query[0]:
        query = tuple(address.query[0].split("/"))
        pairs = [(name, value) for name, value in pairs if value]
    names = tuple(name for name, _ in pairs if NAME.fullmatch(name))
    values = tuple(value for name, value in pairs if NAME.fullmatch(name))
    return _Parts(url, address.segments, query, values, names)


def _split(alike: Sequence[_Parts], place: int, written: tuple[str, ...]) -> list[AddressGroup]:
    """Divide URLs of one signature by what stands at a place, then at those behind it."""
    if place == len(alike[0].places):
        return [AddressGroup(_shape(alike[0], written), tuple(parts.url for parts in alike))]
    name = _parameter_at(alike[0], place)
    found: list[AddressGroup] = []
    for glob, chosen in _divided(alike, place, name).items():
        found += _split(chosen, place + 1, (*written, glob))
    return found


def _parameter_at(parts: _Parts, place: int) -> str:
    before = len(parts.path) + len(parts.query)
    return parts.names[place - before] if place >= before else ""


def _divided(alike: Sequence[_Parts], place: int, name: str) -> dict[str, list[_Parts]]:
    """Group URLs by the glob for their part at a place."""
    by_sort: dict[str, list[_Parts]] = defaultdict(list)
    is_last = not name and not any(any(parts.path[place + 1 :]) or parts.query or parts.values for parts in alike)
    for parts in alike:
        sort = _sort(parts.places[place], name) if parts.places[place] or place >= len(parts.path) - 1 else "title"
        by_sort[_as_name(sort) if _names_follow(parts, place, is_last=is_last) else sort].append(parts)
    _merge_titles(by_sort, is_last=is_last or bool(name))
    divided: dict[str, list[_Parts]] = {}
    for sort, chosen in sorted(by_sort.items()):
        if sort == "word":
            for glob, those in _by_words(chosen, place).items():
                divided.setdefault(glob, []).extend(those)
        else:
            glob = _glob(sort, [parts.places[place] for parts in chosen])
            divided.setdefault(glob, []).extend(chosen)
    return divided


def _names_follow(parts: _Parts, place: int, *, is_last: bool) -> bool:
    """Return whether the part at a place is a name: after ``tag`` and similar words, or at the end after a number."""
    before = parts.path[place - 1] if 0 < place < len(parts.path) else ""
    return before.lower() in _TAKING or (is_last and _DIGITS.fullmatch(before) is not None)


def _as_name(sort: str) -> str:
    """Return the sort of a part where any word is a name; those of deeds stay what they are."""
    bare, dot, end = sort[1:].partition(".")
    if sort == "word":
        return "title"
    return f"title{dot}{end}" if sort.startswith("=") and bare.lower() in _SORTS_AS_NAMES else sort


def _sort(part: str, name: str) -> str:
    """Return the sort of a part: what it is where it is fixed, else a name of what it looks like."""
    if not part or _SCRIPT.fullmatch(part):
        return f"={part}"
    if _DIGITS.fullmatch(part):
        return "number"
    if name in _CHOOSING and (chosen := _CHOSEN.match(part)):
        return f"={part}" if chosen[0] == part else f"stem {chosen[0]}*"
    bare = _ENDING.sub("", part) if _ENDING.search(part[-6:]) and not _DIGITS.fullmatch(part[-5:]) else part
    end = part[len(bare) :].lower()
    if bare.lower() in ROLES and not name:
        return f"={part}"
    sort = _numbered(bare) or ("" if name else _named(bare))
    return f"{sort}{end}" if sort else f"title{end}" if end or not _WORD.fullmatch(bare) else "word"


def _numbered(bare: str) -> str:
    """Return the sort of a part with a number that tells it apart; empty without one."""
    if _DIGITS.fullmatch(bare):
        return "number"
    if led := _LED.fullmatch(bare):
        return f"led{led[1]}"
    if (stem := _STEM.fullmatch(bare)) and SAFE.fullmatch(stem[1]):
        return f"stem {stem[1]}#{f'{stem[2]}*' if stem[2] else ''}"
    trailed = _TRAILED.fullmatch(bare)
    return f"trailed{trailed[1]}" if trailed and not _named(bare) else ""


def _named(bare: str) -> str:
    """Return the sort of a part that begins with a word for a sort of pages, such as ``topic-``; empty without one."""
    if space := _SPACE.match(bare):
        return f"space {space[0]}*"
    found = _SORTED.fullmatch(bare)
    return f"stem {found[1]}{found[2]}*" if found and found[1].lower() in ROLES else ""


def _merge_titles(by_sort: dict[str, list[_Parts]], *, is_last: bool) -> None:
    """Treat titles with a number, or with a word for a sort, as plain titles if most have none; plain words, too."""
    for sort in [each for each in by_sort if each.startswith(("led", "trailed", "stem ")) and not _SURE.match(each)]:
        found = _ENDING.search(sort)
        end = found[0] if found is not None and sort.endswith(found[0]) else ""
        plain = f"title{end}"
        kept = len(by_sort[sort])
        others = len(by_sort.get(plain, ())) + (len(by_sort.get("word", ())) if not end and is_last else 0)
        if others and kept < MOSTLY * (kept + others):
            by_sort[plain] = [*by_sort.get(plain, ()), *by_sort.pop(sort)]
    if is_last and len(by_sort.get("title", ())) >= 2 and "word" in by_sort:
        by_sort["title"] = [*by_sort["title"], *by_sort.pop("word")]


def _by_words(chosen: Sequence[_Parts], place: int) -> dict[str, list[_Parts]]:
    """Group URLs that have a plain word at a place: by the word if there are few words, else in one group.

    Only words followed by the same sorts of parts are counted together.
    """
    by_rest: dict[tuple[str, ...], list[_Parts]] = defaultdict(list)
    for parts in chosen:
        rest = tuple(_rest(part) for part in parts.places[place + 1 :])
        by_rest[rest].append(parts)
    divided: dict[str, list[_Parts]] = {}
    for alike in by_rest.values():
        words = Counter(parts.places[place] for parts in alike)
        for parts in alike:
            word = parts.places[place]
            divided.setdefault(word if len(words) <= FEW_WORDS and SAFE.fullmatch(word) else "*", []).append(parts)
    return divided


def _rest(part: str) -> str:
    sort = _sort(part, "")
    return "title" if sort.startswith(("title", "word", "trailed", "stem ")) else sort


def glob_of(part: str) -> str:
    """Return the glob of a single part of a path that has a number in it.

    >>> [glob_of(part) for part in ("which-oars.12", "12-top-10-knots", "topic12", "top-10-knots.html")]
    ['*.#', '#-*', 'topic#', '*.html']
    """
    sort = _sort(part, "")
    stem = re.match(r"stem ([A-Za-z]+)[-_]", sort)
    if stem is not None and stem[1].lower() not in ROLES:
        end = _ENDING.search(part[-6:])
        return f"*{end[0]}" if end is not None else "*"
    return _glob(sort, [part])


def _glob(sort: str, parts: Sequence[str]) -> str:
    """Write what parts of one sort have in common."""
    if sort.startswith("="):
        return sort[1:] if SAFE.fullmatch(sort[1:]) else "*"
    if sort.startswith(("stem ", "space ")):
        return _safe(sort.partition(" ")[2])
    if len(set(parts)) == 1 and sort.startswith("title") and SAFE.fullmatch(parts[0]) and len(parts) > 1:
        return parts[0]
    for start, write in _FORMS.items():
        if sort.startswith(start):
            return _safe(write(sort[len(start) :]))
    return "*"


_FORMS: dict[str, Callable[[str], str]] = {
    "number": lambda end: f"#{end}",
    "led": lambda rest: f"#{rest[0]}*{rest[1:]}",
    "trailed": lambda rest: f"*{rest[0]}#{rest[1:]}",
    "title": lambda end: f"*{end}",
}


def _safe(glob: str) -> str:
    return glob if SAFE.fullmatch(re.sub("[*#]", "", glob)) else "*"


def _shape(first: _Parts, written: tuple[str, ...]) -> Shape:
    path = written[: len(first.path)]
    query = written[len(first.path) : len(first.path) + len(first.query)]
    values = written[len(first.path) + len(first.query) :]
    pairs = zip(first.names, values, strict=True)
    parameters = tuple(f"{name}={glob}" if _is_fixed(glob) else name for name, glob in pairs)
    return Shape(anywhere(path), parameters, "/".join(query))


def _is_fixed(glob: str) -> bool:
    return bool(glob) and "*" not in glob and "#" not in glob


def _joined(groups: Iterable[AddressGroup]) -> list[AddressGroup]:
    """Put groups of the same shape together, which came from different places of the tree."""
    by_shape: dict[Shape, list[str]] = {}
    for group in groups:
        by_shape.setdefault(group.shape, []).extend(group.urls)
    return [AddressGroup(shape, tuple(urls)) for shape, urls in by_shape.items()]
