"""Read one answer in a process of its own, and say what that took."""

import os
import pickle
import resource
import select
import signal
import time
from collections.abc import Callable
from dataclasses import dataclass
from io import BytesIO

from aahcrawler.exchange import Exchange
from aahcrawler.helper import ApplicationAwareHelper
from aahcrawler.helper.raised_failures import raised
from aahcrawler.page import Page
from aahcrawler.pipeline.score import score
from aahcrawler.pipeline.understand import understand
from aahcrawler.wire.replay import replayed
from benchmarks.hostile.mutations import Answer
from benchmarks.site_pages import FETCHED_AT
from knowledge_base.loader import load
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
    """What reading an answer took: seconds of processor time, MiB of memory at most, and what failed.

    ``ended`` says that it took longer than it may and was ended. ``links`` and ``objects`` are how many were found.
    """

    seconds: float = 0.0
    peak_mib: float = 0.0
    failed: tuple[str, ...] = ()
    links: int = 0
    objects: int = 0
    ended: bool = False


def reader() -> Callable[[Answer], Taken]:
    """Return what reads answers as a crawl does: head and codings, page, application, text, objects, links, scores."""
    knowledge_base, icd = load(), Icd.parse(_DEFINITION)
    judges = analysers(icd, Topic(icd.topic.keywords))

    def read(answer: Answer) -> Taken:
        began = time.process_time()
        try:
            page = _page(answer)
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


def _page(answer: Answer) -> Page | None:
    lines = (f"HTTP/1.1 {answer.status} OK", *(f"{name}: {value}" for name, value in answer.fields), "", "")
    whole = "\r\n".join(lines).encode("latin-1", "replace") + answer.body
    return replayed(Exchange(answer.url, "GET", b"", BytesIO(whole), len(whole), b"", "", FETCHED_AT))


def apart(work: Callable[[], Taken], most_seconds: float) -> Taken:
    """Return the result of some work in a forked process, with the memory that this needed; it may be ended."""
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
    """Do the work in the child, tell its result, and end without anything that the parent would do at its end."""
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
