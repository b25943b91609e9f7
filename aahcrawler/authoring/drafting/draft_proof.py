"""Runs a draft on the pages it was made from, and takes out of it what finds nothing there."""

import tempfile
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from copy import deepcopy
from dataclasses import replace
from pathlib import Path

from lxml import etree
from lxml.etree import _Comment as Comment

from aahcrawler.authoring.drafting import annotated_xml
from aahcrawler.helper import ApplicationAwareHelper
from aahcrawler.page import Page
from aahcrawler.wrapper_induction.proof import run
from knowledge_base.file_selection import SHIPPED, chosen_files
from knowledge_base.loader import load_files
from knowledge_base.model import Extract, KnowledgeBase, PageLevel

FILE = "draft.xml"


def prove(root: etree._Element, pages: Mapping[str, Sequence[Page]]) -> tuple[str, ...]:
    """Take those actions out of a draft that find nothing on the pages of their levels; return what was taken out.

    ``pages`` are those given for each level, by its name; the actions of levels without any are left as they are. A
    note in the place of an action says that it is gone. Raises `knowledge_base.loader.LoadError` for a draft that is
    no valid file.
    """
    knowledge_base = loaded(annotated_xml.document(deepcopy(root)))
    (application,) = knowledge_base.applications
    helper = ApplicationAwareHelper(replace(knowledge_base, applications=(replace(application, draft=False),)))
    told: list[str] = []
    for element in root.iter("level"):
        level = application.level(element.get("name") or "")
        given = pages.get(level.name, ())
        for action in list(_idle(element, level, given, helper)) if given else ():
            said = f"{action.tag!s} {action.get('name')} of level {level.name} found nothing on the given pages"
            annotated_xml.replace_by_note(action, f"{said}, so that it was left out")
            told.append(said)
    return tuple(told)


def loaded(data: bytes) -> KnowledgeBase:
    """Load a draft alone, with the kinds of the shipped knowledge base. Raises `knowledge_base.loader.LoadError`."""
    with tempfile.TemporaryDirectory(prefix="aah-") as folder:
        file = Path(folder) / FILE
        file.write_bytes(data)
        return load_files(chosen_files((SHIPPED,)).kinds, (file,))


def _idle(
    element: etree._Element, level: PageLevel, pages: Sequence[Page], helper: ApplicationAwareHelper
) -> Iterator[etree._Element]:
    """Yield the elements of the actions that find nothing on any of the pages of a level."""
    links: Counter[str | None] = Counter()
    for page in pages:
        found = helper.assist(replace(page))
        if found.match is not None and found.match.level is level:
            links.update(link.action for link in found.document.outlinks)
    actions = {action.name: action for action in level.actions}
    for child in element:
        action = None if isinstance(child, Comment) else actions.get(child.get("name") or "")
        if isinstance(action, Extract):
            if not any(run(action, page) for page in pages):
                yield child
        elif action is not None and child.tag == "navigate" and links and not links[action.name]:
            yield child
