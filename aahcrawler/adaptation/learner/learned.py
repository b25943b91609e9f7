"""An action that was learned: plain strings in the terms of the knowledge base.

It compiles to the action that the helper runs, and writes itself as the element that a file of the knowledge base has.
"""

from dataclasses import dataclass

from lxml import etree

from aahcrawler.adaptation.learner.paths import Written, compiled
from knowledge_base.model import Condition, DateFormat, Extract, Field, FieldKind, Identity, Run

_AS_WRITTEN = DateFormat()


@dataclass(frozen=True, slots=True)
class LearnedField:
    """A field as a file says it; the meaning of each part is that of `knowledge_base.model.Field`."""

    name: str
    kind: FieldKind
    selects: tuple[Written, ...]
    without: tuple[Written, ...] = ()
    page: bool = False
    first_only: bool = False
    many: bool = False
    strip: str = ""
    join: bool = False
    markup: bool = False
    declared: tuple[str, ...] = ()
    date: DateFormat = _AS_WRITTEN

    @classmethod
    def of(cls, field: Field) -> "LearnedField":
        """Take a field of the knowledge base as it is."""
        return cls(
            name=field.name,
            kind=field.kind,
            selects=tuple(map(Written.of, field.selectors)),
            without=tuple(map(Written.of, field.without)),
            page=field.page,
            first_only=field.first_only,
            many=field.many,
            strip=field.strip,
            join=field.join,
            markup=field.markup,
            declared=field.declared,
            date=field.date,
        )

    def field(self) -> Field:
        """Compile it."""
        return Field(
            name=self.name,
            kind=self.kind,
            selectors=compiled(self.selects),
            without=compiled(self.without),
            page=self.page,
            first_only=self.first_only,
            many=self.many,
            strip=self.strip,
            join=self.join,
            markup=self.markup,
            declared=self.declared,
            date=self.date,
        )

    def xml(self) -> etree._Element:
        """Return the ``field`` element."""
        date = self.date
        is_date = self.kind is FieldKind.DATETIME
        element = _element(
            "field",
            {
                "name": self.name,
                "kind": str(self.kind) if self.kind is not FieldKind.TEXT else "",
                "page": _yes(self.page),
                "first-only": _yes(self.first_only),
                "many": _yes(self.many),
                "join": _yes(self.join),
                "markup": _yes(self.markup),
                "declared": " ".join(self.declared),
                "strip": self.strip,
                "order": date.order or "" if is_date else "",
                "zone": date.zone if is_date and date.zone != "UTC" else "",
                "format": date.format or "" if is_date else "",
            },
        )
        element.extend([_select("select", each) for each in self.selects])
        element.extend([_select("without", each) for each in self.without])
        return element


@dataclass(frozen=True, slots=True)
class LearnedIdentity:
    """Where the number of an object stands; the meaning of each part is that of `knowledge_base.model.Identity`."""

    selects: tuple[Written, ...]
    trims: tuple[str, ...] = ("",)
    prefix: str = ""
    fields: tuple[str, ...] = ()

    @classmethod
    def of(cls, identity: Identity) -> "LearnedIdentity":
        """Take an identity of the knowledge base as it is."""
        return cls(tuple(map(Written.of, identity.selectors)), identity.trims, identity.prefix, identity.fields)

    def identity(self) -> Identity:
        """Compile it."""
        return Identity(compiled(self.selects), self.trims, self.prefix, self.fields)

    def xml(self, tag: str) -> etree._Element:
        """Return the ``identity`` or ``parent`` element."""
        given = {"trim": " ".join(filter(None, self.trims)), "prefix": self.prefix, "fields": " ".join(self.fields)}
        element = _element(tag, given)
        element.extend([_select("select", each) for each in self.selects])
        return element


@dataclass(frozen=True, slots=True)
class LearnedRun:
    """How objects that are no element are cut; the meaning of each part is that of `knowledge_base.model.Run`."""

    blocks: tuple[Written, ...]
    signature: tuple[Written, ...]
    stops: tuple[Written, ...] = ()
    headings: tuple[Written, ...] = ()

    @classmethod
    def of(cls, run: Run) -> "LearnedRun":
        """Take what the knowledge base says as it is."""
        parts = (run.blocks, run.signature, run.stops, run.headings)
        return cls(*(tuple(map(Written.of, part)) for part in parts))

    def run(self) -> Run:
        """Compile it."""
        return Run(*map(compiled, (self.blocks, self.signature, self.stops, self.headings)))

    def xml(self) -> etree._Element:
        """Return the ``run`` element."""
        element = _element("run", {})
        parts = (
            ("block", self.blocks),
            ("signature", self.signature),
            ("stop", self.stops),
            ("heading", self.headings),
        )
        for tag, expressions in parts:
            element.extend([_select(tag, each) for each in expressions])
        return element


@dataclass(frozen=True, slots=True)
class Agreement:
    """How often a field of the learned action read what the lessons say.

    ``right`` and ``wrong`` count objects, ``near`` those where a text is a little longer or shorter than the lesson
    says; ``missing`` those where it read nothing and the lesson says a value, ``beyond`` those where it read a value
    and the lesson says none.
    """

    field: str
    right: int = 0
    wrong: int = 0
    missing: int = 0
    beyond: int = 0
    near: int = 0


@dataclass(frozen=True, slots=True)
class Support:
    """What an action was learned from, and how far it agrees with that.

    ``pages`` are lessons with objects on which exactly these were found, ``absent`` lessons without any on which none
    was, ``dissenting`` the addresses of pages where it found others; ``examples`` counts objects.
    """

    pages: int
    absent: int
    examples: int
    dissenting: tuple[str, ...] = ()
    fields: tuple[Agreement, ...] = ()


@dataclass(frozen=True, slots=True)
class Learned:
    """A learned action: strings, enums and numbers only, so that it can be pickled, compared and written.

    ``notes`` say, for people, what could not be learned.
    """

    name: str
    type: str
    items: tuple[Written, ...]
    fields: tuple[LearnedField, ...]
    many: bool = False
    always: bool = False
    first_type: str = ""
    instead: tuple[tuple[str, Written], ...] = ()
    identity: LearnedIdentity | None = None
    parent: LearnedIdentity | None = None
    run: LearnedRun | None = None
    support: Support = Support(0, 0, 0)
    notes: tuple[str, ...] = ()

    @classmethod
    def of(cls, extract: Extract, support: Support | None = None) -> "Learned":
        """Take an action as a file says it."""
        return cls(
            name=extract.name,
            type=extract.type,
            items=tuple(map(Written.of, extract.items)),
            fields=tuple(map(LearnedField.of, extract.fields)),
            many=extract.many,
            always=extract.always,
            first_type=extract.first_type,
            instead=tuple((type_, Written.of(sign)) for type_, sign in extract.instead),
            identity=LearnedIdentity.of(extract.identity) if extract.identity is not None else None,
            parent=LearnedIdentity.of(extract.parent) if extract.parent is not None else None,
            run=LearnedRun.of(extract.run) if extract.run is not None else None,
            support=support or Support(0, 0, 0),
        )

    def extract(self) -> Extract:
        """Compile it to the action that the helper runs."""
        return Extract(
            name=self.name,
            type=self.type,
            items=compiled(self.items),
            fields=tuple(field.field() for field in self.fields),
            many=self.many,
            always=self.always,
            first_type=self.first_type,
            instead=tuple((type_, sign.selector) for type_, sign in self.instead),
            identity=self.identity.identity() if self.identity is not None else None,
            parent=self.parent.identity() if self.parent is not None else None,
            run=self.run.run() if self.run is not None else None,
        )

    def signs(self) -> tuple[Written, ...]:
        """Return what tells a page of this template from those of others: one of them is there.

        They serve as the ``when`` of a variant.
        """
        return tuple(Written(each.css, each.xpath) for each in self.items)

    def conditions(self) -> tuple[Condition, ...]:
        """Return the signs compiled."""
        return tuple(Condition(selector=sign.selector) for sign in self.signs())

    def xml(self) -> etree._Element:
        """Return the ``extract`` element, valid where the schema allows an extraction action."""
        element = _element(
            "extract",
            {
                "name": self.name,
                "type": self.type,
                "first-type": self.first_type,
                "many": _yes(self.many),
                "always": _yes(self.always),
            },
        )
        element.extend([_select("item", each) for each in self.items])
        for type_, sign in self.instead:
            element.append(_select("instead", sign, type=type_))
        if self.run is not None:
            element.append(self.run.xml())
        if self.identity is not None:
            element.append(self.identity.xml("identity"))
        if self.parent is not None:
            element.append(self.parent.xml("parent"))
        element.extend([field.xml() for field in self.fields])
        return element


def _select(tag: str, written: Written, **more: str) -> etree._Element:
    given = {"css": written.css, "xpath": written.xpath, "attribute": written.attribute, **more}
    return _element(tag, given)


def _element(tag: str, given: dict[str, str]) -> etree._Element:
    element = etree.Element(tag)
    for name, value in given.items():
        if value:
            element.set(name, value)
    return element


def _yes(holds: bool) -> str:
    return "yes" if holds else ""
