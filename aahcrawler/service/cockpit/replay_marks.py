"""What the replay marks on pages shown in the cockpit: web objects, and links by their scores."""

from collections.abc import Collection
from pathlib import Path

from aahcrawler.objects.capture_statements import ObjectRow, read_statements
from aahcrawler.replay.object_finding import ShownObject
from aahcrawler.replay.recorded_responses import RecordedResponse
from aahcrawler.replay.replayed_captures import Annotations
from aahcrawler.segments import DamageError
from aahcrawler.service.catalog.crawl_registry import CrawlRegistry
from aahcrawler.service.instruments import Instruments
from aahcrawler.service.views.capture_view import capture_row, capture_text, judgement_of
from aahcrawler.service.views.page_indexes import Asked
from aahcrawler.service.web.problems import ProblemError


class RegistryFolders:
    """The folders of a service's crawls, in the form that the replay needs."""

    def __init__(self, reach: CrawlRegistry) -> None:
        self._reach = reach

    def folder_of(self, name: str) -> Path | None:
        """Return the folder of the crawl with an id, None where there is none here."""
        found = self._reach.catalog.crawl(name)
        return None if found is None else found.folder

    def names(self) -> Collection[str]:
        """Return the ids of all crawls with a folder here."""
        return [crawl.id for crawl in self._reach.crawls() if crawl.folder is not None]


class ReplayMarks:
    """Finds what to mark on a capture. Thread-safe."""

    def __init__(self, instruments: Instruments) -> None:
        self._instruments = instruments

    def __call__(self, crawl: str, response: RecordedResponse) -> Annotations | None:
        """Return what to mark on a capture; None if nothing is known of it."""
        try:
            with self._instruments.indexes.asked(self._instruments.reach.crawl(crawl)) as index:
                return _marks(index, response.record_id)
        except (ProblemError, DamageError, OSError):
            return None


def _marks(index: Asked, record: str) -> Annotations:
    row = capture_row(index, record)
    holder = capture_row(index, row["unchanged"]) if row["unchanged"] else row
    text = capture_text(index, holder)
    objects = read_statements(text).objects if text else ()
    judged = judgement_of(index, row)
    return Annotations(
        tuple(_shown(number, each) for number, each in enumerate(objects, 1)),
        {link.url: link.score for link in judged.links} if judged is not None else {},
    )


def _shown(number: int, each: ObjectRow) -> ShownObject:
    texts = {name: getattr(each, name) or "" for name in ("title", "author", "date", "body")}
    return ShownObject(number, each.type, **texts)
