"""Reads texts as adaptation compares them: without white space, of objects, of labelled objects and of pages."""

from dataclasses import dataclass
from functools import cached_property

from aahcrawler.helper.extraction.extraction import BODY
from aahcrawler.page import Page
from aahcrawler.page.text import plain_text
from aahcrawler.webobject import WebObject
from aahcrawler.wrapper_induction.examples import LabelledObject

PROBE = 40
"""The length, in characters, of each sample of a text."""


def bare(text: str) -> str:
    r"""Return a text without white space, as texts are compared.

    >>> bare("One\n two ")
    'Onetwo'
    """
    return "".join(text.split())


def body_of(web_object: WebObject) -> str:
    """Return the body of an object, empty if it has none."""
    body = web_object.first(BODY)
    return body if isinstance(body, str) else ""


def body_text(labelled: LabelledObject) -> str:
    """Return the text of an object's body without white space, empty if it has none."""
    label = labelled.labels.get(BODY)
    return bare(label.value) if label is not None and isinstance(label.value, str) else ""


@dataclass(frozen=True)
class PageText:
    """All text of a page, without white space."""

    page: Page

    @cached_property
    def text(self) -> str:
        """The text as `bare` makes it."""
        return bare(plain_text(self.page.tree))

    def shows(self, body: str) -> bool:
        """Return whether most of a text is present: more than half of the sampled places."""
        written = bare(body)
        if len(written) <= PROBE:
            return bool(written) and written in self.text
        steps = (len(written) - PROBE) // 4
        probes = {written[step * steps : step * steps + PROBE] for step in range(5)}
        return sum(probe in self.text for probe in probes) > len(probes) / 2
