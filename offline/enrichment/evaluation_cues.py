"""Tells English sentences that evaluate from such that report: to say that there is a war is no opinion of it.

Words of praise and blame are in reports of what happened as often as in opinions (polar facts: Toprak, Jakob and
Gurevych, 2010). A sentence evaluates where somebody speaks of himself, or says what something is like.
"""

import re
from collections.abc import Mapping, Sequence
from typing import Final

_TOKEN: Final = re.compile(r"[^\W\d_]+(?:['’-][^\W\d_]+)*|[,;:.!?()]")


def _words(*lines: str) -> frozenset[str]:
    return frozenset(" ".join(lines).split())


_SELF: Final = _words("i i'm i've i'd i'll we we're we've we'd my our me us")
_AFTER_SELF: Final = 5
"""Words behind somebody who speaks of himself among which he evaluates."""
_BEING: Final = _words(
    "is are was were be been am isn't aren't wasn't weren't it's that's they're he's she's you're seem seems seemed",
    "look looks looked feel feels felt sound sounds sounded became become becomes remain remains proved turned",
)
_AFTER_BEING: Final = 4
"""Words behind a verb of being among which something is said to be like something."""
_DEGREES: Final = _words(
    "so too very really extremely absolutely quite far utterly incredibly truly rather such totally completely pretty",
    "terribly awfully remarkably",
)
_SPOKEN: Final = _words(
    "thanks thank congratulations bravo kudos shame sadly unfortunately fortunately luckily",
    "adore adores adored admire admires admired deserve deserves deserved despise despises despised dislike dislikes",
    "disliked enjoy enjoys enjoyed hate hates hated love loves loved recommend recommends recommended regret regrets",
)
"""Words that evaluate by themselves."""
_MOST: Final = _words("best worst finest nicest")
_UNREAL: Final = _words("if unless whether suppose")
_SAYING: Final = re.compile(
    r"\b(?:said|says|told|testified|alleged|alleges|reported|reportedly|claimed|claims|according to|accused)\b",
    re.IGNORECASE,
)
_QUOTE: Final = re.compile(r"[\"“”«»]")
_SMILEY: Final = re.compile(r"(?:^|\s)[:;]-?[()DP](?=\s|$)|[\U0001f600-\U0001f64f]")


def evaluates(sentence: str, weights: Mapping[str, float]) -> bool:
    """Return whether a sentence with words of praise or blame says that somebody thinks so, as far as its words tell.

    ``weights`` are words in small letters that praise (above 0) or blame. Questions and what is said under a condition
    do not evaluate, nor does what others are reported to have said, unless in their own words. Linear in the length.

    >>> weights = {"war": -2.9, "awful": -2.0}
    >>> evaluates("The war began in the north.", weights), evaluates("The waiting was awful.", weights)
    (False, True)
    """
    words = [token.casefold().replace("’", "'") for token in _TOKEN.findall(sentence)]
    if sentence.rstrip("\"'”’) ").endswith("?") or (words and words[0] in _UNREAL):
        return False
    if _SAYING.search(sentence) and not _QUOTE.search(sentence) and _SELF.isdisjoint(words):
        return False
    if _SMILEY.search(sentence) or sentence.rstrip("\"'”’) ").endswith("!"):
        return True
    polar = [word in weights for word in words]
    return any(
        (word in _SPOKEN)
        or (word in _MOST and polar[at])
        or (word in _DEGREES and any(polar[at + 1 : at + 3]))
        or (word in _SELF and _is_reached(words, polar, at, _AFTER_SELF))
        or (word in _BEING and not _is_done(words, polar, at + 1) and _is_reached(words, polar, at, _AFTER_BEING))
        or (word == "what" and words[at + 1 : at + 2] in (["a"], ["an"]))
        for at, word in enumerate(words)
    )


def _is_done(words: Sequence[str], polar: Sequence[bool], at: int) -> bool:
    """Return whether a verb of being has a participle behind it: what is done, or done to something.

    Participles on -ing that praise or blame say what something is like, "is amazing".
    """
    word = words[at] if at < len(words) else ""
    return word.endswith("ed") or (word.endswith("ing") and not polar[at])


def _is_reached(words: Sequence[str], polar: Sequence[bool], at: int, most: int) -> bool:
    """Return whether a polar word stands among some words behind a place, before any sign but a comma."""
    for place in range(at + 1, min(len(words), at + 1 + most)):
        if not words[place][0].isalpha() and words[place] != ",":
            return False
        if polar[place]:
            return True
    return False
