"""Each level of each application on saved pages: recognised, read, followed, and not taken for anything else.

These are the checks of ``aah kb test``.
"""

import pytest

from aahcrawler.editor.pages.trial import Trial, levels_without_page, without_negative_page
from knowledge_base.model import KnowledgeBase
from tests.helper.saved_pages import SavedPage, saved_pages
from tests.shipped import shipped

SAVED = saved_pages()


@pytest.fixture(scope="module")
def knowledge_base() -> KnowledgeBase:
    return shipped()


@pytest.fixture(scope="module")
def trial(knowledge_base: KnowledgeBase) -> Trial:
    return Trial(knowledge_base)


@pytest.mark.parametrize("saved", SAVED, ids=lambda saved: saved.name)
def test_recognised_and_read(saved: SavedPage, trial: Trial) -> None:
    assert trial.misreadings(saved) == ()


@pytest.mark.parametrize("saved", SAVED, ids=lambda saved: saved.name)
def test_no_other_level_fits(saved: SavedPage, trial: Trial) -> None:
    """Neither another application's levels nor another level of the same one."""
    assert trial.misfits(saved) == ()


def test_every_level_has_a_saved_page(knowledge_base: KnowledgeBase) -> None:
    assert levels_without_page(knowledge_base, SAVED) == ()
    assert without_negative_page(knowledge_base, SAVED) == ()
