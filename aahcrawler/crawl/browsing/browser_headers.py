"""The header fields of a page's request: the browser's own, but for those that are the crawl's to say."""

from collections.abc import Iterator, Sequence
from typing import Final

from aahcrawler.browser.network.upstream import BrowserRequest
from aahcrawler.page import Headers

_OF_THE_HOP: Final = frozenset(
    {
        *("host", "content-length", "transfer-encoding", "connection", "keep-alive", "te", "trailer", "upgrade"),
        *("expect", "proxy-authorization", "proxy-connection"),
    }
)
"""Fields of one connection, which the wire client writes itself (RFC 9110, section 7.6.1)."""
_DECODED: Final = frozenset({"gzip", "x-gzip", "deflate", "br", "zstd", "identity", "*"})
"""The content codings that the crawl reads, and what says of the others that they are not wanted."""


def sent_headers(
    request: BrowserRequest, user_agent: str, *, keeps_cookies: bool, wants_whole: bool = False
) -> tuple[tuple[str, str], ...]:
    """Return the fields with which a request is sent, in the browser's order and case.

    The User-Agent is the crawl's, which names who asks; of content codings those are asked for that are read. Where
    the whole is wanted (``wants_whole``), no part is asked for.
    """
    left_out = {*(() if keeps_cookies else ("cookie",)), *(("range", "if-range") if wants_whole else ())}
    return tuple(_sent([each for each in request.headers if each[0].lower() not in left_out], user_agent))


def _sent(headers: Sequence[tuple[str, str]], user_agent: str) -> Iterator[tuple[str, str]]:
    named = set()
    own = _OF_THE_HOP | {
        each.strip().lower() for each in ",".join(Headers(tuple(headers)).all("connection")).split(",")
    }
    for name, value in headers:
        lower = name.lower()
        if lower in own:
            continue
        named.add(lower)
        if lower == "user-agent":
            yield name, user_agent
        elif lower == "accept-encoding":
            yield name, _read_codings(value)
        else:
            yield name, value
    if "user-agent" not in named:
        yield "User-Agent", user_agent


def _read_codings(value: str) -> str:
    known = [each for each in value.split(",") if each.partition(";")[0].strip().lower() in _DECODED]
    return ",".join(known).strip() or "identity"


def asks_for_news(request: BrowserRequest) -> bool:
    """Return whether a request asks for what has changed: only the server can answer that."""
    return any(name.lower().startswith("if-") for name, _ in request.headers)
