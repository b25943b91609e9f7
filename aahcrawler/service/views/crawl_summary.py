"""Reads what a crawl said of itself last: ``crawl.json``."""

from collections.abc import Mapping
from functools import lru_cache
from pathlib import Path

from pydantic import BaseModel, ConfigDict, ValidationError

from aahcrawler.layout import SUMMARY
from aahcrawler.report.seed_section import Seed
from aahcrawler.tallies import said

_KEPT = 64


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
        return said({"state": self.state, **(self.model_extra or {})})


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
