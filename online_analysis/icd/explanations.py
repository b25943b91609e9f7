"""From pydantic's errors to mistakes that a person can act on."""

import difflib
from collections.abc import Iterable, Mapping
from typing import Any, get_args

from pydantic import BaseModel, ValidationError
from pydantic.fields import FieldInfo
from pydantic_core import ErrorDetails

from online_analysis.icd.mistakes import FieldPath, Mistake
from online_analysis.icd.source import Source

_FOLLOWS_FROM_ANOTHER = "default_factory_not_called"
_MUST_BE = {
    "string_type": "must be one value",
    "int_type": "must be one number",
    "int_parsing": "is no whole number",
    "int_parsing_size": "is no sensible number",
    "int_from_float": "is no whole number",
    "float_type": "must be one number",
    "float_parsing": "is no number",
    "finite_number": "is no finite number",
    "tuple_type": "must be a list",
    "dict_type": "must hold `name: value` lines",
    "mapping_type": "must hold `name: value` lines",
    "model_type": "must hold fields",
    "path_type": "must be the name of a folder",
    "time_delta_type": "must be one duration",
    "datetime_type": "must be one date",
    "string_too_long": "is too long",
}


def mistakes_of(error: ValidationError, model: type[BaseModel], source: Source, at: FieldPath = ()) -> list[Mistake]:
    """Explain every error that pydantic found below ``at``, each at its line."""
    found = (details for details in error.errors(include_url=False) if details["type"] != _FOLLOWS_FROM_ANOTHER)
    return [_mistake(details, model, source, at) for details in found]


def _mistake(details: ErrorDetails, model: type[BaseModel], source: Source, at: FieldPath) -> Mistake:
    path: FieldPath = tuple(step for step in details["loc"] if step != "[key]")
    context = details.get("ctx", {})
    if details["type"] == "icd":
        return source.mistake((*at, *path), str(context["problem"]), str(context["advice"]))
    problem, advice = _explain(details, model, path, context)
    return source.mistake((*at, *path), problem, advice)


def _explain(
    details: ErrorDetails, model: type[BaseModel], path: FieldPath, context: Mapping[str, Any]
) -> tuple[str, str]:
    kind = details["type"]
    if kind == "extra_forbidden":
        return "is no field of an ICD", _nearest(str(path[-1]), _fields(model, path[:-1]))
    advice = _example(model, path)
    if kind == "missing":
        return "is missing", advice
    if kind == "literal_error":
        return "is not among the choices", f"write {context['expected']}"
    if kind in {"greater_than_equal", "less_than_equal"}:
        return _out_of_bounds(kind, context)
    return _MUST_BE.get(kind, f"cannot be read ({details['msg']})"), advice


def _out_of_bounds(kind: str, context: Mapping[str, Any]) -> tuple[str, str]:
    if kind == "less_than_equal":
        return "is too large", f"write at most {context['le']:g}"
    negative = context["ge"] == 0
    return "is negative" if negative else "is too small", f"write {context['ge']:g} or more"


def _nearest(name: str, fields: Iterable[str]) -> str:
    known = list(fields)
    near = difflib.get_close_matches(name[:100].lower().replace("-", "_"), known, n=1, cutoff=0.5)
    if near:
        return f"write `{near[0]}`"
    return f"write one of {', '.join(known)}" if known else "remove it"


def _example(model: type[BaseModel], path: FieldPath) -> str:
    """Return advice that shows how the nearest field around ``path`` is written."""
    names = [step for step in path if isinstance(step, str)]
    for length in range(len(names), 0, -1):
        field = _field(model, names[:length])
        if field is not None and field.examples:
            return f"write for example `{names[length - 1]}: {field.examples[0]}`"
    return "compare with the example in docs/icd.md"


def _fields(model: type[BaseModel], path: FieldPath) -> list[str]:
    if not path:
        return list(model.model_fields)
    field = _field(model, [step for step in path if isinstance(step, str)])
    inner = model_in(field) if field else None
    return list(inner.model_fields) if inner else []


def _field(model: type[BaseModel], names: list[str]) -> FieldInfo | None:
    field = model.model_fields.get(names[0])
    if len(names) == 1 or field is None:
        return field
    inner = model_in(field)
    return _field(inner, names[1:]) if inner else None


def model_in(field: FieldInfo) -> type[BaseModel] | None:
    """Return the section that a field holds, None for a plain value."""
    candidates = (field.annotation, *get_args(field.annotation))
    return next((each for each in candidates if isinstance(each, type) and issubclass(each, BaseModel)), None)
