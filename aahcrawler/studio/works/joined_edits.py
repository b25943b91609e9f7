"""Edits that were made for an earlier text, as edits of the present one: what may stand in a file once is joined."""

from collections.abc import Iterator, Sequence

from lxml import etree

from aahcrawler.authoring.editing.edits import Add, Edit, Remove
from aahcrawler.authoring.editing.entry_text import EntryText
from aahcrawler.studio.works.made_edits import added

_ONCE = ("detect", "canonical", "avoid")
"""Parts of an application that it has once, with what they hold."""


def joined(text: EntryText, edits: Sequence[Edit]) -> tuple[Edit, ...]:
    """Return edits that add to such a part where it is there by now, make it where it is not, and leave none empty.

    Raises `EditError` for edits that cannot be made.
    """
    made: list[Edit] = []
    for edit in edits:
        for each in _fitting(text, edit):
            made.append(each)
            text = each.apply(text)
    left = ((place, element) for place in map("{}[1]".format, _ONCE) if (element := text.element(place)) is not None)
    made += (Remove(place=place) for place, element in left if not len(element))
    return tuple(made)


def _fitting(text: EntryText, edit: Edit) -> Iterator[Edit]:
    part = edit.place.partition("[")[0]
    if not isinstance(edit, Add) or (edit.place and part not in _ONCE):
        yield edit
    elif edit.place:
        is_there = text.place(edit.place) is not None
        yield edit if is_there else added(text, "", f"<{part}>{edit.xml}</{part}>")
    else:
        new = etree.fromstring(edit.xml)
        place = text.place(f"{new.tag}[1]") if new.tag in _ONCE else None
        if place is None:
            yield edit
        else:
            yield from (Add(place=place, xml=etree.tostring(child, encoding="unicode")) for child in new)
