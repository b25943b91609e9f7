"""Parses one valid XML file into the model, recording every mistake with its line and its remedy."""

from lxml import etree

from knowledge_base.behaviours import Behaviour
from knowledge_base.model import Application, Condition, Kind
from knowledge_base.parsing.attributes import (
    Notes,
    Problem,
    conditions,
    names_url,
    selector,
    selectors,
    text,
    url_rule,
    yes,
)
from knowledge_base.parsing.detection_patterns import (
    behaviours,
    check_actions,
    check_application,
    check_general,
    listings,
    pattern,
)
from knowledge_base.parsing.levels import Levels
from knowledge_base.url_rules import AvoidRule, AvoidRules, BadGlobError, DropRule, DropRules, Reason, glob_test

__all__ = ["Notes", "Problem", "check_expressions", "read_application", "read_kind", "read_unknown_pages"]

_LONE_PAGE = "page"
"""The type of object of pages that stand by themselves."""


def check_expressions(root: etree._Element, notes: Notes) -> None:
    """Compile every expression of a file and record those that do not compile."""
    for element in root.iter("*"):
        if element.get("css") and element.get("xpath"):
            notes.add(element, "css and xpath stand here together; keep one of them")
        elif element.get("css") or element.get("xpath"):
            selector(element, notes)


def read_kind(root: etree._Element, notes: Notes) -> Kind:
    """Read the file of a kind."""
    types = frozenset(text(child, "type") for child in root.iterchildren("object"))
    check_general(root, notes)
    name, title = text(root, "name"), text(root, "title")
    return Kind(name, title, types, _avoid(root, notes), _drops(root, notes), behaviours(root, notes))


def read_unknown_pages(root: etree._Element, notes: Notes) -> tuple[tuple[Behaviour, ...], tuple[Condition, ...]]:
    """Parse the file for unknown pages: general behaviours, and signs that a page needs a browser."""
    check_general(root, notes)
    return behaviours(root, notes), conditions(root, "needs-browser", notes)


def read_application(
    root: etree._Element, kind: Kind, notes: Notes, extended: Application | None = None
) -> Application:
    """Parse the file of an application; the result is valid only when nothing was recorded.

    Everything of ``extended`` is inherited except its detection patterns and the levels that this file has itself. The
    rules of this file come first.
    """
    if extended is not None and extended.kind != kind.name:
        needed = f'kind="{extended.kind}"'
        notes.add(root, f"{extended.name} is of kind {extended.kind}, so this file needs {needed} as well")
    shared = extended or Application(
        "", kind.name, (), (), AvoidRules(kind.avoid), DropRules(kind.drops), behaviours=kind.behaviours
    )
    application = Application(
        text(root, "name"),
        kind.name,
        tuple(pattern(child, notes) for child in root.iterfind("detect/pattern")),
        Levels(root, kind, notes, shared.levels).read(),
        avoid=AvoidRules(_avoid(root, notes) + shared.avoid.rules),
        drops=DropRules(_drops(root, notes) + shared.drops.rules),
        ignored=selectors(root, "ignore", notes) + shared.ignored,
        needs_browser=conditions(root, "needs-browser", notes) + shared.needs_browser,
        whole_host=yes(root, "whole-host"),
        listings=listings(root, notes) or shared.listings,
        has_lone_pages=_LONE_PAGE in kind.types,
        draft=yes(root, "draft") or shared.draft,
        behaviours=_behaviours(root, shared.behaviours, notes),
    )
    if not application.levels and not application.needs_browser:
        notes.add(root, "this file says nothing of its pages; add a <level>, or extends= with another application")
    check_actions(root, application.levels, notes)
    check_application(root, [level.name for level in application.levels], notes)
    return application


def _behaviours(root: etree._Element, shared: tuple[Behaviour, ...], notes: Notes) -> tuple[Behaviour, ...]:
    """Parse a file's own behaviours; ``shared`` ones come after them, except those of the same name."""
    own = behaviours(root, notes)
    named = {each.name for each in own}
    return own + tuple(each for each in shared if each.name not in named)


def _avoid(root: etree._Element, notes: Notes) -> tuple[AvoidRule, ...]:
    rules = []
    for child in root.iterfind("avoid/url"):
        if not names_url(child):
            notes.add(child, "this rule would refuse every URL; write path, query, parameters or absent")
        rules.append(AvoidRule(url_rule(child, notes), Reason(text(child, "reason"))))
    return tuple(rules)


def _drops(root: etree._Element, notes: Notes) -> tuple[DropRule, ...]:
    return tuple(_drop(child, notes) for child in root.iterfind("canonical/drop"))


def _drop(element: etree._Element, notes: Notes) -> DropRule:
    value = text(element, "value") or "*"
    try:
        glob_test(value)
    except BadGlobError as error:
        notes.add(element, str(error))
        value = "*"
    if bool(text(element, "parameter")) == bool(text(element, "file")):
        notes.add(element, "write either parameter or file")
    return DropRule(
        url_rule(element, notes),
        parameter=text(element, "parameter"),
        value=value,
        beside=text(element, "beside"),
        file=text(element, "file"),
    )
