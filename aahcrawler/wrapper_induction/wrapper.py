"""The result of induction: an extraction action with the evidence for it, and its XML form."""

from collections.abc import Iterable
from dataclasses import dataclass

from lxml import etree

from aahcrawler.wrapper_induction.robust_paths import Expression
from knowledge_base.model import Extract, Field, FieldKind, Identity, Run
from knowledge_base.selectors import Selector


@dataclass(frozen=True, slots=True)
class Agreement:
    """How often a field of the induced action agrees with the examples.

    ``right`` and ``wrong`` count objects; ``near`` those with a text that is a little longer or shorter than in the
    example; ``missing`` those with no value read but one in the example; ``beyond`` those with a value read but none in
    the example.
    """

    field: str
    right: int = 0
    wrong: int = 0
    missing: int = 0
    beyond: int = 0
    near: int = 0


@dataclass(frozen=True, slots=True)
class Support:
    """The examples of an action, and how far it agrees with them.

    ``pages`` counts examples with objects on which exactly these were found, ``absent`` examples without objects on
    which none was found; ``dissenting`` has the URLs of pages on which it found others; ``objects`` counts objects.
    """

    pages: int = 0
    absent: int = 0
    objects: int = 0
    dissenting: tuple[str, ...] = ()
    fields: tuple[Agreement, ...] = ()


@dataclass(frozen=True, slots=True, eq=False)
class Wrapper:
    """An induced extraction action with its support; ``notes`` tell people which parts could not be induced.

    Two are equal if they have the same XML form and the same support.
    """

    action: Extract
    support: Support = Support()
    notes: tuple[str, ...] = ()

    @property
    def _key(self) -> tuple[bytes, Support, tuple[str, ...]]:
        return (etree.tostring(self.xml()), self.support, self.notes)

    def __eq__(self, other: object) -> bool:
        """Compare the written forms."""
        return isinstance(other, Wrapper) and self._key == other._key

    def __hash__(self) -> int:
        """Return the hash of the written form."""
        return hash(self._key)

    def signs(self) -> tuple[Expression, ...]:
        """Return expressions, one of which matches each page of this template and no page of the others.

        They serve as the ``when`` of a variant.
        """
        return tuple(Expression(css=each.css, xpath=each.xpath) for each in map(Expression.of, self.action.items))

    def xml(self) -> etree._Element:
        """Return the ``extract`` element, valid wherever the schema allows an extraction action."""
        action = self.action
        given = {
            "name": action.name,
            "type": action.type,
            "first-type": action.first_type,
            "many": _yes(action.many),
            "always": _yes(action.always),
        }
        element = _element("extract", given)
        element.extend(_selects("item", action.items))
        element.extend(_select("instead", sign, type=type_) for type_, sign in action.instead)
        if action.run is not None:
            element.append(_run(action.run))
        if action.identity is not None:
            element.append(_identity("identity", action.identity))
        if action.parent is not None:
            element.append(_identity("parent", action.parent))
        element.extend(map(_field, action.fields))
        return element


def _field(field: Field) -> etree._Element:
    date = field.date
    is_date = field.kind is FieldKind.DATETIME
    given = {
        "name": field.name,
        "kind": str(field.kind) if field.kind is not FieldKind.TEXT else "",
        "page": _yes(field.page),
        "first-only": _yes(field.first_only),
        "many": _yes(field.many),
        "join": _yes(field.join),
        "markup": _yes(field.markup),
        "declared": " ".join(field.declared),
        "strip": field.strip,
        "order": date.order or "" if is_date else "",
        "zone": date.zone if is_date and date.zone != "UTC" else "",
        "format": date.format or "" if is_date else "",
    }
    element = _element("field", given)
    element.extend(_selects("select", field.selectors))
    element.extend(_selects("without", field.without))
    return element


def _identity(tag: str, identity: Identity) -> etree._Element:
    trims = " ".join(filter(None, identity.trims))
    element = _element(tag, {"trim": trims, "prefix": identity.prefix, "fields": " ".join(identity.fields)})
    element.extend(_selects("select", identity.selectors))
    return element


def _run(run: Run) -> etree._Element:
    element = _element("run", {})
    parts = {"block": run.blocks, "signature": run.signature, "stop": run.stops, "heading": run.headings}
    for tag, selectors in parts.items():
        element.extend(_selects(tag, selectors))
    return element


def _selects(tag: str, selectors: Iterable[Selector]) -> Iterable[etree._Element]:
    return (_select(tag, each) for each in selectors)


def _select(tag: str, selector: Selector, **more: str) -> etree._Element:
    return _element(tag, {**Expression.of(selector).attributes(), **more})


def _element(tag: str, given: dict[str, str]) -> etree._Element:
    return etree.Element(tag, {name: value for name, value in given.items() if value})


def _yes(holds: bool) -> str:
    return "yes" if holds else ""
