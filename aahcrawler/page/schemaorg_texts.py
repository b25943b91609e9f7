"""Things that a page describes in text, in the vocabulary of schema.org: recipes, instructions, events, products."""

from collections.abc import Iterator, Mapping

from aahcrawler.page.schemaorg import Item, plain

KINDS: Mapping[str, tuple[str, tuple[str, ...]]] = {
    "Dataset": ("dataset", ("description",)),
    "Event": ("event", ("description",)),
    "FAQPage": ("faq", ("mainEntity",)),
    "HowTo": ("how-to", ("description", "supply", "tool", "step")),
    "Product": ("product", ("description",)),
    "Recipe": ("recipe", ("description", "recipeIngredient", "ingredients", "recipeInstructions")),
    "Review": ("review", ("reviewBody", "description")),
}
"""By schema.org type: the object type, and the properties that hold its text, in the order of the text."""

MAX_LINES = 2_000
MAX_DEPTH = 6

_SAYING = ("name", "text", "description")
_HOLDING = ("itemListElement", "step", "acceptedAnswer", "suggestedAnswer", "item")


def kind_of(item: Item) -> str:
    """Return the object type of a described thing, or "" if it is none."""
    return next((KINDS[name][0] for name in item.types if name in KINDS), "")


def text_of(item: Item) -> str:
    """Return the text of a described thing, a line for each ingredient, step, question and answer."""
    names = next((KINDS[name][1] for name in item.types if name in KINDS), ())
    lines: dict[str, None] = {}
    for name in names:
        for value in item.values(name):
            for text in _texts(value, 0):
                lines.update(dict.fromkeys(text.split("\n")))
                if len(lines) >= MAX_LINES:
                    return "\n".join(filter(None, lines))
    return "\n".join(filter(None, lines))


def _texts(value: object, depth: int) -> Iterator[str]:
    if isinstance(value, list):
        for each in value:
            yield from _texts(each, depth)
    elif isinstance(value, Mapping) and depth < MAX_DEPTH:
        texts = [plain(part) for name in _SAYING if (part := value.get(name)) is not None]
        for number, text in enumerate(texts):
            if text and not any(text in other for other in texts[number + 1 :]):
                yield text
        for name in _HOLDING:
            yield from _texts(value.get(name), depth + 1)
    elif value is not None and not isinstance(value, Mapping):
        yield plain(value)
