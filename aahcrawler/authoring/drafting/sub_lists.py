"""Opens the shapes of lists within lists: what is the name of one list is no fixed word in the URLs of those in it."""

from collections.abc import Iterable, Sequence
from dataclasses import replace

from aahcrawler.authoring.drafting.level_plans import LevelPlan
from knowledge_base.url_rules import ParsedUrl


def with_open_names(levels: Sequence[LevelPlan]) -> list[LevelPlan]:
    """Return levels in whose shapes the names of other lists are left open; those that become alike are one."""
    found: dict[object, LevelPlan] = {}
    for level in levels:
        opened = level
        for other in levels:
            if other is not level and not level.terminal and not level.start:
                opened = _opened(opened, other)
        known = found.get(opened.shape)
        found[opened.shape] = _joined(known, opened) if known is not None else opened
    return list(found.values())


def _opened(level: LevelPlan, other: LevelPlan) -> LevelPlan:
    """Leave open in the shape of a level what is open in that of another, if a list of that is called so."""
    parts, outer = (each.shape.path.split("/") for each in (level, other))
    places = [place for place, part in enumerate(outer) if part == "*"]
    if len(parts) <= len(outer) or level.shape.parameters or not places or not _has_word(outer[: places[0]]):
        return level
    fixed = [place for place in places if parts[place] not in ("*", "**", "#")]
    if not fixed or any(a != b for place, (a, b) in enumerate(zip(parts, outer, strict=False)) if place not in places):
        return level
    called = {segment for url in (*other.urls, *_own(other)) for segment in ParsedUrl.parse(url).segments}
    if not all(parts[place] in called for place in fixed):
        return level
    path = "/".join("*" if place in fixed else part for place, part in enumerate(parts))
    return replace(level, shape=replace(level.shape, path=path))


def _own(level: LevelPlan) -> Iterable[str]:
    return (page.url for page in level.pages)


def _has_word(parts: Sequence[str]) -> bool:
    return any(part.strip("*#") for part in parts)


def _joined(known: LevelPlan, other: LevelPlan) -> LevelPlan:
    return replace(
        known,
        pages=(*known.pages, *other.pages),
        urls=tuple(dict.fromkeys((*known.urls, *other.urls))),
        links=known.links or other.links,
        paging=tuple(dict.fromkeys((*known.paging, *other.paging)))[:2],
    )
