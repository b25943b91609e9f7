"""Read what an ICD refers to: reference documents, host lists, statistical models, analysers of plug-ins."""

import hashlib
import re
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime
from importlib.metadata import PackageNotFoundError, distribution, entry_points
from pathlib import Path
from typing import Annotated, Any

from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, Field, ValidationError
from pydantic_core import ErrorDetails, PydanticCustomError
from resiliparse.extract.html2text import extract_plain_text
from resiliparse.parse.encoding import bytes_to_str, detect_encoding
from resiliparse.parse.html import HTMLTree

from online_analysis.icd.mistakes import Mistake
from online_analysis.icd.units import parse_moment

MAX_FILE_BYTES = 50_000_000
_MARKUP = re.compile(rb"\s*(?:\xef\xbb\xbf)?\s*<(?:!doctype|!--|html|head|body|\?xml)", re.IGNORECASE)


class ReferenceFileError(Exception):
    """Raised when a file that an ICD names cannot be read; the message continues a sentence "the file ..."."""


def read_reference(path: Path) -> str:
    """Return the plain text of a text or HTML file. Raises ReferenceFileError if it has none."""
    body = read_bytes(path)
    if b"\0" in body[:100_000] and not body.startswith((b"\xff\xfe", b"\xfe\xff")):
        raise ReferenceFileError("holds no text but binary data")
    return plain_text(body, html=path.suffix.lower() in {".html", ".htm", ".xhtml"} or None)


def plain_text(body: bytes, *, html: bool | None = None, encoding: str | None = None) -> str:
    """Return the text of a document: the main content of HTML, or else all of it.

    If ``html`` is None, the beginning of the body decides; if ``encoding`` is None, it is guessed. Never raises,
    whatever the bytes.
    """
    if html is None:
        html = bool(_MARKUP.match(body[:1000]))
    text: str = bytes_to_str(body, encoding or detect_encoding(body) or "utf-8")
    if not html:
        return text
    tree = HTMLTree.parse(text)
    main = extract_plain_text(tree, preserve_formatting=False, main_content=True, alt_texts=False)
    return f"{tree.title or ''}\n{main or extract_plain_text(tree, preserve_formatting=False)}"


def read_hosts(path: Path) -> list[str]:
    """Return the hosts of a list: one per line, ``#`` begins a comment; also reads hosts files (``0.0.0.0 name``)."""
    try:
        text = read_bytes(path).decode("utf-8-sig")
    except UnicodeDecodeError:
        raise ReferenceFileError("is not UTF-8 text") from None
    entries = (line.partition("#")[0].split() for line in text.splitlines())
    return [entry[-1] for entry in entries if entry]


def read_bytes(path: Path) -> bytes:
    """Return the content of a file. Raises ReferenceFileError if it cannot be read or is very large."""
    try:
        if path.is_dir():
            raise ReferenceFileError("is a folder")
        if not path.exists():
            raise ReferenceFileError("does not exist")
        if not path.is_file():
            raise ReferenceFileError("is no file")
        if path.stat().st_size > MAX_FILE_BYTES:
            raise ReferenceFileError(f"is larger than {MAX_FILE_BYTES:,} bytes")
        return path.read_bytes()
    except (OSError, ValueError) as error:
        raise ReferenceFileError(f"cannot be read ({getattr(error, 'strerror', None) or error})") from None


_INSIDE = ("config.cfg", "meta.json")
"""The files in every saved spaCy pipeline."""


class MissingModelError(Exception):
    """Raised for a missing model; ``problem`` continues a sentence "the field ...", ``advice`` is the remedy."""

    def __init__(self, problem: str, advice: str) -> None:
        super().__init__(f"{problem}; {advice}")
        self.problem = problem
        self.advice = advice


def find_model(name: str, folder: Path) -> str:
    """Return the argument for spaCy's loader: the name of an installed package, or the absolute path of a folder.

    It is not loaded, because importing spaCy takes seconds. Raises MissingModelError if neither exists.
    """
    try:
        place = (folder / name).resolve()
        if place.is_dir():
            return _checked(name, place)
    except (OSError, ValueError):
        pass
    try:
        distribution(name)
    except (PackageNotFoundError, ValueError):
        advice = f"run `python -m spacy download {name}`, or name the folder of a trained pipeline"
        raise MissingModelError(f"the model '{name[:100]}' is not installed", advice) from None
    return name


def model_version(name: str) -> str:
    """Return the version of a model that ``find_model`` has found, or else a digest of its metadata."""
    place = Path(name)
    try:
        if place.is_absolute():
            return hashlib.sha256((place / "meta.json").read_bytes()).hexdigest()
        return distribution(name).version
    except (OSError, PackageNotFoundError):
        return ""


def _checked(name: str, place: Path) -> str:
    if all((place / file).is_file() for file in _INSIDE):
        return str(place)
    problem = f"the folder '{name}' holds no spaCy pipeline"
    raise MissingModelError(problem, "name a folder that `nlp.to_disk` has written, with config.cfg and meta.json")


PLUGINS = "aahcrawler.analysers"
"""The group of entry points, ``name = module:factory``, under which distributions register analysers."""


def plugin_names() -> tuple[str, ...]:
    """Return the names of installed analysers besides the built-in ones, without importing any."""
    return tuple(sorted({entry.name for entry in entry_points(group=PLUGINS)}))


_MAX_MISTAKES = 20
_MAX_AUTHOR_LENGTH = 300
_EXAMPLE = '{"author": "ann", "text": "see https://example.org/", "date": "2024-05-01T18:00:00Z", "followers": 120}'


@dataclass(frozen=True, slots=True)
class Post:
    """A social posting. ``date`` is aware and in UTC, None if unknown; ``followers`` counts the author's followers."""

    author: str
    text: str
    date: datetime | None = None
    followers: int = 0


@dataclass(frozen=True, slots=True)
class Postings:
    """The posts of a file in order, or the mistakes in its lines."""

    posts: tuple[Post, ...] = ()
    mistakes: tuple[Mistake, ...] = ()


def read_posts(path: Path) -> Postings:
    """Read a JSONL file of posts. Raises ReferenceFileError if the file cannot be read.

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
    """Raised when a line is no post; the message continues a sentence "the line ..."."""


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
    """A line as written by people and exports."""

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
