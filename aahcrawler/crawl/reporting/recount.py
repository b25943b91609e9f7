"""Puts the count of web objects right when a crawl ends: each counts once, on however many of its pages it was found.

While a crawl runs, each page adds the objects that it shows, since no worker knows what others have found before.
"""

import logging
from collections.abc import Mapping
from pathlib import Path

from aahcrawler.crawl.stats.collector import Stats
from aahcrawler.objects.counts import object_counts
from aahcrawler.objects.reader import ReadError

logger = logging.getLogger(__name__)


def recounted(folder: Path, number: int, stats: Stats) -> Mapping[str, float]:
    """Return what is to be added to the counts of a crawl, so that they are those of ``aah objects --crawl``.

    ``objects_counted`` becomes the number of answers of which the objects are counted. Nothing is added where its
    objects cannot be read, which is logged.
    """
    try:
        found = object_counts(folder, number if number > 1 else None).types
    except ReadError as error:
        logger.warning("web objects that are on several pages are counted for each of them: %s", error)
        return {}
    now = {"objects": float(sum(found.values())), "objects_counted": stats["answers"]}
    now |= {f"object:{kind}": float(many) for kind, many in found.items()}
    known = {name: stats[name] for name in ("objects", "objects_counted")}
    known |= {f"object:{kind}": many for kind, many in stats.group("object").items()}
    return {name: now.get(name, 0.0) - known.get(name, 0.0) for name in known | now if now.get(name) != known.get(name)}
