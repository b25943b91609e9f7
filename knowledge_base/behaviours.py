"""The model of behaviours: what is done on a page in a browser before all of its content is there."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from enum import StrEnum

from knowledge_base.selectors import Selector

USUAL_MOST = 20
"""How often a step is taken that does not say how often at most."""


class Act(StrEnum):
    """The acts that a step of a behaviour can repeat.

    Without an expression, each act finds its elements itself, as described in ``aahcrawler/browser/behaviours``.
    """

    SCROLL = "scroll"
    """Scroll to the end of the page, or of an element that scrolls by itself, until nothing more comes."""
    CLICK = "click"
    """Click the first element that matches, until there is none or nothing comes of it: for more, for the next slide.

    Without an expression: buttons that ask for more, told by their words and their place below a list.
    """
    OPEN = "open"
    """Click each element that matches once: folded threads, spoilers.

    Without an expression: what says within the content that it is folded, ``details`` and ``aria-expanded``.
    """
    DISMISS = "dismiss"
    """Click what closes or rejects an overlay, once each. Without an expression: of what covers the content."""
    PLAY = "play"
    """Play sound or film, without sound, so that the page asks for it. Without an expression: all there is."""


@dataclass(frozen=True, slots=True, eq=False)
class BehaviourStep:
    """One step: an act on elements that match ``selectors``, at most ``most`` times. Selectors are tried in order.

    ``pause`` is the number of seconds to wait after each time, in addition to waiting until the page is quiet. With
    ``words``, only elements whose text has one of them count, in any case.
    """

    act: Act
    selectors: tuple[Selector, ...] = ()
    most: int = USUAL_MOST
    pause: float = 0.0
    words: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, eq=False)
class Behaviour:
    """Steps taken on pages of some ``levels``, or on all pages of the application where none is named.

    ``allows`` are the methods of requests that it may cause besides GET, HEAD and OPTIONS, in upper case. ``never`` are
    words: elements with one of them are not clicked unless an expression selects them. ``always`` is for general
    behaviours only (those for unknown pages): they also run on pages of known applications.
    """

    name: str
    steps: tuple[BehaviourStep, ...]
    levels: frozenset[str] = field(default_factory=frozenset)
    allows: frozenset[str] = field(default_factory=frozenset)
    never: tuple[str, ...] = ()
    always: bool = False
    cite: str = ""


def of_level(level: str | None, behaviours: Iterable[Behaviour]) -> tuple[Behaviour, ...]:
    """Return the behaviours for pages of a level; ``level`` is None for pages without one."""
    return tuple(each for each in behaviours if not each.levels or level in each.levels)


def behaviours_on(level: str | None, own: Iterable[Behaviour], general: Iterable[Behaviour]) -> tuple[Behaviour, ...]:
    """Choose the behaviours for a page of a level; ``level`` is None for a page without one.

    ``own`` are the behaviours of its application. Where any of them is for this level, they replace those ``general``
    ones that are not marked ``always``.
    """
    fitting = of_level(level, own)
    return tuple(_in_order(fitting, general)) if fitting else tuple(general)


def _in_order(fitting: tuple[Behaviour, ...], general: Iterable[Behaviour]) -> Iterator[Behaviour]:
    waiting = True
    for each in general:
        if each.always:
            yield each
        elif waiting:
            yield from fitting
            waiting = False
    if waiting:
        yield from fitting
