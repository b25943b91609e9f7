"""Parses XPath 1.0 expressions into trees, as far as their cost depends on it."""

import re
from dataclasses import dataclass
from typing import Final

_TOKEN = re.compile(
    r"\s*(?:(?P<literal>'[^']*'|\"[^\"]*\")|(?P<number>\d+(?:\.\d*)?|\.\d+)|(?P<sign>::|//|\.\.|!=|<=|>=|[]/()[.@,|+=<>*$-])"
    r"|(?P<name>[^\W\d][\w.-]*(?::(?!:)[^\W\d][\w.-]*|:\*)?))"
)
_NODE_TYPES: Final = frozenset({"comment", "text", "processing-instruction", "node"})
_LOOSEST_FIRST: Final = (
    frozenset({"or"}),
    frozenset({"and"}),
    frozenset({"=", "!="}),
    frozenset({"<", "<=", ">", ">="}),
    frozenset({"+", "-"}),
    frozenset({"*", "div", "mod"}),
)


@dataclass(frozen=True, slots=True)
class XPathStep:
    """A location step: ``test`` is a name, ``*`` or a node type with ``()``."""

    axis: str
    test: str
    predicates: tuple["Expression", ...] = ()


@dataclass(frozen=True, slots=True)
class Path:
    """A location path from the context node, from the root where ``absolute``, or from the nodes of ``base``."""

    steps: tuple[XPathStep, ...]
    absolute: bool = False
    base: "Expression | None" = None
    chosen: tuple["Expression", ...] = ()
    """The predicates of the nodes of ``base``."""


@dataclass(frozen=True, slots=True)
class Call:
    """A function with its arguments."""

    name: str
    arguments: tuple["Expression", ...]


@dataclass(frozen=True, slots=True)
class Operation:
    """An operator between two expressions."""

    operator: str
    left: "Expression"
    right: "Expression"


@dataclass(frozen=True, slots=True)
class Literal:
    """A string."""

    value: str


@dataclass(frozen=True, slots=True)
class Number:
    """A number."""

    value: float


Expression = Path | Call | Operation | Literal | Number


def parse(source: str) -> Expression:
    """Return the tree of an expression that an XPath compiler accepts. Raises ``ValueError`` for another."""
    parser = _Parser(_tokens(source))
    found = parser.expression()
    if parser.next:
        raise ValueError(f"{parser.next!r} is not expected in {source}")
    return found


def _tokens(source: str) -> list[str]:
    tokens, at, end = [], 0, len(source.rstrip())
    while at < end:
        match = _TOKEN.match(source, at)
        if match is None:
            raise ValueError(f"{source[at:]!r} is no XPath")
        token = match[match.lastgroup or 0]
        tokens.append(token)
        at = match.end()
    return tokens


class _Parser:
    """Parses tokens by recursive descent."""

    def __init__(self, tokens: list[str]) -> None:
        self._tokens = tokens
        self._at = 0

    @property
    def next(self) -> str:
        return self._tokens[self._at] if self._at < len(self._tokens) else ""

    def _after(self) -> str:
        return self._tokens[self._at + 1] if self._at + 1 < len(self._tokens) else ""

    def _take(self, *expected: str) -> str:
        token = self.next
        if not token or (expected and token not in expected):
            raise ValueError(f"{token!r} is not expected")
        self._at += 1
        return token

    def _takes(self, token: str) -> bool:
        found = self.next == token
        self._at += found
        return found

    def expression(self, looseness: int = 0) -> Expression:
        if looseness == len(_LOOSEST_FIRST):
            return self._negated()
        left = self.expression(looseness + 1)
        while self.next in _LOOSEST_FIRST[looseness]:
            left = Operation(self._take(), left, self.expression(looseness + 1))
        return left

    def _negated(self) -> Expression:
        if self._takes("-"):
            return Operation("-", Number(0), self._negated())
        left = self._path()
        while self._takes("|"):
            left = Operation("|", left, self._path())
        return left

    def _path(self) -> Expression:
        primary = self._primary()
        if primary is None:
            return self._location()
        chosen = self._predicates()
        if not chosen and self.next not in ("/", "//"):
            return primary
        return Path(self._further(), base=primary, chosen=chosen)

    def _primary(self) -> Expression | None:
        token = self.next
        if token[:1] in ("'", '"'):
            return Literal(self._take()[1:-1])
        if token[:1].isdigit() or (token[:1] == "." and token[1:2].isdigit()):
            return Number(float(self._take()))
        if self._takes("("):
            found = self.expression()
            self._take(")")
            return found
        if self._takes("$"):
            return Literal(self._take())
        return self._call() if self._after() == "(" and token not in _NODE_TYPES else None

    def _call(self) -> Expression:
        name = self._take()
        self._take("(")
        arguments: list[Expression] = []
        while self.next != ")":
            arguments.append(self.expression())
            if self.next != ")":
                self._take(",")
        self._take(")")
        return Call(name, tuple(arguments))

    def _location(self) -> Path:
        if self.next == "/" and not self._begins_step(self._after()):
            self._take()
            return Path((), absolute=True)
        if self.next in ("/", "//"):
            return Path(self._further(), absolute=True)
        first = self._step()
        return Path((first, *self._further()))

    def _begins_step(self, token: str) -> bool:
        return token in (".", "..", "@", "*") or token[:1].isalpha() or token[:1] == "_"

    def _further(self) -> tuple[XPathStep, ...]:
        steps: list[XPathStep] = []
        while self.next in ("/", "//"):
            below = self._take() == "//"
            step = self._step()
            if below and step.axis == "child":
                step = XPathStep("descendant", step.test, step.predicates)
            elif below:
                steps.append(XPathStep("descendant-or-self", "node()"))
            steps.append(step)
        return tuple(steps)

    def _step(self) -> XPathStep:
        if self._takes("."):
            return XPathStep("self", "node()", self._predicates())
        if self._takes(".."):
            return XPathStep("parent", "node()", self._predicates())
        axis = "child"
        if self._takes("@"):
            axis = "attribute"
        elif self._after() == "::":
            axis = self._take()
            self._take("::")
        test = self._take()
        if self._takes("("):
            while not self._takes(")"):
                self._take()
            test += "()"
        return XPathStep(axis, test, self._predicates())

    def _predicates(self) -> tuple[Expression, ...]:
        found: list[Expression] = []
        while self._takes("["):
            found.append(self.expression())
            self._take("]")
        return tuple(found)
