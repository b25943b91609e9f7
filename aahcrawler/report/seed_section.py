"""What became of each seed, for the report and for a terminal."""

from collections.abc import Iterator, Sequence
from html import escape

from pydantic import BaseModel

MOST_ROWS = 1_000
"""Seeds that the report lists, those that gave nothing first."""
_FETCHED = "fetched"


class Seed(BaseModel):
    """A seed as ``crawl.json`` has it."""

    url: str
    verdict: str
    advice: str = ""
    detail: str = ""
    ended_at: str = ""
    pages: int = 0
    objects: int = 0


def seed_table(seeds: Sequence[Seed]) -> str:
    """Return a table of seeds as HTML; the pages and web objects are those of the seed's whole site."""
    ordered = sorted(seeds, key=lambda seed: seed.verdict == _FETCHED)
    rows = "".join(map(_row, ordered[:MOST_ROWS]))
    others = f"<p>{len(seeds) - MOST_ROWS:,} others are in crawl.json.</p>" if len(seeds) > MOST_ROWS else ""
    return (
        '<div class="wide"><table class="rows"><thead><tr><th>Seed</th><th>What became of it</th><th>Pages of its site'
        f"</th><th>Web objects</th></tr></thead><tbody>{rows}</tbody></table></div>{others}"
    )


def seed_lines(seeds: Sequence[Seed]) -> Iterator[str]:
    """Yield a head and a line for each seed, with tabs between columns."""
    yield "seed\tverdict\tpages\tobjects\tended at\twhat to do"
    for seed in seeds:
        verdict = f"{seed.verdict} ({seed.detail})" if seed.detail else seed.verdict
        cells = (seed.url, verdict, str(seed.pages), str(seed.objects), seed.ended_at or "-", seed.advice or "-")
        yield "\t".join(cells)


def _row(seed: Seed) -> str:
    where = f"<br><small>at {escape(seed.ended_at)}</small>" if seed.ended_at else ""
    detail = f" ({escape(seed.detail)})" if seed.detail else ""
    advice = f"<br><small>{escape(seed.advice)}</small>" if seed.advice else ""
    mark = "" if seed.verdict == _FETCHED else ' class="bad"'
    return (
        f"<tr{mark}><td>{escape(seed.url)}{where}</td><td>{escape(seed.verdict)}{detail}{advice}</td>"
        f"<td>{seed.pages:,}</td><td>{seed.objects:,}</td></tr>"
    )
