"""Trims a knowledge base to what one site exercises.

Dropped is every sign, condition, action, field and selector that finds nothing on the site's pages, and every branch of
a union (in CSS: every part of a list) that finds nothing there; see `benchmarks.usage` for the meaning of finding. The
remainder is a valid knowledge base:

- rules for URLs (``address``, ``paging``, ``canonical``, ``avoid``, and ``unless`` that name no element) stay:
  they say how the software makes its URLs, which no theme changes;
- an action without items or fields, a field without selectors, a variant, a level and an application without signs go;
- a level of which the site shows no sign stays as the target of actions that stay, with a condition that never holds;
- of an application of which the site shows no sign nothing stays, nor of one that would not be valid any more;
- kinds stay as they are: they hold rules for URLs alone.
"""

import shutil
from collections.abc import Iterable, Sequence
from pathlib import Path

from lxml import etree

from aahcrawler.page import Page
from benchmarks.pruning import prune
from benchmarks.site_pages import fresh
from benchmarks.usage import Usage, View
from knowledge_base.file_selection import SHIPPED
from knowledge_base.loader import LoadError, load


class TrimmingError(Exception):
    """Raised where the remainder is no valid knowledge base; the message tells the file and the cause."""


def trim(pages: Iterable[Page], target: Path, source: Path = SHIPPED, needed: Sequence[str] = ()) -> tuple[str, ...]:
    """Write to ``target`` the parts of the knowledge base in ``source`` that the pages use; return its applications.

    Earlier content of ``target`` is replaced. Raises ``TrimmingError`` where an application of ``needed`` is lost.
    """
    shutil.rmtree(target, ignore_errors=True)
    (target / "applications").mkdir(parents=True)
    if (source / "kinds").is_dir():
        shutil.copytree(source / "kinds", target / "kinds")
    for usage, file in _used(tuple(pages), source):
        if prune(usage):
            tree = etree.ElementTree(usage.root)
            tree.write(target / "applications" / file.name, encoding="utf-8", xml_declaration=True)
    names = _leave_out_broken(target, needed)
    for name in needed:
        if name not in names:
            raise TrimmingError(f"nothing is left of {name}: the pages show no sign of it, or of none of its levels")
    return names


def _used(pages: Sequence[Page], source: Path) -> list[tuple[Usage, Path]]:
    """Return the usage of each file that describes an application the pages show signs of."""
    parser = etree.XMLParser(remove_comments=True, remove_blank_text=True, resolve_entities=False, no_network=True)
    files = sorted((source / "applications").glob("*.xml"))
    usages = [(Usage(etree.parse(file, parser).getroot(), file), file) for file in files]
    for page in pages:
        view = View(fresh(page))
        for usage, _ in usages:
            usage.look_for_patterns(view)
    shown = [(usage, file) for usage, file in usages if usage.is_shown]
    for usage, _ in shown:
        usage.prepare()
    for page in pages:
        view = View(fresh(page))
        for usage, _ in shown:
            usage.look_at(view)
    return shown


def _leave_out_broken(target: Path, needed: Sequence[str]) -> tuple[str, ...]:
    """Delete files that are not valid, until the folder loads; return the names of the applications left."""
    while True:
        try:
            return tuple(application.name for application in load(target).applications)
        except LoadError as error:
            broken = {Path(problem.file) for problem in error.problems}
            names = {etree.parse(file).getroot().get("name", "") for file in broken if file.is_file()}
            if not names or names.intersection(needed):
                raise TrimmingError(f"the remainder is not valid:\n{error}") from error
            for file in broken:
                file.unlink()
