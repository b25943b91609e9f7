"""A page prepared for induction."""

from dataclasses import dataclass

from aahcrawler.induction.asides import asides_hold_content
from aahcrawler.induction.headings import Names
from aahcrawler.induction.moments import Shown, shown_dates
from aahcrawler.induction.outline import Outline
from aahcrawler.page import Page


@dataclass(frozen=True, slots=True)
class Surroundings:
    """All that induction looks at: a page's outline, the dates it shows, its names.

    ``writing`` is the place of the element that holds the first text area, None where there is none.
    """

    outline: Outline
    shown: tuple[Shown, ...]
    names: Names
    writing: int | None

    @classmethod
    def of(cls, page: Page) -> "Surroundings":
        """Prepare an HTML page."""
        outline = Outline(page.tree)
        declared = (page.tree.get("lang") or "").strip().lower()[:2] or None
        shown = shown_dates(outline, page.fetched_at, declared)
        names = Names.of(page)
        if asides_hold_content(outline, names):
            outline.rename("aside", "div")
        return cls(outline, shown, names, _writing(page, outline))


def _writing(page: Page, outline: Outline) -> int | None:
    for area in page.tree.iter("textarea"):
        for above in area.iterancestors():
            if above in outline.places:
                return outline.places[above]
    return None
