"""Dry runs of unsaved definitions: the first page of each seed is fetched and analysed in a process of its own."""

import secrets
import tempfile
import threading
import time
from collections import OrderedDict
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from pydantic import ValidationError

from aahcrawler.service.catalog.crawl_registry import KnowledgeFolders
from aahcrawler.service.steering.crawl_process import ReportingProcess
from aahcrawler.service.steering.held_definitions import refuse_machine_fields, refuse_widening
from aahcrawler.service.web.problems import NO_JOB, TOO_MANY, ProblemError, Shown
from aahcrawler.service.web.roles import Caller
from online_analysis.icd import Icd
from online_analysis.icd.editing import edited
from online_analysis.icd.explanations import in_words

AT_ONCE: Final = 2
"""Dry runs at once: each imports the crawler, and loads the knowledge base."""
KEPT_SECONDS: Final = 900.0
_KEPT: Final = 20


class LinkTried(Shown):
    """A link that the crawl would queue, with its score."""

    url: str
    anchor: str = ""
    score: float


class SeedTried(Shown):
    """The outcome of a seed's first page, as ``aah icd try`` reports it."""

    url: str
    verdict: str
    words: str
    gives: bool
    detail: str = ""
    ended_at: str = ""
    status: int | None = None
    title: str = ""
    language: str = ""
    application: str = ""
    level: str = ""
    objects: Mapping[str, int] = {}
    score: float | None = None
    followed: int = 0
    hints: tuple[str, ...] = ()
    best: tuple[LinkTried, ...] = ()


class TrialView(Shown):
    """How far a dry run is: the seeds that were tried, of all; ``is_over`` once there is nothing more to come."""

    id: str
    seeds: tuple[SeedTried, ...]
    of: int
    notes: tuple[str, ...]
    is_over: bool
    problem: str = ""


@dataclass(slots=True)
class _Trial:
    of: int
    process: ReportingProcess
    begun_at: float
    seeds: list[SeedTried] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    problem: str = ""
    is_over: bool = False


class SeedTrials:
    """Runs two dry runs at a time, each for at most 15 minutes. Thread-safe."""

    def __init__(self, knowledge: Callable[[], KnowledgeFolders], clock: Callable[[], float] = time.monotonic) -> None:
        """``knowledge`` returns the folders of the knowledge base that pages are to be read with."""
        self._knowledge = knowledge
        self._clock = clock
        self._trials: OrderedDict[str, _Trial] = OrderedDict()
        self._lock = threading.Lock()

    def begin(self, caller: Caller, icd: Icd, text: str) -> str:
        """Begin the dry run of a definition; return its id.

        Raise ``ProblemError`` if the caller may not try it here.
        """
        refuse_machine_fields(icd)
        refuse_widening(caller, icd)
        with self._lock:
            self._forget_old()
            if sum(not trial.is_over for trial in self._trials.values()) >= AT_ONCE:
                raise ProblemError(TOO_MANY, "two definitions are being tried; wait until one of them is done")
            folder = tempfile.TemporaryDirectory(prefix="aah-try-")
            file = Path(folder.name) / f"{icd.id}.yaml"
            # Where the crawl would write is looked at for takedowns; a draft leads to no folder of this machine.
            file.write_text(edited(text, {"output": None}), "utf-8")
            command = ["icd", "try", "--json", str(file)]
            process = ReportingProcess(command, file.parent, self._knowledge().environment)
            trial = _Trial(len(icd.starts), process, self._clock())
            name = secrets.token_urlsafe(12)
            self._trials[name] = trial
        threading.Thread(target=self._follow, args=(trial, folder), name="seed trial", daemon=True).start()
        return name

    def trial(self, name: str) -> TrialView:
        """Return the progress of a dry run. Raise ``ProblemError`` if it is unknown or forgotten."""
        with self._lock:
            trial = self._trials.get(name)
            if trial is None:
                raise ProblemError(NO_JOB, "no such dry run is known any more; begin another one")
            return TrialView(
                id=name,
                seeds=tuple(trial.seeds),
                of=trial.of,
                notes=tuple(trial.notes),
                is_over=trial.is_over,
                problem=trial.problem,
            )

    def close(self) -> None:
        """End all dry runs."""
        with self._lock:
            for trial in self._trials.values():
                trial.process.kill()

    def _follow(self, trial: _Trial, folder: "tempfile.TemporaryDirectory[str]") -> None:
        try:
            with folder:
                for told in trial.process.told():
                    self._take(trial, told)
        finally:
            with self._lock:
                trial.is_over = True
                trial.problem = trial.problem or trial.process.problem
                if len(trial.seeds) < trial.of and not trial.problem:
                    trial.problem = f"it ended early, with the exit code {trial.process.exit_code}"

    def _take(self, trial: _Trial, told: Mapping[str, Any]) -> None:
        """Store the outcome of a seed."""
        with self._lock:
            try:
                if told.get("kind") == "seed":
                    trial.seeds.append(SeedTried.model_validate(told))
                elif told.get("kind") == "note":
                    trial.notes.append(str(told.get("text", "")))
            except ValidationError as error:
                trial.problem = f"what it tells of a seed cannot be read: {in_words(error.errors()[0])}"

    def _forget_old(self) -> None:
        for name, trial in list(self._trials.items()):
            is_old = self._clock() - trial.begun_at > KEPT_SECONDS or len(self._trials) > _KEPT
            if trial.is_over and is_old:
                del self._trials[name]
