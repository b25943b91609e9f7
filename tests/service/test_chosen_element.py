"""What a choice in the studio wants rules for."""

from datetime import UTC, datetime
from typing import cast

from aahcrawler.editor.drafts.draft_state import DraftState, Origin
from aahcrawler.editor.rules.marked_pages import numbers_of
from aahcrawler.editor.text.entry_text import EntryText
from aahcrawler.service.catalog.crawl_catalog import Crawl
from aahcrawler.service.cockpit.studio.chosen_element import ChosenElement
from aahcrawler.service.cockpit.studio.kept_rules import Choice, Purpose
from aahcrawler.service.cockpit.studio.open_works import OpenDraft
from aahcrawler.service.cockpit.studio.studio_desk import OpenPage, StudioService
from knowledge_base.selectors import compile_selector
from tests.studio.ropes import sample_of

ENTRY = b"""<application name="Ropes" kind="web-forum"><about>Ropes.</about><level name="thread" role="terminal">
<extract name="posts" type="post" many="yes"><item css="div.entry"/></extract>
<extract name="stories" type="story"><item css="div.story"/></extract></level></application>"""


def test_objects_of_which_a_page_has_one_are_not_wanted_as_a_list() -> None:
    origin = Origin(name="ropes", begun=datetime(2026, 1, 1, tzinfo=UTC), who="Ada", source="a draft")
    work = OpenDraft("ropes", DraftState(origin, EntryText(ENTRY)), "loaded", None)
    sample = sample_of()
    sampled = next(filter(None, map(sample.sampled, sample.pages)))
    element = compile_selector(css="div.entry").elements(sampled.tree)[0]
    number = numbers_of(sampled.tree, [element])[element]
    page = OpenPage(cast("Crawl", None), work, "here", sample, sampled, cast("StudioService", None))

    def is_of_many(purpose: Purpose, action: str) -> bool:
        choice = Choice(purpose=purpose, level="thread", action=action, field="title", right=(("here", number),))
        wanted = ChosenElement(page, choice).wanted()
        assert wanted is not None
        return wanted.many

    assert is_of_many(Purpose.ITEM, "posts")
    assert not is_of_many(Purpose.ITEM, "stories")
    assert is_of_many(Purpose.ITEM, "pictures")  # An action that is not there yet reads all that there are.
    assert is_of_many(Purpose.LINK, "stories")
