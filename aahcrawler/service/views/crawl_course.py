"""Shows the course of a crawl for plots: harvest, relevance and speed, over pages and over time."""

from datetime import UTC, datetime, timedelta
from typing import Final

from aahcrawler.page_index import Course
from aahcrawler.service.views.page_indexes import Asked, Progress
from aahcrawler.service.web.problems import Shown

_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)


class CoursePoint(Shown):
    """The crawl at one time: pages so far, relevant ones so far, and the sum of their scores.

    ``seconds`` counts from its first page. ``harvest`` is the share of relevant ones of all so far, ``recent`` of those
    since the point before; ``speed`` is the number of pages a second since then, None where no time passed.
    """

    at: str
    seconds: float
    pages: int
    relevant: int
    relevance: float
    harvest: float
    recent: float
    speed: float | None


class CrawlCourse(Shown):
    """The course of one crawl of a folder, in at most 400 points."""

    crawl: int
    points: tuple[CoursePoint, ...]
    progress: Progress


class LevelCount(Shown):
    """The pages of an application's level: how many, how many of them are relevant, and the objects found on them.

    ``application``, ``level`` and ``role`` are None where nothing was recognised.
    """

    application: str | None
    level: str | None
    role: str | None
    pages: int
    relevant: int
    objects: int


class PageCounts(Shown):
    """The captures of a crawl by application and level, status and trap, the most frequent first.

    With the number 0 they are those of all crawls of the folder.
    """

    crawl: int
    captures: int
    pages: int
    relevant: int
    requisites: int
    levels: tuple[LevelCount, ...]
    statuses: dict[str, int]
    traps: dict[str, int]
    progress: Progress


def crawl_course(asked: Asked, crawl: int) -> CrawlCourse:
    """Return the course of a crawl by its number; no points where nothing is known of one."""
    course = Course.of(asked.base, crawl)
    points: list[CoursePoint] = []
    pages, relevant, relevance = 0, 0, 0.0
    begin = before = course.begun_at or 0
    for point in course.points:
        if not point.pages:
            continue
        pages, relevant, relevance = pages + point.pages, relevant + point.relevant, relevance + point.relevance
        passed, before = (point.last_at - before) / 1e6, point.last_at
        points.append(
            CoursePoint(
                at=(_EPOCH + timedelta(microseconds=point.last_at)).isoformat(timespec="seconds"),
                seconds=round((point.last_at - begin) / 1e6, 3),
                pages=pages,
                relevant=relevant,
                relevance=round(relevance, 4),
                harvest=round(relevant / pages, 4),
                recent=round(point.relevant / point.pages, 4),
                speed=round(point.pages / passed, 3) if passed > 0 else None,
            )
        )
    return CrawlCourse(crawl=crawl, points=tuple(points), progress=asked.progress)


def page_counts(asked: Asked, crawl: int = 0) -> PageCounts:
    """Return the counts of a crawl by its number, or those of all with 0."""
    found: dict[str, dict[str, int]] = {}
    rows = asked.base.execute(
        "SELECT topic, name, sum(n) FROM tally WHERE crawl != 0 AND topic != 'site' AND (? = 0 OR crawl = ?)"
        " GROUP BY topic, name HAVING sum(n) ORDER BY sum(n) DESC, name",
        (crawl, crawl),
    )
    for topic, name, n in rows:
        found.setdefault(topic, {})[name] = n
    single = {topic: found.get(topic, {}).get("", 0) for topic in ("captures", "pages", "relevant", "requisites")}
    return PageCounts(
        crawl=crawl,
        **single,
        levels=tuple(_level(found, name, n) for name, n in found.get("level", {}).items()),
        statuses=found.get("status", {}),
        traps=found.get("trap", {}),
        progress=asked.progress,
    )


def _level(found: dict[str, dict[str, int]], name: str, pages: int) -> LevelCount:
    application, level, role = (part or None for part in name.split("\t", 2))
    return LevelCount(
        application=application,
        level=level,
        role=role,
        pages=pages,
        relevant=found.get("level relevant", {}).get(name, 0),
        objects=found.get("level objects", {}).get(name, 0),
    )
