"""The results of all seeds of a crawl."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from aahcrawler.seeds.bulk_refusals import ROBOTS, none_followed, remedy
from aahcrawler.seeds.trail import FORBIDDEN, LINKS, OBJECTS, OFF_TOPIC, PAGES, RELEVANT, TEXTS, Trail
from aahcrawler.seeds.verdicts import GIVING, Verdict, advice

_DOUBTFUL: Final = frozenset({Verdict.CONSENT, Verdict.LOGIN, Verdict.SCRIPTS, Verdict.EMPTY, Verdict.UNREAD})
"""Verdicts by the looks of one page, which objects found on its site disprove."""
_PERHAPS_REFUSED: Final = frozenset({Verdict.FETCHED, Verdict.LINKS})
"""Verdicts on pages that were read, of which no link may be followed."""


@dataclass(frozen=True, slots=True)
class SeedResult:
    """What became of a seed. ``ended_at`` is where its redirects led, empty where it had none.

    ``pages`` and ``objects`` are those of its whole site, a pay-level domain, which several seeds may share. ``reason``
    is why no link of its page is followed, empty where some are; it is the verdict where the page gave nothing else.
    """

    url: str
    verdict: Verdict
    ended_at: str = ""
    detail: str = ""
    pages: int = 0
    objects: int = 0
    reason: str = ""

    @property
    def gave_nothing(self) -> bool:
        """Return whether the seed was tried and is no way into its site."""
        return self.verdict not in GIVING and self.verdict is not Verdict.PENDING

    @property
    def advice(self) -> str:
        """What to do about it, empty where nothing is to be done."""
        is_of_links = self.reason and self.verdict in _PERHAPS_REFUSED
        return remedy(self.reason) if is_of_links else advice(self.verdict)


def seed_results(
    seeds: Mapping[str, str],
    counts: Mapping[str, float],
    site_of: Callable[[str], str],
    refusal: Callable[[str], str | None],
) -> Sequence[SeedResult]:
    """Return the result of each seed, in their order.

    ``seeds`` maps seeds as they were given to their canonical URLs, empty where there is none; ``counts`` are those of
    the crawl, ``site_of`` returns the pay-level domain of a URL, and ``refusal`` why the scope refuses one.
    """
    trail = Trail.of(counts)
    return [_result(given, url, trail, counts, site_of, refusal) for given, url in seeds.items()]


def _result(
    given: str,
    url: str,
    trail: Trail,
    counts: Mapping[str, float],
    site_of: Callable[[str], str],
    refusal: Callable[[str], str | None],
) -> SeedResult:
    end, verdict = trail.end_of(url)
    if not url or (verdict is None and (reason := refusal(url)) is not None):
        return SeedResult(given, Verdict.OUT_OF_SCOPE, detail="no http or https URL" if not url else str(reason))
    if verdict is None and end in trail.redirects:
        return SeedResult(given, Verdict.OUT_OF_SCOPE, "" if end == url else end, "it redirects out of the scope")
    sites = dict.fromkeys((site_of(url), site_of(end)))
    pages, objects, texts, relevant, off_topic = (
        sum(int(counts.get(f"{name}:{site}", 0)) for site in sites)
        for name in (PAGES, OBJECTS, TEXTS, RELEVANT, OFF_TOPIC)
    )
    detail = "" if verdict is not None or end not in trail.attempts else "it is to be tried again"
    verdict = verdict or trail.attempts.get(end, Verdict.PENDING)
    reason = (trail.refused.get(end, "") or _forbidden(sites, counts)) if pages <= 1 else ""
    if verdict in _PERHAPS_REFUSED:
        detail = none_followed(reason) if reason else ""
        verdict = Verdict.LINKS if reason and not objects and not texts else Verdict.FETCHED
    verdict = _settled(verdict, objects, off_topic > 0 == relevant)
    return SeedResult(given, verdict, "" if end == url else end, detail, pages, objects, reason)


def _forbidden(sites: Iterable[str], counts: Mapping[str, float]) -> str:
    """Return the reason where robots.txt forbids all that a seed's page leads to; else empty."""
    led, forbidden = (sum(counts.get(f"{name}:{site}", 0) for site in sites) for name in (LINKS, FORBIDDEN))
    return ROBOTS if 0 < led <= forbidden else ""


def _settled(verdict: Verdict, objects: int, off_topic: bool) -> Verdict:
    """Return a verdict by the looks of one page after all pages of its site are known."""
    if verdict in _DOUBTFUL and objects:
        verdict = Verdict.FETCHED
    return Verdict.OFF_TOPIC if verdict is Verdict.FETCHED and off_topic else verdict
