"""Find the steps of behaviours that have nothing to act on on any saved page of their levels."""

from collections.abc import Iterator

from lxml import etree

from aahcrawler.authoring.check_findings import Finding, warning
from aahcrawler.authoring.evidence.expressions_tried import finds, nearest, selector_of, whole, written
from aahcrawler.authoring.evidence.level_pages import LevelPages, cite_of
from aahcrawler.authoring.file_lines import ApplicationFile, is_doubtful
from aahcrawler.authoring.saved_pages import SavedPage
from knowledge_base.behaviours import Act
from knowledge_base.parsing.attributes import has_expression, words


def idle_behaviours(file: ApplicationFile, pages: LevelPages) -> Iterator[Finding]:
    """Yield the steps of a file that find nothing on the saved pages of the levels that their behaviour is for.

    What is documented may well be on none of a few pages. Behaviours without saved pages are passed over.
    """
    for behaviour in file.root.iterchildren("behaviour"):
        shown = _pages_of(behaviour, file, pages)
        grounds = whole(page.page for page in shown)
        for step in behaviour.iterchildren(*Act):
            doubtful = is_doubtful(cite_of(step) or cite_of(behaviour))
            if shown and doubtful and has_expression(step) and not finds(selector_of(step), grounds):
                near = nearest(step, grounds)
                levels = " or ".join(words(behaviour, "level"))
                where = f"saved pages of level {levels}" if levels else f"saved pages of {file.name}"
                yield warning(
                    file.place(step),
                    f"the behaviour {behaviour.get('name')} would {step.tag!s} nothing on any of {len(shown)} {where}: "
                    f"{written(step)}{f'; {near}' if near else ''}; write what finds it there, save a page that shows "
                    "it, or cite where it is documented",
                )


def _pages_of(behaviour: etree._Element, file: ApplicationFile, pages: LevelPages) -> tuple[SavedPage, ...]:
    levels = words(behaviour, "level")
    if not levels:
        return tuple(page for page in pages.of_application(file.name) if page.expected.level is not None)
    return tuple(page for level in levels for page in pages.of_level(file, level))
