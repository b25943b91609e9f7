"""A page prepared for induction."""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from lxml.etree import _Element as Element

from aahcrawler.induction.asides import asides_hold_content
from aahcrawler.induction.comment_sections import Section, comment_sections
from aahcrawler.induction.field_labels import label_blocks
from aahcrawler.induction.headings import Names, headed_places
from aahcrawler.induction.labelled_texts import LabelledText, labelled_texts, text_headings
from aahcrawler.induction.outline import Extents, Outline
from aahcrawler.induction.shown_dates import DateReader, Shown, shown_dates
from aahcrawler.page import Page
from aahcrawler.page.hidden import Hidden
from aahcrawler.page.record_shape import RecordShape

_DIALOG = re.compile(r"(?:^|[\s_-])(?:modal|dialog|popup|overlay|lightbox)(?:$|[\s_-])", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class PreparedPage:
    """The common input of induction: a page's outline, the dates it shows and what reads others, its names.

    ``writing`` is the place of the element that holds the first text area, None if there is none. Text areas that are
    hidden or in dialogs do not count. ``shapes`` are those of the records of the page's site, ``sections`` the
    stretches of the page that hold comments, ``labels`` the places of blocks of labels and values, and of the labels of
    texts beside them, ``texts`` the tables in which a text stands among values.
    """

    outline: Outline
    dates: DateReader
    shown: tuple[Shown, ...]
    names: Names
    writing: int | None
    shapes: tuple[RecordShape, ...] = ()
    sections: tuple[Section, ...] = ()
    labels: tuple[int, ...] = ()
    texts: tuple[LabelledText, ...] = ()

    @classmethod
    def of(cls, page: Page) -> "PreparedPage":
        """Prepare an HTML page."""
        outline = Outline(page.tree)
        dates = DateReader(outline, page.fetched_at, page.language, page.order)
        shown = shown_dates(outline, dates)
        names = Names.of(page)
        if asides_hold_content(outline, names):
            outline.rename("aside", "div")
        sections = comment_sections(outline, shown, headed_places(outline, names))
        texts = labelled_texts(outline)
        labels = _labels(outline, texts)
        return cls(outline, dates, shown, names, _writing(page, outline), page.record_shapes, sections, labels, texts)

    def section_of(self, elements: Iterable[Element]) -> Section | None:
        """Return the section of comments that all of some elements lie in, None if there is none."""
        places = [self.outline.places[each] for each in elements if each in self.outline.places]
        holding = (each for each in self.sections if places and all(map(each.covers, places)))
        return next(holding, None)


def _labels(outline: Outline, texts: Sequence[LabelledText]) -> tuple[int, ...]:
    """Return the places of blocks of labels and values; where there are some, of the labels of texts as well."""
    within = Extents((each.place, outline.ends[each.place]) for each in texts)
    blocks = [each for each in label_blocks(outline) if not within.cover(each)]
    blocks += [place for each in texts for place in each.labels]
    held = Extents((place, outline.ends[place]) for place in blocks)
    headings = (each for each in text_headings(outline) if not held.cover(each)) if blocks else ()
    return tuple(sorted((*blocks, *headings)))


def _writing(page: Page, outline: Outline) -> int | None:
    hidden = Hidden(page.tree)
    for area in page.tree.iter("textarea"):
        around = tuple(area.iterancestors())
        if hidden.covers(area) or any(map(_opens_later, around)):
            continue
        for above in around:
            if above in outline.places:
                return outline.places[above]
    return None


def _opens_later(element: Element) -> bool:
    """Return whether an element is a dialog, which is hidden until it is opened."""
    if element.tag == "dialog" or element.get("role") == "dialog" or element.get("aria-hidden") == "true":
        return True
    return _DIALOG.search(element.get("class") or "") is not None
