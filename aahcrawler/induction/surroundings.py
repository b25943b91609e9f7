"""A page prepared for induction."""

from dataclasses import dataclass

from aahcrawler.induction.moments import Shown, shown_dates
from aahcrawler.induction.outline import Outline
from aahcrawler.page import Page
from aahcrawler.page.text import excerpt
from aahcrawler.urls import canonicalize, queue_of, resolve


@dataclass(frozen=True, slots=True)
class Names:
    """How a page names and addresses itself.

    ``title`` is that of its head, ``base`` what references resolve against, ``own`` all addresses that are the page's,
    ``queue`` the site. ``canonical`` says that the page declares its own address to be the right one.
    """

    title: str
    base: str
    own: frozenset[str]
    queue: str
    canonical: bool

    @classmethod
    def of(cls, page: Page) -> "Names":
        """Read what a page says of itself."""
        title = next((excerpt(element, 500) for element in page.tree.iter("title")), "")
        here = canonicalize(page.url) or page.url
        links = (link.get("href") for link in page.tree.iter("link") if "canonical" in (link.get("rel") or "").split())
        given = frozenset(url for href in links if href and (url := resolve(page.base_url, href)))
        return cls(title, page.base_url, given | {here}, queue_of(here), here in given)


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
        return cls(outline, shown, Names.of(page), _writing(page, outline))


def _writing(page: Page, outline: Outline) -> int | None:
    for area in page.tree.iter("textarea"):
        for above in area.iterancestors():
            if above in outline.places:
                return outline.places[above]
    return None
