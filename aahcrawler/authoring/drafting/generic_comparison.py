"""Compares what an action reads of pages with what is read of them without knowing their application."""

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace

from aahcrawler.authoring.drafting.template_parts import TemplateParts
from aahcrawler.helper import ApplicationAwareHelper
from aahcrawler.page import Page
from aahcrawler.page.text import fold, plain_text
from aahcrawler.webobject import WebObject
from aahcrawler.wrapper_induction.proof import run
from knowledge_base.model import Extract, KnowledgeBase

MUCH_MORE = 1.5
"""How many times as many words as generic reading finds may be in bodies before they hold more than texts."""
PENALTY = 0.2
LEAST_FOREIGN = 0.02
"""The share of words of other objects and of the template in a body up to which they are there by chance."""

_WORD = re.compile(r"[\u3040-\u30ff\u3400-\u9fff]|\w+")


@dataclass
class GenericReadings:
    """The objects that pages hold as read without any knowledge of their application; each page is read once."""

    _known: dict[str, tuple[WebObject, ...]] = field(default_factory=dict)

    def of(self, page: Page) -> tuple[WebObject, ...]:
        """Return the objects of a page, whose tree stays as it is."""
        if page.url not in self._known:
            copy = replace(page)
            self._known[page.url] = ApplicationAwareHelper(KnowledgeBase(())).assist(copy).objects
        return self._known[page.url]

    def wanted(self, page: Page, action: Extract, *, beside: bool) -> tuple[WebObject, ...]:
        """Return those of the objects that an action should find: all, the page's own, or what is ``beside`` it."""
        found = [each for each in self.of(page) if body_of(each)]
        answers = [each for each in found if each.type in ("comment", "reply")]
        if beside:
            return tuple(answers)
        return tuple(found) if action.many else tuple(each for each in found if each not in answers)[:1]

    def worth(self, action: Extract, pages: Sequence[Page], *, beside: bool = False) -> float:
        """Return how much of what generic reading finds an action reads, from 0 to 1, on the page where it is least.

        The share of the objects counts, and that of the words of their bodies which are not of the template; words of
        the template, of other objects, and far more words than that lower it. Where generic reading finds nothing, an
        action is worth 1 if it finds anything.
        """
        template = TemplateParts({}) if action.many else TemplateParts.of(pages)
        values = [self._worth(action, page, template, beside=beside) for page in pages]
        known = [value for value in values if value is not None]
        return min(known, default=0.0)

    def _worth(self, action: Extract, page: Page, template: TemplateParts, *, beside: bool) -> float | None:
        read = [each for each in run(action, page) or () if body_of(each)]
        wanted = self.wanted(page, action, beside=beside)
        if not wanted:
            return None if beside else float(bool(read))
        common = [fold(plain_text(part)) for part in template.on(page)]
        here, there = _counted(map(body_of, read)), _counted(_apart(body_of(each), common) for each in wanted)
        covered = (here & there).total() / max(there.total(), 1)
        excess = max(0.0, here.total() / max(there.total(), 1) - MUCH_MORE)
        worth = min(len(read) / len(wanted), covered, 1.0) - PENALTY * min(excess, 1.0)
        foreign = 0.0 if action.many else self._foreign(page, read, common)
        return max(0.0, worth - (foreign if foreign > LEAST_FOREIGN else 0.0))

    def _foreign(self, page: Page, read: Sequence[WebObject], common: Sequence[str]) -> float:
        """Return the share of the words of a page's own object that are those of answers, or of the template."""
        answers = [body_of(each) for each in self.of(page) if each.type in ("comment", "reply")]
        texts = [fold(body_of(each)) for each in read]
        held = [text for text in (*map(fold, answers), *common) if text and any(text in each for each in texts)]
        return _counted(held).total() / max(_counted(texts).total(), 1)


def _apart(text: str, common: Iterable[str]) -> str:
    """Return a text without those parts that are of the template."""
    left = fold(text)
    for part in common:
        left = left.replace(part, " ", 1) if part else left
    return left if left.strip() else text


def body_of(web_object: WebObject) -> str:
    """Return the body of an object, empty where it has none."""
    body = web_object.first("body")
    return body if isinstance(body, str) else ""


def _counted(texts: Iterable[str]) -> Counter[str]:
    return Counter(word for text in texts for word in _WORD.findall(text.lower()))
