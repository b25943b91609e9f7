"""Which tests start a server or a process: the marker ``starts``, set by what a test's code reaches, and held to.

A test reaches what its own code and that of its fixtures names, and what functions and classes of its module, of
``tests``, ``benchmarks`` and ``examples`` that are named there name in turn. Where the crawler itself starts something,
the marker is set by hand. A test without the marker that starts a process or binds a socket fails, so that
``-m "not starts"`` selects what it says. Tests that reach recorded sites, which take minutes where there are any, have
the marker ``recorded``.
"""

import functools
import sys
from collections.abc import Iterator
from multiprocessing.process import BaseProcess
from types import CodeType, FunctionType, ModuleType
from typing import Any

import pytest

_STARTERS = frozenset(
    {
        "aahcrawler.documents.reader",
        "aahcrawler.frontier.server.embedded",
        "bind",
        "create_server",
        "http.server",
        "multiprocessing",
        "offline.simulation.simulation",
        "playwright.sync_api",
        "socketserver",
        "start_server",
        "subprocess",
        "uvicorn",
    }
)
"""Modules whose functions and classes start something, and functions that do, whatever they are of."""
_RECORDED = "tests.recorded_site"
_LOOKED_FOR = _STARTERS | {_RECORDED}
_FOLLOWED = ("tests.", "benchmarks.", "examples.")
_STARTS = frozenset(
    {
        "multiprocessing.Process",
        "os.exec",
        "os.fork",
        "os.forkpty",
        "os.posix_spawn",
        "os.spawn",
        "os.system",
        "subprocess.Popen",
    }
)
_watched: list[pytest.Item] = []
_start_process = BaseProcess.start


def pytest_configure(config: pytest.Config) -> None:
    """Register the markers."""
    config.addinivalue_line("markers", "starts: starts a server or a process; set by what a test's code reaches")
    config.addinivalue_line("markers", "recorded: reads recorded sites, where there are any; set likewise")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark what starts something."""
    reached = dict[int, frozenset[str]]()
    for item in items:
        if isinstance(item, pytest.Function):
            key = id(item._fixtureinfo)  # There is one for all parameters of a test.
            if key not in reached:
                reached[key] = frozenset[str]().union(*map(_reached, _functions(item)))
            if reached[key] & _STARTERS:
                item.add_marker(pytest.mark.starts)
            if _RECORDED in reached[key]:
                item.add_marker(pytest.mark.recorded)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol(item: pytest.Item) -> Iterator[None]:
    """Watch a test without the marker, with all of its fixtures."""
    if not item.get_closest_marker("starts"):
        _watched.append(item)
    try:
        return (yield)
    finally:
        _watched.clear()


def _functions(item: pytest.Function) -> Iterator[object]:
    yield item.cls or item.obj
    for definitions in item._fixtureinfo.name2fixturedefs.values():
        yield definitions[-1].func


@functools.cache
def _reached(thing: object) -> frozenset[str]:
    """Return which of the modules and names that are looked for the code of a function or class leads to."""
    own = _module(thing)
    known = {id(thing)}
    open_, reached = [thing], {own} & _LOOKED_FOR
    while open_:
        modules, followed = _led_to(open_.pop(), own)
        reached |= modules
        for each in followed:
            if id(each) not in known:
                known.add(id(each))
                open_.append(each)
    return frozenset(reached)


_led: dict[tuple[int, str], tuple[frozenset[str], list[object], object]] = {}
"""Where things lead, which many tests reach: by their ids, and with them, so that nothing else gets the same id."""


def _led_to(thing: object, own: str) -> tuple[frozenset[str], list[object]]:
    """Return the looked-for modules of what something names, and the things that are followed from a module."""
    key = (id(thing), "" if own.startswith(_FOLLOWED) else own)
    if key not in _led:
        modules, followed = set[str](), []
        for named in _named(thing):
            module = named if isinstance(named, str) else _module(named)
            modules.add(module)
            if module == own or module.startswith(_FOLLOWED):
                followed.append(named)
        _led[key] = _LOOKED_FOR & modules, followed, thing
    return _led[key][:2]


def _module(thing: object) -> str:
    return thing.__name__ if isinstance(thing, ModuleType) else str(getattr(thing, "__module__", None))


def _named(thing: object) -> Iterator[object]:
    """Yield a class's bases, and what code names: globals, what a named module has, and names of other things."""
    if isinstance(thing, type):
        yield from thing.__mro__[1:]
    for function in _parts(thing):
        for code in _codes(function.__code__):
            named = [function.__globals__.get(name, name) for name in code.co_names]
            yield from named
            for module in named:
                if isinstance(module, ModuleType) and module.__name__.startswith(_FOLLOWED):
                    yield from (getattr(module, name) for name in code.co_names if hasattr(module, name))


def _parts(thing: Any) -> Iterator[FunctionType]:
    """Yield the functions that something is made of: a class's methods, what a decorator has wrapped."""
    if isinstance(thing, type):
        for member in vars(thing).values():
            yield from _parts(getattr(member, "__func__", getattr(member, "fget", member)))
        return
    while callable(thing):
        if isinstance(thing, FunctionType):
            yield thing
        property_test = getattr(thing, "hypothesis", None)
        thing = getattr(property_test, "inner_test", None) or getattr(
            thing, "__wrapped__", getattr(thing, "func", None)
        )


def _codes(code: CodeType) -> Iterator[CodeType]:
    yield code
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from _codes(constant)


def _object(event: str, arguments: tuple[object, ...]) -> None:
    if _watched and (event in _STARTS or event == "socket.bind"):
        name = _watched[0].nodeid
        raise AssertionError(f"{name} has no marker `starts`, but {event}{arguments!r:.200}: set pytest.mark.starts")


def _start_watched(process: BaseProcess) -> None:
    _object("multiprocessing.Process", (process.name,))
    _start_process(process)


sys.addaudithook(_object)
BaseProcess.start = _start_watched  # type: ignore[assignment,method-assign]    # What it spawns raises no event.
