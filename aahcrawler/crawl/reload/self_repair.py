"""What a crawl learns where actions of the knowledge base fail, kept in its folder and shared with other workers."""

import logging
from pathlib import Path

from aahcrawler.adaptation.adapter import adaptation, strategies
from aahcrawler.adaptation.learned import Decisions, Learned, Rejected
from aahcrawler.adaptation.overlay import Overlay
from aahcrawler.helper.adaptation_protocol import Adapter
from aahcrawler.layout import LEARNED
from knowledge_base.model import KnowledgeBase
from knowledge_base.selectors import BadExpressionError

logger = logging.getLogger(__name__)


class SelfRepair:
    """The adapter of a knowledge base, and the files of what it has learned."""

    def __init__(self, knowledge_base: KnowledgeBase) -> None:
        self._rejected = Rejected()
        self._adaptation = adaptation(knowledge_base, self._keep, self._keep, self._rejected)
        self._overlay: Overlay | None = None
        self._decisions: Decisions | None = None
        self._overlay_read: object = None

    @property
    def adapter(self) -> Adapter:
        """What the helper asks where an action fails."""
        return self._adaptation

    def share(self, folder: Path) -> None:
        """Keep what is learned in a crawl's folder from now on, and use what is there of before or by others."""
        self._overlay = Overlay(folder / LEARNED)
        self._decisions = Decisions(folder / LEARNED)

    def renew(self, knowledge_base: KnowledgeBase) -> None:
        """Go by a changed knowledge base; nothing that was learned is lost."""
        self._adaptation.ask(strategies(knowledge_base), knowledge_base)

    def adopt(self, knowledge_base: KnowledgeBase) -> None:
        """Learn from the files of the crawl's folder where they have changed, but for what people rejected."""
        if self._overlay is None or self._decisions is None or self._overlay.stamp() == self._overlay_read:
            return
        try:
            self._rejected.take(self._decisions.rejected())
        except OSError as error:
            logger.warning("what people rejected cannot be read (%s), so nothing that was learned is used", error)
            return
        self._overlay_read = self._overlay.stamp()
        learnt, problems = self._overlay.learned(knowledge_base)
        for problem in problems:
            logger.error("%s", problem)
        for learned in (each for each in learnt if not self._rejected.covers(each)):
            try:
                self._adaptation.adopt(learned)
            except BadExpressionError as error:
                logger.error("%s of %s cannot be used: %s", learned.name, learned.site, error)

    def _keep(self, learned: Learned) -> None:
        """Log what was learned and keep it; a disk that refuses costs the file, not the crawl."""
        logger.info("%s", learned)
        if self._overlay is None:
            return
        try:
            self._overlay.keep(learned)
        except OSError as error:
            logger.warning("what was learned cannot be kept (%s): it serves this process only", error)
