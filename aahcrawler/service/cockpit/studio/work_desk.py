"""What is found out about works while they lie on the desk: checks as they change, and how often parts match."""

import time
from collections import Counter, OrderedDict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from threading import Lock
from typing import Final

from aahcrawler.editor.rules.page_sample import PageSample, SampledPage
from aahcrawler.editor.rules.part_matches import matches
from aahcrawler.editor.works.work_progress import Progress
from aahcrawler.service.cockpit.studio.open_works import OpenWork, OpenWorks

MOST_CHECKED: Final = 20
"""Works of which the newest check is kept."""
MOST_COUNTED: Final = 24
"""Pages on which parts are counted."""
_SECONDS: Final = 12.0
"""Seconds after which no further page is counted on."""
_KEPT: Final = 30


@dataclass(frozen=True, slots=True)
class Counted:
    """On how many pages each part matches, by place; ``of`` pages of the host were looked at."""

    host: str
    of: int
    pages: Mapping[str, int]
    levels: Mapping[str, int]


class WorkDesk:
    """Checks works while they change. It may be used by several threads at once."""

    def __init__(self, works: OpenWorks) -> None:
        self._works, self._lock, self._counting = works, Lock(), Lock()
        self._checks: OrderedDict[str, Progress] = OrderedDict()
        self._counted: OrderedDict[tuple[str, str], Counted] = OrderedDict()

    def checked(self, name: str) -> Progress:
        """Return the check of a work, which is begun anew where the work has changed. Raise ``WorkError``."""
        with self._lock:
            found = self._checks.get(name)
            if found is None:
                found = self._checks[name] = Progress(self._works.works, name)
            self._checks.move_to_end(name)
            old = [self._checks.popitem(last=False)[1] for _ in range(len(self._checks) - MOST_CHECKED)]
        for each in old:
            each.close()
        found.ask()
        return found

    def forget(self, name: str) -> None:
        """Let go of a work that was discarded."""
        with self._lock:
            found = self._checks.pop(name, None)
        if found is not None:
            found.close()

    def close(self) -> None:
        """End all checks that are under way, and let go of what was found."""
        with self._lock:
            checks = list(self._checks.values())
            self._checks.clear()
            self._counted.clear()
        for each in checks:
            each.close()

    def counted(self, work: OpenWork, sample: PageSample) -> Counted | None:
        """Return on how many pages of a sample each part matches; None where the entry cannot be used as it is."""
        if work.application is None:
            return None
        key = work.loaded_with, sample.host
        with self._lock:
            found = self._counted.get(key)
        if found is not None:
            return found
        with self._counting:  # One at a time: it may take long, and whoever asks for the same waits for it.
            with self._lock:
                found = self._counted.get(key)
            if found is None:
                found = _counted(work, sample)
                with self._lock:
                    self._counted[key] = found
                    if len(self._counted) > _KEPT:
                        self._counted.popitem(last=False)
        return found


def _counted(work: OpenWork, sample: PageSample) -> Counted:
    assert work.application is not None  # noqa: S101 (its callers have seen to that)
    pages, levels, number = Counter[str](), Counter[str](), 0
    end = time.monotonic() + _SECONDS
    for page in _spread(sample):
        found = matches(work.application, work.state.text, page.page)
        number += 1
        pages.update({part.place for part in found.parts if part.counts and (part.found or part.holds)})
        pages.update({link.place for link in found.links if link.place})
        levels[found.level] += 1
        if time.monotonic() > end:
            break
    return Counted(sample.host, number, pages, levels)


def _spread(sample: PageSample) -> Iterator[SampledPage]:
    """Yield some pages of each group, one of each at a time."""
    rounds = max((len(group.drawn) for group in sample.groups), default=0)
    order = (group.drawn[n] for n in range(rounds) for group in sample.groups if n < len(group.drawn))
    for number, captured in enumerate(order):
        if number >= MOST_COUNTED:
            return
        page = sample.sampled(captured)
        if page is not None:
            yield page
