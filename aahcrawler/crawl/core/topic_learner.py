"""Refine the topic of a crawl while it runs, and keep the result (ARCOMEM, section 3).

Notes of pages that something is still to be learned from go to ``topic-notes.jsonl``, each before its page is finished:
a crawl that goes on learns from them again. What was learned is in ``topic.json`` before the first page is scored by
it, so that there is nothing scored by a topic that a restart would not know.
"""

import asyncio
import json
import logging
import os
from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from pathlib import Path

from pydantic import ValidationError

from aahcrawler.crawl.directory.crawl_runs import write_whole
from aahcrawler.crawl.directory.folder import CrawlFolder
from aahcrawler.layout import TOPIC_NOTES
from aahcrawler.segments import no_link
from aahcrawler.urls import queue_of
from online_analysis.document import Document
from online_analysis.refinement import PageNote
from online_analysis.topic import Topic
from online_analysis.topic_learning import KeptRefinement, News, TopicLearning, TopicState

logger = logging.getLogger(__name__)

LOOK_EVERY = 2.0
"""Seconds between two looks at what another process has learned."""
_SHOWN = 20

Retry = Callable[[Callable[[], Awaitable[None]]], Awaitable[None]]
"""Makes a write, again and again for as long as the disk is full (``DiskSpace.retry``)."""


class TopicLearner:
    """Learns from each page of a crawl, and hands on a topic that has changed.

    Each of ``changed`` is called with the new topic once it is kept. Call ``replay`` first, or ``follow`` where another
    process of the folder is the one that learns.
    """

    def __init__(self, folder: CrawlFolder, kept: TopicState, learning: Callable[[TopicState], TopicLearning]) -> None:
        self._path = folder.root / TOPIC_NOTES
        self._target = folder.topic
        self._make = learning
        self._learning = learning(kept)
        self.kept = kept
        self.changed: list[Callable[[Topic], None]] = []

    @property
    def topic(self) -> Topic:
        """The topic that pages are scored by."""
        return self._learning.topic

    def replay(self) -> None:
        """Learn again from the notes of a crawl that was stopped; what it came to is kept."""
        if self.kept.learned.refinement is not None and self._learning.learned.refinement is None:
            logger.info("what was learned of another topic is forgotten: the definition has changed")
        notes = list(_notes(self._path, self._learning.of))
        for note in notes:
            self._log_news(self._learning.add(note))
        wanted = [note for note in notes if self._learning.wants(note.language)]
        if wanted:
            write_whole(self._path, "".join((self._head(), *(note.line for note in wanted))))
        else:
            self._path.unlink(missing_ok=True)
        if self._learning.learned != self.kept.learned:
            self._keep()

    async def follow(self) -> None:
        """Hand on what another process learns and keeps, until cancelled."""
        while True:
            await asyncio.sleep(LOOK_EVERY)
            try:
                kept = TopicState.parse(await asyncio.to_thread(self._target.read_bytes))
            except (OSError, ValueError):
                continue
            if kept.learned != self.kept.learned:
                self.kept, self._learning = kept, self._make(kept)
                for listener in self.changed:
                    listener(self.topic)

    async def learn(self, document: Document, score: float, retry: Retry) -> None:
        """Learn from a page that was understood; ``score`` is what it was scored."""
        note = self._learning.note(document, queue_of(document.url), score)
        if note is None:
            return

        async def noted() -> None:
            self._append(note.line)

        await retry(noted)
        news = self._learning.add(note)
        if not news:
            return

        async def kept() -> None:
            self._keep()

        await retry(kept)
        self._log_news(news)
        if set(news) != {News.NOT_REFINED}:
            for listener in self.changed:
                listener(self.topic)

    def _keep(self) -> None:
        self.kept = TopicState(self.kept.texts, self._learning.learned)
        write_whole(self._target, self.kept.text)

    def _append(self, line: str) -> None:
        """Append a line, whole or not at all as far as the file system lets us."""
        with open(self._path, "ab", opener=no_link) as file:
            size = file.tell()
            try:
                file.write(f"{'' if size else self._head()}{line}".encode())
                file.flush()
            except OSError:
                os.truncate(self._path, size)
                raise

    def _head(self) -> str:
        return json.dumps({"of": self._learning.of}) + "\n"

    def _log_news(self, news: Sequence[News]) -> None:
        refinement = self._learning.learned.refinement
        if News.LANGUAGE in news:
            known = ", ".join(self._learning.learned.frequencies)
            logger.info("how much a term says is learned from the crawl's own pages in: %s", known)
        if refinement is not None and {News.REFINED, News.NOT_REFINED} & set(news):
            logger.info("%s", described(refinement))


def described(refinement: KeptRefinement) -> str:
    """Say what came of a reference crawl."""
    pages = f"{refinement.relevant:,} of the {refinement.pages:,} pages of the reference crawl"
    if refinement.terms:
        return f"the topic is refined by what {pages} have in common: {_listed(refinement.terms)}"
    would = f"; it was {_listed(refinement.refused)}" if refinement.refused else ""
    return f"the topic stays as it was given, as {refinement.outcome} ({pages} were looked at closely){would}"


def _listed(terms: Mapping[str, float]) -> str:
    shown = [f"{term} ({weight:.2f})" for term, weight in list(terms.items())[:_SHOWN]]
    return ", ".join(shown)


def _notes(path: Path, of: str) -> Iterator[PageNote]:
    """Yield the notes for a topic; of a file that a crash has torn, those that are whole."""
    try:
        lines = path.read_bytes().splitlines()
    except FileNotFoundError:
        return
    try:
        if json.loads(lines[0])["of"] != of:
            return
    except (ValueError, LookupError, TypeError, RecursionError):
        return
    for line in lines[1:]:
        try:
            yield PageNote.model_validate_json(line)
        except ValidationError:
            logger.warning("%s: a line that is not whole is left aside", path.name)
