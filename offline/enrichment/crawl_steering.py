"""Brings what enrichment has found back into the crawl that runs (ARCOMEM, section 3.3): from offline to online.

Names and keywords that relevant pages have far more often than others raise the scores of queued pages that links name
so. What was changed is noted in the crawl's folder, one JSON object a line, and can be undone.
"""

import json
import math
import re
import sqlite3
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Final
from urllib.parse import unquote, urlsplit

from pydantic import BaseModel, ConfigDict, ValidationError

from aahcrawler.annotations import Annotation, Kind, annotations_of
from aahcrawler.annotations.annotation import annotating
from aahcrawler.captures import ArchivedCaptures, Damage
from aahcrawler.definitions import read_definition
from aahcrawler.layout import DEFINITION, STEERED
from aahcrawler.metadata import LinkType
from aahcrawler.objects.capture_statements import read_statements
from aahcrawler.objects.reader import Statements
from aahcrawler.segments import private
from aahcrawler.service_client import JsonObject, ServiceClient, ServiceError
from online_analysis.terms import tokenize

STEERING_KINDS: Final = frozenset({Kind.KEYWORD, Kind.NAME, Kind.ORGANISATION, Kind.PLACE})
"""Kinds of annotations that steer. Names that are known to be people's do not."""
_MIN_OBJECTS, _MIN_CAPTURES = 3, 2
"""Relevant objects, and captures of them, that have a term at least."""
_MIN_LIFT = 3.0
"""How many times as often relevant objects have a term as others do."""
_MIN_MOVE = 0.005
_SAME = 1e-4
"""Scores that differ by less are the same: a frontier keeps them as integers."""
_LOOK_UPS = 10
"""URLs whose state is asked for, for each one that may be changed: most links have been followed."""
_MAX_CANDIDATES = 20_000
_PATH_MARKS: Final = re.compile(r"[^\w]|_")
_TABLES: Final = """
CREATE TABLE page (capture TEXT PRIMARY KEY, is_relevant INTEGER NOT NULL) WITHOUT ROWID;
CREATE TABLE has (term TEXT NOT NULL, object TEXT NOT NULL, capture TEXT NOT NULL, is_relevant INTEGER NOT NULL,
  PRIMARY KEY (term, object)) WITHOUT ROWID;
"""
_COUNTS: Final = """
SELECT term, sum(is_relevant) AS wanted, sum(NOT is_relevant) FROM has GROUP BY term
HAVING wanted >= ? AND count(DISTINCT iif(is_relevant, capture, NULL)) >= ?
"""


class SteeringError(Exception):
    """Raised where a crawl cannot be steered; the message tells cause and remedy."""


@dataclass(frozen=True, slots=True)
class SteeringBounds:
    """How far a crawl is steered: at most ``terms`` terms, ``urls`` URLs a run, and ``move`` by which a score rises.

    ``move`` bounds the rises of a URL by all runs together, of those that were not undone.
    """

    terms: int = 20
    urls: int = 200
    move: float = 0.2


class Steered(BaseModel):
    """A line of the log: a score that was changed. ``terms`` are why, empty where it was put back (``undoes``).

    ``undoes`` is the time of the change that was undone. Times are ISO 8601 in UTC.
    """

    model_config = ConfigDict(frozen=True)

    at: str
    crawl: int
    url: str
    before: float
    after: float
    terms: tuple[str, ...] = ()
    undoes: str = ""


@dataclass(frozen=True, slots=True)
class RunningCrawl:
    """A crawl that runs, as its service has it."""

    folder: Path
    client: ServiceClient
    id: str
    number: int

    @classmethod
    def of(cls, folder: Path, client: ServiceClient) -> "RunningCrawl":
        """Find the crawl of a folder. Raise ``SteeringError`` where no service is reachable, or it does not run."""
        name = read_definition(folder / DEFINITION).id
        try:
            status = client.status(name)
        except ServiceError as error:
            remedy = f"start one (aah serve {folder}), or name its URL (--service) and token (AAH_SERVICE_TOKEN)"
            raise SteeringError(f"{folder}: is not steered: {error}. Steering needs its service: {remedy}") from error
        if status["state"] not in ("running", "paused"):
            raise SteeringError(f"{folder}: is not steered: the crawl does not run, it is {status['state']}")
        return cls(folder, client, name, status["crawl"])

    def queued_score(self, url: str) -> float | None:
        """Return the score with which a URL waits, None where it does not wait, or the crawl knows no such URL."""
        try:
            known = self.client.url_state(self.id, url)
        except ServiceError as error:
            if error.status in (404, 422):
                return None
            raise
        score = known.get("score")
        return float(score) if known.get("state") == "queued" and score is not None else None


def steer(crawl: RunningCrawl, bounds: SteeringBounds = SteeringBounds()) -> list[Steered]:
    """Raise scores of queued pages that links name by the terms of relevant pages; return what was changed.

    Each change is noted before the next one is made. Raises ``SteeringError``, also where the service fails on the way:
    what was changed until then stays, and is noted. Raises ``AnnotationsBusyError``, ``OSError``, ``ReadError``,
    ``SegmentError`` and ``sqlite3.Error``.
    """
    with annotating(crawl.folder):
        return _steered(crawl, bounds)


def _steered(crawl: RunningCrawl, bounds: SteeringBounds) -> list[Steered]:
    terms = steering_terms(crawl.folder, bounds.terms)
    log = _Log(crawl.folder, crawl.number)
    risen, done = log.rises(), list[Steered]()
    with _told(crawl):
        for asked, (url, named) in enumerate(named_links(_links(crawl.folder), terms)):
            if len(done) >= bounds.urls or asked >= _LOOK_UPS * bounds.urls:
                break
            weight = max(terms[term] for term in named)
            move = weight * bounds.move - risen.get(url, 0.0)
            before = crawl.queued_score(url) if move >= _MIN_MOVE else None
            if before is not None and min(1.0, before + move) - before >= _MIN_MOVE:
                done += _rescored(crawl, log, Steered(at="", crawl=0, url=url, before=before, after=before + move,
                                                      terms=tuple(sorted(named))))  # fmt: skip
    return done


def undo(crawl: RunningCrawl) -> list[Steered]:
    """Put back the scores that steering has changed and nobody else has since; return what was put back.

    Raises as ``steer`` does.
    """
    done = list[Steered]()
    with annotating(crawl.folder), _told(crawl):
        log = _Log(crawl.folder, crawl.number)
        for change in reversed(log.standing()):
            score = crawl.queued_score(change.url)
            if score is not None and abs(score - change.after) < _SAME:
                back = Steered(at="", crawl=0, url=change.url, before=score, after=change.before, undoes=change.at)
                done += _rescored(crawl, log, back)
    return done


def steering_terms(crawl: Path, most: int) -> dict[str, float]:
    """Return what relevant objects speak of far more often than others, with weights up to 1, the greatest first.

    A term is its words in small letters. What the definition names itself is none: links are scored by it already.
    There are none where no page, or every page, is relevant. Raises ``ReadError``, ``OSError`` and ``sqlite3.Error``.
    """
    topic = read_definition(crawl / DEFINITION).topic
    with annotations_of(crawl) as annotations:
        rows = (stated.row for stated in Statements.of(crawl).each(read_statements))
        pages = ((row.capture, row.relevant) for row in rows if row.relevant is not None)
        return distinctive_names(annotations, pages, (*topic.keywords, *topic.entities), most)


def distinctive_names(
    annotations: Iterable[Annotation], pages: Iterable[tuple[str, bool]], known: Iterable[str], most: int
) -> dict[str, float]:
    """Return the names and keywords that objects of relevant pages have far more often than those of others.

    ``pages`` are captures, each with whether it is relevant; what is ``known`` already is left out. Otherwise as
    ``steering_terms``. Raises ``sqlite3.Error``.
    """
    left_out = {_words(each) for each in known}
    with closing(sqlite3.connect("", isolation_level=None)) as base:
        base.executescript(_TABLES)
        base.execute("BEGIN")
        base.executemany("INSERT OR REPLACE INTO page VALUES (?, ?)", pages)
        for each in annotations:
            if each.kind in STEERING_KINDS and (term := _words(each.label)) and term not in left_out:
                base.execute(
                    "INSERT OR IGNORE INTO has SELECT ?, ?, capture, is_relevant FROM page WHERE capture = ?",
                    (term, each.object, each.capture),
                )
        totals = dict(base.execute("SELECT is_relevant, count(DISTINCT object) FROM has GROUP BY is_relevant"))
        found = base.execute(_COUNTS, (_MIN_OBJECTS, _MIN_CAPTURES)).fetchall()
    worth = {term: wanted * math.log(lift) for term, wanted, others in found
             if (lift := _lift(wanted, others, totals)) >= _MIN_LIFT}  # fmt: skip
    chosen = sorted(worth, key=lambda term: (-worth[term], term))[:most]
    return {term: round(worth[term] / worth[chosen[0]], 4) for term in chosen}


def _lift(wanted: int, others: int, totals: Mapping[int, int]) -> float:
    """Return how many times as often relevant objects have a term, with half an object added to either side."""
    return ((wanted + 0.5) / (totals.get(1, 0) + 1)) / ((others + 0.5) / (totals.get(0, 0) + 1))


def _words(text: str) -> str:
    return " ".join(tokenize(text[:200]))


def _links(crawl: Path) -> Iterator[tuple[str, str]]:
    """Yield the links of all captured pages to pages: URL and anchor."""
    with ArchivedCaptures(crawl, damaged=_passed_over) as source:
        for capture in source.captures():
            for link in capture.metadata.links if capture.metadata else ():
                if link.type is LinkType.PAGE:
                    yield link.url, link.anchor


def named_links(links: Iterable[tuple[str, str]], terms: Mapping[str, float]) -> Iterator[tuple[str, frozenset[str]]]:
    """Yield the URLs that links name by terms, in anchor or path, those of the greatest weight first.

    Links are given by URL and anchor; they are not read where there are no terms.
    """
    found: dict[str, set[str]] = defaultdict(set)
    starts: dict[str, list[str]] = defaultdict(list)
    for term in terms:
        starts[term.split(" ")[0]].append(term)
    for url, anchor in links if terms else ():
        named = _terms_in(anchor, starts) | _terms_in(_path_words(url), starts)
        if named and (url in found or len(found) < _MAX_CANDIDATES):
            found[url] |= named
    weights = {url: max(terms[term] for term in named) for url, named in found.items()}
    for url in sorted(found, key=lambda url: (-weights[url], url)):
        yield url, frozenset(found[url])


def _terms_in(text: str, starts: Mapping[str, Sequence[str]]) -> set[str]:
    words = tokenize(text[:1_000])
    return {
        term
        for place, word in enumerate(words)
        for term in starts.get(word, ())
        if words[place : place + term.count(" ") + 1] == term.split(" ")
    }


def _path_words(url: str) -> str:
    return _PATH_MARKS.sub(" ", unquote(urlsplit(url).path))


def _rescored(crawl: RunningCrawl, log: "_Log", wanted: Steered) -> Iterator[Steered]:
    """Set the score of a queued page, and note and yield what came of it; nothing where it waits no longer."""
    became: JsonObject = crawl.client.rescore(crawl.id, wanted.url, min(1.0, wanted.after))
    if became["changed"] and became["score"] is not None:
        yield log.note(wanted.model_copy(update={"after": float(became["score"])}))


@contextmanager
def _told(crawl: RunningCrawl) -> Iterator[None]:
    """Raise errors of the service as those of steering."""
    try:
        yield
    except ServiceError as error:
        raise SteeringError(f"{crawl.folder}: steering has ended early: {error}") from error


@dataclass(slots=True)
class _Log:
    folder: Path
    crawl: int
    lines: list[Steered] = field(default_factory=list)

    def __post_init__(self) -> None:
        """Read what the crawl's number has. Lines that cannot be read are passed over."""
        try:
            written = (self.folder / STEERED).read_bytes().splitlines()
        except FileNotFoundError:
            return
        for line in written:
            try:
                said = Steered.model_validate_json(line)
            except ValidationError:
                continue
            self.lines += [said] if said.crawl == self.crawl else []

    def standing(self) -> list[Steered]:
        """Return the changes that were not undone, in their order."""
        undone = {(each.url, each.undoes) for each in self.lines if each.undoes}
        return [each for each in self.lines if not each.undoes and (each.url, each.at) not in undone]

    def rises(self) -> dict[str, float]:
        """Return by how much the score of each URL was raised by changes that stand."""
        found: dict[str, float] = defaultdict(float)
        for each in self.standing():
            found[each.url] += each.after - each.before
        return found

    def note(self, said: Steered) -> Steered:
        """Note a change, with the time and the crawl. Raises ``OSError``."""
        now = datetime.now(UTC).isoformat(timespec="microseconds")
        noted = said.model_copy(update={"at": now, "crawl": self.crawl})
        with open(self.folder / STEERED, "ab", buffering=0, opener=private) as file:
            file.write(json.dumps(noted.model_dump(mode="json"), ensure_ascii=False).encode() + b"\n")
        self.lines.append(noted)
        return noted


def _passed_over(_: Damage) -> None:
    """Go on behind a damaged place: links on other pages steer all the same."""
