"""Writes the measures of crawls: text for people, JSON for programs, and a chart."""

from collections.abc import Iterator, Mapping, Sequence
from html import escape

from offline.evaluation.measurement import Measured

_WIDTH, _HEIGHT, _LEFT, _TOP, _BOTTOM = 720, 400, 64, 56, 48
_COLOURS = ("#1b5e9c", "#c2570c")
_HEADINGS = ("ground truth", "relevant", "matching", "average", "maximum", "deviation")

Json = dict[str, "Json | list[Json] | list[list[int]] | str | int | float"]


def as_json(crawls: Sequence[Measured], threshold: float, failed_stages: Mapping[str, int]) -> Json:
    """Return everything measured; shares are of 1, the course is of pages and relevant pages.

    ``failed_stages`` counts the pages of all crawls that were read without a stage which failed.
    """
    told: Json = {"relevant_at": threshold, "crawls": [_crawl(measured) for measured in crawls]}
    return {**told, "failed_stages": dict(failed_stages)}


def _crawl(measured: Measured) -> Json:
    count = measured.documents
    return {
        "crawl": measured.crawl,
        "documents": count,
        "keywords": {word: _share(number, count) for word, number in measured.keywords.items()},
        "similarity": {
            name: {
                "relevant": found.relevant,
                "relevant_share": _share(found.relevant, count),
                "matching": found.matching,
                "matching_share": _share(found.matching, count),
                "average": found.average,
                "maximum": found.maximum,
                "deviation": found.deviation,
            }
            for name, found in measured.similarities.items()
        },
        "course": [list(point) for point in measured.course.whole()],
    }


def as_text(crawls: Sequence[Measured], threshold: float) -> Iterator[str]:
    """Yield the lines of a report: keywords of all crawls side by side, then the similarities of each."""
    yield "Share of documents with a keyword"
    rows = [
        (word, *(f"{_share(each.keywords[word], each.documents):.2%}" for each in crawls))
        for word in crawls[0].keywords
    ]
    yield from _table(("keyword", *(each.crawl for each in crawls)), rows)
    for each in crawls:
        yield ""
        yield f"{each.crawl}: {each.documents:,} documents; relevant from {threshold:g} on"
        yield from _table(
            _HEADINGS,
            [
                (
                    name,
                    f"{_share(found.relevant, each.documents):.2%}",
                    f"{_share(found.matching, each.documents):.2%}",
                    f"{found.average:.4f}",
                    f"{found.maximum:.4f}",
                    f"{found.deviation:.4f}",
                )
                for name, found in each.similarities.items()
            ],
        )


def chart(crawls: Sequence[Measured]) -> str:
    """Return an SVG file: relevant pages (up) by pages fetched (to the right), a line for each crawl."""
    courses = [each.course.whole() for each in crawls]
    most = max(1, *(course[-1][0] for course in courses))
    top = max(1, *(course[-1][1] for course in courses))
    bottom, right = _HEIGHT - _BOTTOM, _WIDTH - 16
    drawn = "".join(
        f'<polyline fill="none" stroke-width="2" stroke="{colour}" points="{_points(course, most, top)}"/>'
        f'<text x="{_LEFT + 8}" y="{_TOP + 4 + 16 * row}" fill="{colour}">{escape(each.crawl)}: '
        f"{course[-1][1]:,} of {course[-1][0]:,}</text>"
        for row, (each, course, colour) in enumerate(zip(crawls, courses, _COLOURS, strict=False))
    )
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {_WIDTH} {_HEIGHT}" role="img" '
        'font-family="sans-serif" font-size="13">'
        f'<title>Relevance over time</title><rect width="{_WIDTH}" height="{_HEIGHT}" fill="#fff"/>'
        f'<text x="{_LEFT}" y="24" font-size="16">Relevant pages by pages fetched</text>'
        f'<path d="M{_LEFT} {_TOP - 12}V{bottom}H{right}" fill="none" stroke="#555"/>'
        f'<text x="{_LEFT - 6}" y="{_TOP + 4}" text-anchor="end">{top:,}</text>'
        f'<text x="{_LEFT - 6}" y="{bottom}" text-anchor="end">0</text>'
        f'<text x="{right}" y="{bottom + 20}" text-anchor="end">{most:,} pages</text>{drawn}</svg>\n'
    )


def _points(course: Sequence[tuple[int, int]], most: int, top: int) -> str:
    across, up = (_WIDTH - 16 - _LEFT) / most, (_HEIGHT - _BOTTOM - _TOP) / top
    return " ".join(f"{_LEFT + x * across:.1f},{_HEIGHT - _BOTTOM - y * up:.1f}" for x, y in course)


def _table(headings: Sequence[str], rows: Sequence[Sequence[str]]) -> Iterator[str]:
    """Yield the lines of a table whose first column is text and whose others are numbers."""
    widths = [max(len(row[column]) for row in (headings, *rows)) for column in range(len(headings))]
    for row in (headings, *rows):
        cells = (text.rjust(width) for text, width in zip(row[1:], widths[1:], strict=True))
        yield "  ".join((f"  {row[0].ljust(widths[0])}", *cells)).rstrip()


def _share(part: int, whole: int) -> float:
    return part / whole if whole else 0.0
