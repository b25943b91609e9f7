"""The repairs of a crawl: what it learned, in the place of what, with the evidence and what became of it."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from aahcrawler.adaptation.store.decisions import Decision, Decisions, State, key_of
from aahcrawler.adaptation.store.learned import Learned
from aahcrawler.adaptation.store.overlay import Overlay
from aahcrawler.authoring.archived_pages import kept_page
from aahcrawler.authoring.page_source import SourceError
from aahcrawler.authoring.promotion_words import Compared, compared, described
from aahcrawler.layout import LEARNED
from aahcrawler.page import Page
from knowledge_base.file_selection import filled
from knowledge_base.loader import load
from knowledge_base.model import KnowledgeBase


class RepairError(Exception):
    """A repair cannot be shown, accepted or rejected; the message says why and what to do."""


@dataclass(frozen=True, slots=True)
class Repair:
    """An action, links or a sign that the crawl in a folder learned.

    ``key`` names it for machines: it stays while the place, the site and the expressions do. ``replaces`` are the parts
    in which it differs from what the file has. ``decision`` is the last one about it, None while it waits.
    """

    crawl: Path
    key: str
    learned: Learned
    replaces: tuple[Compared, ...]
    decision: Decision | None
    knowledge_base: KnowledgeBase

    @property
    def state(self) -> State:
        """What became of it."""
        return self.decision.state if self.decision is not None else State.WAITING

    @property
    def evidence(self) -> tuple[str, ...]:
        """The URLs of the pages that it was learned from."""
        return self.learned.pages

    def lines(self) -> Iterator[str]:
        """Yield lines for people: what it is, its state, what it replaces, and its evidence."""
        first, *rest = described(self.learned)
        yield f"{first} ({self.state})"
        if self.decision is not None:
            yield f"  {self.decision.words}"
        yield from rest
        for row in self.replaces:
            yield f"  {row.part}"
            yield f"    - {' | '.join(row.before) or 'nothing'}"
            yield f"    + {' | '.join(row.after) or 'nothing'}"
        yield from (f"  learned from {url}" for url in self.evidence)


def repairs_of(crawl: Path, folders: Sequence[Path]) -> tuple[Repair, ...]:
    """Return what the crawl in a folder learned about applications of a knowledge base, those that wait first.

    Raises `LoadError`. What cannot be read is left out; `repairs_in` tells it.
    """
    return repairs_in(crawl, load(*filled(folders)))[0]


def repairs_in(crawl: Path, knowledge_base: KnowledgeBase) -> tuple[tuple[Repair, ...], tuple[str, ...]]:
    """Return the same for a knowledge base that is loaded already, and what cannot be read, a line each."""
    learnt, problems = Overlay(crawl / LEARNED).learned(knowledge_base)
    decisions = Decisions(crawl / LEARNED).latest()
    found = [
        Repair(crawl, key, learned, compared(learned, knowledge_base), decisions.get(key), knowledge_base)
        for learned in learnt
        for key in (key_of(learned),)
    ]
    found.sort(key=lambda repair: tuple(State).index(repair.state))
    return tuple(found), tuple(map(str, problems))


def repair_of(repairs: Sequence[Repair], name: str, application: str = "", site: str = "") -> Repair:
    """Return the only repair of a name or key. Raises `RepairError` if there is none or several."""
    found = [
        repair
        for repair in repairs
        if name in (repair.key, repair.learned.name)
        and application in ("", repair.learned.application)
        and site in ("", repair.learned.site)
    ]
    if len(found) == 1:
        return found[0]
    if not found:
        known = ", ".join(sorted({repair.learned.name for repair in repairs})) or "nothing at all"
        raise RepairError(f"nothing was learned under the name {name}; there is {known}")
    several = "; ".join(
        f"--application {repair.learned.application!r} --site {repair.learned.site}" for repair in found
    )
    raise RepairError(f"several are called {name}; add one of: {several}")


def pages_of(repair: Repair) -> tuple[Page, ...]:
    """Return those pages of its evidence that are in the crawl's archive and can be read."""
    return tuple(page for url in repair.evidence if (page := _page(repair.crawl, url)) is not None)


def _page(crawl: Path, url: str) -> Page | None:
    try:
        return kept_page(crawl, url)
    except SourceError:
        return None
