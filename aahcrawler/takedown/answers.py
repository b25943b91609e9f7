"""What ``aah remove`` does for each of its options, and the lines it prints."""

from collections.abc import Iterator
from itertools import chain
from pathlib import Path

from aahcrawler.archive.folders import is_referred
from aahcrawler.layout import ANNOTATIONS, ARCHIVE, NQUADS
from aahcrawler.segments import segments
from aahcrawler.takedown.removal import Selected, WantedRemoval, lift, plan, remove
from aahcrawler.tallies import plural
from aahcrawler.tombstones import read_tombstones

SHOWN = 50
"""The most URLs that are listed."""


def listed(crawl: Path) -> Iterator[str]:
    """Yield a line for each takedown of a crawl, the oldest first."""
    for stone in read_tombstones(crawl):
        what = ", ".join((*stone.objects, *stone.prefixes, *stone.urls))
        since = f"; lifted {stone.lifted.at} by {stone.lifted.by}: {stone.lifted.reason}" if stone.lifted else ""
        yield f"{stone.id}\t{stone.at}\t{stone.by}\t{plural(stone.captures, 'capture')}\t{stone.reason}{since}\t{what}"
        yield from (f"{stone.id}\tmay have been left\t{place}" for place in stone.left)


def lifted(crawl: Path, named: str, by: str, reason: str) -> Iterator[str]:
    """Lift takedowns, and yield a line for each."""
    for stone in lift(crawl, named, by, reason):
        yield f"{crawl}: {stone.id} is lifted; what it names may be fetched again by the next crawl"


def planned(crawl: Path, wanted: WantedRemoval) -> tuple[Iterator[str], bool]:
    """Return lines that say what would be removed, and whether that is everything that was asked for."""
    selected, _ = plan(crawl, wanted)
    summary = f"{crawl}: {_counted(selected)} would be removed; nothing was changed"
    return chain(_told(selected), (summary,)), not selected.left


def removed(crawl: Path, wanted: WantedRemoval, by: str, reason: str) -> tuple[Iterator[str], bool]:
    """Remove pages; return lines that say what was done, and whether that is everything that was asked for."""
    stone, selected = remove(crawl, wanted, by, reason)
    summary = (
        f"{crawl}: {_counted(selected)} removed, and not fetched again ({stone.id})",
        *_hidden(crawl, selected),
        *_unsaid(crawl),
        "Stores elsewhere that were loaded from this crawl, selections and other copies still hold them.",
    )
    return chain(_told(selected), summary), not selected.left


def _hidden(crawl: Path, selected: Selected) -> Iterator[str]:
    """Yield lines about captures that are hidden, but not removed, because their files belong to others."""
    referred = [name for name in selected.files if is_referred(crawl / ARCHIVE / name)]
    if referred:
        yield (
            f"{plural(len(referred), 'file of others', 'files of others')} that {crawl} refers to still "
            f"{'holds' if len(referred) == 1 else 'hold'} captures of these URLs: "
            "they were not changed, and what they hold of them is not shown any more"
        )


def _unsaid(crawl: Path) -> Iterator[str]:
    """Yield a line on what was said of many pages together, and is gone with some of them."""
    if any(segments(crawl / ANNOTATIONS, NQUADS)):
        yield (
            "Topics, events and who is meant by a name went where they rested on these pages, so that names may be "
            f"counted and told apart wrongly: aah enrich {crawl} tells anew what is left"
        )


def _counted(selected: Selected) -> str:
    damaged = f" and {plural(len(selected.places), 'damaged place')}" if selected.places else ""
    return f"{plural(len(selected.captures), 'capture')}{damaged}"


def _told(selected: Selected) -> Iterator[str]:
    yield from selected.urls[:SHOWN]
    if len(selected.urls) > SHOWN:
        yield f"and {len(selected.urls) - SHOWN:,} more URLs"
    if selected.promoted:
        yield f"{plural(len(selected.promoted), 'capture')} of other URLs showed the same; they get what they show"
    for url in selected.requisites:
        yield f"stays, though no other page is shown with it (--requisites): {url}"
    for url in selected.unshown:
        yield f"cannot be shown any more, as what it showed was damaged under another URL: {url}"
    for place in selected.left:
        yield f"stays, as it is damaged and nobody can say of which page it is (--damaged removes it): {place}"
