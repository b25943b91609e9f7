"""Notes about seeds, and about what they redirect to, as counts of the crawl.

As counts they reach the frontier in the step that finishes the URL, all workers see them, and no crash loses them. A
note's name is ``seed:``, its kind and the URL; one of a redirect has the target behind a space.
"""

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Final

from aahcrawler.seeds.verdicts import Verdict, of_reason

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
