"""Takes the content out of the pages of a recorded site: there is nothing to be found there, and nothing to repair."""

import json
from collections.abc import Iterator
from itertools import chain
from pathlib import Path

from lxml.html import HtmlElement

from benchmarks.damage import copied, written
from benchmarks.recorded import RecordedSite
from benchmarks.site_pages import recorded_files
from benchmarks.truth import WINDOW, Layout, Truth, folded

LEAST_SHARE = 0.9
"""The share of a body that an element must hold to count as its container."""

MOST_BESIDES = 40
"""The most words beside a body that are cut out with it: its author and date, its title, its buttons."""

_WHOLE = frozenset({"body", "html"})
_TITLING = ("h1", "h2", "h3", "h4", "h5", "h6", "a", "b", "strong", "span", "div", "td", "p")


def emptied(site: RecordedSite, target: Path) -> RecordedSite:
    """Write a copy of a site to ``target/app/theme`` whose pages hold none of its objects.

    Of each object its smallest container is cut out, with the elements around the body of that object alone. The copy
    declares all of its pages empty, so every object extracted there is false.
    """
    copy = copied(site, target)
    truth = Truth.of(site)
    for name, page in recorded_files(site):
        if page.is_html and empty(page.tree, truth):
            (copy.folder / name).write_bytes(written(page))
    with (site.folder / "pages.jsonl").open(encoding="utf-8") as lines:
        rows = [_without_objects(json.loads(line)) for line in lines]
    (copy.folder / "pages.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows), "utf-8")
    (copy.folder / "truth.jsonl").write_text("", "utf-8")
    return copy


def _without_objects(row: dict[str, object]) -> dict[str, object]:
    return {**row, "objects": 0, "level": "other" if row.get("level") == "terminal" else row.get("level")}


def empty(tree: HtmlElement, truth: Truth) -> int:
    """Cut the containers of all bodies out of a page, and elements that show only one of their titles.

    Return how many bodies were cut out.
    """
    layout = Layout.of(tree, truth)
    held = {number: tuple(_containers(tree, layout, truth, number)) for number in sorted(layout.bodies(tree))}
    titles = {truth.titles[number] for number, containers in held.items() if containers} - {()}
    shown = [element for element in tree.iter(*_TITLING) if tuple(layout.text(element)) in titles]
    for element in dict.fromkeys((*chain.from_iterable(held.values()), *shown)):
        if element.getparent() is not None:
            element.drop_tree()
    return sum(map(bool, held.values()))


def _containers(tree: HtmlElement, layout: Layout, truth: Truth, number: int) -> Iterator[HtmlElement]:
    """Yield the elements to cut out for one body: that which holds it, for several short ones each of them."""
    size, written = len(truth.bodies[number]), truth.written[number]
    for found in _innermost(tree, layout, number, LEAST_SHARE * size):
        if size < WINDOW and not folded(str(found.text_content())).startswith(written):
            continue
        element, parent = found, found.getparent()
        while parent is not None and parent.tag not in _WHOLE and _is_alone(parent, layout, number):
            element, parent = parent, parent.getparent()
        if element.tag not in _WHOLE:
            yield element


def _innermost(element: HtmlElement, layout: Layout, number: int, needed: float) -> Iterator[HtmlElement]:
    """Yield the innermost elements that hold enough words of a body."""
    if layout.share(element, number) < needed:
        return
    inner = [found for child in element for found in _innermost(child, layout, number, needed)]
    yield from inner or (element,)


def _is_alone(element: HtmlElement, layout: Layout, number: int) -> bool:
    """Return whether an element holds one body and little else."""
    besides = layout.size(element) - layout.share(element, number)
    return besides <= MOST_BESIDES and layout.bodies(element) <= {number}
