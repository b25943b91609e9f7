"""Tells names that only one software has from common ones, from plain words, and from those of the site."""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import islice
from urllib.parse import urlsplit

from aahcrawler.authoring.web_commonplaces import is_common_path
from aahcrawler.page import Page
from aahcrawler.page.text import fold, plain_text
from aahcrawler.urls import origin, resolve
from online_analysis.word_lists import word_groups

PLAIN_GROUPS = 540
"""Groups of the English word list, the most frequent ones, whose words anybody may name something."""
SHORTEST_NAME = 4
MOST_TITLES = 8
LONGEST_NAME = 80

_PIECES = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+")
_CAPITALS = re.compile(r"[A-Z]|(?<![A-Za-z])[a-z]")


@dataclass(frozen=True)
class SoftwareNames:
    """The name of the wanted software, and the words of the sites that its pages are from."""

    name: str
    initials: str
    words_of_sites: frozenset[str]

    @classmethod
    def of(cls, name: str, pages: Sequence[Page]) -> "SoftwareNames":
        """Take the name as people write it, and pages of one or more sites.

        The words of a site are those of its host and of its name, which is what the titles of its pages share.
        """
        written = bare(name)
        initials = "".join(_CAPITALS.findall(name)).lower()
        words = {word for page in pages for word in _words(urlsplit(page.url).hostname or "")}
        titles = [frozenset(_words(_title(page))) for page in pages[:MOST_TITLES]]
        shared = frozenset.intersection(*titles) if len(titles) > 1 else frozenset()
        named = {word for page in pages for word in _words(_name_of_site(page))}
        return cls(written, initials, frozenset(word for word in words | shared | named if word not in written))

    @property
    def is_plain(self) -> bool:
        """Whether the name is a plain word or a short one, so that other software may hold it as well."""
        return len(self.name) < SHORTEST_NAME or self.name in plain_words()

    def is_named(self, text: str) -> bool:
        """Return whether a text contains the name: one that is a plain word as a word of its own."""
        if not self.name:
            return False
        if self.is_plain:
            return self.name in {word.lower() for word in _PIECES.findall(text)}
        return self.name in bare(text)

    def is_particular(self, text: str) -> bool:
        """Return whether a name has a part that is no common word, no plain one, and none of the site's."""
        pieces = [piece for piece in _PIECES.findall(text) if not self._is_known(piece.lower())]
        return bool(pieces) and not is_common_path(text) and any(len(piece) >= SHORTEST_NAME for piece in pieces)

    def is_short_for(self, beginning: str) -> bool:
        """Return whether the beginning of names stands for the software: its initials, or how it begins."""
        lowered = beginning.lower()
        return len(lowered) > 1 and (lowered == self.initials or self.name.startswith(lowered))

    def _is_known(self, word: str) -> bool:
        return (
            is_common_path(word) or word in self.words_of_sites or word in plain_words() or word[:-1] in plain_words()
        )


def bare(text: str) -> str:
    """Return the letters and digits of a text, in lower case."""
    return "".join(sign for sign in text.lower() if sign.isalnum())


@cache
def plain_words() -> frozenset[str]:
    """Return the most frequent words of English, which names of anything are made of."""
    groups: Iterable[list[str]] = islice(word_groups("en"), PLAIN_GROUPS)
    return frozenset(word for group in groups for word in group if word.isalpha())


def _words(text: str) -> list[str]:
    return [word.lower() for word in re.findall(r"[A-Za-z]{3,}", text)]


def _title(page: Page) -> str:
    return " ".join(fold(plain_text(title)) for title in islice(page.tree.iter("title"), 1))


def _name_of_site(page: Page) -> str:
    """Return the name that a page gives its site, and the texts of its links to the front page."""
    named = [meta.get("content") or "" for meta in page.tree.iter("meta") if meta.get("property") == "og:site_name"]
    front = f"{origin(page.url)}/"
    home = (link for link in page.tree.iter("a") if resolve(page.base_url, link.get("href") or "") == front)
    return " ".join((*named, *(fold(plain_text(link))[:LONGEST_NAME] for link in islice(home, MOST_TITLES))))
