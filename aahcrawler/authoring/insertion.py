"""Insert learned actions and signs into an application's file; everything else in it stays as it is."""

import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass

from lxml import etree

from aahcrawler.adaptation.store.learned import Learned, LearnedAction, LearnedLinks, LearnedSign
from aahcrawler.authoring.editing.edit_error import EditError
from aahcrawler.authoring.editing.entry_text import EntryText
from aahcrawler.authoring.editing.places import tag_of
from aahcrawler.wrapper_induction.link_selectors import ANY
from aahcrawler.wrapper_induction.robust_paths import Expression
from knowledge_base.model import Extract, Strength

InPlace = LearnedAction | LearnedLinks
"""What was learned in the place of an action."""


class PromotionError(Exception):
    """A learned item cannot become part of a file; the message says why and what to do."""


@dataclass(frozen=True, slots=True)
class Insertion:
    """A way in which a learned item can become part of a file.

    ``said`` completes the words "it can become part of the file ...". ``variant`` is the variant that must read the
    pages of the evidence then, None where any may. ``template`` is what the saved page is called after.
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
    """Return the place before which an element belongs that comes after all of some tags, empty for the end."""
    inside = text.children(parent)
    last = max((i for i, place in enumerate(inside) if tag_of(place) in tags), default=-1)
    return inside[last + 1] if last + 1 < len(inside) else ""


def with_pattern(text: EntryText, learned: LearnedSign, strength: Strength) -> EntryText:
    """Add a sign of the application."""
    given = {"strength": strength.name.lower()} | learned.expression.attributes() | {"cite": learned.pages[0]}
    return text.add("detect", _xml(etree.Element("pattern", given)))


def with_signs(text: EntryText, place: str, signs: Iterable[Expression], learned: Learned) -> EntryText:
    """Add signs of a level or a variant that it has not yet, after those it has."""
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
    """Return the fields and parts of an action that the learned one in its place has not."""
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
    """Return what a sign says, whatever it cites."""
    given = element.attrib.items() if element is not None else ()
    return tuple(sorted((str(name), str(value)) for name, value in given if name != "cite"))


def _xml(element: etree._Element) -> str:
    return etree.tostring(element, encoding="unicode", with_tail=False)
