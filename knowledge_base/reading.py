"""From one valid XML file to values of the model, noting every mistake with its line and what to write instead."""

import zoneinfo
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import cast

from lxml import etree

from knowledge_base.addresses import AvoidRule, AvoidRules, DropRule, DropRules, Paging, PathGlob, Reason, UrlRule
from knowledge_base.model import (
    Action,
    Application,
    Condition,
    DateFormat,
    Extract,
    Field,
    FieldKind,
    Identity,
    Kind,
    LinkSource,
    Navigate,
    PageLevel,
    Pattern,
    Role,
    Signal,
    Strength,
)
from knowledge_base.selectors import (
    SHORTEST_LITERAL,
    BadExpressionError,
    Selector,
    compile_selector,
    required_literals,
    safe_literal,
)


@dataclass(frozen=True, slots=True, order=True)
class Problem:
    """A mistake in a file of the knowledge base, in words its author can act on."""

    file: str
    line: int
    message: str

    def __str__(self) -> str:
        return f"{self.file}:{self.line}: {self.message}"


@dataclass
class Notes:
    """Collects the problems of one file."""

    file: Path
    problems: list[Problem] = field(default_factory=list)

    def add(self, element: etree._Element, message: str) -> None:
        """Note a mistake at an element."""
        self.problems.append(Problem(str(self.file), element.sourceline or 0, message))


def check_expressions(root: etree._Element, notes: Notes) -> None:
    """Compile every expression of a file and note those that do not compile."""
    for element in root.iter("*"):
        if element.get("css") and element.get("xpath"):
            notes.add(element, "css and xpath stand here together; keep one of them")
        elif element.get("css") or element.get("xpath"):
            _selector(element, notes)


def read_kind(root: etree._Element, notes: Notes) -> Kind:
    """Read the file of a kind."""
    types = frozenset(_text(child, "type") for child in root.iterchildren("object"))
    return Kind(_text(root, "name"), _text(root, "title"), types, _avoid(root), _drops(root, notes))


def read_application(
    root: etree._Element, kind: Kind, notes: Notes, extended: Application | None = None
) -> Application:
    """Read the file of an application; the result counts only when nothing was noted.

    Of ``extended`` everything is taken over but its detection and the levels that this file has itself. What this
    file says is tried first.
    """
    if extended is not None and extended.kind != kind.name:
        notes.add(
            root, f'{extended.name} is of kind {extended.kind}, so this file needs kind="{extended.kind}" as well'
        )
    shared_avoid = extended.avoid.rules if extended is not None else kind.avoid
    shared_drops = extended.drops.rules if extended is not None else kind.drops
    return Application(
        _text(root, "name"),
        kind.name,
        tuple(_pattern(child, notes) for child in root.iterfind("detect/pattern")),
        _Levels(root, kind, notes, extended.levels if extended is not None else ()).read(),
        avoid=AvoidRules(_avoid(root) + shared_avoid),
        drops=DropRules(_drops(root, notes) + shared_drops),
        ignored=extended.ignored if extended is not None else (),
        needs_browser=extended.needs_browser if extended is not None else (),
        whole_host=_yes(root, "whole-host"),
    )


class _Levels:
    """Reads the levels of one application, which refer to one another."""

    def __init__(self, root: etree._Element, kind: Kind, notes: Notes, extended: Iterable[PageLevel]) -> None:
        self._elements = {_text(element, "name"): element for element in root.iterchildren("level")}
        self._inherited = {level.name: level for level in extended if level.name not in self._elements}
        self._kind = kind
        self._notes = notes
        self._actions = {name: self._own_actions(element) for name, element in self._elements.items()}
        for name, level in self._inherited.items():
            self._actions[name] = {action.name: action for action in level.actions}

    def read(self) -> tuple[PageLevel, ...]:
        own = tuple(self._level(name, element) for name, element in self._elements.items())
        return (*own, *self._inherited.values())

    def _level(self, name: str, element: etree._Element) -> PageLevel:
        role = cast("Role", _text(element, "role"))
        actions = self._all_actions(name, element)
        self._check_actions(element, role, actions)
        return PageLevel(
            name,
            role,
            when=tuple(self._condition(child) for child in element.iterchildren("when")),
            unless=tuple(self._condition(child) for child in element.iterchildren("unless")),
            actions=actions,
            addresses=tuple(self._address(child) for child in element.iterchildren("address")),
            paging=tuple(self._paging(child) for child in element.iterchildren("paging")),
            own=tuple(_selector(child, self._notes) for child in element.iterchildren("own")),
            start=_yes(element, "start"),
        )

    def _condition(self, element: etree._Element) -> Condition:
        has_expression = bool(element.get("css") or element.get("xpath"))
        rule = _url_rule(element) if _names_url(element) else None
        if not has_expression and rule is None:
            self._notes.add(element, "this sign is empty; write css, xpath, path, parameters or absent")
        selector = _selector(element, self._notes) if has_expression else None
        return Condition(selector, rule, _text(element, "cite"))

    def _address(self, element: etree._Element) -> UrlRule:
        if not element.get("path"):
            self._notes.add(element, "an address needs a path, such as **/viewtopic.php or ** for any")
        rule = _url_rule(element)
        return UrlRule(rule.path, rule.present, rule.absent, frozenset(_text(element, "optional").split()))

    def _paging(self, element: etree._Element) -> Paging:
        parameter, part = _text(element, "parameter"), _text(element, "part")
        if bool(parameter) == bool(part):
            self._notes.add(element, "write either parameter or part")
        if part and "#" not in part:
            self._notes.add(element, f"part needs a # where the page number stands: {part}#")
        return Paging(parameter, part)

    def _own_actions(self, level: etree._Element) -> dict[str, Action]:
        readers: Mapping[str, Callable[[etree._Element], Action]] = {
            "navigate": self._navigate,
            "pages": self._pages,
            "extract": self._extract,
        }
        actions: dict[str, Action] = {}
        for element in level.iterchildren(*readers):
            name = _text(element, "name")
            if name in actions:
                self._notes.add(element, f"this level has another action named {name}; rename one")
            actions[name] = readers[str(element.tag)](element)
        return actions

    def _all_actions(self, name: str, level: etree._Element) -> tuple[Action, ...]:
        actions = dict(self._actions[name])
        for element in level.iterchildren("use"):
            source, action = _text(element, "level"), _text(element, "action")
            found = self._actions.get(source, {}).get(action)
            if found is None:
                self._notes.add(element, f"level {source} has no action {action}; {self._known(source)}")
            else:
                actions[action] = found
        return tuple(actions.values())

    def _known(self, level: str) -> str:
        if level not in self._actions:
            return f"the levels are {', '.join(self._actions)}"
        return f"it has {', '.join(self._actions[level]) or 'none'}"

    def _check_actions(self, level: etree._Element, role: Role, actions: tuple[Action, ...]) -> None:
        names = {action.name for action in actions}
        for action in actions:
            if isinstance(action, Extract):
                if role == "intermediate":
                    message = f"intermediate levels navigate only; make the level terminal or take {action.name} out"
                    self._notes.add(level, message)
                continue
            for missing in sorted(set(action.when_none) - names):
                self._notes.add(level, f"{action.name} waits for {missing}, which is no action of this level")

    def _navigate(self, element: etree._Element) -> Navigate:
        to = _text(element, "to")
        sources = tuple(
            LinkSource(_selector(child, self._notes), _yes(child, "documented"))
            for child in element.iterchildren("select")
        )
        if self._knows(element, to) and any(source.documented for source in sources) and not self._addresses(to):
            self._notes.add(element, f"documented links need addresses, and level {to} has none; add <address>")
        return Navigate(_text(element, "name"), to, sources, tuple(_text(element, "when-none").split()))

    def _pages(self, element: etree._Element) -> Navigate:
        parent = element.getparent()
        own = _text(parent, "name") if parent is not None else ""
        to = _text(element, "to") or own
        if self._knows(element, to) and not self._paging_of(to):
            self._notes.add(element, f"level {to} does not say how its pages are numbered; add <paging> to it")
        return Navigate(_text(element, "name"), to, pages=True)

    def _knows(self, element: etree._Element, level: str) -> bool:
        known = (*self._elements, *self._inherited)
        if level not in known:
            self._notes.add(element, f"there is no level {level}; the levels are {', '.join(known)}")
        return level in known

    def _addresses(self, level: str) -> bool:
        own = self._elements.get(level)
        return own.find("address") is not None if own is not None else bool(self._inherited[level].addresses)

    def _paging_of(self, level: str) -> bool:
        own = self._elements.get(level)
        return own.find("paging") is not None if own is not None else bool(self._inherited[level].paging)

    def _extract(self, element: etree._Element) -> Extract:
        alternatives = tuple(element.iterchildren("instead"))
        types = [
            _text(element, "type"),
            _text(element, "first-type"),
            *(_text(child, "type") for child in alternatives),
        ]
        for value in types:
            if value and value not in self._kind.types:
                known = ", ".join(sorted(self._kind.types))
                self._notes.add(element, f"a {self._kind.name} has no objects of type {value}; its types are {known}")
        many, identity = _yes(element, "many"), self._identity(element.find("identity"))
        if many and identity is None:
            self._notes.add(element, "several objects on a page need an identity, or they cannot be told apart")
        return Extract(
            _text(element, "name"),
            _text(element, "type"),
            tuple(_selector(child, self._notes) for child in element.iterchildren("item")),
            tuple(self._field(child) for child in element.iterchildren("field")),
            many=many,
            always=_yes(element, "always"),
            first_type=_text(element, "first-type"),
            instead=tuple((_text(child, "type"), _selector(child, self._notes)) for child in alternatives),
            identity=identity,
            parent=self._identity(element.find("parent")),
        )

    def _identity(self, element: etree._Element | None) -> Identity | None:
        if element is None:
            return None
        selectors = tuple(_selector(child, self._notes) for child in element.iterchildren("select"))
        return Identity(selectors, tuple(_text(element, "trim").split()) or ("",), _text(element, "prefix"))

    def _field(self, element: etree._Element) -> Field:
        kind = FieldKind(element.get("kind", "text"))
        if kind is not FieldKind.DATETIME and any(element.get(name) for name in ("order", "zone", "format")):
            self._notes.add(element, 'order, zone and format are for dates; add kind="datetime" or take them out')
        return Field(
            _text(element, "name"),
            kind,
            tuple(_selector(child, self._notes) for child in element.iterchildren("select")),
            tuple(_selector(child, self._notes) for child in element.iterchildren("without")),
            page=_yes(element, "page"),
            first_only=_yes(element, "first-only"),
            many=_yes(element, "many"),
            strip=_text(element, "strip"),
            date=self._date(element),
        )

    def _date(self, element: etree._Element) -> DateFormat:
        zone = element.get("zone", "UTC")
        try:
            zoneinfo.ZoneInfo(zone)
        except (zoneinfo.ZoneInfoNotFoundError, ValueError):
            self._notes.add(element, f"there is no time zone {zone}; write UTC or a name such as Europe/Berlin")
        order = element.get("order")
        return DateFormat(
            "dmy" if order == "dmy" else "mdy" if order == "mdy" else "ymd" if order == "ymd" else None,
            zone,
            element.get("format"),
        )


_TEXT_SIGNALS = (Signal.GENERATOR, Signal.SCRIPT, Signal.LINK, Signal.HEADER, Signal.COOKIE, Signal.TEXT)


def _pattern(element: etree._Element, notes: Notes) -> Pattern:
    given = [signal for signal in _TEXT_SIGNALS if element.get(signal.value)]
    if element.get("css") or element.get("xpath"):
        given.append(Signal.SELECTOR)
    if _names_url(element):
        given.append(Signal.URL)
    if len(given) != 1:
        wanted = "css, xpath, generator, script, link, header, cookie, text or an address"
        notes.add(element, f"a sign needs exactly one of {wanted}; write several pattern elements for several signs")
        return Pattern(Signal.TEXT, Strength.HINT, "")
    signal = given[0]
    strength = Strength[_text(element, "strength").upper()]
    cite = _text(element, "cite")
    if signal is Signal.SELECTOR:
        return _selector_pattern(element, strength, cite, notes)
    if signal is Signal.URL:
        return Pattern(signal, strength, cite, rule=_url_rule(element), literals=_literals(element, (), notes))
    return _text_pattern(element, signal, strength, cite, notes)


def _selector_pattern(element: etree._Element, strength: Strength, cite: str, notes: Notes) -> Pattern:
    selector = _selector(element, notes)
    literals = _literals(element, required_literals(selector.source), notes)
    return Pattern(Signal.SELECTOR, strength, cite, selector=selector, literals=literals)


def _text_pattern(element: etree._Element, signal: Signal, strength: Strength, cite: str, notes: Notes) -> Pattern:
    name = ""
    value = _text(element, signal.value)
    if signal is Signal.HEADER:
        name, value = value.lower(), _text(element, "value")
    literal = safe_literal(max(value.split("*"), key=len) if value else name)
    return Pattern(signal, strength, cite, value, name, literals=_literals(element, (literal,), notes))


def _literals(element: etree._Element, derived: tuple[str, ...], notes: Notes) -> tuple[str, ...]:
    explicit = _text(element, "literal")
    literals = (safe_literal(explicit),) if explicit else derived
    if not literals or any(len(literal) < SHORTEST_LITERAL for literal in literals):
        notes.add(
            element,
            "no text can be told that stands in every page this sign matches; add literal= with at least "
            f"{SHORTEST_LITERAL} plain letters or digits of the page's source",
        )
    return literals


def _selector(element: etree._Element, notes: Notes) -> Selector:
    xpath, css = _text(element, "xpath"), _text(element, "css")
    try:
        if bool(xpath) == bool(css):
            raise BadExpressionError("write either css or xpath")
        return compile_selector(
            xpath=xpath, css=css, attribute=_text(element, "attribute"), cite=_text(element, "cite")
        )
    except BadExpressionError as error:
        notes.add(element, str(error))
        return compile_selector(xpath="/..")


def _names_url(element: etree._Element) -> bool:
    return any(element.get(name) for name in ("path", "parameters", "absent"))


def _url_rule(element: etree._Element) -> UrlRule:
    path = element.get("path")
    pairs = (part.partition("=") for part in _text(element, "parameters").split())
    return UrlRule(
        PathGlob(path) if path else None,
        tuple((name, value if sign else "*") for name, sign, value in pairs),
        frozenset(_text(element, "absent").split()),
    )


def _avoid(root: etree._Element) -> tuple[AvoidRule, ...]:
    return tuple(AvoidRule(_url_rule(child), Reason(_text(child, "reason"))) for child in root.iterfind("avoid/url"))


def _drops(root: etree._Element, notes: Notes) -> tuple[DropRule, ...]:
    rules = []
    for child in root.iterfind("canonical/drop"):
        if bool(child.get("parameter")) == bool(child.get("file")):
            notes.add(child, "write either parameter or file")
        rules.append(
            DropRule(
                _url_rule(child),
                parameter=_text(child, "parameter"),
                value=child.get("value", "*"),
                beside=_text(child, "beside"),
                file=_text(child, "file"),
            )
        )
    return tuple(rules)


def _text(element: etree._Element, attribute: str) -> str:
    return (element.get(attribute) or "").strip()


def _yes(element: etree._Element, attribute: str) -> bool:
    return element.get(attribute) == "yes"
