"""The text that a heading or a term announces: what a link says that is all of it."""

from lxml.etree import _Element as Element

from aahcrawler.page.text import excerpt

LONGEST_TEASER = 300
"""Characters that are read of the text below a heading."""

_HEADINGS = frozenset({"h2", "h3", "h4", "h5", "h6", "dt"})
_WRAPPERS = frozenset({"div", "header", "hgroup"})
_TEXTS = frozenset({"blockquote", "dd", "div", "main", "p", "section"})
_MOST_WRAPPERS = 2


def teaser(block: Element) -> str:
    """Return the beginning of the text right below a heading or a term, empty where there is none.

    A heading that ends what holds it is followed by what follows its holder. What holds headings itself is no text of
    this one. Other elements announce nothing.
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
