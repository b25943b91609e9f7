"""Bounds of processor time that hold on any machine."""

from collections.abc import Iterator
from contextlib import contextmanager
from time import process_time

from lxml.html import document_fromstring

REFERENCE = 0.005
"""Processor seconds that the reference work takes on the machine that the bounds are from."""
_MARKUP = "<div>" + "<p class='a b'>Some <b>words</b> and <a href='/x'>a link</a></p>" * 200 + "</div>"


@contextmanager
def at_most(seconds: float) -> Iterator[None]:
    """Fail where the block takes more processor time, on a machine that is as fast as the one the bounds are from.

    A slower one, or one that others slow down, is given as many times more as it needs for some reference work.
    """
    began = process_time()
    yield
    took = process_time() - began
    assert took < seconds or took < allowed(seconds)


def allowed(seconds: float) -> float:
    """Return how many seconds of processor time something may take here and now. See ``at_most``."""
    return seconds * max(1.0, *(_reference() / REFERENCE for _ in range(20)))


def _reference() -> float:
    began = process_time()
    for _ in range(10):
        tree = document_fromstring(_MARKUP)
        found = [element.get("class") for element in tree.iter() if element.text and len(element.text.split()) > 0]
        assert len(found) > 400
    return process_time() - began
