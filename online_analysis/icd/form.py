"""The ICD as a form: its fields in groups, derived from its sections, so that none is forgotten."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import StrEnum
from functools import cache
from types import UnionType
from typing import Any, Final, Literal, Union, get_args, get_origin

from annotated_types import Ge, Le
from pydantic import BaseModel, WithJsonSchema
from pydantic.fields import FieldInfo

from online_analysis.icd.definition import Icd
from online_analysis.icd.field_words import CHOICE_WORDS, FIELD_WORDS, SECTION_WORDS
from online_analysis.icd.mistakes import IcdError
from online_analysis.icd.scoring import ANALYSERS, DEFAULT_WEIGHTS
from online_analysis.icd.sections import SIZE_SCHEMA
from online_analysis.icd.units import format_duration, format_size
from online_analysis.icd.yaml_source import Value, in_flow, read_source


class Kind(StrEnum):
    """How a field is filled in.

    ``LINES`` and the three special ones are lists, with an entry per line; ``TABLE`` has lines ``name: value``;
    ``WEIGHTS`` has a number for each analyser.
    """

    TEXT = "text"
    NUMBER = "number"
    DURATION = "duration"
    SIZE = "size"
    DATE = "date"
    CHOICE = "choice"
    YES_NO = "yes/no"
    LINES = "lines"
    SEEDS = "seeds"
    KEYWORDS = "keywords"
    ENTITIES = "entities"
    TABLE = "table"
    WEIGHTS = "weights"


LISTS: Final = frozenset({Kind.LINES, Kind.SEEDS, Kind.KEYWORDS, Kind.ENTITIES})

_SECRETS = "secrets are named by the variable or file that holds them, and are no matter for a browser"
YAML_ONLY: Final[Mapping[str, str]] = {
    "captures.sources": "each source has paths or addresses of its own",
    "scope.rules": "conditions within conditions do not fit into a form",
    "sources.sparql": "each query has an endpoint and bounds of its own",
    "politeness.domains": "each exception has up to six values of its own",
    "network.proxy.password": _SECRETS,
    "network.hosts": "each host has a proxy, certificates and secrets of its own",
    "network.accounts": _SECRETS,
    "network.headers": _SECRETS,
    "network.logins": _SECRETS,
}
"""The fields that can only be written in YAML, with the reason."""

_SPECIAL: Final = {
    "seeds": Kind.SEEDS,
    "topic.keywords": Kind.KEYWORDS,
    "topic.entities": Kind.ENTITIES,
    "scoring.weights": Kind.WEIGHTS,
}
_GROUPS: Final = {"id": "crawl", "title": "crawl", "operator": "crawl", "contact": "crawl", "output": "archive"}
_DEFAULT_WORDS: Final = {
    "title": "the short name",
    "output": "crawls/ and the short name",
    "archive.reserve": "256 MB",
    "scoring.weights": "",
}


@dataclass(frozen=True, slots=True)
class Choice:
    """A value that a field may have, and its meaning."""

    value: str
    label: str


@dataclass(frozen=True, slots=True)
class FormField:
    """A field of the ICD in a form.

    ``path`` is its name in YAML, ``default`` its value if nothing is given, as it would be written, and ``example`` an
    example of how to write it. ``minimum`` and ``maximum`` limit a number, None without a limit. Choices are those of
    ``CHOICE`` and ``YES_NO``.
    """

    path: str
    label: str
    help: str
    kind: Kind
    is_required: bool = False
    default: str = ""
    example: str = ""
    choices: tuple[Choice, ...] = ()
    minimum: float | None = None
    maximum: float | None = None


@dataclass(frozen=True, slots=True)
class FormSection:
    """A group of fields; ``yaml_only`` are its fields that are not in the form, by path with the reason."""

    name: str
    label: str
    help: str
    fields: tuple[FormField, ...]
    yaml_only: Mapping[str, str]


@cache
def form_sections() -> tuple[FormSection, ...]:
    """Return all groups of the form, in the order of docs/icd.md."""
    found: dict[str, list[FormField]] = {name: [] for name in SECTION_WORDS}
    left: dict[str, dict[str, str]] = {name: {} for name in SECTION_WORDS}
    for path, field, is_needed in _fields(Icd, "", is_needed=True):
        group = _GROUPS.get(path, path.partition(".")[0])
        if path in YAML_ONLY:
            left[group][path] = YAML_ONLY[path]
        else:
            found[group].append(_form_field(path, field, is_required=is_needed))
    return tuple(
        FormSection(name, words.label, words.help, tuple(found[name]), left[name])
        for name, words in SECTION_WORDS.items()
    )


@cache
def form_fields() -> Mapping[str, FormField]:
    """Return all fields of the form by their paths."""
    return {field.path: field for section in form_sections() for field in section.fields}


def _fields(model: type[BaseModel], prefix: str, *, is_needed: bool) -> Iterator[tuple[str, FieldInfo, bool]]:
    """Yield the fields of a section and of its subsections, and whether each is required.

    A list or table of sections is one field.
    """
    for name, field in model.model_fields.items():
        path = f"{prefix}{field.alias or name}"
        inner = section_in(field)
        if inner is None or path in YAML_ONLY:
            yield path, field, is_needed and field.is_required()
        else:
            yield from _fields(inner, f"{path}.", is_needed=is_needed and field.is_required())


def section_in(field: FieldInfo) -> type[BaseModel] | None:
    """Return the section that is the value of a field; None for any other value, including a list of sections."""
    options = get_args(field.annotation) if get_origin(field.annotation) in {Union, UnionType} else (field.annotation,)
    return next((each for each in options if isinstance(each, type) and issubclass(each, BaseModel)), None)


def _form_field(path: str, field: FieldInfo, *, is_required: bool) -> FormField:
    words, marks = FIELD_WORDS[path], list(_marks(field))
    kind = _kind(path, field, marks)
    bounded = marks if kind is Kind.NUMBER else []
    return FormField(
        path,
        words.label,
        words.help,
        kind,
        is_required,
        _default(path, field, kind),
        _example(str(field.examples[0])) if field.examples else "",
        _choices(path, field, kind),
        max((float(str(mark.ge)) for mark in bounded if isinstance(mark, Ge)), default=None),
        min((float(str(mark.le)) for mark in bounded if isinstance(mark, Le)), default=None),
    )


def _example(written: str) -> str:
    """Return an example as typed into a form: a list with an entry per line."""
    try:
        entries = read_source(f"example: {written}".encode(), "").data["example"]
    except IcdError:
        return written
    return typed(entries)


def typed(value: Value) -> str:
    r"""Return a value as typed into a form: lists with an entry per line, tables with lines ``name: value``.

    >>> typed(["a", {"b": "c"}]), typed({"x.test": "127.0.0.1"}), typed(None)
    ('a\n{b: c}', 'x.test: 127.0.0.1', '')
    """
    if isinstance(value, list):
        return "\n".join(map(on_a_line, value))
    if isinstance(value, dict):
        return "\n".join(f"{name}: {on_a_line(inner)}" for name, inner in value.items())
    return on_a_line(value)


def on_a_line(value: Value) -> str:
    """Return a value on one line."""
    return " ".join(value.split()) if isinstance(value, str) else in_flow(value)


def _marks(field: FieldInfo) -> Iterator[Any]:
    """Yield all annotations of the values of a field, including those of entries and of optional values."""
    pending: list[Any] = [*field.metadata, field.annotation]
    while pending:
        each = pending.pop()
        if isinstance(each, FieldInfo):
            pending += [*each.metadata, each.annotation]
        else:
            yield each
            pending += get_args(each)


def _kind(path: str, field: FieldInfo, marks: list[Any]) -> Kind:
    origin = get_origin(field.annotation)
    if path in _SPECIAL:
        return _SPECIAL[path]
    if origin is tuple:
        return Kind.LINES
    if origin is Mapping:
        return Kind.TABLE
    if origin is Literal:
        return Kind.CHOICE
    if any(isinstance(mark, WithJsonSchema) and mark.json_schema is SIZE_SCHEMA for mark in marks):
        return Kind.SIZE
    types = {mark for mark in marks if isinstance(mark, type)}
    kinds = {bool: Kind.YES_NO, timedelta: Kind.DURATION, datetime: Kind.DATE, int: Kind.NUMBER, float: Kind.NUMBER}
    return next((kind for each, kind in kinds.items() if each in types), Kind.TEXT)


def _choices(path: str, field: FieldInfo, kind: Kind) -> tuple[Choice, ...]:
    if kind is Kind.YES_NO:
        return (Choice("true", "yes"), Choice("false", "no"))
    if kind is not Kind.CHOICE:
        return ()
    return tuple(Choice(value, CHOICE_WORDS[path][value]) for value in get_args(field.annotation))


def _default(path: str, field: FieldInfo, kind: Kind) -> str:
    if field.is_required() or path in _DEFAULT_WORDS:
        return _DEFAULT_WORDS.get(path, "")
    value = field.get_default()
    if value is None or value in ((), {}):
        return ""
    if isinstance(value, timedelta):
        return format_duration(value) if value else "0"
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, float):
        return f"{value:g}"
    return format_size(value) if kind is Kind.SIZE else str(value)


def weight_rows(given: Mapping[str, str], plugins: tuple[str, ...] = ()) -> tuple[tuple[str, str, str], ...]:
    """Return name, given weight, and default weight of each analyser that has a weight or may be given one."""
    names = dict.fromkeys((*ANALYSERS, *plugins, *given))
    return tuple((name, given.get(name, ""), f"{DEFAULT_WEIGHTS.get(name, 0):g}") for name in names)
