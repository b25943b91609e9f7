"""Find the elements that a page hides from its readers by its own markup."""

import re
from collections.abc import Iterable

from lxml import etree
from lxml.etree import _Element as Element


class Subtrees:
    """Elements with all of their descendants; each element that is looked up is visited once."""

    def __init__(self, elements: Iterable[Element]) -> None:
        self._known: dict[Element, bool] = dict.fromkeys(elements, True)
        self._any = bool(self._known)

    def covers(self, element: Element) -> bool:
        """Return whether an element is one of them or lies within one."""
        if not self._any:
            return False
        path: list[Element] = []
        current: Element | None = element
        while current is not None and current not in self._known:
            path.append(current)
            current = current.getparent()
        covered = current is not None and self._known[current]
        self._known.update(dict.fromkeys(path, covered))
        return covered


# Attributes are found sooner than elements that are asked for them.
_styled = etree.XPath("descendant-or-self::*/@hidden/.. | descendant-or-self::*/@style/..")
_MAX_STYLE_LENGTH = 2_000
_HIDING = re.compile(
    r"""(?:^|;)\s*(?:
        display\s*:\s*none
      | visibility\s*:\s*(?:hidden|collapse)
      | opacity\s*:\s*0*\.?0*(?=\s|;|!|$)
      | font-size\s*:\s*0(?:\.0*)?(?:px|pt|em|rem|%)?(?=\s|;|!|$)
      | (?:text-indent|margin-left|margin-top|left|top)\s*:\s*-\d{3,}
    )""",
    re.IGNORECASE | re.VERBOSE,
)


class Hidden(Subtrees):
    """The elements of a page that an attribute ``hidden`` or an inline style hides.

    Style sheets are not read: most of the elements they hide are menus and dialogs that can be opened.
    """

    def __init__(self, tree: Element) -> None:
        super().__init__(element for element in _styled(tree) if _is_hidden(element))


def _is_hidden(element: Element) -> bool:
    if element.get("hidden") is not None:
        return True
    style = element.get("style")
    return style is not None and _HIDING.search(style[:_MAX_STYLE_LENGTH]) is not None
