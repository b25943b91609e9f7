"""What makes the collection of all tests fast.

A module without an example is not searched for one. While modules are imported and tests made of them nothing looks for
garbage, and what is there at the end stays, garbage as well: no later search goes through it.
"""

import gc
from collections.abc import Generator
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
