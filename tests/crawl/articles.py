"""A site of articles that link on to one another, as many as a test wants."""

import json
import sys
from dataclasses import replace

from tests.crawl.gate import Gate
from tests.crawl.site import Reply, Site, links


def article(number: int, *targets: str) -> Reply:
    """Return a page that holds one article about the flood, and links."""
    words = f"The storm surge of year {number} broke the dike, and the harbour stood under the flood for {number} days."
    said = {
        "@context": "https://schema.org",
        "@type": "Article",
        "headline": f"Flood {number}",
        "articleBody": words,
        "author": {"@type": "Person", "name": f"Writer {number}"},
        "datePublished": f"2019-11-{number % 28 + 1:02d}T08:00:00Z",
    }
    script = f'<script type="application/ld+json">{json.dumps(said)}</script>'
    return english(f"Flood {number}", f"{script}<h1>Flood {number}</h1><p>{words}</p>{links(*targets)}")


def english(title: str, body: str) -> Reply:
    """Return a page that says which language it is in: each language costs a crawler half a second of preparation."""
    head = f"<!doctype html><html lang=en><head><title>{title}</title></head>"
    return Reply(f"{head}<body>{body}</body></html>".encode())


def path(number: int) -> str:
    """Return where an article is."""
    return f"/flood/{number}.html"


def article_site(number: int, pause: float = 0.0, gate: Gate | None = None) -> Site:
    """Return a site of a front page and ``number`` articles, each linking on to two new ones and back to old ones.

    Every answer takes ``pause`` seconds, after it has passed the gate.
    """
    site, gate = Site(), gate or Gate(free=sys.maxsize)
    replies = {"/": english("Floods", links(path(1), path(2)))}
    for here in range(1, number + 1):
        near = [target for target in (2 * here + 1, 2 * here + 2, here // 2, here - 1) if 1 <= target <= number]
        replies[path(here)] = article(here, "/", *map(path, near))
    for at, reply in replies.items():
        site.pages[at] = gate.holding(replace(reply, pause=pause))
    return site
