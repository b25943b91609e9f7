"""Takes the content out of the pages of a recorded site: there is nothing to be found there, and nothing to repair."""

import json
from pathlib import Path

from lxml.html import HtmlElement

from benchmarks.damage import copied, written
from benchmarks.recorded import RecordedSite
from benchmarks.site_pages import recorded_files
from benchmarks.truth import Layout, Truth

LEAST_SHARE = 0.9
"""How much of a body an element holds that counts as its container."""

MOST_BESIDES = 40
"""Words that may stand beside a body in what is cut out with it: who wrote it and when, its title, its buttons."""


def emptied(site: RecordedSite, target: Path) -> RecordedSite:
    """Write a copy of a site to ``target/app/theme`` whose pages hold none of its objects.

    Of each object its smallest container is cut out, with what stands around the body of that object alone. The copy
    says of all of its pages that they hold nothing, so whatever is extracted there is a false object.
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
    """Cut the containers of all bodies out of a page; return how many were cut."""
    layout = Layout.of(tree, truth)
    found = (_container(tree, layout, truth, number) for number in sorted(layout.bodies(tree)))
    containers = dict.fromkeys(element for element in found if element is not None)
    for element in containers:
        if element.getparent() is not None:
            element.drop_tree()
    return len(containers)


def _container(tree: HtmlElement, layout: Layout, truth: Truth, number: int) -> HtmlElement | None:
    """Return the element to cut out for one body, None where the page does not hold it as a whole."""
    needed = LEAST_SHARE * len(truth.bodies[number])
    if layout.share(tree, number) < needed:
        return None
    found = tree
    while (inner := next((child for child in found if layout.share(child, number) >= needed), None)) is not None:
        found = inner
    parent = found.getparent()
    while parent is not None and parent.tag not in ("body", "html") and _is_alone(parent, layout, number):
        found, parent = parent, parent.getparent()
    return found if found.tag not in ("body", "html") else None


def _is_alone(element: HtmlElement, layout: Layout, number: int) -> bool:
    """Say whether an element holds one body and little else."""
    besides = layout.size(element) - layout.share(element, number)
    return besides <= MOST_BESIDES and layout.bodies(element) <= {number}
