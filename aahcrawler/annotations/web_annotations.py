"""Annotations by people in the Web Annotation Data Model: a file of JSON-LD lines beside the archive.

A line says who made it (``creator``) and when (``created``), what it says (``body``) and about what (``target``). Lines
are only appended, and the last line of a person about a page counts; so nothing is lost, and no program can withdraw
what a person said. Only a takedown rewrites such a file.
"""

import fcntl
import json
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated, Final, Generic, Literal, TypeVar
from uuid import uuid4

from pydantic import BaseModel, ConfigDict, Field, JsonValue, ValidationError

from aahcrawler.segments import no_link, private
from aahcrawler.tombstones import replace_durably

CONTEXT: Final = "http://www.w3.org/ns/anno.jsonld"
_TAIL: Final = 1 << 16

BodyT = TypeVar("BodyT")
TargetT = TypeVar("TargetT")
ValueT = TypeVar("ValueT")
LineT = TypeVar("LineT", bound=BaseModel)


def moment_now() -> str:
    """Return the current time, ISO 8601 in UTC, to the second."""
    return datetime.now(UTC).isoformat(timespec="seconds")


class AnnotationFileError(Exception):
    """A file of annotations cannot be read or written; the message says where, and what to do."""


class Person(BaseModel):
    """The person who made an annotation, by the name of their sign-in."""

    model_config = ConfigDict(frozen=True)

    type: Literal["Person"] = "Person"
    name: str


class TextualBody(BaseModel, Generic[ValueT]):
    """The content of an annotation: a value and its purpose."""

    model_config = ConfigDict(frozen=True)

    type: Literal["TextualBody"] = "TextualBody"
    purpose: Literal["assessing", "classifying", "commenting"]
    value: ValueT


class WebAnnotation(BaseModel, Generic[BodyT, TargetT]):
    """An annotation; ``created`` is ISO 8601 in UTC."""

    model_config = ConfigDict(frozen=True)

    context: Annotated[str, Field(alias="@context")] = CONTEXT
    id: str = Field(default_factory=lambda: f"urn:uuid:{uuid4()}")
    type: Literal["Annotation"] = "Annotation"
    motivation: Literal["assessing", "classifying"] = "assessing"
    creator: Person
    created: str = Field(default_factory=moment_now)
    body: BodyT
    target: TargetT


def append(path: Path, *lines: BaseModel) -> None:
    """Append lines to a file, all or none of them; they are on disk on return. Raise ``AnnotationFileError``."""
    said = b"".join(line.model_dump_json(by_alias=True, exclude_none=True).encode() + b"\n" for line in lines)
    try:
        with _locked(path) as file:
            end = _cut_torn_line(file)
            if os.write(file, said) != len(said):
                os.ftruncate(file, end)
                raise AnnotationFileError(
                    f"{path}: the disk is full, and nothing is noted; make room, and do it once more"
                )
            os.fsync(file)
    except OSError as error:
        raise AnnotationFileError(f"{path}: cannot be written ({error.strerror or error}); make room") from error


def annotations_in(path: Path, kind: type[LineT]) -> Iterator[LineT]:
    """Parse the lines of a file, in their order; yield nothing if it does not exist.

    A last line without line break is skipped: a crash interrupted it. Raise ``AnnotationFileError``.
    """
    for number, line in _lines(path):
        try:
            made = kind.model_validate_json(line)
        except ValidationError as error:
            advice = "restore the file from a copy, or delete this line"
            raise AnnotationFileError(f"{path}:{number}: is no line of this program; {advice}") from error
        yield made


def rewrite(path: Path, kept: Callable[[JsonValue], JsonValue]) -> None:
    """Replace each line of a file by what ``kept`` returns for its JSON; drop lines for which it returns None.

    Lines that are no JSON are dropped. Nobody can append meanwhile. Raise ``OSError``.
    """
    if not path.exists():
        return
    with _locked(path):
        before = path.read_bytes().splitlines()
        after = []
        for line in before:
            with suppress(ValueError, RecursionError):
                said = kept(json.loads(line))
                if said is not None:
                    after.append(json.dumps(said, ensure_ascii=False, separators=(",", ":")).encode("utf-8", "replace"))
        if after != before:
            replace_durably(path, b"".join(line + b"\n" for line in after))
            path.chmod(0o600)


@contextmanager
def _locked(path: Path) -> Iterator[int]:
    """Open a file for appending, creating it if needed, with an exclusive lock."""
    while True:
        with open(path, "a+b", buffering=0, opener=private) as file:
            fcntl.flock(file, fcntl.LOCK_EX)
            opened, there = os.fstat(file.fileno()), path.stat(follow_symlinks=False)
            if (opened.st_dev, opened.st_ino) == (there.st_dev, there.st_ino):
                yield file.fileno()
                return
            # It was replaced while this waited.


def _lines(path: Path) -> Iterator[tuple[int, bytes]]:
    """Yield the complete lines of a file with their numbers."""
    try:
        with open(path, "rb", opener=no_link) as file:
            for number, line in enumerate(file, 1):
                if line.endswith(b"\n") and line.strip():
                    yield number, line
    except FileNotFoundError:
        return
    except OSError as error:
        raise AnnotationFileError(
            f"{path}: cannot be read ({error.strerror or error}); restore it from a copy"
        ) from error


def _cut_torn_line(file: int) -> int:
    """Remove an incomplete last line that a crash left; return the size of the file afterwards."""
    size = end = os.fstat(file).st_size
    while end:
        begin = max(0, end - _TAIL)
        found = os.pread(file, end - begin, begin).rfind(b"\n")
        if found >= 0:
            end = begin + found + 1
            break
        end = begin
    if end < size:
        os.ftruncate(file, end)
    return end
