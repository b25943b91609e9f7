"""Each level of each application on saved pages: recognised, read, followed, and not taken for anything else."""

import pytest

from aahcrawler.helper import ApplicationAwareHelper
from knowledge_base.loader import load
from knowledge_base.matching import Sight
from knowledge_base.model import KnowledgeBase
from tests.helper.saved_pages import SavedPage, plain, saved_pages

SAVED = saved_pages()


@pytest.fixture(scope="module")
def knowledge_base() -> KnowledgeBase:
    return load()


@pytest.mark.parametrize("saved", SAVED, ids=lambda saved: saved.name)
def test_recognised_and_read(saved: SavedPage, knowledge_base: KnowledgeBase) -> None:
    assistance = ApplicationAwareHelper(knowledge_base).assist(saved.page)
    match, expected = assistance.match, saved.expected
    assert (match.application.name if match else None) == expected["application"]
    assert (match.level.name if match and match.level else None) == expected["level"]
    assert not assistance.failed_actions
    if expected["application"] is None:
        return
    assert [plain(item) for item in assistance.objects] == expected["objects"]
    assert {link.url: link.action for link in assistance.document.outlinks} == expected["links"]
    refused = {link.url: link.reason.value for link in assistance.refused}
    assert expected["refused"].items() <= refused.items()
    assert refused.keys().isdisjoint(expected["links"])


@pytest.mark.parametrize("saved", SAVED, ids=lambda saved: saved.name)
def test_no_other_level_fits(saved: SavedPage, knowledge_base: KnowledgeBase) -> None:
    """Neither another application's levels nor another level of the same one."""
    sight = Sight(saved.page)
    fitting = {
        (application.name, level.name)
        for application in knowledge_base.applications
        for level in application.levels
        if any(map(sight.meets, level.when)) and not any(map(sight.meets, level.unless))
    }
    expected = {(saved.expected["application"], saved.expected["level"])} if saved.expected["level"] else set()
    same = {("WordPress", "article")} if saved.expected["level"] == "comments" else set()
    assert fitting - same == expected


def test_every_level_has_a_saved_page(knowledge_base: KnowledgeBase) -> None:
    levels = {(app.name, level.name) for app in knowledge_base.applications for level in app.levels}
    assert levels <= {(saved.expected["application"], saved.expected["level"]) for saved in SAVED}
    assert all(
        any(saved.expected["application"] == app.name and saved.expected["level"] is None for saved in SAVED)
        for app in knowledge_base.applications
    )
