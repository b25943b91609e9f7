"""Social postings that an ICD names by file: one JSON object a line, with author, text, date and followers."""

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Annotated, Any

from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, Field, ValidationError
from pydantic_core import ErrorDetails, PydanticCustomError

from online_analysis.icd.mistakes import Mistake
from online_analysis.icd.reference_files import read_bytes
from online_analysis.icd.units import parse_moment

_MAX_MISTAKES = 20
_MAX_AUTHOR_LENGTH = 300
_EXAMPLE = '{"author": "ann", "text": "see https://example.org/", "date": "2024-05-01T18:00:00Z", "followers": 120}'


@dataclass(frozen=True, slots=True)
class Post:
    """A social posting. ``date`` is aware and in UTC, None where unknown; ``followers`` counts those of the author."""

    author: str
    text: str
    date: datetime | None = None
    followers: int = 0


@dataclass(frozen=True, slots=True)
class Postings:
    """The posts of a file in its order, or the mistakes in its lines."""

    posts: tuple[Post, ...] = ()
    mistakes: tuple[Mistake, ...] = ()


def read_posts(path: Path) -> Postings:
    """Read a JSONL file of posts. Raises ReferenceFileError where the file cannot be read.

    ``author`` and ``text`` are required; ``date`` (ISO 8601, UTC without a zone) and ``followers`` may be missing or
    null; other fields and empty lines are ignored. At most twenty bad lines are reported.
    """
    posts, mistakes = [], []
    for number, line in _lines(read_bytes(path)):
        try:
            posts.append(_post(line))
        except _BadLineError as error:
            mistakes.append(Mistake(str(path), number, "", str(error), f"write one post a line, such as {_EXAMPLE}"))
    if not posts and not mistakes:
        mistakes.append(Mistake(str(path), 1, "", "holds no posts", f"write one a line, such as {_EXAMPLE}"))
    if len(mistakes) > _MAX_MISTAKES:
        left = len(mistakes) - _MAX_MISTAKES
        mistakes[_MAX_MISTAKES:] = [
            Mistake(str(path), mistakes[_MAX_MISTAKES].line, "", f"{left} more lines are no posts", "mend them as well")
        ]
    return Postings((), tuple(mistakes)) if mistakes else Postings(tuple(posts))


class _BadLineError(ValueError):
    """Raised where a line is no post; the message completes the sentence "the line ..."."""


def _date(value: Any) -> Any:
    if not isinstance(value, str):
        if value is None:
            return None
        raise PydanticCustomError("post", "is no date in quotes such as 2024-05-01")
    try:
        return parse_moment(value.strip())
    except ValueError as error:
        raise PydanticCustomError("post", str(error)) from None


def _name(text: str) -> str:
    folded = " ".join(text.split())
    if not folded:
        raise PydanticCustomError("post", "is empty")
    return folded


class _Line(BaseModel):
    """A line as people and exports write it."""

    model_config = ConfigDict(extra="ignore", strict=True, hide_input_in_errors=True)

    author: Annotated[str, Field(max_length=_MAX_AUTHOR_LENGTH), AfterValidator(_name)]
    text: str
    date: Annotated[datetime | None, BeforeValidator(_date)] = None
    followers: Annotated[int, Field(ge=0, le=10**12)] | None = None


def _post(line: bytes) -> Post:
    try:
        read = _Line.model_validate_json(line)
    except ValidationError as error:
        raise _BadLineError(_problem(error.errors(include_url=False)[0])) from None
    return Post(read.author, read.text, read.date, read.followers or 0)


def _problem(details: ErrorDetails) -> str:
    if not details["loc"]:
        return "is no JSON" if details["type"] == "json_invalid" else "is no JSON object"
    name, message = details["loc"][0], details["msg"]
    problems = {"missing": "is missing", "post": message}
    return f"`{name}` {problems.get(details['type'], f'is wrong ({message})')}"


def _lines(content: bytes) -> Iterator[tuple[int, bytes]]:
    for number, line in enumerate(content.removeprefix(b"\xef\xbb\xbf").split(b"\n"), 1):
        if line.strip():
            yield number, line
