"""Tell posts of other sites, which a text embeds, from the page's own."""

from bisect import bisect_left
from collections.abc import Sequence

from aahcrawler.induction.outline import Extents, Outline

_EMBEDDED = frozenset(
    {
        "bluesky-embed",
        "fb-post",
        "imgur-embed-pub",
        "instagram-media",
        "mastodon-embed",
        "reddit-card",
        "reddit-embed-bq",
        "text-post-media",
        "tiktok-embed",
        "twitter-tweet",
        "twitter-video",
    }
)
"""Classes of the markup that these networks document for posts within other pages."""


def are_embedded(outline: Outline, roots: Sequence[int]) -> bool:
    """Return whether elements are all embedded posts, or parts or mere frames of such."""
    if _EMBEDDED.isdisjoint(outline.frequency):
        return False
    places = [place for place, tokens in enumerate(outline.tokens) if not _EMBEDDED.isdisjoint(tokens)]
    within = Extents((place, outline.ends[place]) for place in places)
    return all(within.cover(root) or _frames(outline, root, places) for root in roots)


def _frames(outline: Outline, root: int, places: Sequence[int]) -> bool:
    """Return whether an element holds one of others, in document order, and no other running text."""
    number = bisect_left(places, root)
    first = places[number] if number < len(places) else -1
    return outline.contains(root, first) and outline.running(root) == outline.running(first)
