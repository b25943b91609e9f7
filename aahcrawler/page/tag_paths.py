"""Tag paths: the positions of links in the markup of their page."""

from sys import intern

from lxml.etree import _Element as Element

LONGEST_TAG_PATH = 600
"""Characters that are kept of a tag path, those nearest to the link."""

_LONGEST_NAME = 40
_NO_DIGITS = str.maketrans("", "", "0123456789")


class TagPaths:
    """Tag paths on one page; ancestors shared by several links are visited once."""

    def __init__(self) -> None:
        self._known: dict[Element, str] = {}

    def of(self, element: Element) -> str:
        """Return the tags from the root down to an element, each with its first class, else its id.

        Digits are left out, so that elements which differ in a number have the same path: ``html/body/div.post/p/a``. A
        path longer than ``LONGEST_TAG_PATH`` loses whole tags at its beginning.
        """
        missing: list[Element] = []
        step: Element | None = element
        while step is not None and step not in self._known:
            missing.append(step)
            step = step.getparent()
        path = self._known[step] if step is not None else ""
        for each in reversed(missing):
            path = self._known[each] = _within(path, each)
        # Pages of a site have the same few places: they are kept once, however many links are.
        return intern(path)


def _within(path: str, element: Element) -> str:
    tag = str(element.tag)
    name = (element.get("class") or element.get("id") or "").split(maxsplit=1)
    step = (f"{tag}.{name[0][:_LONGEST_NAME]}" if name else tag).translate(_NO_DIGITS)
    longer = f"{path}/{step}" if path else step
    return longer if len(longer) <= LONGEST_TAG_PATH else longer[-LONGEST_TAG_PATH:].partition("/")[2]
