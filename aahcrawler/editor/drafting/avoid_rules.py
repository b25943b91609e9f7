"""Finds the URLs of a site that lead to nothing new, by the words in them, and rules that refuse no URL of content."""

import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from aahcrawler.editor.drafting.address_groups import NAME, SCRIPT, AddressGroup, Shape, address_groups
from aahcrawler.helper.links.junk_urls import PAGE_PARAMETERS
from knowledge_base.url_rules import ParsedUrl, Reason

MOST_AVOIDED = 40
LONGEST_VALUE = 20


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
        if len(found) == MOST_AVOIDED:
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
    """Leave further pages out of a rule on orders: where pagers tell the order as well, they are nowhere else."""
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
    is_word = len(chosen) <= LONGEST_VALUE and re.fullmatch(r"[A-Za-z_.-]+", chosen) is not None
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
