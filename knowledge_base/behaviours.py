"""The model of behaviours: what a person does on a page before all of its content is there."""

from dataclasses import dataclass, field
from enum import StrEnum

from knowledge_base.selectors import Selector


class Act(StrEnum):
    """The acts that a step of a behaviour repeats."""

    SCROLL = "scroll"
    """Scroll to the end of the page, or of an element that scrolls by itself, until nothing more comes."""
    CLICK = "click"
    """Click the first element that matches, until there is none: a button for more, a next slide."""
    OPEN = "open"
    """Click each element that matches once: folded threads, spoilers."""
    DISMISS = "dismiss"
    """Click what closes an overlay, once."""
    PLAY = "play"
    """Play sound or film, without sound, so that the page asks for it."""


@dataclass(frozen=True, slots=True, eq=False)
class Step:
    """One step: an act, on what matches ``selectors``, at most ``most`` times. Alternatives are tried in order."""

    act: Act
    selectors: tuple[Selector, ...] = ()
    most: int = 20


@dataclass(frozen=True, slots=True, eq=False)
class Behaviour:
    """Steps that are taken on pages of some ``levels``; none named: on all pages of the application.

    ``allows`` are the methods of requests that it may cause beyond GET, HEAD and OPTIONS, in upper case.
    """

    name: str
    steps: tuple[Step, ...]
    levels: frozenset[str] = field(default_factory=frozenset)
    allows: frozenset[str] = field(default_factory=frozenset)
