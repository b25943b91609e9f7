"""Recognise pages too deeply nested to be read at a cost that their size justifies."""

from lxml.etree import XPath, iterwalk
from lxml.html import HtmlElement

FEW_ELEMENTS = 5_000
MOST_MEAN_DEPTH = 300

_count = XPath("count(//*)")


def is_too_deep(tree: HtmlElement) -> bool:
    """Return whether elements are nested so deeply that expressions would take seconds.

    Expressions that visit the ancestors or the descendants of many elements cost the sum of the elements' depths. Real
    pages have mean depths below 50; pages of few elements are read whatever their depth.
    """
    elements = int(_count(tree))
    if elements <= FEW_ELEMENTS:
        return False
    depth = steps = 0
    for event, _ in iterwalk(tree, events=("start", "end")):
        depth += 1 if event == "start" else -1
        steps += depth
        if steps > 2 * MOST_MEAN_DEPTH * elements:
            return True
    return False
