"""Runs one crawl in this process, and splits its processor time by purpose.

    python -m benchmarks.crawl_costs FILE

The last line of the output is JSON: ``cpu``, seconds of processor time of this whole process from the first record that
was written until the crawl had ended and everything was closed; ``triples`` and ``warc``, those of them that were spent
in writing the one and the other; ``whole_cpu`` and ``whole_seconds``, processor time and time from the start of the
process, opening the crawl among them. The frontier's server is a process of its own.
"""

import argparse
import functools
import json
import subprocess
import sys
from collections import defaultdict
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path
from time import perf_counter, process_time, thread_time
from typing import Any

from aahcrawler import metadata
from aahcrawler.archive.history import History, HistoryRecord
from aahcrawler.archive.writer import WarcWriter
from aahcrawler.crawl.capture import archiver as archiving
from aahcrawler.crawl.core import lifecycle
from aahcrawler.crawl.scrapy.run import project_settings, run
from aahcrawler.objects.writer import ObjectWriter
from aahcrawler.pipeline import analysis

SEAMS: tuple[tuple[str, Any, str], ...] = (
    ("warc", WarcWriter, "write"),
    ("warc", WarcWriter, "close"),
    ("warc", metadata, "write"),
    ("warc", HistoryRecord, "of"),
    ("warc", History, "add"),
    ("warc", History, "original"),
    ("warc", History, "former"),
    ("warc", History, "is_readable"),
    ("warc", History, "metadata"),
    ("warc", History, "exchange"),
    ("warc", archiving, "sniff"),
    ("warc", History, "close"),
    ("triples", ObjectWriter, "write"),
    ("triples", ObjectWriter, "close"),
    ("triples", analysis, "compare"),
    ("triples", lifecycle, "recounted"),
)
"""The functions to time, by name of the share they count for."""


class Account:
    """Sums up the processor time of a thread's calls; of calls within calls, the outer one is charged."""

    def __init__(self) -> None:
        self.spent: defaultdict[str, float] = defaultdict(float)
        self.began: float | None = None
        """Processor time of the process at the first call that wrote anything."""
        self._within = False

    def charge(self, share: str, owner: Any, name: str) -> None:
        """Have the calls of a function or method charged to a share from now on."""
        setattr(owner, name, self._timed(share, getattr(owner, name), begins=name == "write"))

    def _timed(self, share: str, call: Callable[..., Any], *, begins: bool) -> Callable[..., Any]:
        @functools.wraps(call)
        def timed(*args: Any, **kwargs: Any) -> Any:
            if self._within:
                return call(*args, **kwargs)
            if begins and self.began is None:
                self.began = process_time()
            self._within, began = True, thread_time()
            try:
                return call(*args, **kwargs)
            finally:
                self.spent[share] += thread_time() - began
                self._within = False

        return timed


@dataclass(frozen=True, slots=True)
class Costs:
    """Seconds that a crawl took, as the module says."""

    cpu: float
    triples: float
    warc: float
    whole_cpu: float
    whole_seconds: float


def crawl(icd: Path) -> Costs:
    """Run a crawl in a process of its own. Raises ``RuntimeError`` with its output where it fails."""
    command = [sys.executable, "-m", "benchmarks.crawl_costs", str(icd)]
    ended = subprocess.run(command, check=False, capture_output=True, text=True)
    if ended.returncode:
        raise RuntimeError(ended.stdout + ended.stderr)
    return Costs(**json.loads(ended.stdout.splitlines()[-1]))


def main() -> None:
    """Run the crawl and report."""
    started = perf_counter()
    parser = argparse.ArgumentParser(description="Run one crawl and split its processor time by purpose.")
    parser.add_argument("icd", type=Path)
    icd = parser.parse_args().icd
    account = Account()
    for share, owner, name in SEAMS:
        account.charge(share, owner, name)
    code = run(icd, project_settings())
    if code or account.began is None:
        sys.exit(code or "nothing was written")
    cpu, spent = process_time(), account.spent
    costs = Costs(cpu - account.began, spent["triples"], spent["warc"], cpu, perf_counter() - started)
    print(json.dumps(asdict(costs)))


if __name__ == "__main__":
    main()
