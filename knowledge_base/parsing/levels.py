"""Parses page levels with their actions and variants, which refer to one another by name."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import cast

from lxml import etree

from knowledge_base.model import Action, Extract, Kind, Navigate, PageLevel, Role, Variant
from knowledge_base.parsing.attributes import Notes, child_or_self, conditions, selectors, text, url_rule, words, yes
from knowledge_base.parsing.extraction_actions import check_types, extract, navigate
from knowledge_base.url_rules import Paging, UrlRule

_SORTS: Mapping[str, str] = {
    "navigate": "a navigate action",
    "pages": "a pages action",
    "extract": "an extract action",
}


@dataclass(frozen=True, slots=True)
class _Reachable:
    """What navigation actions require of a level that they lead to."""

    addresses: bool
    paging: bool


class Levels:
    """Parses the levels of one application. Levels of ``extended`` that it does not have itself come after its own."""

    def __init__(self, root: etree._Element, kind: Kind, notes: Notes, extended: Iterable[PageLevel] = ()) -> None:
        self._root = root
        self._kind = kind
        self._notes = notes
        self._elements = {text(element, "name"): element for element in root.iterchildren("level")}
        self._inherited = {level.name: level for level in extended if level.name not in self._elements}
        self._reachable = {
            name: _Reachable(element.find("address") is not None, element.find("paging") is not None)
            for name, element in self._elements.items()
        } | {name: _Reachable(bool(level.addresses), bool(level.paging)) for name, level in self._inherited.items()}
        self._actions = {name: self._written(element) for name, element in self._elements.items()}
        for name, level in self._inherited.items():
            self._actions[name] = {action.name: action for action in level.actions}

    def read(self) -> tuple[PageLevel, ...]:
        """Return the levels in the order in which they are tried."""
        own = tuple(self._level(name, element) for name, element in self._elements.items())
        for level in self._inherited.values():
            for action in _all_actions(level):
                if isinstance(action, Navigate) and action.to in self._elements:
                    self._check_target(self._root, action)
        return (*own, *self._inherited.values())

    def _level(self, name: str, element: etree._Element) -> PageLevel:
        role = cast("Role", text(element, "role"))
        actions = self._with_used(self._actions[name], element)
        self._check_actions(element, role, actions)
        return PageLevel(
            name,
            role,
            when=conditions(element, "when", self._notes),
            unless=conditions(element, "unless", self._notes),
            actions=tuple(actions.values()),
            addresses=tuple(self._address(child) for child in element.iterchildren("address")),
            paging=tuple(self._paging(child) for child in element.iterchildren("paging")),
            own=selectors(element, "own", self._notes),
            start=yes(element, "start"),
            variants=self._variants(element, role, actions),
            type=self._type(element),
        )

    def _type(self, element: etree._Element) -> str:
        check_types(element, (text(element, "type"),), self._kind, self._notes)
        return text(element, "type")

    def _address(self, element: etree._Element) -> UrlRule:
        if not text(element, "path"):
            self._notes.add(element, "an <address> needs a path, such as **/viewtopic.php or ** for any")
        return url_rule(element, self._notes, frozenset(words(element, "optional")))

    def _paging(self, element: etree._Element) -> Paging:
        parameter, part = text(element, "parameter"), text(element, "part")
        if bool(parameter) == bool(part):
            self._notes.add(element, "write either parameter or part")
        if part and "#" not in part:
            self._notes.add(element, f"part needs a # where the page number stands: {part}#")
        return Paging(parameter, part)

    def _variants(self, level: etree._Element, role: Role, actions: Mapping[str, Action]) -> tuple[Variant, ...]:
        found: dict[str, Variant] = {}
        for element in level.iterchildren("variant"):
            name = text(element, "name")
            if name in found:
                self._notes.add(element, f"this level has another variant named {name}; rename one")
            if all(child.tag == "when" for child in element):
                message = "this variant changes nothing; write what differs, in an action of the same name"
                self._notes.add(element, message)
            changed = self._with_used({**actions, **self._written(element, actions)}, element)
            self._check_actions(element, role, changed, actions.values())
            found[name] = Variant(name, conditions(element, "when", self._notes), tuple(changed.values()))
        return tuple(found.values())

    def _written(self, parent: etree._Element, earlier: Mapping[str, Action] | None = None) -> dict[str, Action]:
        """Read the actions written in a level or, with those of its level as ``earlier``, in a variant."""
        readers: Mapping[str, Callable[[etree._Element, Action | None], Action]] = {
            "navigate": self._navigate,
            "pages": self._pages,
            "extract": self._extract,
        }
        actions: dict[str, Action] = {}
        for element in parent.iterchildren(*readers):
            name, tag = text(element, "name"), str(element.tag)
            if name in actions:
                self._notes.add(element, f"there is another action named {name} here; rename one")
            start = (earlier or {}).get(name)
            if start is not None and _tag(start) != tag:
                advice = f"write <{_tag(start)}>, or choose another name"
                self._notes.add(element, f"{name} is {_SORTS[_tag(start)]} of this level; {advice}")
                start = None
            actions[name] = readers[tag](element, start)
            self._check_target(element, actions[name])
        return actions

    def _navigate(self, element: etree._Element, earlier: Action | None) -> Navigate:
        return navigate(element, earlier if isinstance(earlier, Navigate) else None, self._notes)

    def _extract(self, element: etree._Element, earlier: Action | None) -> Extract:
        return extract(element, earlier if isinstance(earlier, Extract) else None, self._kind, self._notes)

    def _pages(self, element: etree._Element, earlier: Action | None) -> Navigate:
        level = next(element.iterancestors("level"))
        target = earlier.to if isinstance(earlier, Navigate) else text(level, "name")
        when_none = words(element, "when-none") or (earlier.when_none if isinstance(earlier, Navigate) else ())
        return Navigate(text(element, "name"), text(element, "to") or target, when_none=when_none, pages=True)

    def _with_used(self, actions: Mapping[str, Action], parent: etree._Element) -> dict[str, Action]:
        """Add the actions of other levels that a level or a variant uses."""
        result = dict(actions)
        for element in parent.iterchildren("use"):
            source, action = text(element, "level"), text(element, "action")
            found = self._actions.get(source, {}).get(action)
            if found is None:
                self._notes.add(element, f"level {source} has no action {action}; {self._known(source)}")
            else:
                result[action] = found
        return result

    def _known(self, level: str) -> str:
        if level not in self._actions:
            return f"the levels are {', '.join(self._actions)}"
        return f"it has {', '.join(self._actions[level]) or 'none'}"

    def _check_actions(
        self, element: etree._Element, role: Role, actions: Mapping[str, Action], checked: Iterable[Action] = ()
    ) -> None:
        """Record actions that do not fit their level or its other actions, except those ``checked`` before."""
        for action in set(actions.values()).difference(checked):
            place = child_or_self(element, action.name)
            if isinstance(action, Extract):
                if role == "intermediate":
                    message = f"intermediate levels navigate only; make the level terminal or take {action.name} out"
                    self._notes.add(place, message)
                continue
            for missing in sorted(set(action.when_none).difference(actions)):
                self._notes.add(place, f"{action.name} waits for {missing}, which is no action of this level")

    def _check_target(self, element: etree._Element, action: Action) -> None:
        """Record a navigation action that leads to a level without the data that the action needs."""
        if isinstance(action, Extract) or not action.to:
            return
        target = self._reachable.get(action.to)
        if target is None:
            self._notes.add(element, no_such_level(action.to, self._reachable))
        elif action.pages and not target.paging:
            self._notes.add(element, f"level {action.to} does not say how its pages are numbered; add <paging> to it")
        elif any(source.documented for source in action.sources) and not target.addresses:
            message = f"documented links need URLs, and level {action.to} has none; add <address>"
            self._notes.add(element, message)


def no_such_level(name: str, levels: Iterable[str]) -> str:
    """Return the message that the application has no level of this name."""
    return f"there is no level {name}; the levels are {', '.join(levels)}"


def _tag(action: Action) -> str:
    if isinstance(action, Extract):
        return "extract"
    return "pages" if action.pages else "navigate"


def _all_actions(level: PageLevel) -> Iterable[Action]:
    return (*level.actions, *(action for variant in level.variants for action in variant.actions))
