"""Recognise junk URLs of unknown software by words that all software uses for the same things."""

import re
from collections.abc import Iterable
from functools import lru_cache

from knowledge_base.url_rules import ParsedUrl, Reason

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
_SUBJECTS = {
    *("calendar", "diff", "faq", "help", "history", "info", "like", "members", "online", "print", "private", "rate"),
    *("registration", "report", "share", "statistics", "stats", "vote", "who"),
}
"""Words that are as often what a part of a site is about, a department or a collection, as they are functions."""
_PARAMETERS = {
    **dict.fromkeys(("sid", "phpsessid", "jsessionid", "sessionid", "session_id"), Reason.SESSION),
    **dict.fromkeys(("sort", "sortby", "sortdir", "order", "orderby", "sk", "sd", "datecut"), Reason.SORT_ORDER),
    **dict.fromkeys(("replytocom", "replyto", "quote", "reply"), Reason.REPLY_FORM),
    **dict.fromkeys(("oldid", "diff", "rev"), Reason.OLD_REVISION),
    **dict.fromkeys(("print", "printable"), Reason.PRINT_VIEW),
    **dict.fromkeys(("veaction", "redlink"), Reason.EDIT),
}
PAGE_PARAMETERS = frozenset({"page", "p", "pg", "paged", "start", "offset"})
"""Names of parameters that number the pages of a list."""
_VERBS = frozenset({"action", "do", "mode", "view", "act", "op", "cmd", "task", "sa", "show"})
_COMMENT_FEED = re.compile(r"/comments?/feed/?$|/feed/?$|[?&]feed=|/(?:rss|atom)(?:\.xml)?/?$", re.IGNORECASE)
_DEEDS = frozenset({"login", "logout", "signin", "signup", "register", "reply", "edit", "print", "report", "delete"})
_LIGHT = re.compile(r"/(?:archive|lofiversion)/index\.php", re.IGNORECASE)
"""The second, plain view of all threads that several forums offer."""
_CHALLENGE = re.compile(
    r"captcha|securimage|antibot|[?&/_-](?:confirm_id|visual_?confirm(?:ation)?|verif(?:y|ication)_?image)\b",
    re.IGNORECASE,
)
_FILE = re.compile(r"^[^?]*\.(?:png|jpe?g|gif|webp|svg|js|css)$", re.IGNORECASE)
_PART = re.compile(r"[^;]+")


@lru_cache(maxsize=50_000)
def junk_reason(url: str) -> Reason | None:
    """Return why a canonical URL of a site of unknown software is not worth a request, None if it may be.

    Names of scripts (``newreply.php``), of parameters (``replytocom``) and the values of parameters for actions
    (``action=login``) decide; words of titles in a path do not, nor a name that a part of a site may have.

    >>> junk_reason("http://a.test/newreply.php?tid=1"), junk_reason("http://a.test/2022/how-to-reply/")
    (<Reason.REPLY_FORM: 'reply-form'>, None)
    >>> junk_reason("http://a.test/logout"), junk_reason("http://a.test/history/")
    (<Reason.LOGIN: 'login'>, None)
    """
    address = ParsedUrl.parse(url)
    if address.is_too_long:
        return None
    for name, value in _parameters(address):
        if name in _PARAMETERS:
            return _PARAMETERS[name]
        if name in _VERBS and value in _REASONS:
            return _REASONS[value]
    if _LIGHT.search(address.path):
        return Reason.ARCHIVE_VIEW
    if _COMMENT_FEED.search(url):
        return Reason.FEED
    segments = [segment.lower() for segment in address.segments if segment]
    last = segments[-1] if segments else ""
    script, dot, ending = last.rpartition(".")
    if dot and ending in ("php", "asp", "aspx", "cgi", "pl", "jsp", "do"):
        return _REASONS.get(script)
    if len(segments) == 1:
        return _REASONS.get(last) if last not in _SUBJECTS else None
    return _REASONS[last] if last in _DEEDS else None


def paged_in_order(own: str, urls: Iterable[str]) -> frozenset[str]:
    """Return which URLs are further pages of a list in its only order, where the pager itself tells the order.

    ``own`` is the canonical URL of the list's page, ``urls`` are those of its links. There are none where some pages
    are linked to without an order, or in several.

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
    return frozenset(each for each in given if _PARAMETERS.get(each[0]) is Reason.SORT_ORDER)


def is_challenge(url: str) -> bool:
    """Return whether an address is that of a picture for people to prove themselves by, another one on each request.

    >>> is_challenge("http://a.test/captcha.php?id=7f3a"), is_challenge("http://a.test/img/captcha-explained.png")
    (True, False)
    """
    return _CHALLENGE.search(url[:500]) is not None and _FILE.search(url[:500]) is None


def _parameters(address: ParsedUrl) -> list[tuple[str, str]]:
    """Return names and values in lower case, those parted by semicolons as well."""
    found: list[tuple[str, str]] = []
    for name, value in address.parameters.items():
        for part in _PART.findall(f"{name}={value}"):
            key, _, content = part.partition("=")
            found.append((key.strip().lower(), content.strip().lower()))
    return found
