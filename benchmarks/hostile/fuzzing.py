"""Reads mutants of pages one after another, and keeps those that raised, stood or ate memory."""

import json
import random
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import count
from pathlib import Path

from aahcrawler.editor.pages.saved_pages import pages_folder, saved_pages
from aahcrawler.page import Page
from benchmarks.hostile.mutations import Answer, mutated
from benchmarks.hostile.reading import Taken, apart
from benchmarks.recorded import NoRecordedSitesError, recorded_sites
from benchmarks.site_pages import site_pages
from knowledge_base.loader import FOLDER

MOST_SECONDS = 1.0
"""Processor time from which an input is kept."""
MOST_MIB = 300.0
"""Memory, beyond that of the process before, from which an input is kept."""
PATIENCE = 60.0
"""Seconds after which the reading of an input is ended."""
_LARGEST = 400_000
_OF_A_SITE = 40


@dataclass(frozen=True, slots=True)
class Finding:
    """An input that is kept: the number of its mutant, the mutations, and what reading it took."""

    number: int
    mutations: tuple[str, ...]
    taken: Taken
    answer: Answer

    @property
    def kind(self) -> str:
        """What is wrong with reading it."""
        if self.taken.ended:
            return "ended"
        if self.taken.failed:
            return "raised"
        return "slow" if self.taken.seconds > MOST_SECONDS else "memory"


def sources() -> tuple[Answer, ...]:
    """Return the saved pages of the knowledge base, and pages of recorded sites where there are any."""
    saved = [each.page for each in saved_pages(pages_folder(FOLDER))]
    return tuple(_answer(page) for page in (*saved, *_recorded()) if len(page.body) <= _LARGEST)


def _recorded() -> Iterator[Page]:
    try:
        sites = recorded_sites()
    except NoRecordedSitesError:
        return
    for site in sites:
        yield from list(site_pages(site))[:_OF_A_SITE]


def _answer(page: Page) -> Answer:
    fields = tuple((name, value) for name, value in page.headers.fields if name.lower() in {"content-type", "link"})
    return Answer(page.url, page.status, fields, page.body)


def mutant(given: Sequence[Answer], seed: int, number: int) -> tuple[Answer, tuple[str, ...]]:
    """Return the mutant of a number: the same for the same seed and the same pages."""
    chance = random.Random(f"{seed}/{number}")
    answer = given[chance.randrange(len(given))]
    others = [given[chance.randrange(len(given))].body for _ in range(3)]
    return mutated(answer, chance, others)


def findings(
    given: Sequence[Answer],
    read: Callable[[Answer], Taken],
    seed: int,
    *,
    minutes: float = 0.0,
    most: int = 0,
    told: Callable[[int, Taken], object] = lambda *_: None,
) -> Iterator[Finding]:
    """Yield what is found in some minutes, or among so many mutants."""
    until = time.monotonic() + 60 * minutes
    before = apart(Taken, PATIENCE).peak_mib
    for number in range(most) if most else count():
        if not most and time.monotonic() > until:
            return
        answer, names = mutant(given, seed, number)
        taken = apart(lambda answer=answer: read(answer), PATIENCE)  # type: ignore[misc]
        told(number, taken)
        if taken.ended or taken.failed or taken.seconds > MOST_SECONDS or taken.peak_mib - before > MOST_MIB:
            yield Finding(number, names, taken, answer)


def kept(found: Finding, folder: Path, seed: int) -> Path:
    """Write a finding into a folder: the answer, and beside it what it is and how it is read again."""
    folder.mkdir(parents=True, exist_ok=True)
    file = folder / f"{found.kind}-{seed}-{found.number}.json"
    body = file.with_suffix(".body")
    body.write_bytes(found.answer.body)
    document = {
        "url": found.answer.url,
        "status": found.answer.status,
        "fields": found.answer.fields,
        "mutations": found.mutations,
        "seconds": round(found.taken.seconds, 2),
        "peak_mib": round(found.taken.peak_mib),
        "failed": found.taken.failed,
        "again": f"python -m benchmarks.hostile --again {file}",
    }
    file.write_text(json.dumps(document, indent=1) + "\n", "utf-8")
    return file


def kept_answer(file: Path) -> Answer:
    """Return the answer of a finding that was written."""
    document = json.loads(file.read_text("utf-8"))
    fields = tuple((str(name), str(value)) for name, value in document["fields"])
    return Answer(document["url"], document["status"], fields, file.with_suffix(".body").read_bytes())
