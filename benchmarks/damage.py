"""Redesigns a recorded site in steps: the same content in another template, the same one on all of its pages.

A seed gives an endless row of steps; as many as are asked for are done one after the other, so that each further one
adds to the damage of those before it. Ten are a heavy redesign: most classes and ids have other names, attributes have
changed places, elements have other names, wrappers came and went, and parts stand in another order. No text is lost or
torn, and URLs of links stay as they are, so the scorer's ground truth still holds.
"""

import random
import shutil
from collections.abc import Iterator, Sequence
from itertools import islice
from pathlib import Path

from lxml import html

from aahcrawler.page import Page
from benchmarks.recorded import RecordedSite
from benchmarks.redesign import Change, Draft, change
from benchmarks.site_pages import recorded_files
from benchmarks.truth import Truth


def drafts(seed: int, kinds: Sequence[Change] = tuple(Change)) -> Iterator[Draft]:
    """Yield the steps of a redesign without end: every change of ``kinds`` comes once before any comes again."""
    drawn = random.Random(seed)
    number = 0
    while True:
        for chosen in drawn.sample(list(kinds), len(kinds)):
            yield Draft(seed, number, chosen)
            number += 1


def damaged(
    site: RecordedSite, target: Path, steps: int, seed: int, kinds: Sequence[Change] = tuple(Change)
) -> RecordedSite:
    """Write a copy of a site to ``target/app/theme`` with ``steps`` steps of damage done to its pages of HTML.

    With ``kinds`` there is only damage of these.
    """
    copy = copied(site, target)
    truth, chosen = Truth.of(site), tuple(islice(drafts(seed, kinds), steps))
    for name, page in recorded_files(site):
        if page.is_html and chosen:
            (copy.folder / name).write_bytes(redesigned(page, chosen, truth))
    return copy


def copied(site: RecordedSite, target: Path) -> RecordedSite:
    """Copy a recorded site to ``target/app/theme``, replacing what that holds."""
    folder = target / site.app / site.theme
    shutil.rmtree(folder, ignore_errors=True)
    shutil.copytree(site.folder, folder)
    return RecordedSite(site.app, site.theme, folder)


def redesigned(page: Page, chosen: Sequence[Draft], truth: Truth) -> bytes:
    """Return the body of a page after some steps, in the page's own encoding."""
    for draft in chosen:
        change(page.tree, draft, truth)
    return written(page)


def written(page: Page) -> bytes:
    """Return the tree of a page as markup in the page's own encoding."""
    doctype = page.tree.getroottree().docinfo.doctype
    return html.tostring(page.tree, encoding=page.encoding, doctype=doctype or None)
