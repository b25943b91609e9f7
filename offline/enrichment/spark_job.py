"""Jobs over captures by Apache Spark: their units are done by executors on many machines, with the same result.

Every machine sees the folder at the same path (a shared file system), and has the crawler installed. The one that
begins the job finds out what is to be done, keeps what is made of it, in the same order as without Spark, and is the
only one that writes.
"""

import os
import shutil
import sys
from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from functools import partial
from itertools import islice
from pathlib import Path
from typing import Any, Final

from aahcrawler.jobs import Job, JobError, JobStep, Made, Note, Unit

_UNITS_OF_TASK: Final = 4
_TASKS_OF_CORE: Final = 8
"""Tasks for each core that are waited for together: the last of them leave the others idle."""


@dataclass(frozen=True)
class SparkJob(Job[Note]):
    """A job whose units are done by the executors of a Spark context; ``processes`` says nothing here."""

    context: Any = field(kw_only=True)

    def made(self, units: Iterator[Unit]) -> Iterator[tuple[Unit, Made[Note]]]:
        """Yield each unit with what the executors made of it, in the order of ``units``. Raises ``JobError``."""
        at_once = _UNITS_OF_TASK * _TASKS_OF_CORE * self.context.defaultParallelism
        while wave := list(islice(units, at_once)):
            tasks = -(-len(wave) // _UNITS_OF_TASK)
            try:
                made = self.context.parallelize(wave, tasks).mapPartitions(partial(_done, self.step)).collect()
            except Exception as error:  # Py4J raises whatever Java did.
                reason = str(error).strip().partition("\n")[0]
                raise JobError(
                    f"Spark could not do it ({type(error).__name__}: {reason}); its log says more"
                ) from error
            yield from zip(wave, made, strict=True)


@contextmanager
def spark_jobs(master: str) -> Iterator[Callable[..., SparkJob[Any]]]:
    """Connect to a Spark master, such as ``local[2]`` or ``spark://host:7077``, and give what makes jobs for it.

    Raises ``JobError`` where pyspark or Java is missing, or the master cannot be reached.
    """
    try:
        from pyspark import SparkConf, SparkContext  # noqa: PLC0415 - an extra
    except ModuleNotFoundError as error:
        raise JobError(f"{error.name} is not installed; pip install 'aahcrawler[spark]' adds it") from error
    home = os.environ.get("JAVA_HOME")
    if not (Path(home, "bin", "java").exists() if home else shutil.which("java")):
        raise JobError("Spark needs Java, which is not there; install Java 17 or later, or set JAVA_HOME")
    wanted = SparkConf().setMaster(master).setAppName("aah enrich")
    wanted = wanted.set("spark.ui.enabled", "false").set("spark.ui.showConsoleProgress", "false")
    if master.startswith("local"):
        wanted = wanted.set("spark.driver.host", "localhost").set("spark.driver.bindAddress", "127.0.0.1")
        os.environ.setdefault("PYSPARK_PYTHON", sys.executable)  # The context asks nothing else.
    try:
        context = SparkContext(conf=wanted)
    except Exception as error:  # Py4J raises whatever Java did.
        problem = f"Spark's master {master} cannot be used ({_reason(error)})"
        raise JobError(f"{problem}; check its address, and Java") from error
    try:
        yield partial(SparkJob, context=context)
    finally:
        context.stop()


def _reason(error: Exception) -> str:
    return f"{type(error).__name__}: {str(error).strip().partition(chr(10))[0]}"


@dataclass(slots=True)
class _Opened:
    """The step that this process of an executor does, once it has opened it: Spark uses processes again."""

    step: JobStep[Any] | None = None
    work: Callable[..., Made[Any]] | None = None
    closing: ExitStack = field(default_factory=ExitStack)


_own: Final = _Opened()


def _done(step: JobStep[Any], units: Iterable[Unit]) -> Iterator[Made[Any]]:
    if _own.work is None or _own.step != step:
        _own.closing.close()
        _own.step, _own.work = step, _own.closing.enter_context(step.open())
    for unit in units:
        yield _own.work(unit.part, unit.given)
