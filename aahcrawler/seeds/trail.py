"""Notes about seeds, and about what they redirect to, as counts of the crawl.

As counts they reach the frontier in the step that finishes the URL, all workers see them, and no crash loses them. A
note's name is ``seed:``, its kind and the URL; one of a redirect has the target behind a space.
"""

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

from aahcrawler.seeds.verdicts import GIVING, ROBOTS, Verdict, advice, none_followed, of_reason, remedy

SEED: Final = "seed"
PAGES, OBJECTS, RELEVANT, OFF_TOPIC = "site_pages", "site_objects", "site_relevant", "site_off_topic"
LINKS, FORBIDDEN, TEXTS = "site_links", "site_forbidden", "site_texts"
_REDIRECT, _WITH_COOKIE, _TRIED, _REFUSED = "redirect", "redirect_with_cookie", "tried", "refused"


def of_page(url: str, verdict: Verdict) -> str:
    """Return the note that a URL was answered so."""
    return f"{SEED}:{verdict.name}:{url}"


def of_attempt(url: str, verdict: Verdict) -> str:
    """Return the note that a URL was tried and is to be tried again."""
    return f"{SEED}:{_TRIED}:{verdict.name} {url}"


def of_refused_links(url: str, reason: str) -> str:
    """Return the note that a page was answered, and that none of its links is followed, for a reason."""
    return f"{SEED}:{_REFUSED}:{reason} {url}"


def of_failure(url: str, reason: str, *, blocked: bool) -> str:
    """Return the note that a URL ended without an answer, for the frontier's ``reason``."""
    verdict = of_reason(reason)
    return of_page(url, Verdict.NOT_WANTED if blocked and verdict is Verdict.FAILED else verdict)


def of_redirect(url: str, target: str, *, sets_cookie: bool) -> str:
    """Return the note that a URL redirects; ``target`` is empty where the crawl does not follow it."""
    return f"{SEED}:{_WITH_COOKIE if sets_cookie else _REDIRECT}:{url} {target}"


def on_site(
    site: str, objects: int, relevant: bool | None, links: int = 0, *, has_text: bool = False
) -> dict[str, float]:
    """Return what a page of a seed's site adds to the counts; ``relevant`` is None where it says too little to tell.

    ``links`` are those to pages that are followed. ``has_text`` says that it has a text beside its links.
    """
    counts: dict[str, float] = {f"{PAGES}:{site}": 1}
    if links:
        counts[f"{LINKS}:{site}"] = links
    if objects:
        counts[f"{OBJECTS}:{site}"] = objects
    if has_text:
        counts[f"{TEXTS}:{site}"] = 1
    if relevant is not None:
        counts[f"{RELEVANT if relevant else OFF_TOPIC}:{site}"] = 1
    return counts


def forbidden_on_site(site: str) -> dict[str, float]:
    """Return what a page of a seed's site that robots.txt forbids adds to the counts."""
    return {f"{FORBIDDEN}:{site}": 1}


@dataclass(frozen=True, slots=True)
class Redirect:
    """A redirect that was noted; ``target`` is empty where it was not followed."""

    target: str
    sets_cookie: bool


@dataclass(frozen=True, slots=True)
class Trail:
    """All notes of a crawl, by URL. Of several verdicts on a URL the best one holds.

    ``attempts`` are verdicts on URLs that were to be tried again then, and ``refused`` tells why no link of a page is
    followed.
    """

    verdicts: Mapping[str, Verdict]
    redirects: Mapping[str, Redirect]
    attempts: Mapping[str, Verdict]
    refused: Mapping[str, str] = field(default_factory=dict)

    @classmethod
    def of(cls, counts: Mapping[str, float]) -> "Trail":
        """Read the notes among the counts of a crawl."""
        verdicts: dict[str, Verdict] = {}
        redirects: dict[str, Redirect] = {}
        attempts: dict[str, Verdict] = {}
        refused: dict[str, str] = {}
        for kind, rest in _notes(counts):
            if kind in (_REDIRECT, _WITH_COOKIE):
                url, _, target = rest.partition(" ")
                redirects[url] = Redirect(target, kind == _WITH_COOKIE)
            elif kind == _REFUSED:
                reason, _, url = rest.rpartition(" ")
                refused[url] = reason
                _note(verdicts, Verdict.LINKS.name, url)
            elif kind == _TRIED:
                _note(attempts, *rest.split(" ", 1))
            else:
                _note(verdicts, kind, rest)
        return cls(verdicts, redirects, attempts, refused)

    def leads_to(self, url: str) -> bool:
        """Return whether a noted redirect leads to a URL."""
        return any(redirect.target == url for redirect in self.redirects.values())

    def end_of(self, url: str) -> tuple[str, Verdict | None]:
        """Follow redirects from a URL; return where they end and the verdict there, None where none is known yet."""
        met = [url]
        while (redirect := self.redirects.get(met[-1])) is not None and met[-1] not in self.verdicts:
            if not redirect.target:
                return met[-1], None
            if redirect.target in met:
                return redirect.target, self._loop(met)
            met.append(redirect.target)
        return met[-1], self.verdicts.get(met[-1])

    def _loop(self, met: Collection[str]) -> Verdict:
        sets_cookie = any(self.redirects[url].sets_cookie for url in met)
        return Verdict.COOKIE_WALL if sets_cookie else Verdict.REDIRECT_LOOP


def _notes(counts: Mapping[str, float]) -> Iterator[tuple[str, str]]:
    for name in counts:
        group, _, note = name.partition(":")
        if group == SEED:
            kind, _, rest = note.partition(":")
            yield kind, rest


def _note(verdicts: dict[str, Verdict], name: str, url: str = "") -> None:
    """Note a verdict by its name, unless a better one is known."""
    if name in Verdict.__members__:
        verdicts[url] = min(Verdict[name], verdicts.get(url, Verdict.FAILED), key=_rank)


def _rank(verdict: Verdict) -> int:
    return list(Verdict).index(verdict)


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
