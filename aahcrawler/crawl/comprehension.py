"""How an answer is understood, now or in a former crawl, and what changed in it since."""

import logging
from dataclasses import replace

from aahcrawler.crawl import reading
from aahcrawler.crawl.describing import changes
from aahcrawler.crawl.job import Job
from aahcrawler.crawl.reading import Reading
from aahcrawler.crawl.recrawl import Change, LostError, Visit
from aahcrawler.crawl.troubles import is_local
from aahcrawler.flow import process
from aahcrawler.frontier.protocol import Lease
from aahcrawler.metadata import Metadata
from aahcrawler.objects.versions import Changes
from aahcrawler.page import Page

logger = logging.getLogger(__name__)


class Comprehension:
    """Makes sense of answers with what the job knows at that moment; nothing that a page provokes is raised."""

    def __init__(self, job: Job) -> None:
        self._job = job

    def read(self, lease: Lease, visit: Visit) -> Reading | None:
        """Return what an answer says; None for what leads nowhere by itself, such as an image."""
        page = visit.page
        if visit.remembered and visit.before is not None:
            return Reading(reading.leased_anew(visit.before, lease))
        try:
            if 300 <= page.status < 400:
                return self._signed(Reading(reading.of_redirect(lease, page)))
            if lease.kind == "requisite":
                return self._signed(Reading(reading.of_stylesheet(page))) if page.media_type == "text/css" else None
            return self._understood(lease, page, visit.before)
        except Exception as error:  # Whatever a page may provoke, it is archived, and the crawl goes on.
            if is_local(error):
                raise
            logger.exception("%s: not understood", page.url)
            return Reading(reading.not_understood(lease, page, error), error=type(error).__name__)

    def changes(self, lease: Lease, visit: Visit, now: Metadata) -> Changes | None:
        """Compare the objects of a page with those of its former capture; None where nobody can tell.

        A former page that was understood by other means is understood anew first, so that nothing but the page differs.
        """
        before = visit.before
        if before is None or visit.former is None or visit.change not in (Change.CHANGED, Change.GONE):
            return None
        if visit.change is Change.CHANGED and before.understood_by != now.understood_by:
            try:
                before = self._understood(lease, self._job.recrawl.page_of(visit.former), before).metadata
            except LostError:
                return None
            except Exception as error:  # It is the former page's trouble; today's is archived and understood.
                if is_local(error):
                    raise
                logger.exception("%s: its former capture is not understood", visit.page.url)
                return None
        return changes(before, now, complete=visit.page.complete)

    def _understood(self, lease: Lease, page: Page, before: Metadata | None) -> Reading:
        known, scoring = self._job.understanding, self._job.icd.scoring
        processed = process(page, known.helper, known.analysers, scoring.weights, before)
        for action in processed.assistance.failed_actions:
            logger.warning("%s: %s", page.url, action)
        said = reading.of_page(lease, page, processed, scoring.relevant)
        assistance = processed.assistance
        failed, learned = assistance.failed_actions, assistance.learned
        return self._signed(Reading(said, assistance.refused, assistance.containers, failed, learned))

    def _signed(self, found: Reading) -> Reading:
        return replace(found, metadata=replace(found.metadata, understood_by=self._job.understanding.fingerprint))
