"""Reads mutants of pages one after another, and keeps those that raised, took too long or took too much memory."""

import json
import os
import pickle
import random
import resource
import select
import signal
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from io import BytesIO
from itertools import count
from pathlib import Path

from aahcrawler.editor.pages.saved_pages import pages_folder, saved_pages
from aahcrawler.exchange import Exchange
from aahcrawler.helper import ApplicationAwareHelper
from aahcrawler.helper.assistance import raised
from aahcrawler.page import Page
from aahcrawler.pipeline.analysis import score, understand
from aahcrawler.wire.replay import replayed
from benchmarks.hostile.mutations import Response, mutated
from benchmarks.recorded import FETCHED_AT, NoRecordedSitesError, recorded_sites, site_pages
from knowledge_base.loader import FOLDER, load
from online_analysis.analysers import analysers
from online_analysis.icd import Icd
from online_analysis.topic import Topic

_DEFINITION = b"""
id: hostile
title: Hostile pages
contact: archive@a.test
seeds: ["http://a.test/"]
topic: {keywords: [harbour, ferry, solar energy]}
"""
_MIB = 1024.0
_PIECE = 1 << 20


@dataclass(frozen=True, slots=True)
class Taken:
    """What reading a response took: seconds of processor time, at most so many MiB of memory, and what failed.

    ``ended`` says that it took too long and was ended. ``links`` and ``objects`` are the numbers found.
    """

    seconds: float = 0.0
    peak_mib: float = 0.0
    failed: tuple[str, ...] = ()
    links: int = 0
    objects: int = 0
    ended: bool = False


def reader() -> Callable[[Response], Taken]:
    """Return a function that reads responses as a crawl does, from the head to the scores of links."""
    knowledge_base, icd = load(), Icd.parse(_DEFINITION)
    judges = analysers(icd, Topic(icd.topic.keywords))

    def read(response: Response) -> Taken:
        began = time.process_time()
        try:
            page = _page(response)
            if page is None:
                return Taken(time.process_time() - began)
            helper = ApplicationAwareHelper(knowledge_base).comparing_drafts()
            helper.scripted(page) if page.is_html else None
            found = understand(page, helper, str)
            scored = score(found, judges, icd.scoring.weights)
        except Exception as error:
            return Taken(time.process_time() - began, failed=(f"raised {type(error).__name__}: {error}"[:500],))
        failed = tuple(map(str, raised(scored.assistance)))
        seconds = time.process_time() - began
        return Taken(seconds, failed=failed, links=len(found.document.outlinks), objects=len(found.objects))

    return read


def _page(response: Response) -> Page | None:
    lines = (f"HTTP/1.1 {response.status} OK", *(f"{name}: {value}" for name, value in response.fields), "", "")
    whole = "\r\n".join(lines).encode("latin-1", "replace") + response.body
    return replayed(Exchange(response.url, "GET", b"", BytesIO(whole), len(whole), b"", "", FETCHED_AT))


def apart(work: Callable[[], Taken], most_seconds: float) -> Taken:
    """Return the result of work in a forked process, with the memory it needed; after ``most_seconds`` it is ended."""
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(reading)
        _tell(writing, work)
    os.close(writing)
    told = _told(reading, time.monotonic() + most_seconds)
    if told is None:
        os.kill(child, signal.SIGKILL)
    _, status = os.waitpid(child, 0)
    os.close(reading)
    if told is None:
        return Taken(most_seconds, ended=True)
    return pickle.loads(told) if told else Taken(failed=(f"the process ended: {status}",))  # noqa: S301 - its own


def _tell(writing: int, work: Callable[[], Taken]) -> None:
    """Do the work in the child, send its result, and exit without the parent's exit handlers."""
    try:
        taken = work()
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / _MIB
        with os.fdopen(writing, "wb") as file:
            pickle.dump(Taken(taken.seconds, peak, taken.failed, taken.links, taken.objects), file)
    finally:
        os._exit(0)


def _told(reading: int, until: float) -> bytes | None:
    told = bytearray()
    while (left := until - time.monotonic()) > 0:
        if not select.select([reading], [], [], left)[0]:
            break
        piece = os.read(reading, _PIECE)
        if not piece:
            return bytes(told)
        told += piece
    return None


MAX_SECONDS = 1.0
"""An input that takes this much processor time is kept."""
MAX_MIB = 300.0
"""An input is kept if reading it takes this much memory in addition to that of the process before."""
PATIENCE = 60.0
"""The seconds after which the reading of an input is ended."""
_MAX_BYTES = 400_000
_OF_A_SITE = 40


@dataclass(frozen=True, slots=True)
class Finding:
    """A kept input: the number of its mutant, the mutations, and what reading it took."""

    number: int
    mutations: tuple[str, ...]
    taken: Taken
    response: Response

    @property
    def kind(self) -> str:
        """The reason for which it is kept."""
        if self.taken.ended:
            return "ended"
        if self.taken.failed:
            return "raised"
        return "slow" if self.taken.seconds > MAX_SECONDS else "memory"


def sources() -> tuple[Response, ...]:
    """Return the saved pages of the knowledge base, and pages of recorded sites if there are any."""
    saved = [each.page for each in saved_pages(pages_folder(FOLDER))]
    return tuple(_response(page) for page in (*saved, *_recorded()) if len(page.body) <= _MAX_BYTES)


def _recorded() -> Iterator[Page]:
    try:
        sites = recorded_sites()
    except NoRecordedSitesError:
        return
    for site in sites:
        yield from list(site_pages(site))[:_OF_A_SITE]


def _response(page: Page) -> Response:
    fields = tuple((name, value) for name, value in page.headers.fields if name.lower() in {"content-type", "link"})
    return Response(page.url, page.status, fields, page.body)


def mutant(given: Sequence[Response], seed: int, number: int) -> tuple[Response, tuple[str, ...]]:
    """Return the mutant with a number: the same for the same seed and pages."""
    chance = random.Random(f"{seed}/{number}")
    response = given[chance.randrange(len(given))]
    others = [given[chance.randrange(len(given))].body for _ in range(3)]
    return mutated(response, chance, others)


def findings(
    given: Sequence[Response],
    read: Callable[[Response], Taken],
    seed: int,
    *,
    minutes: float = 0.0,
    most: int = 0,
    told: Callable[[int, Taken], object] = lambda *_: None,
) -> Iterator[Finding]:
    """Yield the findings of some minutes, or among so many mutants."""
    until = time.monotonic() + 60 * minutes
    before = apart(Taken, PATIENCE).peak_mib
    for number in range(most) if most else count():
        if not most and time.monotonic() > until:
            return
        response, names = mutant(given, seed, number)
        taken = apart(lambda response=response: read(response), PATIENCE)  # type: ignore[misc]
        told(number, taken)
        if taken.ended or taken.failed or taken.seconds > MAX_SECONDS or taken.peak_mib - before > MAX_MIB:
            yield Finding(number, names, taken, response)


def kept(found: Finding, folder: Path, seed: int) -> Path:
    """Write a finding into a folder: the response, and beside it what it is and how to read it again."""
    folder.mkdir(parents=True, exist_ok=True)
    file = folder / f"{found.kind}-{seed}-{found.number}.json"
    body = file.with_suffix(".body")
    body.write_bytes(found.response.body)
    document = {
        "url": found.response.url,
        "status": found.response.status,
        "fields": found.response.fields,
        "mutations": found.mutations,
        "seconds": round(found.taken.seconds, 2),
        "peak_mib": round(found.taken.peak_mib),
        "failed": found.taken.failed,
        "again": f"python -m benchmarks.hostile --again {file}",
    }
    file.write_text(json.dumps(document, indent=1) + "\n", "utf-8")
    return file


def kept_response(file: Path) -> Response:
    """Return the response of a finding that was written."""
    document = json.loads(file.read_text("utf-8"))
    fields = tuple((str(name), str(value)) for name, value in document["fields"])
    return Response(document["url"], document["status"], fields, file.with_suffix(".body").read_bytes())
