"""The changes of an entry that keep what somebody has chosen: a rule is put in the place of others, or behind them."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Final

from aahcrawler.authoring.drafting.address_groups import AddressGroup
from aahcrawler.authoring.editing.edit_error import EditError
from aahcrawler.authoring.editing.edits import Confirm, Edit, SetAttribute, apply
from aahcrawler.authoring.editing.entry_text import EntryText
from aahcrawler.service.cockpit.studio.choice import Choice, Purpose
from aahcrawler.studio.entry_parts import EntryParts, Part
from aahcrawler.studio.works import object_edits
from aahcrawler.studio.works.level_edits import add_link_rule
from aahcrawler.studio.works.made_edits import Made
from aahcrawler.studio.works.menu_words import FIELDS
from aahcrawler.studio.works.object_edits import Extent
from aahcrawler.wrapper_induction.robust_paths import Expression
from knowledge_base.model import FieldKind, Strength

STRENGTHS: Final = {each.name.lower(): each for each in Strength}


@dataclass(frozen=True, slots=True)
class Rule:
    """A rule to be kept, and whether it takes the place of those there are.

    ``page`` says that a field stands once on its page. ``strength`` is that of a sign, ``group`` has the addresses that
    a link of it leads to.
    """

    expression: Expression
    instead: bool = True
    page: bool = False
    strength: Strength = Strength.STRONG
    group: AddressGroup | None = None


def kept(text: EntryText, choice: Choice, rule: Rule) -> Made:
    """Return the changes that keep a rule for what a choice is for. Raise ``EditError`` where it has no place."""
    keep = _KEEP.get(choice.purpose) if choice.purpose is not None else None
    if keep is None:
        raise EditError("say first what the element is to be")
    return keep(text, choice, rule)


def actions_of(parts: EntryParts, level: str, tag: str) -> tuple[Part, ...]:
    """Return the actions of a level that have a tag, those of its variants left out; none without such a level."""
    found = next((each for each in parts.all if each.tag == "level" and each.text("name") == level), None)
    return parts.children(found, tag) if found is not None else ()


def _sign(text: EntryText, _: Choice, rule: Rule) -> Made:
    return object_edits.add_sign(text, rule.expression, rule.strength)


def _level_sign(text: EntryText, choice: Choice, rule: Rule) -> Made:
    return object_edits.add_sign(text, rule.expression, level=choice.level)


def _item(text: EntryText, choice: Choice, rule: Rule) -> Made:
    parts = EntryParts(text)
    extract = _extract(parts, choice)
    if extract is None:
        if not choice.field:
            raise EditError("say of what type the objects are")
        return object_edits.add_objects(text, choice.level, choice.field, rule.expression)
    if rule.instead:
        return _replaced(text, parts.children(extract, "item"), rule.expression)
    return object_edits.add_item(text, extract.place, rule.expression)


def _field(text: EntryText, choice: Choice, rule: Rule) -> Made:
    parts = EntryParts(text)
    extract = _needed_extract(parts, choice)
    field = _child(parts, extract, choice.field)
    if field is None:
        is_first = rule.page and choice.field == "title" and extract.text("many") == "yes"
        kind = FIELDS.get(choice.field, FieldKind.TEXT)
        extent = Extent(page=rule.page, first=is_first)
        return object_edits.add_field(text, extract.place, choice.field, kind, rule.expression, extent)
    if not rule.instead:
        return object_edits.add_select(text, field.place, rule.expression)
    there = parts.children(field, "select")
    if there:
        made = _replaced(text, there, rule.expression)
    else:  # The field is read from what pages declare about themselves alone.
        made = object_edits.add_select(text, field.place, rule.expression)
    if (field.text("page") == "yes") != rule.page:
        page = SetAttribute(place=field.place, attribute="page", value="yes" if rule.page else None)
        return Made((*made.edits, page, Confirm(place=field.place)), made.said)
    return Made((*made.edits, Confirm(place=field.place)), made.said)


def _left_out(text: EntryText, choice: Choice, rule: Rule) -> Made:
    parts = EntryParts(text)
    field = _child(parts, _needed_extract(parts, choice), choice.field)
    if field is None:
        raise EditError(f"there is no field {choice.field} to leave it out of")
    return object_edits.exclude(text, field.place, rule.expression)


def _link(text: EntryText, choice: Choice, rule: Rule) -> Made:
    return add_link_rule(text, choice.level, choice.field, rule.group, rule.expression)


_KEEP: Final[Mapping[Purpose, Callable[[EntryText, Choice, Rule], Made]]] = {
    Purpose.SIGN: _sign,
    Purpose.LEVEL_SIGN: _level_sign,
    Purpose.ITEM: _item,
    Purpose.FIELD: _field,
    Purpose.LEFT_OUT: _left_out,
    Purpose.LINK: _link,
}


def _replaced(text: EntryText, there: tuple[Part, ...], expression: Expression) -> Made:
    """Put an expression in the place of the first of some parts, and remove the others."""
    if not there:
        raise EditError("there is nothing that it could take the place of; keep it besides what there is")
    edits: list[Edit] = []
    # The last one goes first, so that the places of those before it stay.
    for each in reversed(there[1:]):
        made = object_edits.remove(text, each.place)
        edits += made.edits
        text = apply(text, made.edits)
    made = object_edits.replace_select(text, there[0].place, expression)
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
    return next((each for each in _children(parts, around) if each.text("name") == name), None)


def _children(parts: EntryParts, around: Part) -> Iterator[Part]:
    return iter(parts.children(around, "field"))
