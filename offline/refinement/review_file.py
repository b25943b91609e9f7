"""The file in which an archivist reviews proposals: YAML with evidence in comments. Deleted entries are not merged."""

import json
import re
import shutil
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import yaml

from offline.refinement.proposals import Proposal, Proposals, RefinementError
from online_analysis.icd import Icd
from online_analysis.icd.editing import edited
from online_analysis.refinement import RefinementOutcome

FIELDS = ("keywords", "entities", "seeds")
_PLAIN = re.compile(r"[^\W\d_][\w'’./:?=&+~%-]*(?: [\w'’./:?=&+~%-]+)*")
"""Scalars that need no quotes, wherever they stand in YAML, unless they are words with a meaning of their own."""
_LARGEST = 1_000_000


def scalar(text: str) -> str:
    """Return a text as YAML reads it back, in quotes where it needs them.

    >>> scalar("solar power"), scalar("yes"), scalar("a: b")
    ('solar power', '"yes"', '"a: b"')
    """
    is_plain = _PLAIN.fullmatch(text) and ": " not in text and not text.endswith(":")
    return text if is_plain and yaml.safe_load(text) == text else json.dumps(text, ensure_ascii=False)


def review_text(found: Proposals, icd: Path, crawl: Path, review: Path) -> str:
    """Return the content of a review file."""
    return "\n".join((*_head(found, icd, crawl, review), *_sections(found))) + "\n"


def read_review(path: Path) -> Mapping[str, Sequence[str]]:
    """Return what was left in a review file, by field. Raises ``RefinementError``."""
    try:
        content = path.read_bytes()
        if len(content) > _LARGEST:
            raise RefinementError(f"{path}: is larger than {_LARGEST:,} bytes; it is no review file")
        data = yaml.load(content, Loader=yaml.BaseLoader)  # noqa: S506  All scalars are strings, and no objects are made.
    except OSError as error:
        raise RefinementError(f"{path}: cannot be read ({error.strerror})") from error
    except (yaml.YAMLError, ValueError, RecursionError) as error:
        raise RefinementError(f"{path}: is no YAML: {error}") from error
    if not isinstance(data, dict):
        raise RefinementError(f"{path}: holds none of {', '.join(FIELDS)}; write it with `aah icd refine`")
    return {name: _values(path, name, value) for name, value in data.items()}


def _values(path: Path, name: object, values: object) -> Sequence[str]:
    if name not in FIELDS:
        raise RefinementError(f"{path}: {name} is no field of a review; there are {', '.join(FIELDS)}")
    if values in ("", None):
        return ()
    if not isinstance(values, list) or not all(isinstance(value, str) and value.strip() for value in values):
        raise RefinementError(f"{path}: {name} is no list of texts; write one a line, such as `  - solar power`")
    return [" ".join(value.split()) for value in values]


def _head(found: Proposals, icd: Path, crawl: Path, review: Path) -> Iterator[str]:
    yield f"# Proposals for {icd.name}, from {found.pages:,} pages of {crawl}, {found.relevant:,} of them relevant."
    yield "# Delete the lines that are not about your subject. Then:"
    yield f"#     aah icd merge {icd} {review}"
    if found.outcome is not RefinementOutcome.TAKEN:
        yield f"# A crawl would not learn the keywords by itself: {found.outcome.value}."


def _sections(found: Proposals) -> Iterator[str]:
    sections = zip(FIELDS, (found.keywords, found.entities, found.seeds), strict=True)
    for name, proposals in sections:
        yield ""
        yield f"{name}:" if proposals else f"{name}: []"
        for each in proposals:
            yield f"  - {scalar(each.value)}  # {_evidence(each, found)}"


def _evidence(each: Proposal, found: Proposals) -> str:
    about = f"{each.about}; " if each.about else ""
    others = f"{each.others:,} of {found.pages - found.relevant:,} others"
    return f"{about}on {each.relevant:,} of {found.relevant:,} relevant pages, {others}, such as {each.example}"


PLACES: Mapping[str, str] = {"keywords": "topic.keywords", "entities": "topic.entities", "seeds": "seeds"}


@dataclass(frozen=True, slots=True)
class Merged:
    """The new content of a definition's file, and what was added, without what the definition already had."""

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
    """Replace a file's content, either whole or not at all, keeping its permissions. Raises ``RefinementError``."""
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
    """Raise where the merged file does not have the wanted meaning, or has lost anything of its former meaning."""
    after = Icd.parse(merged, path)
    topic = before.topic.model_copy(update={name: tuple(wanted[name]) for name in ("keywords", "entities")})
    expected = before.model_copy(update={"topic": topic, "seeds": after.seeds})
    is_right = len(after.seeds) == len(wanted["seeds"]) and after.model_dump() == expected.model_dump()
    if not is_right:
        raise _by_hand(path, "the outcome would say something else")


def _by_hand(path: Path, why: str) -> RefinementError:
    return RefinementError(f"{path}: is left as it is, since {why}; add the values by hand")
