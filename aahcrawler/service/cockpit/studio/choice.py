"""What somebody has chosen on pages of a work, and what it is to be: a value that stands in the address of the page."""

import re
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Final, TypedDict, Unpack
from urllib.parse import urlencode

from starlette.datastructures import QueryParams

MOST_CHOSEN: Final = 24
"""Elements that are right, and as many that are wrong."""
_NAME: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.:-]{0,59}")
_PLACE: Final = re.compile(r"([!-~]{1,100})@([0-9]{1,7})")
_LONGEST: Final = 2_000


class Purpose(StrEnum):
    """What a chosen element is to be for the entry."""

    SIGN = "sign"
    """A sign of the software."""
    LEVEL_SIGN = "level-sign"
    """A sign of the level of the page."""
    ITEM = "item"
    """One object: a post, a comment, a photo."""
    FIELD = "field"
    """A field of an object."""
    LINK = "link"
    """A link that leads to a level."""
    AVOID = "avoid"
    """A link that is never followed."""
    LEFT_OUT = "left-out"
    """A part of a field that does not belong to it."""


Chosen = tuple[str, int]
"""An element: the record of its page, and its number."""


class Changes(TypedDict, total=False):
    """What another choice has instead."""

    element: int | None
    purpose: Purpose | None
    level: str
    action: str
    field: str
    expression: str
    right: tuple[Chosen, ...]
    wrong: tuple[Chosen, ...]


@dataclass(frozen=True, slots=True)
class Choice:
    """An element of the page that is open, what it is for, and the elements that rules have to find or must not find.

    ``level``, ``action`` and ``field`` say for what it is; empty where the purpose needs none, or none is said yet.
    ``expression`` is the suggestion whose values are looked at.
    """

    element: int | None = None
    purpose: Purpose | None = None
    level: str = ""
    action: str = ""
    field: str = ""
    expression: str = ""
    right: tuple[Chosen, ...] = ()
    wrong: tuple[Chosen, ...] = ()

    @classmethod
    def of(cls, asked: QueryParams) -> "Choice":
        """Return what an address says; what makes no sense is passed over."""
        element, purpose = asked.get("element", ""), asked.get("as", "")
        return cls(
            int(element) if re.fullmatch("[0-9]{1,7}", element) else None,
            Purpose(purpose) if purpose in set(Purpose) else None,
            level=_name(asked.get("level", "")),
            action=_name(asked.get("action", "")),
            field=_name(asked.get("field", "")),
            expression=asked.get("expression", "")[:_LONGEST],
            right=_chosen(asked.getlist("right")),
            wrong=_chosen(asked.getlist("wrong")),
        )

    def but(self, **changes: Unpack[Changes]) -> "Choice":
        """Return the choice with something else instead."""
        return replace(self, **changes)

    @property
    def query(self) -> str:
        """What an address says of the choice, as the part behind the question mark."""
        return urlencode(self.fields)

    @property
    def fields(self) -> list[tuple[str, str]]:
        """The fields of a form that say the same."""
        said = [
            ("element", "" if self.element is None else str(self.element)),
            ("as", self.purpose or ""),
            ("level", self.level),
            ("action", self.action),
            ("field", self.field),
            ("expression", self.expression),
            *(("right", f"{record}@{number}") for record, number in self.right),
            *(("wrong", f"{record}@{number}") for record, number in self.wrong),
        ]
        return [(name, value) for name, value in said if value]

    @property
    def carried(self) -> str:
        """The query without the element: what holds on when another one is chosen."""
        return self.but(element=None, expression="").query


def _name(text: str) -> str:
    return text if _NAME.fullmatch(text) else ""


def _chosen(said: list[str]) -> tuple[Chosen, ...]:
    found = (_PLACE.fullmatch(each) for each in said[:MOST_CHOSEN])
    return tuple(dict.fromkeys((each[1], int(each[2])) for each in found if each is not None))
