"""Adds values to the lists of a definition's file, and leaves all else in it as it stands: comments, order, layout."""

import shutil
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from offline.refinement.reference_pages import RefinementError
from online_analysis.icd import Icd
from online_analysis.icd.editing import edited

PLACES: Mapping[str, str] = {"keywords": "topic.keywords", "entities": "topic.entities", "seeds": "seeds"}


@dataclass(frozen=True, slots=True)
class Merged:
    """The new content of a definition's file, and what was added; what the definition had is left out."""

    content: bytes
    added: Mapping[str, Sequence[str]]


def merge(path: Path, reviewed: Mapping[str, Sequence[str]]) -> Merged:
    """Return the file of a definition with the reviewed values added.

    Raises ``IcdError`` for a definition with mistakes, before or after, and ``RefinementError`` where the file is
    written so that values have to be added by hand.
    """
    icd = Icd.load(path)
    had: Mapping[str, Sequence[str]] = {
        "keywords": icd.topic.keywords,
        "entities": icd.topic.entities,
        "seeds": icd.seeds,
    }
    added = {name: new for name, values in reviewed.items() if (new := _new(values, had[name]))}
    content = path.read_bytes()
    changes = {
        f"{PLACES[name]}[{place}]": value
        for name, values in added.items()
        for place, value in enumerate(values, len(had[name]))
    }
    merged = edited(content.decode("utf-8"), changes, str(path)).encode()
    _check(path, merged, {name: [*had[name], *added.get(name, ())] for name in had}, icd)
    return Merged(merged, added)


def replace_file(path: Path, content: bytes) -> None:
    """Give a file another content, all of it or none; its rights stay. Raises ``RefinementError``."""
    try:
        target = path.resolve()
        with tempfile.NamedTemporaryFile(dir=target.parent, prefix=f".{target.name}.", delete=False) as file:
            file.write(content)
        shutil.copymode(target, file.name)
        Path(file.name).replace(target)
    except OSError as error:
        raise RefinementError(f"{path}: cannot be written ({error.strerror})") from error


def _new(values: Sequence[str], had: Sequence[str]) -> list[str]:
    known = {value.casefold() for value in had}
    return [value for value in dict.fromkeys(values) if value.casefold() not in known]


def _check(path: Path, merged: bytes, wanted: Mapping[str, Sequence[str]], before: Icd) -> None:
    """Raise where the merged file does not say what it is meant to, or says anything else than before."""
    after = Icd.parse(merged, path)
    topic = before.topic.model_copy(update={name: tuple(wanted[name]) for name in ("keywords", "entities")})
    expected = before.model_copy(update={"topic": topic, "seeds": after.seeds})
    is_right = len(after.seeds) == len(wanted["seeds"]) and after.model_dump() == expected.model_dump()
    if not is_right:
        raise _by_hand(path, "the outcome would say something else")


def _by_hand(path: Path, why: str) -> RefinementError:
    return RefinementError(f"{path}: is left as it is, since {why}; add the values by hand")
