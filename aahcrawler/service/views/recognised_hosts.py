"""Shows the hosts of a crawl with the software that their pages were recognised as."""

from collections import defaultdict
from typing import Final

from pydantic import BaseModel, ConfigDict

from aahcrawler.service.views.page_indexes import Asked, Progress

MOST: Final = 500
"""Hosts that are shown, those with most pages."""
_ROWS: Final = 5_000
_COUNTED: Final = """
SELECT substr(url, instr(url, '://') + 3, instr(substr(url, instr(url, '://') + 3), '/') - 1) AS host,
  coalesce(application, '') AS application, count(DISTINCT url) AS n
FROM capture INDEXED BY capture_at WHERE status = 200 AND NOT is_requisite GROUP BY host, application
ORDER BY n DESC, host, application LIMIT ?
"""


class HostShown(BaseModel):
    """A host, without ``www.``: its pages, those of them that nothing was recognised of, and the others by software."""

    model_config = ConfigDict(frozen=True)

    host: str
    pages: int
    unknown: int
    applications: dict[str, int]


class HostsShown(BaseModel):
    """The hosts of a folder, most pages of unknown software first. ``more`` says that there are others."""

    model_config = ConfigDict(frozen=True)

    hosts: tuple[HostShown, ...]
    more: bool
    progress: Progress


def recognised_hosts(asked: Asked) -> HostsShown:
    """Return the hosts that pages were captured of; their captures are counted anew each time."""
    rows = asked.base.execute(_COUNTED, (_ROWS,)).fetchall()
    counted: defaultdict[str, dict[str, int]] = defaultdict(dict)
    for host, application, number in rows:
        known = counted[str(host).removeprefix("www.")]
        known[application] = known.get(application, 0) + int(number)
    hosts = sorted(
        (_shown(host, known) for host, known in counted.items()),
        key=lambda each: (-each.unknown, -each.pages, each.host),
    )
    return HostsShown(hosts=tuple(hosts[:MOST]), more=len(hosts) > MOST or len(rows) == _ROWS, progress=asked.progress)


def _shown(host: str, known: dict[str, int]) -> HostShown:
    named = {name: number for name, number in known.items() if name}
    return HostShown(host=host, pages=sum(known.values()), unknown=known.get("", 0), applications=named)
