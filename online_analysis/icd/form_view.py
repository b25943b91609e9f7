"""The form filled in with the values of an ICD's text, and the changes requested by a submitted form."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from online_analysis.icd.editing import path_text, steps
from online_analysis.icd.form import (
    LISTS,
    FormField,
    FormSection,
    Kind,
    form_fields,
    form_sections,
    on_a_line,
    weight_rows,
)
from online_analysis.icd.form import typed as as_typed
from online_analysis.icd.mistakes import FieldPath, IcdError, Mistake
from online_analysis.icd.text_check import Checked, checked_definition, field_of
from online_analysis.icd.yaml_source import Value, read_source

_WHOLE: Final = frozenset({"true", "false"})
"""The values of ``network.allow_private`` that are not a list."""


@dataclass(frozen=True, slots=True)
class WeightRow:
    """The weight of one analyser: its name in the form, its own name, the given value, and the default."""

    name: str
    analyser: str
    value: str
    default: str


@dataclass(frozen=True, slots=True)
class FieldView:
    """A field with its value as typed, empty if the default applies, and its mistakes."""

    field: FormField
    value: str
    mistakes: tuple[Mistake, ...] = ()
    rows: tuple[WeightRow, ...] = ()

    @property
    def is_set(self) -> bool:
        """Whether the definition gives it a value."""
        return bool(self.value) or any(row.value for row in self.rows)


@dataclass(frozen=True, slots=True)
class YamlOnlyView:
    """A field that can only be written in YAML: the reason, its value, and its mistakes."""

    path: str
    reason: str
    value: str
    mistakes: tuple[Mistake, ...] = ()


@dataclass(frozen=True, slots=True)
class SectionView:
    """A group of fields, and mistakes of the group as a whole."""

    section: FormSection
    fields: tuple[FieldView, ...]
    yaml_only: tuple[YamlOnlyView, ...]
    mistakes: tuple[Mistake, ...] = ()


@dataclass(frozen=True, slots=True)
class FormView:
    """The form of a text.

    ``is_readable`` is False if the text is no YAML of an ICD: the fields are then empty, and only the YAML can be
    edited. ``elsewhere`` are mistakes that belong to no group. ``checked`` is the result of the check.
    """

    text: str
    is_readable: bool
    sections: tuple[SectionView, ...]
    elsewhere: tuple[Mistake, ...]
    checked: Checked

    def anchor(self, mistake: Mistake) -> str:
        """Return the id of the page element in which to correct a mistake: a field's, or that of the text."""
        path = field_of(mistake.field)
        return f"f-{path.replace('.', '-')}" if path in form_fields() else "yaml"

    def label(self, mistake: Mistake) -> str:
        """Return the label of a mistake's field, or its name in YAML if the form has no such field."""
        field = form_fields().get(field_of(mistake.field))
        return field.label if field is not None else mistake.field or "The text"


def form_view(text: str, folder: Path | None = None, name: str = "icd.yaml") -> FormView:
    """Return the form of an ICD's text; opens only files in ``folder``, and none without a folder."""
    found = checked_definition(text, folder, name)
    data = _data(text)
    groups = {section.name for section in form_sections()}
    return FormView(
        text,
        data is not None,
        tuple(_section(section, data or {}, found) for section in form_sections()),
        tuple(mistake for mistake in found.elsewhere if mistake.field not in groups),
        found,
    )


def form_changes(text: str, submitted: Mapping[str, str]) -> dict[str, object]:
    """Return the changes for ``edited`` that a submitted form requests, by the names of fields; None removes one.

    ``submitted`` has values as typed, under the paths of fields, and ``scoring.weights.NAME`` for each analyser. A
    field that is missing in it stays as it is, an empty one gets its default, and other names are ignored. Values are
    not checked. Raises IcdError if the text is no YAML of an ICD.
    """
    data = read_source(text.encode("utf-8", "surrogatepass"), "icd.yaml").data
    read = ((name, typed.replace("\r\n", "\n").strip()) for name, typed in submitted.items())
    wanted = (each for name, typed in read for each in _wanted(data, name, typed))
    return {path: new for path, old, new in wanted if old != new}


def _wanted(data: Value, name: str, typed: str) -> Iterator[tuple[str, Value, Value]]:
    """Yield the field to change, its current value and its new value, if a name is one of the form."""
    group, _, analyser = name.rpartition(".")
    weights = form_fields().get(group)
    if weights is not None and weights.kind is Kind.WEIGHTS:
        row = path_text((*steps(group), analyser))
        yield row, _at(data, steps(row)), typed or None
    field = form_fields().get(name)
    if field is None or field.kind is Kind.WEIGHTS:
        return
    path, old = _place(data, name)
    if as_typed(old) != typed:
        yield path, old, _typed(field, typed, old)


def _typed(field: FormField, typed: str, old: Value) -> Value:
    """Return a typed value as it is in YAML; None for none."""
    lines = [" ".join(line.split()) for line in typed.splitlines() if line.strip()]
    if not lines:
        return None
    if field.kind is Kind.TABLE:
        return dict(map(_pair, lines))
    if field.kind in LISTS:
        is_whole = len(lines) == 1 and (isinstance(old, str) or lines[0] in _WHOLE)
        return lines[0] if is_whole else list(lines)
    return " ".join(lines)


def _pair(line: str) -> tuple[str, Value]:
    name, colon, value = line.rpartition(": ")
    return (name.strip(), value.strip()) if colon else (line.removesuffix(":").strip(), "")


def _data(text: str) -> dict[str, Value] | None:
    try:
        return read_source(text.encode("utf-8", "surrogatepass"), "icd.yaml").data
    except IcdError:
        return None


def _section(section: FormSection, data: Value, found: Checked) -> SectionView:
    return SectionView(
        section,
        tuple(_field(field, data, found.by_field.get(field.path, ())) for field in section.fields),
        tuple(
            YamlOnlyView(path, reason, on_a_line(_at(data, steps(path))), found.by_field.get(path, ()))
            for path, reason in section.yaml_only.items()
        ),
        tuple(mistake for mistake in found.elsewhere if mistake.field == section.name),
    )


def _field(field: FormField, data: Value, mistakes: Sequence[Mistake]) -> FieldView:
    _, value = _place(data, field.path)
    if field.kind is not Kind.WEIGHTS:
        return FieldView(field, as_typed(value), tuple(mistakes))
    given = {name: on_a_line(each) for name, each in value.items()} if isinstance(value, dict) else {}
    rows = tuple(WeightRow(f"{field.path}.{name}", name, *each) for name, *each in weight_rows(given))
    return FieldView(field, "", tuple(mistakes), rows)


def _place(data: Value, name: str) -> tuple[str, Value]:
    """Return the field that contains a value, and the value: a proxy's URL may be written in place of a section."""
    section, _, last = name.rpartition(".")
    above = _at(data, steps(section)) if section else None
    if last == "url" and isinstance(above, str):
        return section, above
    return name, _at(data, steps(name))


def _at(data: Value, path: FieldPath) -> Value:
    for step in path:
        data = data.get(str(step)) if isinstance(data, dict) else None
    return data
