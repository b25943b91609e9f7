"""Tells which application a page is like that shows no sign of any (ARCOMEM, section 4.1: relaxed detection)."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

from aahcrawler.adaptation.detection.sign_relaxation import relaxed, relaxed_signs
from aahcrawler.page import Page
from aahcrawler.wrapper_induction.robust_paths import Expression
from knowledge_base.matching import Detector
from knowledge_base.model import Application, KnowledgeBase, Pattern, Signal, Strength
from knowledge_base.selectors import compile_selector, required_literals


@dataclass
class Similarity:
    """Compares the signs of a page with those of all applications, at a cost that does not grow with their number.

    Signs that two applications have in common are left out. Nothing is prepared before the first call.
    """

    knowledge_base: KnowledgeBase

    @cached_property
    def _detector(self) -> Detector:
        named = {application: relaxed_signs(application.patterns) for application in self.knowledge_base.applications}
        counts = Counter(written for found in named.values() for written in found)
        applications = tuple(
            Application(each.name, each.kind, tuple(_hints_of(each.patterns, counts)), ()) for each in named
        )
        return Detector(KnowledgeBase(applications))

    def application(self, page: Page) -> Application | None:
        """Return the only application two signs of which a page resembles, more than those of any other."""
        found = self._detector.detect(page).application
        return self._whole.get(found.name) if found is not None else None

    @cached_property
    def _whole(self) -> Mapping[str, Application]:
        return {application.name: application for application in self.knowledge_base.applications}


def _hints_of(patterns: Sequence[Pattern], counts: Counter[Expression]) -> Iterator[Pattern]:
    """Yield each sign relaxed; equal results count once."""
    told: set[Expression] = set()
    for pattern in patterns:
        own = [written for written in relaxed(pattern) if counts[written] == 1 and written not in told]
        told.update(own)
        if own:
            selector = compile_selector(css=", ".join(written.css for written in own))
            literals = required_literals(selector.source)
            if literals:
                yield Pattern(Signal.SELECTOR, Strength.HINT, "", selector=selector, literals=literals)
