"""Trims a knowledge base to what one site exercises.

Dropped is every sign, condition, action, field and selector that finds nothing on the site's pages, and every branch of
a union (in CSS: every part of a list) that finds nothing there; see `benchmarks.usage` for the meaning of finding. The
remainder is a valid knowledge base:

- rules for URLs (``address``, ``paging``, ``canonical``, ``avoid``, and ``unless`` that name no element) stay:
  they say how the software makes its URLs, which no theme changes;
- an action without items or fields, a field without selectors, a variant, a level and an application without signs go;
- a level of which the site shows no sign stays as the target of actions that stay, with a condition that never holds;
- of an application of which the site shows no sign nothing stays, nor of one that would not be valid any more;
- kinds stay as they are: they hold rules for URLs alone.
"""

import shutil
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

from lxml import etree

from aahcrawler.page import Page
from benchmarks.recorded import fresh
from benchmarks.usage import Usage, View, pruned
from knowledge_base.file_selection import SHIPPED
from knowledge_base.loader import LoadError, load
from knowledge_base.parsing.attributes import has_expression, text, words

NEVER = "/.."
"""An XPath expression that matches nothing on any page."""

_PARTS = ("pattern", "needs-browser", "ignore", "when", "unless", "own", "instead", "item", "select", "without")
_RUN_PARTS = ("block", "signature", "stop", "heading")
_ACTIONS = ("navigate", "pages", "extract", "use")


def prune(usage: Usage) -> bool:
    """Reduce ``usage.root`` to its used parts; return whether it still describes an application.

    All pages must have been examined before.
    """
    if not usage.is_shown:
        return False
    pruning = _Pruning(usage)
    pruning.parts()
    pruning.requests()
    pruning.extracts()
    pruning.navigations()
    pruning.levels()
    return usage.root.find("level") is not None or usage.root.find("needs-browser") is not None


class _Pruning:
    """A file that is being pruned step by step, with the parts that each element has lost."""

    def __init__(self, usage: Usage) -> None:
        self._usage = usage
        self._root = usage.root
        self._lost: defaultdict[etree._Element, set[str]] = defaultdict(set)

    def _all(self, *tags: str) -> list[etree._Element]:
        """Return the elements with these tags; some may be dropped while the result is used."""
        return list(self._root.iter(*tags))

    def _drop(self, element: etree._Element) -> None:
        parent = element.getparent()
        if parent is not None:
            self._lost[parent].add(str(element.tag))
            parent.remove(element)

    def _has_lost_all(self, element: etree._Element, *tags: str) -> bool:
        """Return whether an element had parts with these tags and has none any more."""
        return bool(self._lost[element].intersection(tags)) and all(element.find(tag) is None for tag in tags)

    def parts(self) -> None:
        """Drop parts that found nothing, and of the other parts the branches that found nothing."""
        for element in self._all(*_PARTS, *_RUN_PARTS):
            if not self._usage.is_used(element):
                if element.tag != "unless" or has_expression(element):
                    self._drop(element)
                continue
            self._narrow(element)

    def _narrow(self, element: etree._Element) -> None:
        expression = self._usage.of(element)
        if expression is not None:
            left = pruned(expression.written, expression.sign, expression.used.__contains__)
            element.set(expression.language, left or expression.written)

    def requests(self) -> None:
        """Drop requests and forms that could not be made."""
        for value in self._all("value"):
            if self._usage.is_used(value):
                self._narrow(value)
            elif has_expression(value):
                for name in ("css", "xpath", "attribute"):
                    value.attrib.pop(name, None)
                if not any(text(value, name) for name in ("parameter", "icd", "text")):
                    self._drop(value)
        for element in self._all("request", "form"):
            unmade = "value" in self._lost[element] or self._has_lost_all(element, "when")
            if unmade or (element.tag == "form" and not self._usage.is_used(element)):
                self._drop(element)
            elif element.tag == "form":
                self._narrow(element)

    def extracts(self) -> None:
        """Drop fields without sources, and actions that found no object."""
        for field in self._all("field"):
            properties = self._usage.declared(field)
            field.attrib.pop("declared", None)
            if properties:
                field.set("declared", " ".join(properties))
            elif field.find("select") is None:
                self._drop(field)
        dead = [action for action in self._all("extract") if not self._finds_objects(action)]
        for action in dead:
            rivals = [other for other in _variants_of(action) if other not in dead]
            if not rivals or action.find("field") is None:
                self._drop(action)
            elif action.find("item") is None:
                action.insert(0, etree.Element("item", xpath=NEVER))

    def _finds_objects(self, action: etree._Element) -> bool:
        identity, run, parent = (action.find(tag) for tag in ("identity", "run", "parent"))
        if parent is not None and parent.find("select") is None:
            action.remove(parent)
        if run is not None and (run.find("block") is None or run.find("signature") is None):
            return False
        if identity is not None and not self._identifies(identity, action):
            return False
        return not self._has_lost_all(action, "item") and not self._has_lost_all(action, "field")

    def _identifies(self, identity: etree._Element, action: etree._Element) -> bool:
        here = {text(field, "name") for each in (action, *_variants_of(action)) for field in each.iter("field")}
        names = [name for name in words(identity, "fields") if name in here]
        identity.attrib.pop("fields", None)
        if names:
            identity.set("fields", " ".join(names))
        return bool(names) or identity.find("select") is not None

    def navigations(self) -> None:
        """Drop navigation actions without sources, references to actions that are gone, and empty variants."""
        for action in self._all("navigate"):
            if self._has_lost_all(action, "select", "request", "form"):
                self._drop(action)
        for use in self._all("use"):
            if _used_parts(use, self._root) is None:
                self._drop(use)
        for variant in self._all("variant"):
            if variant.find("when") is None or all(child.tag == "when" for child in variant):
                self._drop(variant)
        for action in self._all("navigate", "pages"):
            self._wait_only_for_those_left(action)

    def _wait_only_for_those_left(self, action: etree._Element) -> None:
        level = next(action.iterancestors("level"))
        there = {text(other, "action" if other.tag == "use" else "name") for other in level.iter(*_ACTIONS)}
        names = [name for name in words(action, "when-none") if name in there]
        action.attrib.pop("when-none", None)
        if names:
            action.set("when-none", " ".join(names))

    def levels(self) -> None:
        """Drop levels without signs, except those that levels with signs refer to."""
        live = [level for level in self._all("level") if level.find("when") is not None]
        used = {
            found for level in live for use in level.iter("use") if (found := _used_parts(use, self._root)) is not None
        }
        referred = {text(next(action.iterancestors("level")), "name") for action in used}
        for action in (*used, *(action for level in live for action in level.iter("navigate", "pages"))):
            referred.add(text(action, "to"))
        for level in self._all("level"):
            if level.find("when") is not None:
                continue
            if text(level, "name") not in referred:
                self._drop(level)
                continue
            for part in list(level.iterchildren("unless", "own", "variant", *_ACTIONS)):
                if part not in used:
                    level.remove(part)
            level.insert(0, etree.Element("when", xpath=NEVER))


def _variants_of(action: etree._Element) -> Iterator[etree._Element]:
    """Yield the actions of variants that change an action of a level."""
    level = action.getparent()
    if level is not None and level.tag == "level":
        name = text(action, "name")
        yield from (other for other in level.iterfind("variant/extract") if text(other, "name") == name)


def _used_parts(use: etree._Element, root: etree._Element) -> etree._Element | None:
    """Return the action that a level takes over from another one, None if it is gone."""
    for level in root.iterchildren("level"):
        if text(level, "name") == text(use, "level"):
            actions = level.iterchildren("navigate", "pages", "extract")
            return next((action for action in actions if text(action, "name") == text(use, "action")), None)
    return None


class TrimmingError(Exception):
    """The remainder is no valid knowledge base; the message names the file and the cause."""


def trim(pages: Iterable[Page], target: Path, source: Path = SHIPPED, needed: Sequence[str] = ()) -> tuple[str, ...]:
    """Write the parts of the knowledge base in ``source`` that the pages use to ``target``; return its applications.

    Earlier content of ``target`` is replaced. Raises ``TrimmingError`` if an application of ``needed`` is lost.
    """
    shutil.rmtree(target, ignore_errors=True)
    (target / "applications").mkdir(parents=True)
    if (source / "kinds").is_dir():
        shutil.copytree(source / "kinds", target / "kinds")
    for usage, file in _used(tuple(pages), source):
        if prune(usage):
            tree = etree.ElementTree(usage.root)
            tree.write(target / "applications" / file.name, encoding="utf-8", xml_declaration=True)
    names = _leave_out_broken(target, needed)
    for name in needed:
        if name not in names:
            raise TrimmingError(f"nothing is left of {name}: the pages show no sign of it, or of none of its levels")
    return names


def _used(pages: Sequence[Page], source: Path) -> list[tuple[Usage, Path]]:
    """Return the usage of each file that describes an application the pages show signs of."""
    parser = etree.XMLParser(remove_comments=True, remove_blank_text=True, resolve_entities=False, no_network=True)
    files = sorted((source / "applications").glob("*.xml"))
    usages = [(Usage(etree.parse(file, parser).getroot(), file), file) for file in files]
    for page in pages:
        view = View(fresh(page))
        for usage, _ in usages:
            usage.look_for_patterns(view)
    shown = [(usage, file) for usage, file in usages if usage.is_shown]
    for usage, _ in shown:
        usage.prepare()
    for page in pages:
        view = View(fresh(page))
        for usage, _ in shown:
            usage.look_at(view)
    return shown


def _leave_out_broken(target: Path, needed: Sequence[str]) -> tuple[str, ...]:
    """Delete invalid files until the folder loads; return the names of the applications that are left."""
    while True:
        try:
            return tuple(application.name for application in load(target).applications)
        except LoadError as error:
            broken = {Path(problem.file) for problem in error.problems}
            names = {etree.parse(file).getroot().get("name", "") for file in broken if file.is_file()}
            if not names or names.intersection(needed):
                raise TrimmingError(f"the remainder is not valid:\n{error}") from error
            for file in broken:
                file.unlink()
