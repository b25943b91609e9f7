"""Recognise junk URLs of unknown software by words that all software uses for the same functions.

Words that some sites use for content are doubtful. Whether such a link is worth a request depends on the other links of
its site (here), and on what similar pages have brought (``aahcrawler/traps``).
"""

import re
from collections.abc import Collection, Iterable, Iterator, Sequence, Set
from dataclasses import dataclass, replace
from functools import lru_cache

from aahcrawler.helper.site_memory import LinkJudge
from knowledge_base.url_rules import ParsedUrl, Reason


def refusals(own: str, links: Collection[str], judge: LinkJudge) -> dict[str, Reason]:
    """Return which links of a page (``own``) to its site are junk, and why.

    A doubtful link is junk if the plain page is linked to as well, or is known. Further pages of a list that has only
    one order are never junk.
    """
    linked = {own, judge.without_id(own), *links}
    found = {url: reason for url in links if (reason := _refusal(url, linked, judge)) is not None}
    if Reason.SORT_ORDER in found.values():
        for url in paged_in_order(own, links):
            found.pop(url, None)
    return found


def refusal(url: str, judge: LinkJudge) -> Reason | None:
    """Return why a link from a list of URLs, such as a sitemap, is junk; None where it is, or may be, worth asking."""
    return _refusal(url, (), judge)


def doubtful(own: str, links: Iterable[str]) -> frozenset[str]:
    """Return which links of a page (``own``) to its site may be junk, so that others are fetched first."""
    urls = tuple(links)
    found = {url for url in urls if (said := junk(url)) is not None and said.doubtful}
    return frozenset(found - paged_in_order(own, urls)) if found else frozenset()


def _refusal(url: str, linked: Collection[str], judge: LinkJudge) -> Reason | None:
    said = junk(url)
    if said is None or (not said.is_deed and judge.allows(url, said.word)):
        return None
    if said.doubtful and not any(plain in linked or judge.knows(plain) for plain in said.plain):
        return None
    return said.reason


_WORDS: tuple[tuple[Reason, str], ...] = (
    (Reason.LOGIN, "login logon logout signin sign_in sign-in signout wp-login lostpw lostpassword reminder"),
    (Reason.REGISTER, "register registration signup sign_up sign-up createaccount"),
    (Reason.REPLY_FORM, "reply newreply newthread newtopic posting post_reply quote replyto replytocom compose"),
    (Reason.EDIT, "edit editpost submit preview visualeditor"),
    (Reason.MODERATION, "report reportpost delete modcp moderate moderation mcp"),
    (Reason.PRINT_VIEW, "print printthread printpage printview printable print-view"),
    (Reason.OLD_REVISION, "history diff oldid revisions revision"),
    (Reason.CALENDAR, "calendar"),
    (Reason.MEMBER_LIST, "memberlist members mlist online viewonline who"),
    (Reason.VOTE, "vote rate like upvote downvote"),
    (Reason.HELP, "help faq"),
    (Reason.STATISTICS, "stats statistics"),
    (Reason.ACTION, "sendthread sendtopic sendpage emailuser ratethread subscribe unsubscribe subscription usercp ucp"),
    (Reason.ACTION, "private pm markread share trackback xmlrpc lastpost newpost nextoldest nextnewest info"),
)
_REASONS = {word: reason for reason, words in _WORDS for word in words.split()}
DEEDS = frozenset(
    ("logout", "signout", "delete", "vote", "rate", "like", "upvote", "downvote", "ratethread", "markread")
).union(("subscribe", "unsubscribe"))
"""Words for functions that change something on a site, or end the session, as soon as they are requested."""
_SUBJECTS = {
    *("calendar", "compose", "diff", "faq", "help", "history", "info", "members", "online", "preview", "print"),
    *("private", "quote", "registration", "report", "revision", "revisions", "share", "statistics", "stats", "who"),
}
"""Words that name a subject of a site, such as a department or a collection, as often as a function."""
_NAMES = _SUBJECTS | {"like", "rate", "vote"}
"""Words that are no junk where they are the whole path."""
_PARAMETERS = {
    "replytocom": Reason.REPLY_FORM,
    "replyto": Reason.REPLY_FORM,
    "oldid": Reason.OLD_REVISION,
    "veaction": Reason.EDIT,
    "redlink": Reason.EDIT,
}
_ORDERS = frozenset(("sort", "sortby", "sortdir", "order", "orderby", "sk", "sd", "datecut"))
_DOUBTFUL_PARAMETERS = {
    **dict.fromkeys(_ORDERS, Reason.SORT_ORDER),
    **dict.fromkeys(("quote", "reply"), Reason.REPLY_FORM),
    **dict.fromkeys(("diff", "rev"), Reason.OLD_REVISION),
    **dict.fromkeys(("print", "printable"), Reason.PRINT_VIEW),
}
"""Parameters that ask for another view of a page, or name a page of its own: the quote of the day, an order."""
_VIEWS = _DOUBTFUL_PARAMETERS.keys() | {"dir", "direction", "sort_dir", "sortorder", "sort_order", "asc", "desc"}
"""The same, and parameters that refine an order and mean nothing without one."""
_DATES = frozenset(("day", "week", "month", "year", "date"))
"""Parameters by which a calendar has a page for every day."""
PAGE_PARAMETERS = frozenset({"page", "p", "pg", "paged", "start", "offset"})
"""Names of parameters that number the pages of a list."""
_VERBS = frozenset({"action", "do", "mode", "view", "act", "op", "cmd", "task", "sa", "show"})
_COMMENT_FEED = re.compile(r"/comments?/feed/?$|/feed/?$|[?&]feed=|/(?:rss|atom)(?:\.xml)?/?$", re.IGNORECASE)
_AT_THE_END = frozenset(
    {"login", "logout", "signin", "signup", "register", "reply", "edit", "print", "report", "delete"}
)
_LIGHT = re.compile(r"/(?:archive|lofiversion)/index\.php", re.IGNORECASE)
"""The second, plain view of all threads that several forums offer."""
_CHALLENGE = re.compile(
    r"captcha|securimage|antibot|[?&/_-](?:confirm_id|visual_?confirm(?:ation)?|verif(?:y|ication)_?image)\b",
    re.IGNORECASE,
)
_FILE = re.compile(r"^[^?]*\.(?:png|jpe?g|gif|webp|svg|js|css)$", re.IGNORECASE)
_PART = re.compile(r"[^;]+")
_SCRIPTS = frozenset(("php", "asp", "aspx", "cgi", "pl", "jsp", "do"))


@dataclass(frozen=True, slots=True)
class Junk:
    """What a ``word`` in a URL says of it: that it is not worth a request or, if ``doubtful``, that it may not be.

    ``plain`` are spellings of the URL without what is doubtful that may be pages by themselves: a site that has one of
    them needs no other view of it.
    """

    reason: Reason
    word: str
    doubtful: bool = False
    plain: tuple[str, ...] = ()

    @property
    def is_deed(self) -> bool:
        """Whether a request for the URL would change something."""
        return self.word in DEEDS


@lru_cache(maxsize=50_000)
def junk(url: str) -> Junk | None:
    """Return what the words of a canonical URL on a site of unknown software say; None where they say nothing.

    Names of scripts (``newreply.php``), of parameters (``replytocom``) and the values of parameters for actions
    (``action=login``) decide; words of titles in a path do not. Words that may also name content are doubtful.

    >>> junk("http://a.test/newreply.php?tid=1"), junk("http://a.test/2022/how-to-reply/")
    (Junk(reason=<Reason.REPLY_FORM: 'reply-form'>, word='newreply', doubtful=False, plain=()), None)
    >>> junk("http://a.test/list?f=3&sort=title").plain, junk("http://a.test/history.php?id=3").doubtful
    (('http://a.test/list?f=3',), True)
    """
    address = ParsedUrl.parse(url)
    if address.is_too_long:
        return None
    given = _parameters(address)
    found = [*_by_parameter(address, given), *_by_path(address, url)]
    has_date = any(name in _DATES for name, _ in given)
    sure = next((each for each in found if not each.doubtful or (has_date and each.reason is Reason.CALENDAR)), None)
    if sure is not None:
        return replace(sure, doubtful=False)
    return _by_doubtful_parameter(address, given) or next(iter(found), None)


def junk_reason(url: str) -> Reason | None:
    """Return why a canonical URL is not worth a request on any site; None where it is, or may be.

    >>> junk_reason("http://a.test/logout"), junk_reason("http://a.test/history/")
    (<Reason.LOGIN: 'login'>, None)
    """
    found = junk(url)
    return None if found is None or found.doubtful else found.reason


def _by_parameter(address: ParsedUrl, given: Iterable[tuple[str, str]]) -> Iterator[Junk]:
    for name, value in given:
        if name in _PARAMETERS:
            yield Junk(_PARAMETERS[name], name)
        elif name in _VERBS and value in _SUBJECTS:
            plain = _plain(address, {name})
            yield Junk(_REASONS[value], value, doubtful=True, plain=(plain.url,) if _identifies(plain) else ())
        elif name in _VERBS and value in _REASONS:
            yield Junk(_REASONS[value], value)


def _by_path(address: ParsedUrl, url: str) -> Iterator[Junk]:
    if found := _LIGHT.search(address.path):
        yield Junk(Reason.ARCHIVE_VIEW, found[0].lower())
    if found := _COMMENT_FEED.search(url):
        yield Junk(Reason.FEED, found[0].lower())
    segments = [segment.lower() for segment in address.segments if segment]
    last = segments[-1] if segments else ""
    script, dot, ending = last.rpartition(".")
    if dot and ending in _SCRIPTS:
        if script in _REASONS:
            yield Junk(_REASONS[script], script, doubtful=script in _SUBJECTS)
    elif last in _REASONS and len(segments) == 1:
        if last not in _NAMES:
            yield Junk(_REASONS[last], last)
    elif last in _AT_THE_END and last in _SUBJECTS:
        above = address.path.rstrip("/").rpartition("/")[0]
        plain = (ParsedUrl(address.prefix, path, address.query).url for path in (above, f"{above}/"))
        yield Junk(_REASONS[last], last, doubtful=True, plain=tuple(plain))
    elif last in _AT_THE_END:
        yield Junk(_REASONS[last], last)


def _by_doubtful_parameter(address: ParsedUrl, given: Sequence[tuple[str, str]]) -> Junk | None:
    """Return what parameters say that may ask for another view of a page.

    If a parameter gives an order in words, ``plain`` has the list with any one of the other parameters as well, since
    filters and page numbers often accompany an order.
    """
    doubted = [(name, value) for name, value in given if name in _DOUBTFUL_PARAMETERS]
    if not doubted:
        return None
    name = doubted[0][0]
    plain = _plain(address, _VIEWS)
    if any(each in _ORDERS and value.replace("_", "").replace("-", "").isalpha() for each, value in doubted):
        listed = (ParsedUrl(plain.prefix, plain.path, (each,)).url for each in plain.query)
        return Junk(Reason.SORT_ORDER, name, doubtful=True, plain=tuple(dict.fromkeys((plain.url, *listed))))
    may_be_content = any(_is_number(each, value) for each, value in doubted) and not _identifies(plain)
    return Junk(_DOUBTFUL_PARAMETERS[name], name, doubtful=True, plain=() if may_be_content else (plain.url,))


def _plain(address: ParsedUrl, names: Set[str]) -> ParsedUrl:
    """Return an address without the parameters of some names."""
    kept = (";".join(part for part in _PART.findall(raw) if _name(part) not in names) for raw in address.query)
    return ParsedUrl(address.prefix, address.path, tuple(filter(None, kept)))


def _is_number(name: str, value: str) -> bool:
    """Return whether a value numbers something, and is neither a yes or no nor one of a few orders."""
    return value.isdecimal() and len(value) >= (2 if name in _ORDERS else 1) and value not in ("0", "1")


def _identifies(plain: ParsedUrl) -> bool:
    """Return whether an address is that of one page, not of a script that shows many."""
    last = plain.path.rpartition("/")[2].lower()
    return bool(plain.query) or (bool(last) and last.rpartition(".")[2] not in _SCRIPTS)


def paged_in_order(own: str, urls: Iterable[str]) -> frozenset[str]:
    """Return which URLs are further pages of a list in its only order, as the list's own page links show that order.

    ``own`` is the canonical URL of the list's page, ``urls`` are those of its links. There are none where some pages
    are linked to without an order, or in several orders.

    >>> sorted(paged_in_order("http://a.test/q/7", ["http://a.test/q/7?page=2&sort=old", "http://a.test/q/7?sort=new"]))
    ['http://a.test/q/7?page=2&sort=old']
    """
    listed = ParsedUrl.parse(own)
    paged: dict[str, frozenset[tuple[str, str]]] = {}
    for url in urls:
        address = ParsedUrl.parse(url)
        given = _parameters(address)
        further = any(name in PAGE_PARAMETERS and value.isdecimal() and int(value[:9]) > 1 for name, value in given)
        if address.path == listed.path and further:
            paged[url] = _order_of(given)
    orders = set(paged.values())
    own_order = _order_of(_parameters(listed))
    if len(orders) != 1 or not all(orders) or (own_order and own_order not in orders):
        return frozenset()
    return frozenset(paged)


def _order_of(given: Iterable[tuple[str, str]]) -> frozenset[tuple[str, str]]:
    return frozenset(each for each in given if each[0] in _ORDERS)


def is_challenge(url: str) -> bool:
    """Return whether an address is that of a challenge picture (captcha), which differs on each request.

    >>> is_challenge("http://a.test/captcha.php?id=7f3a"), is_challenge("http://a.test/img/captcha-explained.png")
    (True, False)
    """
    return _CHALLENGE.search(url[:500]) is not None and _FILE.search(url[:500]) is None


def _parameters(address: ParsedUrl) -> list[tuple[str, str]]:
    """Return names and values in lower case; semicolons part parameters as well."""
    found: list[tuple[str, str]] = []
    for name, value in address.parameters.items():
        if ";" not in name and ";" not in value:
            found.append((name.strip().lower(), value.strip().lower()))
            continue
        for part in _PART.findall(f"{name}={value}"):
            found.append((_name(part), part.partition("=")[2].strip().lower()))  # noqa: PERF401
    return found


def _name(parameter: str) -> str:
    return parameter.partition("=")[0].strip().lower()
