"""Budgets of pages for patterns of similar URLs, which grow with the value of such pages.

A fixed number of pages for each site would cut off large good sites and be wasted on bad ones. IRLbot gives a site
more, the more other sites link to it (Lee et al., WWW 2008, section 6); here the parts of sites earn their budgets.
"""

from collections import OrderedDict
from collections.abc import Mapping, Sequence
from dataclasses import astuple, dataclass

from aahcrawler.traps.patterns import UrlPattern

GAIN = 8.0
"""How many pages a page with new content earns: with one new page in eight, a pattern never runs out."""
SAVED = 4
"""The most that a pattern can save up, in multiples of the minimum; families cannot save."""
WIDER = 5
"""The budget of a family of patterns, in multiples of a pattern's minimum."""
WIDEST = 20
"""The budget of a host, in multiples of a pattern's minimum."""
BELIEVED = 10
"""How many links to unfetched pages of a pattern count as new, in multiples of the minimum."""
FIRST_TRIAL = 64
"""After this many refusals one URL is fetched, to see whether there is something new again, and then after twice as
many each time: of n refused URLs at most log2(n) are fetched.
"""
MAX_PATTERNS = 50_000
"""The most patterns and families that are remembered; forgotten ones start anew."""


@dataclass(slots=True)
class TrapBudget:
    """The budget of a pattern: ``left`` is the number of pages that may still be fetched.

    ``fetched`` counts the pages fetched so far, ``worthwhile`` those of them with new content, ``refused`` the URLs
    that were refused since the budget was spent, ``promised`` the unfetched pages that counted as new.
    """

    left: float
    fetched: int = 0
    worthwhile: int = 0
    promised: float = 0.0
    refused: int = 0

    @property
    def is_spent(self) -> bool:
        """Return whether no more pages of the pattern may be fetched."""
        return self.left <= 0

    @property
    def has_paid(self) -> bool:
        """Return whether the pages of the pattern together have earned what they cost."""
        return self.worthwhile > 0 and self.worthwhile * GAIN >= self.fetched

    def trial(self) -> bool:
        """Count a refusal; return whether this URL is fetched nevertheless, as a sample."""
        self.refused += 1
        return self.refused >= FIRST_TRIAL and self.refused & (self.refused - 1) == 0


class Budgets:
    """The budgets of patterns and their families. ``minimum`` pages of a pattern are always fetched.

    Each fetched page costs one page of its pattern's budget and of the budgets of the pattern's families; a page with
    new content earns ``GAIN`` for all of these. A pattern is refused when its budget is spent. A pattern that has not
    earned its cost is also refused when a family's budget is spent, because sites that combine parameters have more
    patterns than pages. A family gets ``WIDER`` times the minimum, a host ``WIDEST`` times.
    """

    def __init__(self, minimum: int, capacity: int = MAX_PATTERNS) -> None:
        self.minimum = minimum
        self._capacity = capacity
        self._budgets: OrderedDict[str, TrapBudget] = OrderedDict()
        self._spent: dict[str, int] = {}

    def may_refuse(self, host: str) -> bool:
        """Return whether any budget of a host is spent, without looking at a pattern: False for nearly all hosts."""
        return host in self._spent

    def refusing(self, pattern: UrlPattern, *, trusted: bool = False) -> TrapBudget | None:
        """Return the budget that forbids another page of a pattern; None if there is none.

        For ``trusted`` URLs, budgets of families do not count.
        """
        own = self._budgets.get(pattern.shape)
        if own is not None and own.is_spent:
            return own
        if trusted or (own is not None and own.has_paid):
            return None
        wider = map(self._budgets.get, pattern.families)
        return next((budget for budget in wider if budget is not None and budget.is_spent), None)

    def brings(self, pattern: UrlPattern) -> bool:
        """Return whether pages of a pattern have had new content."""
        own = self._budgets.get(pattern.shape)
        return own is not None and own.worthwhile > 0

    def charge(self, pattern: UrlPattern, *, is_new: bool, promises: float = 0.0) -> None:
        """Record a fetched page, and whether it had new content.

        ``promises`` in [0, 1] is the possible value of its links: they earn as much, but do not count as content.
        """
        for name, times in self._names(pattern):
            budget = self._budget(name, times)
            was_spent = budget.is_spent
            most = float(max(SAVED, times) * self.minimum)
            budget.left = min(max(budget.left - 1, 0.0) + GAIN * (1.0 if is_new else promises), most)
            budget.fetched += 1
            budget.worthwhile += is_new
            if was_spent != budget.is_spent:
                self._note(name, 1 if budget.is_spent else -1)

    def promise(self, pattern: UrlPattern, of: UrlPattern) -> bool:
        """Credit an unfetched page linked to by a page ``of`` another pattern; return whether the link counts as new.

        The number of unfetched pages that count as new is limited to ``BELIEVED`` times the minimum, plus ``GAIN`` for
        each page of the pattern that had new content. A page's links to its own innermost family count only to the
        extent that such pages have had new content.
        """
        budget = self._budget(pattern.shape, 1)
        credit = 0 if of.families[-1] in pattern.families else BELIEVED * self.minimum
        is_believed = pattern.shape != of.shape and budget.promised < credit + GAIN * budget.worthwhile
        if budget.is_spent or not is_believed:
            return False
        budget.promised += 1
        return True

    def _names(self, pattern: UrlPattern) -> Sequence[tuple[str, int]]:
        host, *inner = pattern.families
        return (pattern.shape, 1), (host, WIDEST), *((name, WIDER) for name in inner)

    def _budget(self, name: str, times: int) -> TrapBudget:
        budget = self._budgets.get(name)
        if budget is None:
            budget = self._budgets[name] = TrapBudget(float(times * self.minimum))
            if len(self._budgets) > self._capacity:
                forgotten, old = self._budgets.popitem(last=False)
                self._note(forgotten, -1 if old.is_spent else 0)
        else:
            self._budgets.move_to_end(name)
        return budget

    def _note(self, name: str, change: int) -> None:
        host = name.partition("/")[0]
        count = self._spent.get(host, 0) + change
        if count > 0:
            self._spent[host] = count
        else:
            self._spent.pop(host, None)

    def state(self) -> Mapping[str, Sequence[float]]:
        """Return the whole state, the oldest first, for ``restore``."""
        return {name: astuple(budget) for name, budget in self._budgets.items()}

    def restore(self, state: Mapping[str, Sequence[float]]) -> None:
        """Restore a result of ``state``. Raises ``ValueError`` or ``TypeError`` if it is invalid."""
        for name, (left, fetched, worthwhile, promised, refused) in state.items():
            budget = self._budgets[name] = TrapBudget(
                float(left), int(fetched), int(worthwhile), float(promised), int(refused)
            )
            if budget.is_spent:
                self._note(name, 1)
