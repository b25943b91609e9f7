"""URL patterns of an ICD: a person's notation for a set of URLs, matched in linear time."""

import re
from collections.abc import Iterable
from dataclasses import dataclass
from urllib.parse import urlsplit

import ada_url

MAX_PATTERN_LENGTH = 2000
"""No pattern is longer, in characters."""


class UrlPatternError(ValueError):
    """The text is no URL pattern; the message completes the sentence "the pattern ..."."""


@dataclass(frozen=True, slots=True)
class UrlPattern:
    """A set of URLs, written in one of three ways.

    - with a ``*``: a glob over the whole URL, in which ``*`` stands for any characters, none included;
    - ``host:example.org``: that host and every host below it;
    - anything else: a string that occurs somewhere in the URL.

    Case does not matter. ``?`` has no special meaning, it begins a query. Letters outside ASCII may be written as
    they are: they match their percent-encoded or punycode spelling. A match takes time linear in the length of the
    URL, whatever the pattern.

    >>> UrlPattern.parse("*://blog.example.org/2024/*").matches("https://blog.example.org/2024/05/news")
    True
    >>> UrlPattern.parse("host:example.org").matches("https://notexample.org/")
    False
    """

    text: str
    pieces: tuple[str, ...]
    host: str = ""

    @classmethod
    def parse(cls, text: str) -> "UrlPattern":
        """Read a pattern as written; raise UrlPatternError for one that is empty, has spaces, or is too long."""
        written = text.strip()
        if not written or set(written) == {"*"}:
            raise UrlPatternError("matches every URL")
        if len(written) > MAX_PATTERN_LENGTH:
            raise UrlPatternError(f"is longer than {MAX_PATTERN_LENGTH} characters")
        if re.search(r"\s", written):
            raise UrlPatternError("holds a space")
        if written.lower().startswith("host:"):
            return cls(written, (), _host(written[5:]))
        return cls(written, tuple(_as_in_urls(written).split("*")))

    def matches(self, url: str) -> bool:
        """Return whether a canonical URL belongs to the set."""
        if self.host:
            host = urlsplit(url).hostname or ""
            return host == self.host or host.endswith("." + self.host)
        lowered = url.lower()
        if len(self.pieces) == 1:
            return self.pieces[0] in lowered
        return self._matches_glob(lowered)

    def _matches_glob(self, url: str) -> bool:
        first, *middle, last = self.pieces
        end = len(url) - len(last)
        if not url.startswith(first) or not url.endswith(last):
            return False
        position = len(first)
        for piece in middle:
            found = url.find(piece, position, end)
            if found < 0:
                return False
            position = found + len(piece)
        return position <= end


def first_match(patterns: Iterable[UrlPattern], url: str) -> UrlPattern | None:
    """Return the first pattern that matches the URL."""
    return next((pattern for pattern in patterns if pattern.matches(url)), None)


def _host(name: str) -> str:
    try:
        host = ada_url.URL(f"http://{name}/").hostname
    except ValueError:
        raise UrlPatternError("names no host") from None
    if not re.fullmatch(r"[a-z0-9.-]+|\[[0-9a-f:.]+\]", host) or not re.fullmatch(r"[^/?#@:]+|\[.*\]", name):
        raise UrlPatternError("names no host")
    return host.strip("[]")


def _as_in_urls(pattern: str) -> str:
    scheme, separator, rest = pattern.partition("://")
    if separator:
        host, slash, path = rest.partition("/")
        pattern = f"{scheme}://{_host_as_in_urls(host)}{slash}{path}"
    return re.sub(r"[^\x00-\x7f]+", lambda found: _percent(found[0]), pattern).lower()


def _host_as_in_urls(host: str) -> str:
    if host.isascii():
        return host
    labels = (label if label.isascii() else _punycode(label) for label in host.split("."))
    return ".".join(labels)


def _punycode(label: str) -> str:
    try:
        encoded: bytes = ada_url.idna.encode(label)
    except ValueError:
        raise UrlPatternError("has a host name that cannot be") from None
    return encoded.decode("ascii")


def _percent(text: str) -> str:
    return "".join(f"%{byte:02x}" for byte in text.encode("utf-8", "replace"))
