"""The topic of a crawl as it is known when the crawl is opened."""

from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Protocol

from aahcrawler.crawl.core.topic_learner import TopicLearner
from aahcrawler.crawl.directory.files import write_whole
from aahcrawler.crawl.directory.folder import CrawlFolder, CrawlRefusedError
from aahcrawler.crawl.startup.reference_documents import fetch_documents, reader
from aahcrawler.exchange import Exchange
from aahcrawler.scope import Spelling
from knowledge_base.model import KnowledgeBase
from online_analysis.icd import Icd, IcdError
from online_analysis.topic_learning import TopicLearning, topic_learning
from online_analysis.topic_state import TopicState


class SharedTopic(Protocol):
    """The topic that all workers of a crawl share beyond its definition (``TopicState.text``)."""

    def read(self) -> str | None:
        """Return it, None where nobody has shared it yet."""

    def keep(self, text: str) -> None:
        """Share it with the others."""


def open_topic(
    icd: Icd,
    folder: CrawlFolder,
    keep: Callable[[Exchange], None],
    shared: SharedTopic | None,
    knowledge_base: Callable[[], KnowledgeBase],
) -> TopicLearner:
    """Return the topic as it is known by now: what was kept at the first start, and what was learned since.

    Texts of reference documents on the web that are not kept, nor known to others, are fetched and kept. The next
    crawl goes by the same texts and has learned the same, so that its scores can be compared.
    """
    known = folder.known_topic
    kept = _kept_topic(known)
    if known is None and shared is not None and (known_text := shared.read()) is not None:
        kept = TopicState.parse(known_text.encode())
    texts = dict(kept.texts)
    wanted = [document for document in icd.document_urls() if document.url not in texts]
    if wanted:
        fetched = fetch_documents(icd, folder.spool, keep, reader(knowledge_base()))
        if fetched.mistakes:
            raise IcdError(fetched.mistakes)
        texts |= fetched.texts
    learning = partial(_learning, icd)
    now = TopicState(texts, kept.learned)
    if not folder.is_first:
        return TopicLearner(folder, now, learning)
    if wanted or (not now.is_empty and known != folder.topic):
        write_whole(folder.topic, now.text)
        if shared is not None:
            shared.keep(now.text)
    topic_learner = TopicLearner(folder, now, learning)
    topic_learner.replay()
    return topic_learner


def _learning(icd: Icd, known: TopicState) -> TopicLearning:
    seeds = filter(None, map(Spelling(icd.scope.canonical).url, icd.seeds))
    return topic_learning(icd, known.texts, seeds, known.learned)


def _kept_topic(path: Path | None) -> TopicState:
    try:
        return TopicState.read(path) if path is not None else TopicState()
    except ValueError as error:
        raise CrawlRefusedError(f"{path}: is damaged ({error}); remove it, and the topic is learned anew") from error
