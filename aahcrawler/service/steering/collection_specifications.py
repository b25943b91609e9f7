"""Collections made from archives by a specification sent over the network: validated, tried, and crawled.

A specification is a definition with the texts of its reference documents; it names archives by the ids of crawls and
imports of the service. It can access nothing else on this machine.
"""

import hashlib
import json
import os
import re
import tempfile
import threading
from collections.abc import Callable, Iterator, Mapping
from copy import deepcopy
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Final

import yaml
from pydantic import BaseModel, ConfigDict, Field, JsonValue, ValidationError

from aahcrawler.exclusions import Exclusions
from aahcrawler.layout import EXCLUSIONS, SPECIFICATION
from aahcrawler.segments import DamageError
from aahcrawler.service.catalog.crawl_catalog import Crawl
from aahcrawler.service.catalog.crawl_registry import CrawlRegistry, KnowledgeFolders
from aahcrawler.service.steering.crawl_process import Processes, ReportingProcess
from aahcrawler.service.steering.held_definitions import (
    HeldDefinitions,
    refuse_machine_fields,
    refuse_widening,
    refused,
)
from aahcrawler.service.steering.long_jobs import Jobs, JobView, Progress, Task
from aahcrawler.service.steering.starting_crawls import NewCrawl, Starting, establish, folder_for, start
from aahcrawler.service.web.problems import BAD_DEFINITION, CONFLICT, NO_SPECIFICATION, MistakeView, ProblemError, Shown
from aahcrawler.service.web.roles import Caller, Role, checked
from aahcrawler.urls import canonicalize
from online_analysis.icd import Icd, IcdError, text_check

NAME: Final = re.compile(r"[A-Za-z0-9](?:[A-Za-z0-9._-]{0,62}[A-Za-z0-9_-])?")
"""What a collection may be called: as the id of a definition."""
REFERENCES: Final = "references"
"""The folder of a crawl that holds the texts of its specification."""
MAX_TEXTS: Final = 200
MAX_TEXT: Final = 1_000_000
MAX_SAMPLE: Final = 1_000
"""Captures of a sample: whoever needs more has ``aah icd try``."""
USUAL_LIMITS: Final[Mapping[str, JsonValue]] = {"pages": 10_000, "time": "12 hours"}
"""The limits of a collection whose specification has none."""
_SAMPLE_SECONDS: Final = 600.0
_OWN: Final = frozenset({"id", "output"})

TextName = Annotated[str, Field(pattern=r"^[A-Za-z0-9][A-Za-z0-9_-]{0,60}\.txt$", examples=["report.txt"])]
Fields = dict[str, JsonValue]


class Specification(BaseModel):
    """A definition, with the texts of reference documents by their names in ``topic.documents``."""

    model_config = ConfigDict(extra="forbid", frozen=True, hide_input_in_errors=True)

    definition: Annotated[
        Fields,
        Field(
            description="The fields of a definition, without `id` and `output`; in `captures.sources` an `archive` is"
            " named by the id of a crawl or an import of the service.",
            examples=[
                {
                    "title": "The flood of 2013",
                    "contact": "archive@example.org",
                    "seeds": ["http://www.example.de/hochwasser/"],
                    "topic": {"documents": ["report.txt"], "keywords": ["flood"]},
                    "event": {"start": "2013-05-30", "end": "2013-06-25", "cool_down": "8 weeks"},
                    "captures": {"sources": [{"archive": "news-2013"}]},
                    "scoring": {"relevant": 0.5, "relevance": {"combination": "gated"}},
                }
            ],
        ),
    ]
    texts: Annotated[
        dict[TextName, Annotated[str, Field(min_length=1, max_length=MAX_TEXT)]],
        Field(max_length=MAX_TEXTS, examples=[{"report.txt": "The flood crest passed the town on Tuesday ..."}]),
    ] = {}

    @property
    def digest(self) -> str:
        """The SHA-256 of its JSON, independent of the order of fields."""
        written = json.dumps(self.model_dump(mode="json"), sort_keys=True, ensure_ascii=False)
        return hashlib.sha256(written.encode("utf-8", "surrogatepass")).hexdigest()


class SeedHeldView(Shown):
    """The captures of a seed in the archives, as ``aah icd try --sample`` shows them."""

    url: str
    captures: int
    first: str
    last: str
    nearest: str
    problem: str


class SourceHeldView(Shown):
    """What one source holds of the seeds: how many of them, their captures, and how many look-ups failed."""

    name: str
    seeds: int
    captures: int
    failed: int


class SampledView(Shown):
    """A capture with its score and the parts of that."""

    url: str
    captured_at: str
    archive: str
    title: str
    language: str
    depth: int
    via: str
    score: float
    topic: float | None
    time: float | None
    date: str


class MembersView(Shown):
    """How many captures of a sample reach a threshold of relevance."""

    threshold: float
    captures: int


class SampleView(Shown):
    """A sample of a collection: seeds, the most relevant captures, members by threshold, what is missing.

    ``relevant`` is the threshold of the specification.
    """

    seeds: tuple[SeedHeldView, ...]
    taken: int
    looked_up: int
    best: tuple[SampledView, ...]
    members: tuple[MembersView, ...]
    relevant: float | None
    missing: int
    missing_urls: tuple[str, ...]
    troubles: Mapping[str, int]
    ended: str
    sources: tuple[SourceHeldView, ...] = ()
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class _Written:
    """A specification as a definition in a folder: text, files by name, and archives by path."""

    icd: Icd
    text: str
    files: Mapping[str, bytes]


class Specifications:
    """Validates specifications, and begins samples and crawls for them. Thread-safe."""

    def __init__(
        self,
        reach: CrawlRegistry,
        definitions: HeldDefinitions,
        processes: Processes,
        jobs: Jobs,
        knowledge: Callable[[], KnowledgeFolders],
    ) -> None:
        self._reach = reach
        self._definitions = definitions
        self._processes = processes
        self._jobs = jobs
        self._knowledge = knowledge
        self._lock = threading.Lock()

    def check(self, caller: Caller, name: str, asked: Specification) -> Icd:
        """Return the definition of a specification. Raise ``ProblemError`` with its mistakes by field."""
        return self._written(caller, name, asked, folder_for(self._reach, name)).icd

    def put(self, caller: Caller, name: str, asked: Specification, *, begin: bool) -> tuple[bool, Starting | None]:
        """Create the crawl of a specification; with ``begin``, start it unless it was started before.

        Return whether it was created now, and the outcome of the start. An equal specification under the same name
        changes nothing. Raise ``ProblemError`` with mistakes, and if the name is taken.
        """
        with self._lock:
            is_new = not self._is_known(name, asked)
            if is_new:
                written = self._written(caller, name, asked, folder_for(self._reach, name))
                kept = asked.model_dump_json(indent=1).encode("utf-8", "surrogatepass")
                files = {**written.files, SPECIFICATION: kept}
                establish(self._reach, caller, NewCrawl(written.icd, written.text, files))
            crawl = self._reach.crawl(name)
            if not begin or crawl.has_begun:
                return is_new, None
            return is_new, start(self._reach, self._definitions, self._processes, crawl, caller.name)

    def sample(self, caller: Caller, name: str, asked: Specification, captures: int) -> JobView:
        """Begin a job that samples the archives and stores nothing; its result is a ``SampleView``.

        Raise ``ProblemError`` with mistakes, and if too many jobs are running.
        """
        written = self._written(caller, name, asked, None)

        def work(progress: Progress) -> SampleView:
            progress.total = len(written.icd.seeds) + captures
            return self._sampled(written, captures, progress)

        return self._jobs.begin(Task("sample", job_key(name), caller.name), work)

    def _sampled(self, written: _Written, captures: int, progress: Progress) -> SampleView:
        notes: list[str] = []
        with tempfile.TemporaryDirectory(prefix="aah-sample-") as name:
            folder = Path(name)
            _write(folder, {**written.files, "sample.yaml": written.text.encode(), **self._exclusions()})
            asked = ["icd", "try", "--json", "--sample", str(captures), "sample.yaml"]
            process = ReportingProcess(asked, folder, self._knowledge().environment, _SAMPLE_SECONDS)
            progress.waits_for(process.kill)
            for told in process.told():
                match told.get("kind"):
                    case "progress":
                        progress.done = int(told.get("seeds", 0)) + int(told.get("taken", 0))
                        progress.advance(0)
                    case "note":
                        notes.append(str(told.get("text", ""))[:1000].replace(f"{folder}/", ""))
                    case "sample":
                        return _sample_view(told, notes)
        progress.advance(0)
        raise ProblemError(CONFLICT, process.problem or f"it ended early, with the exit code {process.exit_code}")

    def _exclusions(self) -> Mapping[str, bytes]:
        """Return the institution's exclusions as a file for the folder of a temporary draft."""
        place = self._reach.catalog.place_for_new()
        path = None if place is None else place / EXCLUSIONS
        return {f"crawls/{EXCLUSIONS}": path.read_bytes()} if path is not None and path.exists() else {}

    def _is_known(self, name: str, asked: Specification) -> bool:
        if not NAME.fullmatch(name):
            return False  # The mistake is told with all others.
        folder = folder_for(self._reach, name)
        if self._reach.catalog.crawl(name) is None and not folder.exists():
            return False
        before = read_specification(folder)
        if before is None:
            raise ProblemError(CONFLICT, f"there is a crawl {name} already, which no specification has made")
        if before.digest != asked.digest:
            raise ProblemError(
                CONFLICT, f"{name} is the collection of another specification; take another name, or delete its crawl"
            )
        return True

    def _written(self, caller: Caller, name: str, asked: Specification, folder: Path | None) -> _Written:
        """Return a specification as it is written to a folder; None stands for a temporary one."""
        if self._reach.shared is not None:
            told = "its workers, and the collection, may be on machines without the archives and indexes of this one"
            raise ProblemError(
                CONFLICT, f"with a shared server no specification is taken, as {told}; ask a service without"
            )
        fields = deepcopy(asked.definition)
        archives, mistakes = self._archives(fields, folder)
        if archives:
            checked(caller, Role.READ, "to take captures from the crawls and imports of this service")
        mistakes += [_mistake(each, "is no field of a specification", "leave it out") for each in _OWN & fields.keys()]
        if mistakes:
            raise _problem(mistakes)
        texts = {f"{REFERENCES}/{each}": text for each, text in asked.texts.items()}
        _name_texts(fields, asked.texts)
        fields = {"id": name, **fields}
        fields.setdefault("limits", dict(USUAL_LIMITS))
        text = yaml.safe_dump(fields, sort_keys=False, allow_unicode=True, width=110)
        files = {each: content.encode("utf-8", "replace") for each, content in texts.items()}
        try:
            own = frozenset((*files, *archives, *map(str, archives.values())))
            plain = text_check.checked_definition(text).icd
            if plain is not None:  # Else the mistakes are told, with those of its texts and archives.
                refuse_machine_fields(plain, own=own)
            icd = _read(text, files, archives)
            refuse_machine_fields(icd, own=own)
        except IcdError as error:
            raise refused(error, "the specification has mistakes") from None
        refuse_widening(caller, icd)
        if found := [*self._excluded(icd), *_without_archive(icd)]:
            raise _problem(found)
        return _Written(icd, text, files)

    def _archives(self, fields: Fields, folder: Path | None) -> tuple[dict[str, Path], list[MistakeView]]:
        """Replace ids of crawls by paths; return the folders by path, and mistakes."""
        known = {each.id: each for each in self._reach.crawls()}
        paths: dict[str, Path] = {}
        mistakes: list[MistakeView] = []
        for at, source in enumerate(_sources(fields)):
            named = source.get("archive")
            listed = named if isinstance(named, list) else [] if named is None else [named]
            written: list[JsonValue] = []
            for place, each in enumerate(listed):
                crawl = known.get(each) if isinstance(each, str) else None
                if crawl is None or crawl.folder is None:
                    field = f"captures.sources[{at}].archive" + (f"[{place}]" if isinstance(named, list) else "")
                    problem, advice = "names no crawl or import of this service", "write the id of one"
                    mistakes.append(_mistake(field, problem, advice))
                    continue
                path = _path_to(crawl, folder)
                paths[path] = crawl.folder.absolute()
                written.append(path)
            if named is not None:
                source["archive"] = written
        return paths, mistakes

    def _excluded(self, icd: Icd) -> Iterator[MistakeView]:
        """Yield a mistake for each seed, reference and archive that the institution excludes."""
        place = self._reach.catalog.place_for_new()
        try:
            exclusions = Exclusions() if place is None else Exclusions.read(place)
        except DamageError as error:
            raise ProblemError(CONFLICT, str(error)) from error
        named = {f"seeds[{at}]": url for at, url in enumerate(icd.seeds)}
        named |= {f"topic.documents[{at}]": url for at, url in enumerate(icd.topic.documents)}
        for at, source in enumerate(icd.captures.sources):
            for kind in ("cdx", "memento"):
                asked = getattr(source, kind)
                for name, url in asked.model_dump(exclude_none=True).items() if asked is not None else ():
                    named[f"captures.sources[{at}].{kind}.{name}"] = url
        for field, url in named.items():
            if exclusions.covers(canonicalize(url) or ""):
                yield _mistake(field, "is excluded by the institution", "leave it out")


def job_key(name: str) -> str:
    """Return the key of a specification's jobs; ids of crawls never contain a colon."""
    return f"specification:{name}"


def read_specification(folder: Path | None) -> Specification | None:
    """Return the specification from which a crawl was made; None if there is none that can be read."""
    try:
        return None if folder is None else Specification.model_validate_json((folder / SPECIFICATION).read_bytes())
    except (OSError, ValidationError):
        return None


def specification_of(reach: CrawlRegistry, name: str) -> tuple[Crawl, Specification]:
    """Return crawl and specification with a name. Raise ``ProblemError`` if there is none."""
    crawl = reach.catalog.crawl(name)
    found = None if crawl is None else read_specification(crawl.folder)
    if crawl is None or found is None:
        raise ProblemError(NO_SPECIFICATION, f"no specification {name!r} was handed in")
    return crawl, found


def _sources(fields: Fields) -> Iterator[dict[str, JsonValue]]:
    captures = fields.get("captures")
    sources = captures.get("sources") if isinstance(captures, dict) else None
    for each in sources if isinstance(sources, list) else ():
        yield each if isinstance(each, dict) else {}


def _name_texts(fields: Fields, texts: Mapping[str, str]) -> None:
    topic = fields.get("topic")
    documents = topic.get("documents") if isinstance(topic, dict) else None
    if isinstance(topic, dict) and isinstance(documents, list):
        topic["documents"] = [f"{REFERENCES}/{each}" if each in texts else each for each in map(_plain, documents)]


def _plain(value: JsonValue) -> Any:
    """Return a value, one that cannot be the name of a text as a text that is none."""
    return value if isinstance(value, str) else json.dumps(value)


def _path_to(crawl: Crawl, folder: Path | None) -> str:
    assert crawl.folder is not None  # noqa: S101 - asked for by whoever calls
    there = crawl.folder.absolute()
    return str(there) if folder is None else os.path.relpath(there, folder)


def _read(text: str, files: Mapping[str, bytes], archives: Mapping[str, Path]) -> Icd:
    """Return the definition in a text, which may use only these files and archives. Raise ``IcdError``."""
    with tempfile.TemporaryDirectory(prefix="aah-") as name:
        folder = Path(name)
        _write(folder, files)

        def place(called: str) -> Path:
            return folder / called if called in files else archives.get(called, folder / "missing")

        return Icd.parse(text.encode("utf-8", "surrogatepass"), folder / "definition.yaml", place=place)


def _write(folder: Path, files: Mapping[str, bytes]) -> None:
    for name, content in files.items():
        (folder / name).parent.mkdir(mode=0o700, exist_ok=True)
        (folder / name).write_bytes(content)


def _without_archive(icd: Icd) -> Iterator[MistakeView]:
    if icd.captures.is_live:
        advice = "name `archive`, `cdx` or `memento`; POST /v1/crawls creates crawls of the live web"
        yield _mistake("captures.sources", "names no archive", advice)


def _mistake(field: str, problem: str, advice: str) -> MistakeView:
    return MistakeView(line=1, field=field, problem=problem, advice=advice)


def _problem(mistakes: list[MistakeView]) -> ProblemError:
    first = mistakes[0]
    said = f"the specification has mistakes: {first.field} {first.problem}; {first.advice}"
    return ProblemError(BAD_DEFINITION, said, mistakes=tuple(mistakes))


def _sample_view(told: Mapping[str, Any], notes: list[str]) -> SampleView:
    try:
        return SampleView.model_validate({**told, "notes": notes})
    except ValidationError as error:
        raise ProblemError(CONFLICT, f"what it tells cannot be read: {error.errors()[0]['msg']}") from error
