"""Insert learned actions, signs and expressions into an application's file, leaving the rest unchanged."""

import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from lxml import etree

from aahcrawler.adaptation.learned import Learned, LearnedAction, LearnedLinks, LearnedSign
from aahcrawler.editor.text.entry_text import EditError, EntryText
from aahcrawler.editor.text.places import tag_of
from aahcrawler.wrapper_induction.link_selectors import ANY
from aahcrawler.wrapper_induction.robust_paths import Expression
from knowledge_base.model import Extract, Field, Identity, Strength
from knowledge_base.selectors import Selector

InPlace = LearnedAction | LearnedLinks
"""What was learned in the place of an action."""


class PromotionError(Exception):
    """A learned item cannot become part of a file; the message says why and what to do."""


@dataclass(frozen=True, slots=True)
class Insertion:
    """A way in which a learned item can become part of a file.

    ``said`` completes the words "it can become part of the file ...". ``variant`` is the variant that must then read
    the pages of the evidence, None if any may. ``template`` names the saved page.
    """

    learned: Learned
    said: str
    template: str
    edit: Callable[[EntryText], EntryText]
    variant: str | None = None

    def into(self, text: EntryText) -> EntryText:
        """Return the text of the file with the learned item. Raises `PromotionError`."""
        try:
            return self.edit(text)
        except EditError as error:
            raise PromotionError(str(error)) from error


def level_place(level: str) -> str:
    """Return the place of a level in a file."""
    return f"level[{level}]"


def action_place(learned: InPlace, variant: str = "") -> str:
    """Return the place of the action that something was learned for, in its level or in a variant of it."""
    tag = "extract" if isinstance(learned, LearnedAction) else "navigate"
    within = f"/variant[{variant}]" if variant else ""
    return f"{level_place(learned.level)}{within}/{tag}[{learned.action}]"


def behind(text: EntryText, parent: str, *tags: str) -> str:
    """Return the place before which to insert an element so that it follows all elements with some tags.

    Empty: the end.
    """
    inside = text.children(parent)
    last = max((i for i, place in enumerate(inside) if tag_of(place) in tags), default=-1)
    return inside[last + 1] if last + 1 < len(inside) else ""


def with_pattern(text: EntryText, learned: LearnedSign, strength: Strength) -> EntryText:
    """Add a sign of the application."""
    given = {"strength": strength.name.lower()} | learned.expression.attributes() | {"cite": learned.pages[0]}
    return text.add("detect", _xml(etree.Element("pattern", given)))


def with_signs(text: EntryText, place: str, signs: Iterable[Expression], learned: Learned) -> EntryText:
    """Add new signs to a level or variant, after existing ones."""
    known = {_key(text.element(each)) for each in text.children(place) if tag_of(each) == "when"}
    for sign in signs:
        written = etree.Element("when", sign.attributes() | {"cite": learned.pages[0]})
        if _key(written) not in known:
            text = text.add(place, _xml(written), behind(text, place, "when"))
    return text


def with_fallback(text: EntryText, learned: LearnedLinks) -> EntryText:
    """Add an action that runs if the one of the level finds nothing, whatever the template."""
    written = learned.xml()
    written.set("name", learned.name)
    written.set("when-none", learned.action)
    return _with_action(text, level_place(learned.level), written, learned, _first_variant(text, learned.level))


def with_variant(
    text: EntryText, learned: InPlace, name: str, replaced: Extract | None, signs: Iterable[Expression]
) -> EntryText:
    """Add a variant of the level, before all others, with the learned action and signs of its pages."""
    level = level_place(learned.level)
    written = etree.Element("variant", {"name": name})
    for sign in signs:
        etree.SubElement(written, "when", sign.attributes() | {"cite": learned.pages[0]})
    written.append(etree.Comment(f" {evidence_of(learned)} "))
    written.append(_written_action(learned, replaced))
    return text.add(level, _xml(written), _first_variant(text, learned.level))


def joined(
    text: EntryText, learned: InPlace, name: str, replaced: Extract | None, signs: Iterable[Expression]
) -> EntryText:
    """Add the learned action to a variant that is there, and signs of its pages."""
    place = f"{level_place(learned.level)}/variant[{name}]"
    text = _with_action(text, place, _written_action(learned, replaced), learned)
    return with_signs(text, place, signs, learned)


def _written_action(learned: InPlace, replaced: Extract | None) -> etree._Element:
    """Return an action as a variant writes it, without what the level's action has beyond it."""
    written = learned.xml()
    for part in written.iter("*"):
        if part.get("css") or part.get("xpath"):
            part.set("cite", learned.pages[0])
    if isinstance(learned, LearnedLinks):
        return written
    written.set("name", learned.action)
    if replaced is not None:
        dropped = _dropped_by(learned, replaced)
        if dropped:
            written.set("drop", " ".join(dropped))
        for name in ("many", "always"):
            if getattr(replaced, name) and not getattr(learned.wrapper.action, name):
                written.set(name, "no")
    return written


def _dropped_by(learned: LearnedAction, replaced: Extract) -> tuple[str, ...]:
    """Return the fields and parts of an action that the learned replacement lacks."""
    kept = {field.name for field in learned.wrapper.action.fields}
    fields = (field.name for field in replaced.fields if field.name not in kept)
    parts = ("identity", "parent", "instead", "run")
    gone = (part for part in parts if getattr(replaced, part) and not getattr(learned.wrapper.action, part))
    return tuple(dict.fromkeys((*fields, *gone)))


def is_anywhere(learned: LearnedLinks) -> bool:
    """Return whether an action finds links by their URLs alone, so that it is no sign of any template."""
    return learned.documented and learned.expression == ANY


def evidence_of(learned: InPlace) -> str:
    """Return the comment that tells in the file where an action comes from."""
    told = f"Learned on {learned.site} from {len(learned.pages)} pages ({learned.method}), {learned.date:%Y-%m-%d}."
    return re.sub("-{2,}", "-", told)  # Comments of XML hold no two hyphens.


def _with_action(text: EntryText, place: str, written: etree._Element, learned: InPlace, before: str = "") -> EntryText:
    return text.add(place, f"<!-- {evidence_of(learned)} -->{_xml(written)}", before)


def _first_variant(text: EntryText, level: str) -> str:
    return next((each for each in text.children(level_place(level)) if tag_of(each) == "variant"), "")


def _key(element: etree._Element | None) -> tuple[tuple[str, str], ...]:
    """Return the content of a sign without its citation."""
    given = element.attrib.items() if element is not None else ()
    return tuple(sorted((str(name), str(value)) for name, value in given if name != "cite"))


def _xml(element: etree._Element) -> str:
    return etree.tostring(element, encoding="unicode", with_tail=False)


def with_alternatives(text: EntryText, place: str, learned: LearnedAction, action: Extract) -> EntryText | None:
    """Append the learned selectors to those of the action at a place; return the new text.

    ``action`` is the compiled action there. Return None if the learned action differs in more than selectors, or if all
    of its selectors are there.
    """
    new = learned.wrapper.action
    if not _is_alike(new, action) or not _is_whole(text, place, new, action):
        return None
    writing = _Writing(text, learned)
    writing.add_selectors(place, "item", new.items, action.items)
    for part, given, there in (("identity", new.identity, action.identity), ("parent", new.parent, action.parent)):
        if given is not None and there is not None:
            writing.add_identity(f"{place}/{part}", given, there)
    for field in new.fields:
        writing.add_field(place, field, [each for each in action.fields if each.name == field.name])
    return writing.text if writing.text is not text else None


def with_link_alternative(text: EntryText, place: str, learned: LearnedLinks) -> EntryText | None:
    """Return the file with the learned selector among those of the navigation action at a place.

    None where there is no such action or it has that selector already.
    """
    element = text.element(place)
    written = learned.xml()[0]
    if element is None or any(dict(each.attrib).items() >= dict(written.attrib).items() for each in element):
        return None
    written.set("cite", learned.pages[0])
    comment = f"<!-- {evidence_of(learned)} -->"
    return text.add(place, comment + etree.tostring(written, encoding="unicode"), behind(text, place, "select"))


class _Writing:
    """A text that is being edited; a comment on the evidence precedes the first addition."""

    def __init__(self, text: EntryText, learned: LearnedAction) -> None:
        self.text = text
        self._learned = learned
        self._told = False

    def add_selectors(self, parent: str, tag: str, new: Iterable[Selector], there: Iterable[Selector]) -> None:
        """Add selectors that are not there, behind the last of their tag."""
        known = {_selector_key(each) for each in there}
        for selector in new:
            if _selector_key(selector) not in known:
                attributes = Expression.of(selector).attributes() | {"cite": self._learned.pages[0]}
                self._add(parent, etree.Element(tag, attributes), behind(self.text, parent, tag))

    def add_identity(self, place: str, new: Identity, there: Identity) -> None:
        """Add the selectors of an identity, and what is to come off what they find."""
        self.add_selectors(place, "select", new.selectors, there.selectors)
        trims = tuple(dict.fromkeys((*there.trims, *new.trims)))
        if trims != there.trims:
            self.text = self.text.set(place, "trim", " ".join(filter(None, trims)))

    def add_field(self, parent: str, new: Field, there: Sequence[Field]) -> None:
        """Add the selectors of a field to one that is read in the same way, or one more field of its name."""
        known = {_selector_key(selector) for field in there for selector in field.selectors}
        if there and all(_selector_key(selector) in known for selector in new.selectors):
            return
        number = next((i for i, field in enumerate(there) if _is_read_alike(new, field)), None)
        own = [place for place in self.text.children(parent) if self._names(place, new.name)]
        if number is not None:
            self.add_selectors(own[number], "select", new.selectors, there[number].selectors)
            return
        self._add(parent, _field(self._learned, new), self._after(parent, own))
        dropped = (self._element(parent).get("drop") or "").split()
        if new.name in dropped:
            left = " ".join(name for name in dropped if name != new.name)
            self.text = self.text.set(parent, "drop", left or None)

    def _add(self, parent: str, element: etree._Element, before: str) -> None:
        comment = "" if self._told else f"<!-- {evidence_of(self._learned)} -->"
        self.text = self.text.add(parent, comment + etree.tostring(element, encoding="unicode"), before)
        self._told = True

    def _after(self, parent: str, own: Sequence[str]) -> str:
        """Return the place behind the last field of a name, or the end."""
        inside = self.text.children(parent)
        at = inside.index(own[-1]) + 1 if own else len(inside)
        return inside[at] if at < len(inside) else ""

    def _names(self, place: str, name: str) -> bool:
        element = self._element(place)
        return element.tag == "field" and element.get("name") == name

    def _element(self, place: str) -> etree._Element:
        element = self.text.element(place)
        if element is None:
            raise LookupError(place)
        return element


def _is_alike(new: Extract, there: Extract) -> bool:
    """Return whether two actions make the same kinds of objects, numbered in the same way."""
    if new.run is not None or there.run is not None:
        return False
    if (new.type, new.first_type, new.many) != (there.type, there.first_type, there.many):
        return False
    signs = {(type_, _selector_key(sign)) for type_, sign in there.instead}
    if any((type_, _selector_key(sign)) not in signs for type_, sign in new.instead):
        return False
    return _is_numbered_alike(new.identity, there.identity) and _is_numbered_alike(new.parent, there.parent)


def _is_numbered_alike(new: Identity | None, there: Identity | None) -> bool:
    if new is None:
        return True
    if there is None or new.prefix != there.prefix or not set(new.fields) <= set(there.fields):
        return False
    return set(new.trims) == set(there.trims) or ("" not in new.trims and "" not in there.trims)


def _is_whole(text: EntryText, place: str, new: Extract, action: Extract) -> bool:
    """Return whether all parts that would get alternatives are written at the place itself.

    Parts that a variant inherits from its level cannot be extended there: writing one replaces all of the level's.
    """
    element = text.element(place)
    if element is None:
        return False
    fields = [field.name for field in action.fields]
    wanted = {field.name for field in new.fields if field.name in fields}
    if any(len(element.findall(f"field[@name='{name}']")) != fields.count(name) for name in wanted):
        return False
    parts = ("item", *(part for part in ("identity", "parent") if getattr(new, part) is not None))
    return all(element.find(part) is not None for part in parts)


def _is_read_alike(new: Field, there: Field) -> bool:
    """Return whether two fields read what their selectors find in the same way."""
    if {_selector_key(each) for each in new.without} != {_selector_key(each) for each in there.without}:
        return False
    ways = (
        (each.kind, each.page, each.first_only, each.many, each.strip, each.join, each.markup) for each in (new, there)
    )
    one, other = ways
    return one == other and new.date == there.date and bool(there.selectors)


def _selector_key(selector: Selector) -> tuple[str, str]:
    return selector.source, selector.attribute


def _field(learned: LearnedAction, field: Field) -> etree._Element:
    """Return a field as it was learned, with a citation at each selector."""
    element = learned.wrapper.xml().findall("field")[learned.wrapper.action.fields.index(field)]
    for each in element:
        each.set("cite", learned.pages[0])
    return element
