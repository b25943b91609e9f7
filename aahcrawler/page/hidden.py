"""Find the elements that a page hides from its readers by its own markup."""

import re

from lxml import etree
from lxml.etree import _Element as Element

from aahcrawler.page.subtrees import Subtrees

# Attributes are found sooner than elements that are asked for them.
_styled = etree.XPath("descendant-or-self::*/@hidden/.. | descendant-or-self::*/@style/..")
_LONGEST_STYLE = 2_000
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
    return style is not None and _HIDING.search(style[:_LONGEST_STYLE]) is not None
