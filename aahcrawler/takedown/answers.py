"""What ``aah remove`` does and says, line by line."""

from collections.abc import Iterator
from pathlib import Path

from aahcrawler.takedown.removal import Wanted, lift, plan, remove
from aahcrawler.takedown.selection import Selected
from aahcrawler.tombstones import read_tombstones

SHOWN = 50
"""URLs that are listed, the first ones."""


def listed(crawl: Path) -> Iterator[str]:
    """Yield a line for each takedown of a crawl, oldest first."""
    for stone in read_tombstones(crawl):
        what = ", ".join((*stone.objects, *stone.prefixes, *stone.urls))
        since = f"; lifted {stone.lifted.at} by {stone.lifted.by}: {stone.lifted.reason}" if stone.lifted else ""
        yield f"{stone.id}\t{stone.at}\t{stone.by}\t{stone.captures:,} captures\t{stone.reason}{since}\t{what}"


def lifted(crawl: Path, named: str, by: str, reason: str) -> Iterator[str]:
    """Lift takedowns, and yield what was done."""
    for stone in lift(crawl, named, by, reason):
        yield f"{crawl}: {stone.id} is lifted; what it names may be fetched again by the next crawl"


def planned(crawl: Path, wanted: Wanted) -> Iterator[str]:
    """Yield what would be removed."""
    selected, _ = plan(crawl, wanted)
    yield from _told(selected)
    yield f"{crawl}: {len(selected.captures):,} captures would be removed; nothing was changed"


def removed(crawl: Path, wanted: Wanted, by: str, reason: str) -> Iterator[str]:
    """Remove, and yield what was done."""
    stone, selected = remove(crawl, wanted, by, reason)
    yield from _told(selected)
    yield f"{crawl}: {len(selected.captures):,} captures were removed, and are not fetched again ({stone.id})"
    yield "Stores that were loaded from this crawl, selections and other copies still hold them."


def _told(selected: Selected) -> Iterator[str]:
    yield from selected.urls[:SHOWN]
    if len(selected.urls) > SHOWN:
        yield f"and {len(selected.urls) - SHOWN:,} more URLs"
    if selected.promoted:
        yield f"{len(selected.promoted):,} captures of other URLs showed the same; they get what they show"
    for url in selected.requisites:
        yield f"stays, though no other page is shown with it (--requisites): {url}"
