"""A small world about solar power: pages that name it, pages that speak its language, and others."""

from collections.abc import Iterable, Sequence
from itertools import cycle, islice

from online_analysis.document import Document, DocumentPart

KEYWORDS = ("solar power", "photovoltaics")
NAMING = (
    "Solar power from the village roofs paid for the new school bus.",
    "Photovoltaics became cheap, and solar power spread from roof to roof.",
    "The council asked who would buy the solar power of the farmers.",
)
SPEAKING = (
    "The inverter hums in the barn while the rooftop modules feed the grid.",
    "Each rooftop carries twenty modules, wired in strings to one inverter.",
    "A new inverter raised the yield of the modules by some kilowatt hours.",
    "Shade on one module lowers the yield of the whole string.",
    "The grid operator reads the meter behind the inverter every month.",
)
OTHERS = (
    "Knead the dough, let it rest, and bake the loaf until it is brown.",
    "The second half began with a corner, and the keeper held the ball.",
    "She tuned the violin before the choir came into the old church.",
    "The ferry leaves the harbour at noon when the tide allows it.",
    "Sheep graze behind the mill, and the shepherd counts them at dusk.",
    "The council met on Monday to speak of the road and of the bridge.",
)


def sentences(pool: Sequence[str], start: int, number: int) -> list[str]:
    """Return some sentences of a pool, another beginning for each start."""
    return list(islice(cycle(pool), start % len(pool), start % len(pool) + number))


def naming(number: int) -> list[str]:
    """Return the text of a page that names the topic and speaks its language."""
    return [*sentences(NAMING, number, 2), *sentences(SPEAKING, number, 3), *sentences(OTHERS, number, 1)]


def speaking(number: int) -> list[str]:
    """Return the text of a page that speaks the topic's language and never names it."""
    return [*sentences(SPEAKING, number, 4), *sentences(OTHERS, number, 1)]


def other(number: int) -> list[str]:
    """Return the text of a page about something else."""
    return sentences(OTHERS, number, 4)


def document(url: str, text: Iterable[str], language: str | None = "en") -> Document:
    """Return a page without links."""
    return Document(url, language, "", (DocumentPart("content", " ".join(text)),), ())
