"""Scores links by the role of the page level they lead to (ARCOMEM, section 4.1: intermediate and terminal levels)."""

from online_analysis.aggregation import Scores
from online_analysis.document import Document, LevelRole, Outlink

_WORTH: dict[LevelRole, float] = {"terminal": 0.3, "intermediate": 0.1}
"""The approximate worth of content and of lists in a focused crawl: known applications are ordered, not favoured."""


class ApplicationAnalyser:
    """Scores links selected by a navigation action: links to content higher than links to lists.

    Gives no score on pages of no known application or level, to links in the content, and to links that no action
    selected.
    """

    name = "application"

    def analyse(self, document: Document) -> Scores:
        """Score the links of a document; its own score is None."""
        if not document.application or not document.level:
            return Scores(self.name)
        return Scores(self.name, None, tuple([_worth(link) for link in document.outlinks]))


def _worth(link: Outlink) -> float | None:
    return _WORTH[link.leads_to] if link.action is not None and link.leads_to is not None else None
