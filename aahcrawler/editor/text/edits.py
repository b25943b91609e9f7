"""Changes of an application's file as values, so that they can be kept, sent and applied again."""

from collections.abc import Sequence
from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field

from aahcrawler.editor.text.entry_text import LONGEST, EntryText

_LONGEST_PLACE = 2_000
_LONGEST_VALUE = 20_000


class _Edit(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")

    place: str = Field(max_length=_LONGEST_PLACE, description="The element that is changed; empty for the root.")


class Put(_Edit):
    """Puts another element in the place of one."""

    kind: Literal["put"] = "put"
    xml: str = Field(max_length=LONGEST)

    def apply(self, text: EntryText) -> EntryText:
        """Return the text with the other element. Raises `EditError`."""
        return text.put(self.place, self.xml)


class Add(_Edit):
    """Adds an element to the one at ``place``, as its last or before the one at the place ``before``."""

    kind: Literal["add"] = "add"
    xml: str = Field(max_length=LONGEST)
    before: str = Field(default="", max_length=_LONGEST_PLACE)

    def apply(self, text: EntryText) -> EntryText:
        """Return the text with the new element. Raises `EditError`."""
        return text.add(self.place, self.xml, self.before)


class Remove(_Edit):
    """Removes an element."""

    kind: Literal["remove"] = "remove"

    def apply(self, text: EntryText) -> EntryText:
        """Return the text without the element. Raises `EditError`."""
        return text.remove(self.place)


class SetAttribute(_Edit):
    """Sets an attribute of an element, or removes it where ``value`` is None."""

    kind: Literal["set"] = "set"
    attribute: str = Field(max_length=100)
    value: str | None = Field(max_length=_LONGEST_VALUE)

    def apply(self, text: EntryText) -> EntryText:
        """Return the text with the attribute. Raises `EditError`."""
        return text.set(self.place, self.attribute, self.value)


class Confirm(_Edit):
    """Removes the comment that marks an element as a guess."""

    kind: Literal["confirm"] = "confirm"

    def apply(self, text: EntryText) -> EntryText:
        """Return the text without the comment. Raises `EditError`."""
        return text.confirm(self.place)


Edit = Annotated[Put | Add | Remove | SetAttribute | Confirm, Field(discriminator="kind")]
"""Any change; ``kind`` tells which."""


def apply(text: EntryText, edits: Sequence[Edit]) -> EntryText:
    """Return a text with changes, each made on what those before it left. Raises `EditError`."""
    for edit in edits:
        text = edit.apply(text)
    return text
