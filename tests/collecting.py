"""What makes the collection of all tests fast, and keeps all processes busy that run them (``--processes``).

A module without an example is not searched for one. While modules are imported and tests made of them nothing looks for
garbage, and what is there at the end stays, garbage as well: no later search goes through it.

Each process takes one file of tests after the other, so that what the tests of a file share is made once, and first of
all those of one folder, so that few processes make what a folder shares. What takes long comes first: at the end there
are only short files left to share out.
"""

import gc
from collections.abc import Generator, Sequence
from pathlib import Path

import pytest
from _pytest.doctest import DoctestModule

_PROMPT = b">>> "


@pytest.hookimpl(wrapper=True)
def pytest_collect_file(
    file_path: Path,
) -> Generator[None, list[pytest.Collector | list[pytest.Collector]], list[pytest.Collector | list[pytest.Collector]]]:
    """Leave out what would look for examples in a file that has none."""
    collectors = yield
    if file_path.suffix != ".py" or _PROMPT in file_path.read_bytes():
        return collectors
    return [found for found in collectors if not isinstance(found, DoctestModule)]  # That is a Module, too.


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Generator[None, object, object]:
    """Collect no garbage, neither now nor of this later."""
    gc.disable()
    try:
        return (yield)
    finally:
        gc.freeze()
        gc.enable()


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Sort the tests by what their files have that takes long: a browser, a process, much to do."""
    ranks = dict[str, int]()
    for item in items:
        ranks[_file(item)] = min(ranks.get(_file(item), 3), _rank(item))
    items.sort(key=lambda item: ranks[_file(item)])


def units_of(items: Sequence[pytest.Item]) -> list[list[pytest.Item]]:
    """Return what one process runs together, in the order of the tests."""
    units = dict[str, list[pytest.Item]]()
    for item in items:
        units.setdefault(_file(item), []).append(item)
    return list(units.values())


def _file(item: pytest.Item) -> str:
    return item.nodeid.partition("::")[0]


def _rank(item: pytest.Item) -> int:
    if "chromium" in getattr(item, "fixturenames", ()):
        return 0
    return 1 if item.get_closest_marker("starts") else 2 if item.get_closest_marker("slow") else 3
