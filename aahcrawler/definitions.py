"""Read a definition back from the ``icd.json`` in a crawl's folder."""

import json
import re
from collections.abc import Mapping
from pathlib import Path

from pydantic import TypeAdapter, ValidationError

from online_analysis.icd import ANALYSERS, Icd

_MEANING = TypeAdapter(dict[str, str])
_WEIGHTS = "scoring.weights."
_DOMAINS = ["politeness", "domains"]
_CANONICAL = ["scope", "canonical"]
_PROXY = "network.proxy."
_OF_HOST = re.compile(
    r"network\.hosts\.(.+)\.(certificates|ca_file|client_certificate|client_key|client_passphrase(?:\.(?:env|file))?"
    r"|proxy(?:\.(?:url|user|plain|password(?:\.(?:env|file))?))?)"
)
_FILES = "file"
"""Digests of the texts of files, which say nothing about URLs."""


class DefinitionError(Exception):
    """A definition cannot be read back; the message says why."""


def read_meaning(path: Path) -> Mapping[str, str]:
    """Return what a definition means (``Icd.meaning``), as its ``icd.json`` has it.

    Raise ``OSError`` or ValueError (pydantic's ``ValidationError`` is one).
    """
    return _MEANING.validate_json(path.read_bytes())


def read_id(path: Path) -> str:
    """Return the id of the definition in an ``icd.json``. Raise as ``read_meaning`` does; without one, ValueError."""
    return str(json.loads(read_meaning(path).get("id", "")))


def read_definition(path: Path) -> Icd:
    """Return the definition that a crawl goes by, its output being the folder of ``path``.

    Raise ``DefinitionError`` for a file that is missing, damaged, or of another version.
    """
    try:
        return from_meaning(read_meaning(path), path.parent)
    except (OSError, ValidationError, ValueError) as error:
        raise DefinitionError(f"{path}: cannot be read ({type(error).__name__}); start the crawl again") from error


def from_meaning(meaning: Mapping[str, str], output: Path) -> Icd:
    """Return the ICD that has this meaning (``Icd.meaning``); the order of lists is lost.

    Raise ValueError (pydantic's ``ValidationError`` is one) for what is no meaning.
    """
    fields: dict[str, object] = {"output": output}
    for path, text in meaning.items():
        names = _names(path)
        if names[0] != _FILES:
            _put(fields, names, _value(text))
    weighted = tuple(path.removeprefix(_WEIGHTS) for path in meaning if path.startswith(_WEIGHTS))
    return Icd.model_validate(fields, context={"analysers": tuple(dict.fromkeys((*ANALYSERS, *weighted)))})


def _names(path: str) -> list[str]:
    """Split a path into section, field and key; what is said of a domain has its field behind the key.

    Fields of ``scope.canonical``, of proxies and of hosts stand deeper.
    """
    if (found := _OF_HOST.fullmatch(path)) is not None:
        return ["network", "hosts", found[1], *found[2].split(".")]
    if path.startswith(_PROXY):
        return path.split(".")
    section, *names = path.split(".", 2)
    if [section, *names[:1]] == _DOMAINS and len(names) > 1:
        return [section, names[0], *names[1].rsplit(".", 1)]
    if [section, *names[:1]] == _CANONICAL and len(names) > 1:
        return [section, names[0], *names[1].split(".", 1)]
    return [section, *names]


def _put(fields: dict[str, object], path: list[str], value: object) -> None:
    """Put a value where its path says: field, section and field, or section, field and key."""
    for name in path[:-1]:
        inner = fields.setdefault(name, {})
        if not isinstance(inner, dict):
            raise ValueError(f"{'.'.join(path)} lies in what is no section")
        fields = inner
    fields[path[-1]] = value


def _value(text: str) -> object:
    value = json.loads(text)
    return [json.loads(entry) for entry in value] if isinstance(value, list) else value
