"""Two people mend one entry at once: nothing is lost, and nobody is misled."""

from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser, expect

from knowledge_base.file_selection import OWN_NAME
from tests.cockpit.cockpit_browser import COLLEAGUE, EDITOR, Cockpit, serving, told, visiting
from tests.studio.archivist import Archivist
from tests.studio.conftest import CrawledForum
from tests.studio.made_up.hearthstead import ENTRY, Hearthstead

pytestmark = pytest.mark.slow

FORUM = Hearthstead()
THREAD = max(FORUM.discussions, key=lambda each: len(each.posts)).path


@pytest.fixture(scope="module")
def cockpit(crawled_forum: CrawledForum, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cockpit]:
    """Yield a cockpit with an entry of one's own and a crawl that it has read."""
    with serving(crawled_forum.copied(tmp_path_factory.mktemp("together"))) as cockpit:
        yield cockpit


def test_who_keeps_a_rule_second_is_told_and_what_others_did_stays(chromium: Browser, cockpit: Cockpit) -> None:
    with visiting(chromium, cockpit, EDITOR) as one, visiting(chromium, cockpit, COLLEAGUE) as other:
        first, second = (Archivist(visit, "forum", FORUM.host) for visit in (one, other))
        first.mend("Hearthstead")
        for archivist, text in ((first, "Regular"), (second, "Here since")):
            archivist.look_at("hearthstead", THREAD)
            archivist.point_at(text)
            archivist.say("Of posts", "its author")
            archivist.look_at_the_first_rule()
        assert "author" in first.keep_it()
        said = second.keep_it()
        assert said.startswith("Editor changed this"), said
        assert second.page.locator(".note.bad[role=status]").is_visible()
        # What was wanted is told, and is still chosen; whoever has seen the newer state goes on from there.
        assert "which was not done: " in second.page.locator(".note.bad[role=status]").inner_text()
        expect(second.chosen.get_by_role("button", name="Keep it")).to_be_visible()
        second.look_at("hearthstead", THREAD)
        second.point_at("Print")
        second.page.get_by_role("button", name="Avoid them").click()
        second.open("hearthstead")
        done = second.page.locator("section", has_text="What was done").inner_text()
        assert "editor" in done
        first.open("hearthstead")
        expect(first.page.get_by_role("button", name="Undo")).to_have_count(0)
        second.page.get_by_role("button", name="Undo").click()
        assert "are avoided" in told(second.page)
        text = (cockpit.place / OWN_NAME / "applications" / "hearthstead.xml").read_text("utf-8")
        assert text == ENTRY.read_text("utf-8")
