"""Generalise the URLs of pages: their shape, their page numbers, and the URLs to avoid."""

import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from aahcrawler.editor.drafting.address_groups import (
    FILE,
    NAME,
    ROLES,
    SAFE,
    SCRIPT,
    AddressGroup,
    Shape,
    address_groups,
    anywhere,
    glob_of,
)
from aahcrawler.helper.links.junk_urls import PAGE_PARAMETERS
from aahcrawler.page.generic import PageLink
from aahcrawler.page.text import fold
from knowledge_base.url_rules import Paging, ParsedUrl, Reason

MAX_WORD_LENGTH = 10
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
    """Return whether URLs without their page numbers are equal, and stripping the number again changes nothing.

    Otherwise the paging would also strip the numbers of things.
    """
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
        if value.isdecimal() and named.isdecimal() and len(value) < MAX_WORD_LENGTH and len(named) < MAX_WORD_LENGTH:
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
    is_title = bool(_SLUG_SIGNS.search(part)) or len(part) > MAX_WORD_LENGTH
    return "*" if is_title or not SAFE.fullmatch(part) else part


def _pair(name: str, value: str) -> str:
    return name if _varies(value) or not SAFE.fullmatch(value) else f"{name}={value}"


def _varies(value: str) -> bool:
    return bool(_DIGITS.search(value)) or len(value) > MAX_WORD_LENGTH or not value


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


MAX_AVOIDED = 40
MAX_VALUE_LENGTH = 20


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


# fmt: off
AVOIDED: Mapping[Reason, frozenset[str]] = {
    Reason.LOGIN: _words(
        "login logon signin logout logoff signout lostpassword lostpw sendpassword password passwordreset resetpassword"
        " forgotpassword forgotten oauth sso openid"),
    Reason.REGISTER: _words("register registration signup join createaccount activate activation"),
    Reason.REPLY_FORM: _words(
        "reply newreply posting newtopic newthread newdiscussion compose quote publish replyto replytocom addcomment"
        " addreply newpost post-reply create ask"),
    Reason.EDIT: _words("edit editpost delete remove move upload unpublish preview"),
    Reason.MODERATION: _words("report flag moderate moderation admin modcp mcp ban split merge lock pin reportpost"),
    Reason.OLD_REVISION: _words("history revisions revision diff oldid compare"),
    Reason.PRINT_VIEW: _words("print printthread printpage printable printview printerfriendly"),
    Reason.SEARCH: _words("search find advancedsearch"),
    Reason.FEED: _words("feed feeds rss rss2 atom rdf"),
    Reason.API: _words("api wp-json oembed xmlrpc trackback graphql"),
    Reason.SORT_ORDER: _words("sort sortby order orderby sortdir sortorder sk sd datecut"),
    Reason.VOTE: _words("vote like unlike rate react upvote downvote thank thanks dislike poll"),
    Reason.CALENDAR: _words("calendar"),
    Reason.MEMBER_LIST: _words("memberlist members userlist mlist"),
    Reason.PROFILE: _words("member user users profile profiles account accounts"),
    Reason.HELP: _words("help faq rules terms privacy imprint tos contact"),
    Reason.STATISTICS: _words("stats statistics online viewonline whosonline"),
    Reason.ACTION: _words(
        "mark markread markall markallread mark-all subscribe unsubscribe watch unwatch bookmark share follow unfollow"
        " notifications notification inbox private pm settings preferences unread favorite favourite invite"),
}
# fmt: on
"""Words in URLs that lead to nothing new, by why; earlier ones count first."""

_NOUNS = _words(
    "history like share search help faq rules terms privacy online print report rate vote watch mark flag find join"
    " move members users user member profile profiles account accounts calendar stats statistics feed feeds publish"
    " create edit compare contact merge split lock pin ban remove order sort api private settings preferences atom"
    " notifications inbox follow unread invite poll ask thanks thank react activate imprint tos preview"
)
"""Words that sections of a site may have as their names, so that only URLs alike to those seen are avoided."""
_CHOOSING = _words("action act do mode op cmd task sa view type func show option display module name title page")
_PLAIN = re.compile(r"[A-Za-z0-9_-]+")
_ENDING = re.compile(r"\.(?:xml|rss\d?|atom|rdf|html?|json)$", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Avoided:
    """A rule for URLs that are probably of no use, and one such URL."""

    reason: Reason
    shape: Shape
    example: str


def avoided(
    urls: Iterable[str], kept: Sequence[Shape], pages: Iterable[str], useful: Collection[Reason] = ()
) -> tuple[Avoided, ...]:
    """Return avoid rules for URLs whose words mark them as useless, except those of ``useful`` sorts.

    Only whole words of a path count, and never a place where titles or names stand. No rule matches one of the
    ``pages``, nor a URL of ``kept`` shapes, but for parameters that these shapes do not have.
    """
    own = [ParsedUrl.parse(url) for url in pages]
    groups = address_groups(urls)
    wanted = [address for group in groups for url in group.urls if _fits(address := ParsedUrl.parse(url), kept)]
    found: dict[Shape, Avoided] = {}
    for group in groups:
        for guess in _guesses(group, useful):
            if guess.shape in found:
                break
            if not any(guess.shape.rule.matches(page) for page in own) and not _cuts_off(guess, wanted, kept):
                found[guess.shape] = guess
                break
        if len(found) == MAX_AVOIDED:
            break
    order = list(AVOIDED)
    kept_rules = _not_covered(sorted(found.values(), key=lambda rule: (order.index(rule.reason), rule.shape.path)))
    return tuple(kept_rules)


def reason_of(group: AddressGroup) -> Reason | None:
    """Return why the words in the URLs of a group say that they lead to nothing new, None if they do not."""
    return next((guess.reason for guess in _guesses(group, ())), None)


def is_open_to_doubt(rule: Avoided) -> bool:
    """Return whether the words of a rule may as well be the name of a part of the site."""
    if rule.reason in (Reason.PROFILE, Reason.ACTION, Reason.HELP):
        return True
    parts = rule.shape.path.split("/")
    return not SCRIPT.fullmatch(parts[-1]) and any(_word(part) in _NOUNS for part in parts)


def _fits(address: ParsedUrl, shapes: Iterable[Shape]) -> bool:
    return any(shape.rule.matches(address) for shape in shapes)


def _cuts_off(guess: Avoided, wanted: Sequence[ParsedUrl], kept: Sequence[Shape]) -> bool:
    """Return whether a rule refuses a URL that is wanted; a parameter beside it may make it one that is not."""
    names = {part.partition("=")[0] for part in guess.shape.parameters}
    if names and names.isdisjoint(part.partition("=")[0] for shape in kept for part in shape.parameters):
        return False
    return any(guess.shape.rule.matches(address) for address in wanted)


def _not_covered(rules: Sequence[Avoided]) -> Iterator[Avoided]:
    """Yield the rules whose example no other rule of the same reason, which was yielded before, refuses."""
    done: list[Avoided] = []
    for rule in sorted(rules, key=lambda each: not each.shape.path.endswith("/**")):
        example = ParsedUrl.parse(rule.example)
        if not any(each.reason is rule.reason and each.shape.rule.matches(example) for each in done):
            done.append(rule)
    yield from (rule for rule in rules if rule in done)


def _guesses(group: AddressGroup, useful: Collection[Reason]) -> Iterator[Avoided]:
    address = ParsedUrl.parse(group.urls[0])
    for reason, words in AVOIDED.items():
        if reason in useful:
            continue
        for shape in _shapes_of(address, group.shape, words):
            yield Avoided(reason, _but_pages(shape) if reason is Reason.SORT_ORDER else shape, group.urls[0])


def _but_pages(shape: Shape) -> Shape:
    """Exempt further pages from a rule against sort orders, as pagers with the order are the only way to them."""
    return replace(shape, absent=tuple(sorted(PAGE_PARAMETERS))) if shape.parameters else shape


def _shapes_of(address: ParsedUrl, shape: Shape, words: frozenset[str]) -> Iterator[Shape]:
    """Yield the shapes that a word in a URL suggests, the widest first."""
    last = address.segments[-1]
    file = last if SCRIPT.fullmatch(last) else ""
    if file and _tells(file.partition(".")[0], words):
        yield Shape(f"**/{file}")
    for name, value in address.parameters.items():
        yield from _of_parameter(name, value, file, words)
    for place, segment in enumerate(address.segments):
        word = _word(segment)
        if segment != file and word in words and _is_fixed(segment, shape):
            if word not in _NOUNS and _PLAIN.fullmatch(segment):
                yield Shape(f"**/{segment}/**")
            yield from _around(address, place, shape)


def _around(address: ParsedUrl, place: int, shape: Shape) -> Iterator[Shape]:
    """Yield the shape of a group from the segment before its word on, and the shape itself."""
    parts = shape.path.removeprefix("**/").strip("/").split("/")
    before = address.segments[place - 1] if place else ""
    segment = address.segments[place]
    if before and _PLAIN.fullmatch(segment) and _PLAIN.fullmatch(before) and _is_fixed(before, shape):
        yield Shape(f"**/{before}/{segment}/**")
    elif len(parts) == 1 and not shape.parameters:
        yield Shape(f"**/{segment}{'/' if shape.path.endswith('/') else ''}")
    yield (
        shape
        if shape.path.startswith("**/") or not _is_fixed_first(shape)
        else Shape(f"**{shape.path}", shape.parameters)
    )


def _is_fixed_first(shape: Shape) -> bool:
    first = shape.path.strip("/").split("/")[0]
    return bool(first) and set(first).isdisjoint("*#")


def _is_fixed(segment: str, shape: Shape) -> bool:
    return segment in shape.path.split("/") or segment in shape.query.split("/")


def _of_parameter(name: str, value: str, file: str, words: frozenset[str]) -> Iterator[Shape]:
    if not NAME.fullmatch(name):
        return
    where = f"**/{file}" if file else "**"
    chosen, semicolon, _ = value.partition(";")
    is_word = len(chosen) <= MAX_VALUE_LENGTH and re.fullmatch(r"[A-Za-z_.-]+", chosen) is not None
    chooses = name.lower() in _CHOOSING and chosen.count("-") < 2
    if is_word and (_tells(chosen, words) if chooses else _word(chosen) in words - _NOUNS):
        yield Shape(where, (f"{name}={chosen}{'*' if semicolon else ''}",))
    elif _word(name) in words:
        yield Shape(where, (name,))


def _word(segment: str) -> str:
    """Return a segment as lists of words have it: ``Sign_Up`` as ``signup``, ``rss.xml`` as ``rss``.

    >>> _word("Sign_Up"), _word("rss.xml"), _word("login-problems")
    ('signup', 'rss', 'loginproblems')
    """
    return re.sub(r"[-_.]", "", _ENDING.sub("", segment.lower()))


def _tells(text: str, words: frozenset[str]) -> bool:
    """Return whether the name of a script or of what it does holds one of the words."""
    return _word(text) in words or any(part in words for part in re.findall(r"[a-z]+", text.lower()))
