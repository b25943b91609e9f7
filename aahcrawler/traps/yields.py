"""Learn which patterns of URLs lead to no content, and which lead to objects that other pages show together.

Unknown software has such pages beside every post. Their patterns are refused after some attempts, and one of their URLs
is tried again from time to time, so that a wrong refusal corrects itself.

Whichever page is fetched first, the credit for an object goes to pages that show several objects. Otherwise a crawl
that meets messages before their threads would consider both worth their requests.
"""

from collections import Counter, OrderedDict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import astuple, dataclass
from enum import Enum
from typing import Final

import numpy as np

from aahcrawler.traps.bloom_filters import Arrays, RecentSet, digest
from aahcrawler.traps.budgets import FIRST_TRIAL, GAIN, MAX_PATTERNS
from aahcrawler.traps.patterns import UrlPattern, pattern_of

MIN_WORTH = 0.1
"""The smallest factor for a link's score, whatever similar pages have brought."""
MIN_CONTENT = 0.01
"""A pattern with less content than this has none; withdrawn shares may leave such a rest."""
IN_A_ROW = 4.0
"""How many empty pages in a row are tolerated, in multiples of the bound: lists have pages beyond their end."""
IN_A_ROW_SHARE = 0.25
"""How many empty pages in a row are tolerated in any case, as a share of the earlier pages with content."""
LINKED = 4
"""How many pages with content behind new links count as much as content: each is worth about two requests."""
MIN_EXPECTED = 0.5
"""How many pages with content must be expected behind a page's new links for these to count."""
FAMILY = 2.0
"""How many empty pages of a family of patterns are tolerated, in multiples of those of one pattern."""
HELD_GAIN = 2.0
"""How many empty pages one page with content makes up for, if other pages are known to show the same objects."""

HELD = " (shown by others)"
"""The suffix of a pattern's name for those of its URLs whose objects other pages showed."""


class Brought(Enum):
    """The kinds of content that a page brought to its crawl."""

    CONTENT = "content"
    """New web objects, or links to pages like others that had some."""
    LINKS = "links"
    """New links to pages of unknown kind."""
    NEWS = "news"
    """New text only: a quarter as empty as a page without any."""
    TEXT = "text"
    """Text only, most of it read before."""
    REPEATED = "repeated"
    """Only web objects that other pages show among others."""
    GONE = "gone"
    """A response that the page does not exist, which says less about existing pages."""
    NOTHING = "nothing"


_EMPTY = {
    Brought.CONTENT: 0.0,
    Brought.LINKS: 0.0,
    Brought.NEWS: 0.25,
    Brought.TEXT: 1.0,
    Brought.GONE: 0.5,
    Brought.REPEATED: 1.0,
    Brought.NOTHING: 1.0,
}


@dataclass(slots=True)
class Yield:
    """What the pages of a pattern brought: how many had ``content``, and how many were ``empty``.

    ``repeated`` of the empty ones showed web objects that other pages also show.
    """

    content: float = 0.0
    empty: float = 0.0
    refused: int = 0
    repeated: float = 0.0
    run: float = 0.0
    """The empty pages since the last one with content; those with new text count twice."""
    pages: int = 0
    shown: float = 0.0
    """The pages that were fetched, and how many of them showed web objects that no other page shows."""
    linked: int = 0
    """How many pages were linked to, fetched or not."""

    def is_barren(self, bound: float, gain: float = GAIN) -> bool:
        """Return whether the empty pages exceed ``bound`` plus ``gain`` for each page with content.

        Also return True if the empty pages since the last page with content reach ``IN_A_ROW`` times the bound and
        ``IN_A_ROW_SHARE`` of the pages with content.
        """
        in_a_row = max(IN_A_ROW * bound, IN_A_ROW_SHARE * self.content)
        return bound > 0 and (self.empty >= bound + gain * self.content or self.run >= in_a_row)


class Yields:
    """The yields of patterns and of their families, within a host.

    A pattern is barren when ``bound`` of its pages were empty and none had content; each page with content makes up for
    ``GAIN`` empty ones. A family is barren after ``FAMILY`` times as many, for those of its patterns that never had
    content. New text without an object counts as empty only on a host that shows objects elsewhere. A bound of 0
    disables all this.
    """

    def __init__(self, bound: int, capacity: int = MAX_PATTERNS) -> None:
        self.bound = bound
        self._capacity = capacity
        self._yields: OrderedDict[str, Yield] = OrderedDict()

    def count(self, pattern: UrlPattern, *, shows: bool) -> None:
        """Count a fetched page, and whether it ``shows`` new web objects."""
        for name in (pattern.detail, pattern.families[0]):
            known = self._of(name)
            known.pages += 1
            known.shown += shows

    def note(self, pattern: UrlPattern, brought: Brought, share: float = 1.0) -> str:
        """Record what a page brought; return the pattern or family that it shows to be barren, mostly empty.

        ``share`` in [0, 1] is how much its content counts.
        """
        host = self._of(pattern.families[0])
        host.content += share * (brought is Brought.CONTENT)
        is_text = brought in (Brought.TEXT, Brought.NEWS)
        empty = 0.0 if is_text and not host.content else _EMPTY[brought]
        turned = ""
        for name, bound in self._bounds(pattern):
            known = self._of(name)
            was_barren = known.is_barren(bound)
            known.content += share * (brought is Brought.CONTENT)
            known.empty += empty
            known.run = 0.0 if brought is Brought.CONTENT else known.run + min(1.0, 2 * empty)
            known.repeated += brought is Brought.REPEATED
            turned = turned or (name if known.is_barren(bound) and not was_barren else "")
        return turned

    def expect(self, pattern: UrlPattern) -> None:
        """Count a page to which a link led for the first time."""
        self._of(pattern.detail).linked += 1

    def is_open(self, pattern: UrlPattern) -> bool:
        """Return whether a link to a page of a pattern counts as new although the pattern's yield is unknown.

        It does not count once enough of its pages are queued to judge the pattern.
        """
        known = self._yields.get(pattern.detail)
        if known is None:
            return True
        is_known = known.content > MIN_CONTENT or self.is_tried(pattern)
        return not is_known and known.linked - known.pages < max(1, self.bound)

    def note_held(self, pattern: UrlPattern, brought: Brought) -> None:
        """Record what a page brought whose object is known to be on another page.

        New links on it do not count either way, because the other page has most of them as well.
        """
        if brought is Brought.LINKS:
            return
        known = self._of(pattern.detail + HELD)
        is_repeat = brought is not Brought.CONTENT
        known.content += not is_repeat
        known.empty += is_repeat
        known.repeated += is_repeat

    def barren_held(self, pattern: UrlPattern) -> str:
        """Return the pattern's name for pages whose objects others show, if they brought nothing else; else empty."""
        name = pattern.detail + HELD
        known = self._yields.get(name)
        return name if known is not None and known.is_barren(self.bound, HELD_GAIN) else ""

    def withdraw(self, pattern: UrlPattern, share: float) -> None:
        """Record that another page shows a ``share`` in (0, 1] of a page's content among other objects.

        The page then counts as if it had repeated the other one.
        """
        for name in (pattern.detail, *pattern.families):
            known = self._of(name)
            given = min(share, known.content)
            known.content -= given
            known.shown -= min(share, known.shown)
            if name != pattern.families[0]:
                known.empty += given
                known.repeated += given

    def has_content(self, pattern: UrlPattern) -> bool:
        """Return whether pages of a pattern have had content that no other pages show."""
        known = self._yields.get(pattern.detail)
        return known is not None and known.content > MIN_CONTENT

    def rate(self, pattern: UrlPattern) -> float:
        """Return how much content a page of a pattern had on average, in [0, 1]."""
        known = self._yields.get(pattern.detail)
        return min(1.0, known.content / known.pages) if known is not None and known.pages else 0.0

    def is_tried(self, pattern: UrlPattern) -> bool:
        """Return whether enough empty pages of a pattern are known to doubt its other pages."""
        known = self._yields.get(pattern.detail)
        return known is not None and known.content <= MIN_CONTENT and known.empty >= self.bound / 2

    def repeats(self, name: str) -> bool:
        """Return whether most of the empty pages of a pattern or family showed what other pages show."""
        known = self._yields.get(name)
        return known is not None and 2 * known.repeated > known.empty

    def barren(self, pattern: UrlPattern) -> str:
        """Return the name of the pattern or family that makes a pattern barren; empty if none does."""
        if self.has_content(pattern):
            return pattern.detail if self._is_barren(pattern.detail, self.bound) else ""
        return next((name for name, bound in self._bounds(pattern) if self._is_barren(name, bound)), "")

    def trial(self, name: str) -> bool:
        """Count a refusal of a barren pattern; return whether this URL is fetched nevertheless, as a sample."""
        known = self._of(name)
        known.refused += 1
        return known.refused >= FIRST_TRIAL and known.refused & (known.refused - 1) == 0

    def _is_barren(self, name: str, bound: float) -> bool:
        known = self._yields.get(name)
        return known is not None and known.is_barren(bound)

    def worth(self, pattern: UrlPattern) -> float:
        """Return the factor in [``MIN_WORTH``, 1] for the score of a link of a pattern.

        It is the share of the pattern's pages that showed new web objects, counting one more page that did, so that an
        untried pattern is not penalised; 1 on hosts that have shown none. For a pattern that never had content, it
        falls as its bound is used up.
        """
        known = self._yields.get(pattern.detail)
        if known is None:
            return 1.0
        host = self._yields.get(pattern.families[0])
        share = (known.shown + 1) / (known.pages + 1) if host is not None and host.shown > MIN_CONTENT else 1.0
        if self.bound and known.content <= MIN_CONTENT:
            share = min(share, 1.0 - (1.0 - MIN_WORTH) * min(1.0, known.empty / self.bound))
        return max(MIN_WORTH, share)

    def _bounds(self, pattern: UrlPattern) -> Iterator[tuple[str, float]]:
        yield pattern.detail, self.bound
        for family in pattern.families[1:]:
            yield family, FAMILY * self.bound

    def _of(self, name: str) -> Yield:
        known = self._yields.setdefault(name, Yield())
        self._yields.move_to_end(name)
        if len(self._yields) > self._capacity:
            self._yields.popitem(last=False)
        return known

    def join(self, state: Mapping[str, Sequence[float]]) -> None:
        """Add what another worker learned, given its ``state``. Both may include the same former crawls."""
        for name, values in state.items():
            own, other = self._of(name), _restored(values)
            own.content, own.empty = max(own.content, other.content), max(own.empty, other.empty)
            own.refused = max(own.refused, other.refused)
            own.repeated, own.run = max(own.repeated, other.repeated), max(own.run, other.run)
            if other.pages > own.pages:
                own.pages, own.shown = other.pages, other.shown
            own.linked = max(own.linked, other.linked)

    def state(self) -> Mapping[str, Sequence[float]]:
        """Return the whole state, the oldest first, for ``restore``."""
        return {name: astuple(each) for name, each in self._yields.items()}

    def restore(self, state: Mapping[str, Sequence[float]]) -> None:
        """Restore a result of ``state``. Raises ``ValueError`` or ``TypeError`` if it is invalid.

        Older states are accepted: those with three numbers for each pattern lack counts of repeated pages and runs,
        those with five lack counts of all pages.
        """
        self._yields.update((name, _restored(values)) for name, values in state.items())


def _restored(values: Sequence[float]) -> Yield:
    content, empty, refused, *more = values
    repeated, run, pages, shown, linked = map(float, (*more, *(0.0,) * (5 - len(more))))
    return Yield(float(content), float(empty), int(refused), repeated, run, int(pages), shown, int(linked))


MAX_OBJECTS: Final = 100_000
"""How many objects that are alone on their pages are remembered: the last ones."""
MAX_HOLDING_PATTERNS: Final = 10_000
MAX_HELD: Final = 200_000
"""How many URLs of objects are remembered: the last ones."""


@dataclass(slots=True)
class _Shown:
    """The pages of one pattern that have objects, how many of them had ``several`` objects, and the URL of one."""

    url: str
    pages: int = 0
    several: int = 0

    @property
    def shows_several(self) -> bool:
        """Whether the pages count as showing several objects.

        One in eight is enough, because most threads have only one message.
        """
        return self.several > 0 and GAIN * self.several >= self.pages


class Holdings:
    """The objects that pages showed alone, by the patterns of these pages.

    It also has the URLs of objects that other pages showed.
    """

    def __init__(self, capacity: int = MAX_OBJECTS) -> None:
        self._capacity = capacity
        self._alone: OrderedDict[int, str] = OrderedDict()
        self._patterns: OrderedDict[str, _Shown] = OrderedDict()
        self._held = RecentSet(MAX_HELD)

    def hold(self, url: str, named: Iterable[str]) -> None:
        """Record the canonical URLs that a page gives for its objects, if it has several, except its own URL."""
        others = [each for each in named if each != url]
        if len(others) > 1:
            for each in others:
                self._held.knows(digest(each))

    def holds(self, url: str) -> bool:
        """Return whether a canonical URL is that of an object which another page showed among others."""
        return digest(url) in self._held

    def show(self, url: str, objects: Sequence[int]) -> Mapping[str, int]:
        """Record the hashes of a page's objects; return how many of them were alone on pages of other patterns.

        Each of these patterns is given by the URL of one such page. Each object is counted once, and only if the page's
        pattern shows several objects while the other pattern does not.
        """
        if not objects:
            return {}
        name = pattern_of(url).detail
        own = self._of(name, url)
        own.pages += 1
        own.several += len(objects) > 1
        moved: Counter[str] = Counter()
        for number in objects:
            holder = self._alone.get(number)
            if holder is None and len(objects) == 1 and not own.shows_several:
                self._alone[number] = name
            elif holder is not None and holder != name and own.shows_several:
                del self._alone[number]
                other = self._patterns.get(holder)
                if other is not None and not other.shows_several:
                    moved[other.url] += 1
        if len(self._alone) > self._capacity:
            self._alone.popitem(last=False)
        return moved

    def _of(self, name: str, url: str) -> _Shown:
        shown = self._patterns.setdefault(name, _Shown(url))
        self._patterns.move_to_end(name)
        if len(self._patterns) > MAX_HOLDING_PATTERNS:
            self._patterns.popitem(last=False)
        return shown

    def state(self) -> Arrays:
        """Return the whole state as arrays, for ``restored``."""
        places = {name: place for place, name in enumerate(self._patterns)}
        alone = [(number, places[name]) for number, name in self._alone.items() if name in places]
        text = "\n".join(shown.url for shown in self._patterns.values())
        counts = [(shown.pages, shown.several) for shown in self._patterns.values()]
        return {
            "alone": np.array(alone, np.uint64).reshape(-1, 2),
            "alone_urls": np.frombuffer(text.encode("utf-8", "replace"), np.uint8),
            "alone_counts": np.array(counts, np.int64).reshape(-1, 2),
            "held": np.sort(np.fromiter(self._held, np.uint64)),
        }

    @classmethod
    def restored(cls, state: Arrays) -> "Holdings":
        """Return the holdings with this ``state``; empty ones if it has none.

        Raises ``ValueError`` if it is damaged.
        """
        holdings = cls()
        if "alone" not in state:
            return holdings
        text = state["alone_urls"].astype(np.uint8).tobytes().decode()
        urls = text.split("\n") if text else []
        counts = state["alone_counts"].astype(np.int64)
        alone = state["alone"].astype(np.uint64)
        if counts.shape != (len(urls), 2) or alone.shape[1:] != (2,) or (alone[:, 1] >= len(urls)).any():
            raise ValueError("objects and the patterns of their pages do not fit together")
        names = [pattern_of(url).detail for url in urls]
        for name, url, (pages, several) in zip(names, urls, counts.tolist(), strict=True):
            holdings._patterns[name] = _Shown(url, pages, several)
        for number in state["held"].astype(np.uint64).tolist():
            holdings._held.knows(number)
        holdings._alone.update((number, names[place]) for number, place in alone.tolist())
        return holdings

    def join(self, state: Arrays) -> None:
        """Add what another worker learned, given its ``state``. Both may include the same former crawls."""
        other = Holdings.restored(state)
        for name, shown in other._patterns.items():  # noqa: SLF001
            own = self._of(name, shown.url)
            own.pages, own.several = max(own.pages, shown.pages), max(own.several, shown.several)
        for number, name in other._alone.items():  # noqa: SLF001
            self._alone.setdefault(number, name)
        for number in other._held:  # noqa: SLF001
            self._held.knows(number)
        while len(self._alone) > self._capacity:
            self._alone.popitem(last=False)
