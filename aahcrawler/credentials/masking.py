"""Mask secrets and tokens in texts and bytes, however they are written there."""

import re
from collections.abc import Iterable, Iterator
from functools import lru_cache
from typing import Final

from aahcrawler.credentials.given import spellings

REDACTED: Final = "REDACTED"
"""What stands in the place of what is masked."""
LEAST_OF_A_TOKEN: Final = 16
"""Characters of a cookie's value from which on it is looked for in pages and URLs: settings are shorter."""

_TOKEN: Final = re.compile(
    rb"(?i)((?:[?&;]|&amp;|%26)(?:access_?token|auth_?token|id_?token|refresh_?token|session_?token|session_?key|jwt"
    rb"|api_?key|access_?key|client_?secret|password|passwd|phpsessid|jsessionid|sid)=)[^&#;\s\"'<>\\]{6,}"
)


def tokens_among(values: Iterable[str]) -> Iterator[str]:
    """Yield those values of cookies by which somebody may be known."""
    return (value for value in values if len(value) >= LEAST_OF_A_TOKEN)


class Masks:
    """Masks some words in all their spellings, and with ``tokens`` the values of parameters of URLs that let in."""

    def __init__(self, words: Iterable[str], *, tokens: bool = False) -> None:
        self._words = _pattern(frozenset(words))
        self._tokens = tokens

    def masked(self, data: bytes) -> bytes:
        """Return bytes of a message or page without what is masked."""
        if self._words is not None:
            data = self._words.sub(REDACTED.encode(), data)
        if self._tokens and b"=" in data:
            data = _TOKEN.sub(rb"\1" + REDACTED.encode(), data)
        return data

    def masked_text(self, text: str) -> str:
        """Return a text, such as an event or a URL, without what is masked."""
        raw = text.encode("utf-8", "surrogateescape")
        masked = self.masked(raw)
        return text if masked == raw else masked.decode("utf-8", "surrogateescape")


@lru_cache(maxsize=256)
def _pattern(words: frozenset[str]) -> re.Pattern[bytes] | None:
    written = {spelling for word in words for spelling in spellings(word)}
    found = {word.encode("utf-8", "surrogateescape") for word in written}
    found |= {word.encode("latin-1") for word in written if all(ord(character) < 256 for character in word)}
    longest_first = sorted(found, key=lambda word: (-len(word), word))
    return re.compile(b"|".join(map(re.escape, longest_first))) if found else None
