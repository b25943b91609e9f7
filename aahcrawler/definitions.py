"""Read a definition back from the ``icd.json`` in a crawl's folder."""

import json
from collections.abc import Mapping
from pathlib import Path

from pydantic import TypeAdapter

from online_analysis.icd import ANALYSERS, Icd
from online_analysis.icd.field_paths import nested

_MEANING = TypeAdapter(dict[str, str])
_WEIGHTS = "scoring.weights."
_FILES = "file"
"""Digests of the texts of files, which say nothing about URLs."""


class DefinitionError(Exception):
    """The definition in a crawl's folder cannot be read back; the message says why."""


def read_meaning(path: Path) -> Mapping[str, str]:
    """Return the fields of the definition in an ``icd.json``, as ``Icd.meaning`` gives them.

    Raise ``OSError`` if the file cannot be read, ValueError (such as pydantic's ``ValidationError``) if it is invalid.
    """
    return _MEANING.validate_json(path.read_bytes())


def read_id(path: Path) -> str:
    """Return the id of the definition in an ``icd.json``.

    Raise as ``read_meaning`` does, and ValueError if it has no id.
    """
    return str(json.loads(read_meaning(path).get("id", "")))


def read_definition(path: Path) -> Icd:
    """Return the definition of the crawl whose ``icd.json`` is at ``path``; its output is the folder of that file.

    Raise ``DefinitionError`` for a file that is missing, damaged, or of another version.
    """
    try:
        return from_meaning(read_meaning(path), path.parent)
    except (OSError, ValueError, RecursionError) as error:
        raise DefinitionError(f"{path}: cannot be read ({type(error).__name__}); start the crawl again") from error


def from_meaning(meaning: Mapping[str, str], output: Path) -> Icd:
    """Build the ICD whose ``Icd.meaning`` is ``meaning``; the original order of lists is not restored.

    Raise ValueError (such as pydantic's ``ValidationError``) if it is not a valid definition.
    """
    of_fields = {path: text for path, text in meaning.items() if path.partition(".")[0] != _FILES}
    fields = nested(Icd, of_fields) | {"output": output}
    weighted = tuple(path.removeprefix(_WEIGHTS) for path in meaning if path.startswith(_WEIGHTS))
    return Icd.model_validate(fields, context={"analysers": tuple(dict.fromkeys((*ANALYSERS, *weighted)))})
