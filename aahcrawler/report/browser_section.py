"""Which pages a browser looked at, what that cost beside fetching them, and what it was not given."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from html import escape
from typing import Final

from aahcrawler.report import reason_words
from aahcrawler.report.chart import bars

_COSTS: Final = ("pages", "requests", "bytes", "seconds")
_ENDINGS: Final = {
    "gained": "showed more than was sent",
    "gained nothing": "showed nothing more",
    "showed less": "showed less, and were kept as they came",
    "failed": "could not be shown, and were kept as they came",
    "in vain before": "left out, since pages like them showed nothing more",
    "limit": "left out for the limits",
    "unavailable": "kept as they came for want of a browser",
}


@dataclass(frozen=True, slots=True)
class Looks:
    """The counts of a crawl that concern the browser, as ``crawl.json`` has them.

    ``versions`` are those of the browser, and ``isolations`` what kept it off the network, by looks. ``data`` counts
    pages made of their data, as looks at others like them had shown.
    """

    http: Mapping[str, int]
    browser: Mapping[str, int]
    missing: Mapping[str, int]
    versions: Mapping[str, int]
    isolations: Mapping[str, int]
    refused: Mapping[str, int]
    data: Mapping[str, int] = field(default_factory=dict)


def shown(looks: Looks) -> str:
    """Return it as HTML: a table of costs, how looks ended, and what pages asked for and were not given."""
    http = {"requests": looks.http.get("pages", 0), **looks.http}
    ways = (("fetched", http), ("in a browser", looks.browser), ("made of their data", looks.data))
    rows = "".join(_row(name, counts) for name, counts in ways if counts)
    costs = (
        '<div class="wide"><table class="rows"><thead><tr><th>HTML pages</th><th>Pages</th><th>Requests</th>'
        f"<th>MB received</th><th>Seconds</th></tr></thead><tbody>{rows}</tbody></table></div>"
    )
    missing = "".join(f"<p>{number:,} pages had none: {escape(why)}</p>" for why, number in looks.missing.items())
    endings = {words: looks.browser[name] for name, words in _ENDINGS.items() if looks.browser.get(name)}
    refused = bars(reason_words.in_words(looks.refused), "They were given all that they asked for.")
    by = f"<p>Shown by {escape(', '.join(looks.versions))}.</p>" if looks.versions else ""
    kept = f"<p>Kept off the network by {escape(', '.join(looks.isolations))}.</p>" if looks.isolations else ""
    return (
        f"{missing}{by}{kept}{costs}{bars(endings, 'None was looked at.')}<h3>Requests without an answer</h3>{refused}"
    )


def _row(name: str, counts: Mapping[str, int]) -> str:
    pages, requests, size, seconds = (counts.get(cost, 0) for cost in _COSTS)
    return (
        f"<tr><td>{name}</td><td>{pages:,}</td><td>{requests:,}</td><td>{size / 1e6:,.1f}</td><td>{seconds:,}</td></tr>"
    )
