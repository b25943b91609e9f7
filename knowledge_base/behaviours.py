"""The model of behaviours: what a person does on a page before all of its content is there."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from enum import StrEnum

from knowledge_base.selectors import Selector

USUAL_MOST = 20
"""How often a step is taken that does not say how often at most."""


class Act(StrEnum):
    """The acts that a step of a behaviour repeats.

    Without an expression each finds its elements by itself, as ``aahcrawler/browser/behaviours`` says.
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
    """One step: an act, on what matches ``selectors``, at most ``most`` times. Alternatives are tried in order.

    ``pause`` are seconds that are waited after each time, beyond what the page needs to become quiet. Where there are
    ``words``, only elements count that say one of them, whatever the case of its letters.
    """

    act: Act
    selectors: tuple[Selector, ...] = ()
    most: int = USUAL_MOST
    pause: float = 0.0
    words: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, eq=False)
class Behaviour:
    """Steps that are taken on pages of some ``levels``; none named: on all pages of the application.

    ``allows`` are the methods of requests that it may cause beyond GET, HEAD and OPTIONS, in upper case. ``never`` are
    words that an element may not say which is clicked without an expression. ``always`` is said of general behaviours
    alone, those for pages of which nothing is known: they go together with the behaviours of known applications.
    """

    name: str
    steps: tuple[BehaviourStep, ...]
    levels: frozenset[str] = field(default_factory=frozenset)
    allows: frozenset[str] = field(default_factory=frozenset)
    never: tuple[str, ...] = ()
    always: bool = False
    cite: str = ""


def of_level(level: str | None, behaviours: Iterable[Behaviour]) -> tuple[Behaviour, ...]:
    """Return the behaviours for pages of a level, None where they are of none."""
    return tuple(each for each in behaviours if not each.levels or level in each.levels)


def behaviours_on(level: str | None, own: Iterable[Behaviour], general: Iterable[Behaviour]) -> tuple[Behaviour, ...]:
    """Choose what is done on a page of a level, None where it is of none.

    ``own`` are the behaviours of its application. Where any of them is for this level, they take the place of the
    first of the ``general`` ones that is not for all pages, and no other such is done.
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
