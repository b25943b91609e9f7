"""The explanation of how the knowledge base reads a page; plain values that can be written as JSON."""

from dataclasses import dataclass, field

from aahcrawler.authoring.behaviours_tried import StepTried
from aahcrawler.authoring.partial_matches import Step


@dataclass(frozen=True, slots=True)
class PatternTried:
    """A detection pattern: whether the page shows it; ``seen`` if at least a text that it needs is there.

    ``steps`` are the partial matches of the expression of one that is seen but not held.
    """

    written: str
    strength: str
    held: bool
    seen: bool
    cite: str
    place: str
    steps: tuple[Step, ...] = ()


@dataclass(frozen=True, slots=True)
class ApplicationTried:
    """An application and its patterns."""

    name: str
    patterns: tuple[PatternTried, ...]

    @property
    def held(self) -> int:
        """The number of patterns that the page shows."""
        return sum(pattern.held for pattern in self.patterns)


@dataclass(frozen=True, slots=True)
class ConditionTried:
    """A ``when`` or ``unless``: whether it held, whether its URL part did, and its partial matches."""

    tag: str
    written: str
    held: bool
    address_fits: bool
    steps: tuple[Step, ...]
    place: str


@dataclass(frozen=True, slots=True)
class LevelTried:
    """A level and its conditions; ``fits`` if they hold for the page, unless a level before it fits as well."""

    name: str
    role: str
    fits: bool
    conditions: tuple[ConditionTried, ...]
    place: str


@dataclass(frozen=True, slots=True)
class FieldShown:
    """A field: the number of objects that have it, samples, and the expression that most of them were read by.

    ``steps`` are the partial matches of the expressions if no object has the field.
    """

    name: str
    count: int
    samples: tuple[str, ...]
    by: str
    steps: tuple[Step, ...] = ()


@dataclass(frozen=True, slots=True)
class ActionShown:
    """An action: the number of results, samples, and ``by`` which expressions.

    ``to`` is the level its links lead to, empty for extraction. ``steps`` are the partial matches of its expressions if
    it found nothing.
    """

    name: str
    sort: str
    count: int
    by: str
    place: str
    to: str = ""
    samples: tuple[str, ...] = ()
    fields: tuple[FieldShown, ...] = ()
    steps: tuple[Step, ...] = ()


@dataclass(frozen=True, slots=True)
class GenericReading:
    """The results of generic reading for a page of no known application."""

    title: str
    language: str
    published: str
    content: str
    characters: int
    objects: tuple[str, ...]
    links: int
    no_object: str = ""
    """The reason why there is no object."""


@dataclass(frozen=True, slots=True)
class Refusals:
    """Links that are not followed for one reason."""

    reason: str
    count: int
    samples: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Explanation:
    """The way in which the knowledge base reads a page.

    ``application``, ``level`` and ``variant`` are empty if there is none; ``rivals`` claim the page with equal
    strength. ``listings`` are the URLs of complete listings, on the page that they are relative to. ``behaviours``
    say what would be acted on in a browser, as far as it is on the page already. ``nearest`` are applications that are
    not the page's, the most likely first. ``generic`` is set if no application was recognised.
    """

    url: str
    status: int
    media_type: str
    application: str
    level: str
    variant: str
    rivals: tuple[str, ...]
    recognised: ApplicationTried | None
    levels: tuple[LevelTried, ...]
    actions: tuple[ActionShown, ...]
    refused: tuple[Refusals, ...]
    failures: tuple[str, ...]
    nearest: tuple[ApplicationTried, ...]
    generic: GenericReading | None
    listings: tuple[str, ...] = ()
    behaviours: tuple[StepTried, ...] = ()
    redirects: tuple[str, ...] = field(default=())
