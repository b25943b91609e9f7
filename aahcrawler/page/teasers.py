"""Find the text that a heading or a term announces, for links whose own text is only a title."""

from lxml.etree import _Element as Element

from aahcrawler.page.text import excerpt

LONGEST_TEASER = 300
"""Characters that are read of the text below a heading."""

_HEADINGS = frozenset({"h2", "h3", "h4", "h5", "h6", "dt"})
_WRAPPERS = frozenset({"div", "header", "hgroup"})
_TEXTS = frozenset({"blockquote", "dd", "div", "main", "p", "section"})
_MOST_WRAPPERS = 2


def teaser(block: Element) -> str:
    """Return the beginning of the text right below a heading or a term, empty if there is none.

    For a heading at the end of its container, that is the text after the container. An element that contains headings
    is not such a text. Other elements announce nothing.
    """
    if block.tag not in _HEADINGS:
        return ""
    after = block.getnext()
    above = block.getparent()
    for _ in range(_MOST_WRAPPERS):
        if after is not None or above is None or above.tag not in _WRAPPERS:
            break
        after, above = above.getnext(), above.getparent()
    if after is None or after.tag not in _TEXTS or _holds_heading(after):
        return ""
    return excerpt(after, LONGEST_TEASER)


def _holds_heading(element: Element) -> bool:
    return next(element.iterdescendants("h1", *_HEADINGS), None) is not None
