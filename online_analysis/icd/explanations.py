"""Convert pydantic's errors to mistakes that a person can correct, in definitions and in requests."""

import difflib
from collections.abc import Iterable, Mapping
from typing import Any, get_args, get_origin

from pydantic import BaseModel, ValidationError
from pydantic.fields import FieldInfo
from pydantic_core import ErrorDetails

from online_analysis.icd.mistakes import FieldPath, Mistake
from online_analysis.icd.yaml_source import Source

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


_TO_WRITE: Mapping[str, tuple[str, str]] = {
    "missing": ("is missing", "write it"),
    "extra_forbidden": ("is not known here", "leave it out"),
    "enum": ("is not among the choices", "write {expected}"),
    "literal_error": ("is not among the choices", "write {expected}"),
    "greater_than_equal": ("is too small", "write {ge} or more"),
    "greater_than": ("is too small", "write more than {gt}"),
    "less_than_equal": ("is too large", "write at most {le}"),
    "less_than": ("is too large", "write less than {lt}"),
    "string_too_long": ("is too long", "write at most {max_length} characters"),
    "string_too_short": ("is too short", "write at least {min_length} characters"),
    "too_long": ("has too many parts", "write at most {max_length}"),
    "too_short": ("has too few parts", "write at least {min_length}"),
    "string_pattern_mismatch": ("is not written as it has to be", "write what matches {pattern}"),
    "bool_parsing": ("is neither true nor false", "write true or false"),
    "bool_type": ("is neither true nor false", "write true or false"),
    "int_parsing": ("is no whole number", "write one in digits"),
    "int_type": ("is no whole number", "write one in digits"),
    "float_parsing": ("is no number", "write one in digits"),
    "float_type": ("is no number", "write one in digits"),
    "string_type": ("is no text", "write one value"),
    "list_type": ("is no list", "write one"),
    "tuple_type": ("is no list", "write one"),
    "dict_type": ("has no fields", "write names and values"),
    "model_type": ("has no fields", "write names and values"),
    "model_attributes_type": ("has no fields", "write names and values"),
    "json_invalid": ("is no JSON", "{error}"),
}
"""For each type of error, what is wrong and what to write instead."""


def in_words(details: Mapping[str, Any], where: str | None = None) -> str:
    """Return one line on what pydantic found: the field, what is wrong with it, and what to write.

    ``where`` names the field in another way than by its path.

    >>> in_words({"type": "less_than_equal", "loc": ("query", "limit"), "msg": "", "ctx": {"le": 100}}, "limit")
    'limit: is too large; write at most 100'
    """
    kind, context = details["type"], details.get("ctx", {})
    if kind in _TO_WRITE:
        problem, advice = _TO_WRITE[kind]
        said = f"{problem}; {advice.format_map(context)}"
    elif kind == "icd":
        said = f"{context['problem']}; {context['advice']}"
    else:
        told = str(details["msg"]).removeprefix("Value error, ").removeprefix("Assertion failed, ")
        said = told[:1].lower() + told[1:]
    name = ".".join(map(str, details["loc"])) if where is None else where
    return f"{name}: {said}" if name else said


def mistakes_of(error: ValidationError, model: type[BaseModel], source: Source, at: FieldPath = ()) -> list[Mistake]:
    """Explain every error that pydantic found below ``at``, each at its line."""
    found = (details for details in error.errors(include_url=False) if details["type"] != _FOLLOWS_FROM_ANOTHER)
    return [_mistake(details, model, source, at) for details in found]


def _mistake(details: ErrorDetails, model: type[BaseModel], source: Source, at: FieldPath) -> Mistake:
    path: FieldPath = tuple(step for step in details["loc"] if step != "[key]")
    context = details.get("ctx", {})
    if details["type"] == "icd":
        return source.mistake((*at, *path), str(context["problem"]), str(context["advice"]))
    problem, advice = _explain(details, model, path, context, source.what)
    return source.mistake((*at, *path), problem, advice)


def _explain(
    details: ErrorDetails, model: type[BaseModel], path: FieldPath, context: Mapping[str, Any], what: str
) -> tuple[str, str]:
    kind = details["type"]
    if kind == "extra_forbidden":
        return f"is no field of {what}", _nearest(str(path[-1]), _fields(model, path[:-1]))
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
    """Return advice with an example of the nearest field around ``path``."""
    names = [step for step in path if isinstance(step, str)]
    for length in range(len(names), 0, -1):
        field = _field(model, names[:length])
        if field is not None and field.examples:
            return f"write for example `{names[length - 1]}: {field.examples[0]}`"
    return "compare with the example in docs/icd.md"


def _fields(model: type[BaseModel], path: FieldPath) -> list[str]:
    if not path:
        return [field.alias or name for name, field in model.model_fields.items()]
    names = [step for step in path if isinstance(step, str)]
    field = _field(model, names)
    if field is None and len(names) > 1:
        above = _field(model, names[:-1])
        field = above if above is not None and _is_mapping(above) else None
    inner = _innermost(field) if field else None
    return _fields(inner, ()) if inner else []


def _field(model: type[BaseModel], names: list[str]) -> FieldInfo | None:
    named = (field for name, field in model.model_fields.items() if names[0] == (field.alias or name))
    field = next(named, None)
    if len(names) == 1 or field is None:
        return field
    inner = _innermost(field)
    below = names[2:] if _is_mapping(field) else names[1:]
    return _field(inner, below) if inner and below else None


def _is_mapping(field: FieldInfo) -> bool:
    """Return whether a field maps names chosen by the ICD's author to values."""
    return get_origin(field.annotation) is Mapping


def _innermost(field: FieldInfo) -> type[BaseModel] | None:
    """Return the section in a field, directly, in a list, or in a list of lists; None if there is none."""
    pending = [field.annotation]
    while pending:
        each = pending.pop()
        if isinstance(each, type) and issubclass(each, BaseModel):
            return each
        pending += get_args(each)
    return None


def model_in(field: FieldInfo) -> type[BaseModel] | None:
    """Return the section in a field; None for a plain value."""
    candidates = (field.annotation, *get_args(field.annotation))
    return next((each for each in candidates if isinstance(each, type) and issubclass(each, BaseModel)), None)
