"""Tests in several processes, which are forked once all tests are collected (``--processes``).

To import the project and to collect its tests takes a processor ten seconds and 700 megabytes, which processes that
are started each would all take. The first process collects the tests, runs none, shares them out and tells of them. It
has started nothing before it forks, but for the process that others are forked of (``tests.forking``), which all
share.

A process runs one unit of tests after the other, and knows the next one, so that what both share is kept. If a process
ends before its time, the run fails at once, and says which test it was.
"""

import ctypes
import os
import signal
import sys
from collections.abc import Iterable, Sequence
from contextlib import suppress
from multiprocessing import Pipe, connection
from multiprocessing.connection import Connection
from pathlib import Path
from traceback import format_exc
from types import SimpleNamespace
from typing import Any, NoReturn

import pytest
from hypothesis.strategies import text

from tests import forking, shipped
from tests.collecting import units_of

Unit = Sequence[pytest.Item]
_SIGNAL_AT_END_OF_PARENT = 1


def pytest_addoption(parser: pytest.Parser) -> None:
    """Let somebody say how many processes."""
    parser.addoption("--processes", type=int, default=1, help="run the tests in so many processes")


@pytest.hookimpl(tryfirst=True)
def pytest_runtestloop(session: pytest.Session) -> bool | None:
    """Share the tests out, where several processes are asked for."""
    units = units_of(session.items)
    count = min(session.config.getoption("processes"), len(units))
    if count < 2 or session.config.option.collectonly or session.testsfailed:
        return None
    terminal: Any = session.config.pluginmanager.getplugin("terminalreporter")
    terminal.showfspath = False  # Tests of many files end in turn.
    if any(item.get_closest_marker("starts") for item in session.items):
        forking.share_forks()
    vars(session.config)["_tmp_path_factory"].getbasetemp()
    shipped.shipped()  # Most tests ask for it, and each process would load it.
    text().validate()  # What Hypothesis knows of all characters it computes where no earlier run has left it.
    processes: list[_Process] = []
    try:
        for number in range(count):
            processes.append(_Process(session, units, number, [each.connection for each in processes]))
        _share_out(session, processes, _Units(units))
    finally:
        for process in processes:
            process.connection.close()
        for process in processes:
            os.waitpid(process.pid, 0)
    return True


class _Process:
    """A process as the first one knows it."""

    def __init__(
        self, session: pytest.Session, units: Sequence[Unit], number: int, others: Iterable[Connection]
    ) -> None:
        self.connection, its_own = Pipe()
        name = f"process {number}"
        self.node = SimpleNamespace(gateway=SimpleNamespace(id=name), _workerinfocache=name)
        """What reports of tests have that ran elsewhere, by which pytest tells them from those of its own."""
        self.doing = "nothing yet"
        """The test that it runs, or what went wrong with running any."""
        self.pid = os.fork()
        if self.pid == 0:
            for each in (*others, self.connection):
                each.close()  # So that each of them sees the others' ends, and that of the first process.
            _run(session, units, number, its_own)
        its_own.close()


class _Units:
    """The units that are left, shared out so that few processes make what the tests of a folder share.

    A process gets units of the folders that it has; if none is left, of a folder that no process has; then of any.
    """

    def __init__(self, units: Sequence[Unit]) -> None:
        self._left = {number: unit[0].path.parent for number, unit in enumerate(units)}
        self._first = dict[Path, _Process]()

    def next(self, process: _Process) -> int | None:
        """Take one out for a process; return its number, None where none is left."""
        orders = {process: 0, None: 1}
        number = min(self._left, key=lambda each: orders.get(self._first.get(self._left[each]), 2), default=None)
        if number is not None:
            self._first.setdefault(self._left.pop(number), process)
        return number


def _share_out(session: pytest.Session, processes: Sequence[_Process], units: _Units) -> None:
    """Give each process one unit to run and one to go on with, and another one whenever it has run one."""
    running = {process.connection: process for process in processes}
    for _ in range(2):
        for process in processes:
            process.connection.send(units.next(process))
    while running:
        for ready in connection.wait(list(running)):
            process = running[ready]  # type: ignore[index]    # Only connections are waited for.
            match _told(session, process):
                case True:
                    process.connection.send(units.next(process))
                case False:
                    del running[process.connection]
            if session.shouldfail:
                raise session.Failed(session.shouldfail)


def _told(session: pytest.Session, process: _Process) -> bool | None:
    """Take what a process tells: of a test, for which None is returned, or whether it goes on with its next unit."""
    try:
        message = process.connection.recv()
    except EOFError:
        session.shouldfail = f"a process of tests ended: {process.doing}"
        return None
    if isinstance(message, bool):
        return message
    if isinstance(message, str):
        process.doing = message
    else:
        report = session.config.hook.pytest_report_from_serializable(config=session.config, data=message)
        report.node = process.node
        session.config.hook.pytest_runtest_logreport(report=report)
    return None


class _Telling:
    """Tells the first process of each test, in place of the terminal."""

    def __init__(self, config: pytest.Config, first: Connection) -> None:
        self._config, self._first = config, first

    def pytest_runtest_logstart(self, nodeid: str) -> None:
        """Tell which test begins."""
        self._first.send(nodeid)

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Tell what came of a part of it."""
        self._first.send(self._config.hook.pytest_report_to_serializable(config=self._config, report=report))


def _run(session: pytest.Session, units: Sequence[Unit], number: int, first: Connection) -> NoReturn:
    """Run units until there is none left, or until the first process goes. Return to nothing of what was forked."""
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(_SIGNAL_AT_END_OF_PARENT, signal.SIGINT)
    config = session.config
    try:
        capturing: Any = config.pluginmanager.getplugin("capturemanager")
        capturing.stop_global_capturing()  # It writes to files of the first process.
        capturing.start_global_capturing()
        config.pluginmanager.unregister(name="terminalreporter")
        config.pluginmanager.register(_Telling(config, first))
        folders = vars(vars(config)["_tmp_path_factory"])
        folders["_basetemp"] = folders["_basetemp"] / f"process-{number}"
        folders["_basetemp"].mkdir(mode=0o700)
        with suppress(EOFError, ConnectionError, KeyboardInterrupt):
            unit, following = first.recv(), first.recv()
            while unit is not None:
                after = units[following][:1] if following is not None else [None]
                for item, next_item in zip(units[unit], [*units[unit][1:], *after], strict=True):
                    config.hook.pytest_runtest_protocol(item=item, nextitem=next_item)
                first.send(True)
                unit, following = following, first.recv()
            first.send(False)
    except Exception:
        first.send(format_exc())
    finally:
        with suppress(BaseException):
            session._setupstate.teardown_exact(None)
        os._exit(0)
