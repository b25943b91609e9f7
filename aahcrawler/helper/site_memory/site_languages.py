"""Remember of which sites the declared language can be believed, so that it need not be identified page by page."""

from collections import OrderedDict
from dataclasses import dataclass

from aahcrawler.helper.site_memory.lessons import Lessons, Memory

LEAST_PAGES = 5
"""Pages whose text agrees, one after the other, before a site is believed."""
CHECKED_AGAIN = 16
"""Of a believed site every so many-th page is looked at closely all the same."""


@dataclass(slots=True)
class _Declared:
    language: str
    agreed: int = 0
    unchecked: int = 0


class SiteLanguages:
    """The language that the pages of each site declare, and how many of them agreed with it by their texts.

    The least recently seen site is forgotten first. What is remembered depends on the pages alone, in their order.
    """

    def __init__(self, most: int, lessons: Lessons | None = None) -> None:
        self._most = most
        self._lessons = lessons or Lessons()
        self._sites: OrderedDict[str, _Declared] = OrderedDict()

    def believes(self, site: str, declared: str) -> bool:
        """Return whether a quick look at the text of a page is enough for the language that it declares."""
        known = self._sites.get(site)
        if known is None or known.language != declared or known.agreed < LEAST_PAGES:
            return False
        known.unchecked += 1
        return known.unchecked < CHECKED_AGAIN

    def learn(self, site: str, declared: str, told: str | None) -> None:
        """Note the language that a close look at a page told, None where its text is too short to tell."""
        if told is None or not declared:
            return
        self._lessons.hear(Memory.LANGUAGES, SiteLanguages.learn, site, declared, told)
        known = self._sites.setdefault(site, _Declared(declared))
        self._sites.move_to_end(site)
        if told != declared or known.language != declared:
            known.language, known.agreed = declared, 0
        known.agreed += told == declared
        known.unchecked = 0
        if len(self._sites) > self._most:
            self._sites.popitem(last=False)
