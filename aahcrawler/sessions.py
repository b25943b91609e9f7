"""Session ids in URLs that documented software writes: the same page under ever new URLs.

Software that cannot set a cookie writes the id of a visitor's session into its links. Here are the names that stand
for nothing else, each with the shape of its values. Heritrix drops such ids too (``StripSessionIDs``,
``StripSessionCFIDs``). Names that are as often those of content, such as ``sid`` and ``s``, are told by what they do:
``aahcrawler/traps/session_ids.py``.
"""

import re

_NAMED = (
    (r"phpsessid|cgisessid|zenid|oscsid|osadminid|xtcsid|mscssid|bv_sessionid|bv_engineid", r"[0-9a-z,._@!-]{8,256}"),
    (r"jsessionid", r"[0-9a-z._!:*~+-]{8,256}"),
    (r"cftoken", r"[0-9a-f-]{3,80}"),
    (r"___sid", r"[us]"),
)
_PARAMETER = re.compile(
    r"(?:^\?|[&;])(?:" + "|".join(f"(?:{names})={value}" for names, value in _NAMED) + r")(?=[&;]|$)", re.IGNORECASE
)
_COLDFUSION = re.compile(r"(?:^\?|[&;])cfid=[0-9a-f-]{1,80}(?=[&;]|$)", re.IGNORECASE)
"""Half of an id, where the other half stands beside it."""
_IN_PATH = re.compile(r";jsessionid=[^/?;]*", re.IGNORECASE)
_COOKIELESS = re.compile(r"(?<=/)(?:\((?:[a-z]\([0-9a-z_-]+\))+\)/)", re.IGNORECASE)
_SIGNS = ("sessid=", "sessionid=", "zenid=", "csid=", "_sid=", "ssid=", "cftoken=", "engineid=", "adminid=", "/(")
"""One of them is in every URL that holds an id."""


def without_session(url: str) -> str:
    """Return a canonical URL without the session ids that documented software writes; all else stays as it is.

    Applying it twice changes nothing.

    >>> without_session("http://a.test/topic.php?t=7&PHPSESSID=0123456789abcdef0123456789abcdef")
    'http://a.test/topic.php?t=7'
    >>> without_session("http://a.test/cart;jsessionid=1A2B3C4D5E?item=1")
    'http://a.test/cart?item=1'
    >>> without_session("http://a.test/article.php?sid=20010320")
    'http://a.test/article.php?sid=20010320'
    """
    lower = url.lower()
    # Three looks tell nearly all URLs that hold no sign.
    if "id=" not in lower and "cftoken=" not in lower and "/(" not in lower:
        return url
    if not any(sign in lower for sign in _SIGNS):
        return url
    path, mark, query = url.partition("?")
    path = _COOKIELESS.sub("", _IN_PATH.sub("", path))
    if not mark:
        return path
    kept = f"?{query}"
    if "cftoken=" in lower:
        kept = _COLDFUSION.sub("", kept)
        kept = kept if kept[:1] in ("", "?") else f"?{kept[1:]}"
    kept = _PARAMETER.sub("", kept)
    return f"{path}?{kept[1:]}" if kept else path
