"""Scored URLs posted from outside the crawl: each post is applied once, even if repeated (ARCOMEM, section 4.1).

A post is applied by the crawl's update function like any other offer. Its effect is stored under its key in the same
step, so that a post whose response was lost can be repeated safely under every update function.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Protocol

from aahcrawler.frontier.protocol import Offer, State

KEY_BYTES = 12
CONTENT_BYTES = 4


class Wish(StrEnum):
    """What a post can ask for."""

    SCORE = "score"
    """To be queued or re-scored. Where that changes its score, ``Scheduling.rescore`` leaves the page alone from then
    on: who looks from outside is not contradicted by what the crawl thinks of the page, but what pages that link
    there add by the update function still counts.
    """
    FRONT = "front"
    """The same, and to be leased before every URL that is not at the front, whatever their scores."""
    BLOCK = "block"
    """Not to be fetched at all; the score says nothing then."""


class Effect(StrEnum):
    """The effects that a post can have."""

    ADDED = "added"
    RESCORED = "rescored"
    """It was queued and the update function was applied, whether or not its score changed."""
    BLOCKED = "blocked"
    """It will never be leased, whether or not it had been blocked before."""
    KNOWN = "known"
    """It is leased or has ended; nothing changed, and nothing was remembered."""
    MISUSED = "misused"
    """Another post was made under this key; nothing changed."""


@dataclass(frozen=True, slots=True)
class Post:
    """An offer of a page, and what the post asks for.

    ``key`` has ``KEY_BYTES`` bytes and identifies the post within its crawl; ``content`` is a digest of
    ``CONTENT_BYTES`` bytes, which differs (except by chance) between different posts with the same key.
    """

    offer: Offer
    key: bytes
    content: bytes
    wish: Wish = Wish.SCORE

    def __post_init__(self) -> None:
        if len(self.key) != KEY_BYTES or len(self.content) != CONTENT_BYTES:
            raise ValueError(f"a post has a key of {KEY_BYTES} bytes and a content of {CONTENT_BYTES}")
        if self.offer.kind != "page":
            raise ValueError(f"{self.offer.url} is posted as a {self.offer.kind}; only pages can be")


@dataclass(frozen=True, slots=True)
class Posted:
    """The effect of a post, and the state of its URL; ``repeated`` means that it had been applied before."""

    effect: Effect
    state: State | None
    """None where the post was ``MISUSED``."""
    repeated: bool = False


@dataclass(frozen=True, slots=True)
class UrlStatus:
    """The state of a URL, with its present offer.

    Of a URL that has ended, only the reason why it failed or was blocked is stored; a URL blocked while it was queued
    or due keeps its offer.
    """

    state: State
    offer: Offer | None
    """With the present score; None once the URL has ended, but for those that can be put back."""
    at_front: bool = False
    reason: str = ""


class Posting(Protocol):
    """The operations of the web service on a crawl's frontier. Errors are those of ``protocol.Scheduling``."""

    def post(self, posts: Sequence[Post]) -> tuple[Posted, ...]:
        """Apply posts; return their results, parallel to them.

        Effects are stored for at least a day; a post repeated within that time only returns the stored effect. Very
        long sequences are applied in several atomic parts.
        """
        ...

    def status(self, url: str) -> UrlStatus | None:
        """Return the state and present score of a canonical URL, None where it was never offered."""
        ...


BLOCKED_FROM_OUTSIDE = "blacklisted"
"""The reason of URLs that were blocked by a post."""
