"""Prose composed of handwritten sentences: the same key gives the same text on every machine and Python."""

import hashlib
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from html import escape
from typing import TypeVar

T = TypeVar("T")

Body = tuple[str, ...]
"""Paragraphs of plain text in which ``[[URL|words]]`` is a link."""

_LINK = re.compile(r"\[\[([^|\]]+)\|([^\]]+)\]\]")
_PLACE = re.compile(r"\{(\w+)\}")
_SENTENCES_A_PARAGRAPH = 3


def digest(*key: object) -> int:
    """Return a number that depends on the key alone (not on the random module, whose picks may change)."""
    text = "\x1f".join(str(part) for part in key)
    return int.from_bytes(hashlib.sha256(text.encode()).digest()[:8], "big")


def pick(items: Sequence[T], *key: object) -> T:
    """Return the item that the key stands for."""
    return items[digest(*key) % len(items)]


def shuffled(items: Sequence[T], *key: object) -> list[T]:
    """Return the items in the order that the key stands for."""
    order = sorted(range(len(items)), key=lambda index: digest(*key, index))
    return [items[index] for index in order]


@dataclass(frozen=True, slots=True)
class Prose:
    """Sentences by theme, openers by language, values of ``{name}`` places in both, and the themes of the topic."""

    themes: Mapping[str, Sequence[str]]
    openers: Mapping[str, Sequence[str]]
    fillers: Mapping[str, Sequence[str]]
    topic: frozenset[str]

    def compose(self, opening: str | None, themes: Sequence[str], sentences: int, key: str) -> Body:
        """Return a text that starts with ``opening`` and takes ``sentences`` others from the themes in turn.

        No text takes more than half of what its themes hold, so that two of them differ.
        """
        sentences = min(sentences, sum(len(self.themes[theme]) for theme in themes) // 2)
        pools = [iter(shuffled(self.themes[theme], key, theme)) for theme in themes]
        chosen = [self._filled(sentence, key, place) for place, sentence in enumerate(_take(pools, sentences))]
        if opening:
            chosen.insert(0, self._filled(opening, key, "opening"))
        starts = range(0, len(chosen), _SENTENCES_A_PARAGRAPH)
        return tuple(" ".join(chosen[start : start + _SENTENCES_A_PARAGRAPH]) for start in starts)

    def on_topic(self, themes: Sequence[str]) -> bool:
        """Say whether a page with these themes is about the topic: its first theme decides."""
        return themes[0] in self.topic

    def opener(self, language: str, key: str, turn: int) -> str:
        """Return the ``turn``-th sentence with which somebody joins the conversation named by ``key``."""
        pool = shuffled(self.openers[language], key, "opener")
        return pool[turn % len(pool)]

    def _filled(self, sentence: str, *key: object) -> str:
        text = _PLACE.sub(lambda place: pick(self.fillers[place[1]], *key, sentence, place[1]), sentence)
        return text[0].upper() + text[1:]


def _take(pools: list[Iterator[str]], wanted: int) -> Iterator[str]:
    """Yield sentences from the pools in turn until enough are taken or all pools are empty."""
    while pools and wanted:
        for pool in list(pools):
            sentence = next(pool, None)
            if sentence is None:
                pools.remove(pool)
            elif wanted:
                wanted -= 1
                yield sentence


def plain(body: Body) -> str:
    """Return the words of a text as a reader sees them, links as their words."""
    return " ".join(_LINK.sub(r"\2", paragraph) for paragraph in body)


def inline(paragraph: str, link_class: str = "") -> str:
    """Return a paragraph as HTML without its ``<p>``."""
    attribute = f' class="{link_class}"' if link_class else ""
    return _LINK.sub(
        lambda link: f'<a href="{link[1]}"{attribute}>{link[2]}</a>',
        escape(paragraph, quote=False),
    )


def paragraphs(body: Body) -> str:
    """Return a text as HTML paragraphs."""
    return "\n".join(f"<p>{inline(paragraph)}</p>" for paragraph in body)
