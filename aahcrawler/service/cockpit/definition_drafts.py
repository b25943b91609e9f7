"""A definition while it is being written: its text, the form beside it, and what both of them say together."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Final

from aahcrawler.service.cockpit.site import Form
from aahcrawler.service.steering.held_definitions import refused
from online_analysis.icd import IcdError
from online_analysis.icd.editing import edited
from online_analysis.icd.form_view import FormView, form_changes, form_view
from online_analysis.icd.yaml_source import Value, read_source

_ADD: Final = "add:"
_LISTS: Final = {
    "keywords": "topic.keywords",
    "entities": "topic.entities",
    "seeds": "seeds",
    "languages": "scope.languages",
}
"""The lists of a definition that suggestions are added to."""


@dataclass(frozen=True, slots=True)
class Draft:
    """The text that somebody sees, and the text by which the fields of the form beside it were filled in.

    So it is known which of the two was changed: a field that still says what ``base`` says was not.
    """

    text: str
    base: str

    @classmethod
    def sent(cls, form: Form) -> "Draft":
        """Return the draft that a form brings, with what was written into its fields taken over into the text.

        A text that is no YAML of a definition stays as it is: its form is empty.
        """
        text, base = form.raw("yaml"), form.raw("base")
        try:
            changes = form_changes(base, form.fields)
            text = edited(text, changes) if changes else text
        except IcdError:
            pass  # The mistake is told by the view of the text.
        return cls(text, text)

    def view(self) -> FormView:
        """Return the form of the text, with its mistakes."""
        return form_view(self.text)

    def values(self) -> Mapping[str, str]:
        """Return what each field of the form says."""
        return dict(_values(self.view()))

    def with_suggestions(self, form: Form) -> "Draft":
        """Return the draft with the suggestions that were chosen. Raise ``ProblemError`` for a text with mistakes."""
        chosen: dict[str, list[str]] = {}
        for name in form.fields:
            kind, _, value = name.removeprefix(_ADD).partition(":")
            if name.startswith(_ADD) and kind in _LISTS and value:
                chosen.setdefault(_LISTS[kind], []).append(value)
        try:
            data = read_source(self.text.encode("utf-8", "surrogatepass"), "icd.yaml").data
            changes = {path: [*_listed(data, path), *values] for path, values in chosen.items()}
            text = edited(self.text, changes) if changes else self.text
        except IcdError as error:
            raise refused(error, "the text has to be mended first") from None
        return Draft(text, text)


def _listed(data: Value, path: str) -> list[Value]:
    for step in path.split("."):
        data = data.get(step) if isinstance(data, dict) else None
    return list(data) if isinstance(data, list) else []


def _values(view: FormView) -> Iterator[tuple[str, str]]:
    for section in view.sections:
        for each in section.fields:
            yield each.field.path, each.value
            for row in each.rows:
                yield row.name, row.value
