"""Write what was learned as alternatives into an action that is there: one more place where each part may stand."""

from collections.abc import Iterable, Sequence

from lxml import etree

from aahcrawler.adaptation.store.learned import Learned, LearnedAction, LearnedLinks
from aahcrawler.authoring.editing.entry_text import EntryText
from aahcrawler.authoring.insertion import behind, evidence_of
from aahcrawler.wrapper_induction.robust_paths import Expression
from knowledge_base.model import Extract, Field, Identity
from knowledge_base.selectors import Selector


def with_alternatives(text: EntryText, place: str, learned: LearnedAction, action: Extract) -> EntryText | None:
    """Return the file with the learned selectors behind those of the action at a place.

    ``action`` is what the file makes of it. None where the learned action differs in more than its selectors, so that
    no alternative says what it does, or where all are there already.
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
    """The text as it becomes; a comment on the evidence stands before the first addition."""

    def __init__(self, text: EntryText, learned: LearnedAction) -> None:
        self.text = text
        self._learned = learned
        self._told = False

    def add_selectors(self, parent: str, tag: str, new: Iterable[Selector], there: Iterable[Selector]) -> None:
        """Add selectors that are not there, behind the last of their tag."""
        known = {_key(each) for each in there}
        for selector in new:
            if _key(selector) not in known:
                self._add(parent, _selector(tag, selector, self._learned), behind(self.text, parent, tag))

    def add_identity(self, place: str, new: Identity, there: Identity) -> None:
        """Add the selectors of an identity, and what is to come off what they find."""
        self.add_selectors(place, "select", new.selectors, there.selectors)
        trims = tuple(dict.fromkeys((*there.trims, *new.trims)))
        if trims != there.trims:
            self.text = self.text.set(place, "trim", " ".join(filter(None, trims)))

    def add_field(self, parent: str, new: Field, there: Sequence[Field]) -> None:
        """Add the selectors of a field to one that is read in the same way, or one more field of its name."""
        known = {_key(selector) for field in there for selector in field.selectors}
        if there and all(_key(selector) in known for selector in new.selectors):
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
    signs = {(type_, _key(sign)) for type_, sign in there.instead}
    if any((type_, _key(sign)) not in signs for type_, sign in new.instead):
        return False
    return _is_numbered_alike(new.identity, there.identity) and _is_numbered_alike(new.parent, there.parent)


def _is_numbered_alike(new: Identity | None, there: Identity | None) -> bool:
    if new is None:
        return True
    if there is None or new.prefix != there.prefix or not set(new.fields) <= set(there.fields):
        return False
    return set(new.trims) == set(there.trims) or ("" not in new.trims and "" not in there.trims)


def _is_whole(text: EntryText, place: str, new: Extract, action: Extract) -> bool:
    """Return whether all parts that would get alternatives stand at the place itself.

    What a variant takes from its level cannot get any there: one that is written replaces all of the level's.
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
    if {_key(each) for each in new.without} != {_key(each) for each in there.without}:
        return False
    ways = (
        (each.kind, each.page, each.first_only, each.many, each.strip, each.join, each.markup) for each in (new, there)
    )
    one, other = ways
    return one == other and new.date == there.date and bool(there.selectors)


def _key(selector: Selector) -> tuple[str, str]:
    return selector.source, selector.attribute


def _selector(tag: str, selector: Selector, learned: Learned) -> etree._Element:
    return etree.Element(tag, Expression.of(selector).attributes() | {"cite": learned.pages[0]})


def _field(learned: LearnedAction, field: Field) -> etree._Element:
    """Return a field as it was learned, with a citation at each selector."""
    element = learned.wrapper.xml().findall("field")[learned.wrapper.action.fields.index(field)]
    for each in element:
        each.set("cite", learned.pages[0])
    return element
