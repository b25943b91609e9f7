"""The ICD as a JSON Schema (2020-12) for YAML editors, with a title and a sentence for each field."""

from collections.abc import Iterator, Mapping
from datetime import timedelta
from typing import Any, Final

from pydantic import BaseModel
from pydantic.fields import FieldInfo

from online_analysis.icd.definition import Icd
from online_analysis.icd.explanations import model_in
from online_analysis.icd.field_words import FIELD_WORDS
from online_analysis.icd.mistakes import IcdError
from online_analysis.icd.scoping import Condition
from online_analysis.icd.scoring import ANALYSERS
from online_analysis.icd.secrets import Secret, Value
from online_analysis.icd.sections import SIZE_SCHEMA
from online_analysis.icd.units import format_duration, format_size
from online_analysis.icd.yaml_source import Value as Written
from online_analysis.icd.yaml_source import read_source

SCHEMA_ID: Final = "urn:aahcrawler:icd"
_DIALECT: Final = "https://json-schema.org/draft/2020-12/schema"
_TEXT: Final = {"type": ["string", "number"]}
"""A text: YAML reads a text that looks like a number as one."""
_TEXTS: Final = {"type": "array", "items": _TEXT}
_CONDITION: Final = {"$ref": "#/$defs/Condition"}
_ROOTS: Final[Mapping[type[BaseModel], str]] = {Condition: "condition", Value: "value", Secret: "value"}
_AS_WRITTEN: Final[Mapping[str, Mapping[str, Any]]] = {
    "captures.sources": {
        "type": "array",
        "items": {"anyOf": [{"const": "live"}, {"$ref": "#/$defs/CaptureSource"}]},
        "minItems": 1,
    },
    "captures.sources.archive": {"anyOf": [_TEXTS, {"type": "string"}]},
    "scoring.spam_hosts": {"anyOf": [_TEXTS, {"type": "string"}]},
    "network.allow_private": {"anyOf": [{"type": "boolean"}, _TEXTS]},
    "network.resolve": {"type": "object", "additionalProperties": {"type": "string"}},
    "network.proxy": {"anyOf": [{"type": "string"}, {"$ref": "#/$defs/ProxySection"}]},
    "network.hosts.proxy": {"anyOf": [{"type": "string"}, {"$ref": "#/$defs/ProxySection"}]},
    "network.headers": {
        "type": "object",
        "additionalProperties": {"type": "object", "additionalProperties": {"$ref": "#/$defs/Value"}},
    },
    "condition.all": {"anyOf": [{"type": "array", "items": _CONDITION, "minItems": 1}, _CONDITION]},
    "condition.any": {"anyOf": [{"type": "array", "items": _CONDITION, "minItems": 1}, _CONDITION]},
    "condition.not": _CONDITION,
    **{
        f"condition.{name}": {"anyOf": [_TEXT, {**_TEXTS, "minItems": 1}]}
        for name in ("url", "site", "language", "type", "path", "via")
    },
}
"""Fields that may be written in forms that their sections convert before pydantic sees them."""


_WITH_QUERIES: Final = {"type": "object", "required": ["sparql"]}


def icd_schema() -> dict[str, Any]:
    """Return the schema. A text that it accepts may still have mistakes that only ``aah icd check`` finds."""
    schema = Icd.model_json_schema()
    sections = dict(_sections(Icd, ""))
    names = {model.__name__: path for model, path in sections.items()}
    models = {model.__name__: model for model in sections}
    definitions = schema.pop("$defs")
    for name, definition in definitions.items():
        if name in models:
            _describe(definition, models[name], names[name])
    _describe(schema, Icd, "")
    schema["required"].remove("seeds")
    schema["anyOf"] = [{"required": ["seeds"]}, {"required": ["sources"], "properties": {"sources": _WITH_QUERIES}}]
    for name in (Value.__name__, Secret.__name__):
        definitions[name] = _value(definitions[name], may_stand_here=name == Value.__name__)
    definitions.pop("Endpoint", None)
    schema["description"] = "An Intelligent Crawl Definition: what a crawl is to collect, and how far it may go."
    schema["title"] = "Intelligent Crawl Definition"
    return {"$schema": _DIALECT, "$id": SCHEMA_ID, **schema, "$defs": definitions}


def _sections(model: type[BaseModel], path: str) -> Iterator[tuple[type[BaseModel], str]]:
    """Yield each section once, with the path under which its fields are described."""
    pending, met = [(model, path)], set()
    while pending:
        section, where = pending.pop(0)
        if section in met:
            continue
        met.add(section)
        yield section, where
        for name, field in section.model_fields.items():
            inner = model_in(field)
            if inner is not None:
                below = f"{where}.{field.alias or name}".removeprefix(".")
                pending.append((inner, _ROOTS.get(inner, below)))


def _describe(definition: dict[str, Any], model: type[BaseModel], path: str) -> None:
    """Add titles, descriptions, examples and defaults, as written in YAML, to the fields of a section's schema."""
    words = FIELD_WORDS.get(path)
    definition.update({"title": words.label, "description": words.help} if words else {})
    required = definition.get("required", ())
    fields = {field.alias or name: field for name, field in model.model_fields.items()}
    for name, field in fields.items():
        where = f"{path}.{name}".removeprefix(".")
        written = dict(_AS_WRITTEN.get(where) or _values(definition["properties"][name]))
        if where == "scoring.weights":
            written["properties"] = dict.fromkeys(ANALYSERS, written["additionalProperties"])
        said: dict[str, Any] = {"title": FIELD_WORDS[where].label, "description": FIELD_WORDS[where].help}
        if field.examples:
            said["examples"] = [_example(field.examples[0])]
        if (default := _default(field, written)) is not None:
            said["default"] = default
        definition["properties"][name] = {**said, **(written if name in required else _optional(written))}


def _values(schema: Any) -> Any:
    """Adapt the schema of a value: texts may look like numbers, and titles and defaults are given elsewhere."""
    if isinstance(schema, list):
        return [_values(each) for each in schema]
    if not isinstance(schema, dict):
        return schema
    kept = {name: _values(inner) for name, inner in schema.items() if name not in {"title", "default", "examples"}}
    options = kept.get("anyOf")
    if options and all(str(each.get("format", "")).endswith("network") for each in options):
        return {"type": "string"}
    if kept.get("type") == "string" and not kept.keys() & {"enum", "pattern", "format"}:
        kept.update(_TEXT)
    return kept


def _optional(schema: dict[str, Any]) -> dict[str, Any]:
    """Return a schema that also accepts a field without a value, which means its default."""
    if "anyOf" in schema:
        options = [each for each in schema["anyOf"] if each != {"type": "null"}]
        return {**schema, "anyOf": [*options, {"type": "null"}]}
    if "$ref" in schema or "enum" in schema:
        return {"anyOf": [schema, {"type": "null"}]}
    types = schema["type"] if isinstance(schema["type"], list) else [schema["type"]]
    return {**schema, "type": [*types, "null"]}


def _value(definition: dict[str, Any], *, may_stand_here: bool) -> dict[str, Any]:
    """Return the schema of a value taken from a variable or a file or, with ``may_stand_here``, written directly."""
    fields = {
        name: {key: definition["properties"][name][key] for key in ("title", "description")} for name in ("env", "file")
    }
    elsewhere = [
        {
            "type": "object",
            "properties": {name: {"type": "string", **words}},
            "required": [name],
            "additionalProperties": False,
        }
        for name, words in fields.items()
    ]
    return {"title": definition["title"], "anyOf": [*([_TEXT] if may_stand_here else []), *elsewhere]}


def _example(written: str) -> Written:
    try:
        return read_source(f"example: {written}".encode(), "").data["example"]
    except IcdError:
        return written


def _default(field: FieldInfo, written: Mapping[str, Any]) -> Any:
    """Return the default as written; None if there is none or it follows from other fields."""
    value = None if field.is_required() else field.get_default()
    if isinstance(value, timedelta):
        return format_duration(value)
    if isinstance(value, int) and not isinstance(value, bool) and written.get("anyOf") == SIZE_SCHEMA["anyOf"]:
        return format_size(value)
    if isinstance(value, Mapping):
        return dict(value)
    return value if isinstance(value, str | int | float) and value != "" else None
