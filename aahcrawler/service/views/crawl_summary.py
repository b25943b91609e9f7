"""Reads what a crawl said of itself last: ``crawl.json``."""

from collections.abc import Mapping
from functools import lru_cache
from pathlib import Path

from pydantic import BaseModel, ConfigDict, ValidationError

from aahcrawler.layout import SUMMARY
from aahcrawler.report.seed_section import Seed

_KEPT = 64
_GROUPS = ("refused", "blocked", "error", "failed", "failure", "mended", "spared", "learned", "trap", "avoided")
_MORE_GROUPS = (
    *("application", "level", "object", "status", "type", "no_object", "listing", "unverified", "stream"),
    *("coding", "malformed"),
)
_NUMBERS = ("pages", "relevant", "objects", "bytes", "requests", "requisites", "requisite_bytes", "seconds", "retries")


class Summary(BaseModel):
    """The parts of ``crawl.json`` that are shown; what is missing there is empty."""

    model_config = ConfigDict(frozen=True, extra="allow")

    id: str = ""
    crawl: int = 0
    state: str = ""
    reason: str = ""
    begun_at: str = ""
    started_at: str = ""
    updated_at: str = ""
    seeds: tuple[Seed, ...] = ()
    frontier: Mapping[str, int] = {}

    def tallies(self) -> Mapping[str, float]:
        """Return its counts by the names that they have with the frontier: ``pages``, ``refused:login``."""
        said = self.model_extra or {}
        numbers = {name: float(said[name]) for name in _NUMBERS if isinstance(said.get(name), int | float)}
        for group in (*_GROUPS, *_MORE_GROUPS):
            counts = said.get(group)
            if isinstance(counts, dict):
                numbers |= {f"{group}:{word}": float(n) for word, n in counts.items() if isinstance(n, int | float)}
        return numbers


def read_summary(folder: Path | None) -> Summary | None:
    """Return what the crawl of a folder said last; None where it said nothing yet, or nothing that can be read."""
    if folder is None:
        return None
    try:
        stat = (folder / SUMMARY).stat()
    except OSError:
        return None
    return _read(folder / SUMMARY, stat.st_mtime_ns, stat.st_size)


@lru_cache(_KEPT)
def _read(path: Path, _changed: int, _size: int) -> Summary | None:
    try:
        return Summary.model_validate_json(path.read_bytes())
    except (OSError, ValidationError):
        return None
