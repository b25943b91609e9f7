"""Behaviours: what is done on a page in a browser before it is read."""

import re
from collections.abc import Collection, Iterable

from lxml import etree

from knowledge_base.behaviours import USUAL_MOST, Act, Behaviour, Step
from knowledge_base.parsing.attributes import has_expression, selector, text, words, yes
from knowledge_base.parsing.levels import no_such_level
from knowledge_base.parsing.notes import Notes

_BETWEEN = re.compile(r"[;\n]")


def behaviours(root: etree._Element, notes: Notes) -> tuple[Behaviour, ...]:
    """Read the behaviours of a file in their order; mistakes are noted."""
    return tuple(_behaviour(child, notes) for child in root.iterchildren("behaviour"))


def check_application(root: etree._Element, levels: Collection[str], notes: Notes) -> None:
    """Note behaviours of an application for levels that it has not, and what only general ones can say."""
    for element in root.iterchildren("behaviour"):
        _check_always(element, notes)
        for name in words(element, "level"):
            if name not in levels:
                notes.add(element, no_such_level(name, levels))


def check_general(root: etree._Element, notes: Notes) -> None:
    """Note behaviours that name levels in a file without any: that of a kind, or of unknown pages."""
    for element in root.iterchildren("behaviour"):
        if root.tag == "kind":
            _check_always(element, notes)
        if text(element, "level"):
            notes.add(element, "levels are of applications, and this file describes none; take level out")


def _check_always(element: etree._Element, notes: Notes) -> None:
    if text(element, "always"):
        notes.add(element, "always is for behaviours in unknown-pages.xml; take it out")


def _behaviour(element: etree._Element, notes: Notes) -> Behaviour:
    steps = tuple(_step(child, notes) for child in element.iterchildren(*Act))
    if not steps:
        notes.add(element, f"this behaviour does nothing; write one of <{'>, <'.join(Act)}> into it")
    return Behaviour(
        text(element, "name"),
        steps,
        levels=frozenset(words(element, "level")),
        allows=frozenset(words(element, "allows")),
        never=_said(element.iterchildren("never")),
        always=yes(element, "always"),
        cite=text(element, "cite"),
    )


def _step(element: etree._Element, notes: Notes) -> Step:
    act = Act(str(element.tag))
    given = (selector(element, notes),) if has_expression(element) else ()
    said = _said(element.iterchildren("words"))
    if act is Act.CLICK and not (given or said):
        notes.add(element, "nothing says what is to be clicked; write css, xpath, or <words> of a button for more")
    return Step(act, given, int(text(element, "most") or USUAL_MOST), float(text(element, "pause") or 0), said)


def _said(elements: Iterable[etree._Element]) -> tuple[str, ...]:
    """Return the words in some elements, several divided by semicolons or lines, in small letters and single blanks."""
    found = (" ".join(part.split()).lower() for each in elements for part in _BETWEEN.split(each.text or ""))
    return tuple(dict.fromkeys(filter(None, found)))
