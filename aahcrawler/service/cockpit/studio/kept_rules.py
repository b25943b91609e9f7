"""What somebody chose on a work's pages, and the changes to the entry that store it."""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Final, TypedDict, Unpack
from urllib.parse import urlencode

from starlette.datastructures import QueryParams

from aahcrawler.editor.drafting.address_groups import AddressGroup
from aahcrawler.editor.drafts import made_edits
from aahcrawler.editor.drafts.made_edits import FIELDS, Extent, Made, add_link_rule
from aahcrawler.editor.rules.link_fates import EntryParts, Part
from aahcrawler.editor.text.edits import Confirm, Edit, SetAttribute, apply
from aahcrawler.editor.text.entry_text import EditError, EntryText
from aahcrawler.wrapper_induction.robust_paths import Expression
from knowledge_base.model import FieldKind, Strength

MAX_CHOSEN: Final = 24
"""Elements that are right, and as many that are wrong."""
_NAME: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.:-]{0,59}")
_PLACE: Final = re.compile(r"([!-~]{1,100})@([0-9]{1,7})")
_MAX_VALUE_LENGTH: Final = 2_000
Chosen = tuple[str, int]
"""An element: the record of its page, and its number."""
STRENGTHS: Final = {each.name.lower(): each for each in Strength}


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


class Changes(TypedDict, total=False):
    """The fields of a choice, for ``Choice.but``."""

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
    """The chosen element of the open page, its purpose, and the elements that rules must find or must not find.

    ``level``, ``action`` and ``field`` name what the element is for; each is empty if the purpose needs none, or if it
    is not chosen yet. ``expression`` is the suggestion whose values are shown.
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
        """Parse the choice in an address; invalid parts are ignored."""
        element, purpose = asked.get("element", ""), asked.get("as", "")
        return cls(
            int(element) if re.fullmatch("[0-9]{1,7}", element) else None,
            Purpose(purpose) if purpose in set(Purpose) else None,
            level=_name(asked.get("level", "")),
            action=_name(asked.get("action", "")),
            field=_name(asked.get("field", "")),
            expression=asked.get("expression", "")[:_MAX_VALUE_LENGTH],
            right=_chosen(asked.getlist("right")),
            wrong=_chosen(asked.getlist("wrong")),
        )

    def but(self, **changes: Unpack[Changes]) -> "Choice":
        """Return the choice with some fields changed."""
        return replace(self, **changes)

    @property
    def query(self) -> str:
        """The query that contains the choice, with its question mark."""
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
        """The query without element and expression, to which links to other elements add theirs."""
        return self.but(element=None, expression="").query


def _name(text: str) -> str:
    return text if _NAME.fullmatch(text) else ""


def _chosen(said: list[str]) -> tuple[Chosen, ...]:
    found = (_PLACE.fullmatch(each) for each in said[:MAX_CHOSEN])
    return tuple(dict.fromkeys((each[1], int(each[2])) for each in found if each is not None))


@dataclass(frozen=True, slots=True)
class Rule:
    """A rule to store, and whether it replaces existing ones.

    ``page`` says that a field occurs once on its page. ``strength`` is that of a sign; ``group`` contains the addresses
    to which the rule's link leads.
    """

    expression: Expression
    instead: bool = True
    page: bool = False
    strength: Strength = Strength.STRONG
    group: AddressGroup | None = None


def changes_for_rule(text: EntryText, choice: Choice, rule: Rule) -> Made:
    """Return the edits that store a rule for a choice's purpose.

    Raise ``EditError`` if the entry has no place for it.
    """
    keep = _KEEP.get(choice.purpose) if choice.purpose is not None else None
    if keep is None:
        raise EditError("say first what the element is to be")
    return keep(text, choice, rule)


def actions_of(parts: EntryParts, level: str, tag: str) -> tuple[Part, ...]:
    """Return the actions of a level that have a tag, those of its variants left out; none without such a level."""
    found = next((each for each in parts.all if each.tag == "level" and each.text("name") == level), None)
    return parts.children(found, tag) if found is not None else ()


def _item(text: EntryText, choice: Choice, rule: Rule) -> Made:
    parts = EntryParts(text)
    extract = _extract(parts, choice)
    if extract is None:
        if not choice.field:
            raise EditError("say of what type the objects are")
        return made_edits.add_objects(text, choice.level, choice.field, rule.expression)
    if rule.instead:
        return _replaced(text, parts.children(extract, "item"), rule.expression)
    return made_edits.add_item(text, extract.place, rule.expression)


def _field(text: EntryText, choice: Choice, rule: Rule) -> Made:
    parts = EntryParts(text)
    extract = _needed_extract(parts, choice)
    field = _child(parts, extract, choice.field)
    if field is None:
        is_first = rule.page and choice.field == "title" and extract.text("many") == "yes"
        kind = FIELDS.get(choice.field, FieldKind.TEXT)
        extent = Extent(page=rule.page, first=is_first)
        return made_edits.add_field(text, extract.place, choice.field, kind, rule.expression, extent)
    if not rule.instead:
        return made_edits.add_select(text, field.place, rule.expression)
    there = parts.children(field, "select")
    if there:
        made = _replaced(text, there, rule.expression)
    else:  # The field is read from what pages declare about themselves alone.
        made = made_edits.add_select(text, field.place, rule.expression)
    if (field.text("page") == "yes") != rule.page:
        page = SetAttribute(place=field.place, attribute="page", value="yes" if rule.page else None)
        return Made((*made.edits, page, Confirm(place=field.place)), made.said)
    return Made((*made.edits, Confirm(place=field.place)), made.said)


def _left_out(text: EntryText, choice: Choice, rule: Rule) -> Made:
    parts = EntryParts(text)
    field = _child(parts, _needed_extract(parts, choice), choice.field)
    if field is None:
        raise EditError(f"there is no field {choice.field} to leave it out of")
    return made_edits.exclude(text, field.place, rule.expression)


_KEEP: Final[Mapping[Purpose, Callable[[EntryText, Choice, Rule], Made]]] = {
    Purpose.SIGN: lambda text, _, rule: made_edits.add_sign(text, rule.expression, rule.strength),
    Purpose.LEVEL_SIGN: lambda text, choice, rule: made_edits.add_sign(text, rule.expression, level=choice.level),
    Purpose.ITEM: _item,
    Purpose.FIELD: _field,
    Purpose.LEFT_OUT: _left_out,
    Purpose.LINK: lambda text, choice, rule: add_link_rule(
        text, choice.level, choice.field, rule.group, rule.expression
    ),
}


def _replaced(text: EntryText, there: tuple[Part, ...], expression: Expression) -> Made:
    """Put an expression in place of the first of some parts, and remove the others."""
    if not there:
        raise EditError("there is nothing that it could take the place of; keep it besides what there is")
    edits: list[Edit] = []
    # The last one goes first, so that the places of those before it stay.
    for each in reversed(there[1:]):
        made = made_edits.remove(text, each.place)
        edits += made.edits
        text = apply(text, made.edits)
    made = made_edits.replace_select(text, there[0].place, expression)
    return Made((*edits, *made.edits, Confirm(place=there[0].place)), made.said)


def _extract(parts: EntryParts, choice: Choice) -> Part | None:
    """Return the extraction action of a choice: that of its name, or the only one where it names none."""
    found = actions_of(parts, choice.level, "extract")
    named = next((each for each in found if each.text("name") == choice.action), None)
    return named if named is not None else found[0] if len(found) == 1 and not choice.action else None


def _needed_extract(parts: EntryParts, choice: Choice) -> Part:
    found = _extract(parts, choice)
    if found is None:
        raise EditError(f"nothing is read on pages of level {choice.level} yet; say first what one object is")
    return found


def _child(parts: EntryParts, around: Part, name: str) -> Part | None:
    return next((each for each in parts.children(around, "field") if each.text("name") == name), None)
