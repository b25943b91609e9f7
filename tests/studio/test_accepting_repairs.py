"""What a crawl learned when a forum changed its theme is looked at, accepted, and from then on part of the entry."""

import re
from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser, expect

from knowledge_base.file_selection import OWN_NAME
from tests.cockpit.cockpit_browser import EDITOR, READER, Client, Cockpit, serving, visiting
from tests.crawl.crawling import summary, until
from tests.studio.archivist import Archivist
from tests.studio.conftest import CrawledForum
from tests.studio.crawled_software import crawled
from tests.studio.made_up.hearthstead import SLATE, Hearthstead

pytestmark = pytest.mark.slow

REPAIRS, REPAIR = "/crawls/forum/studio/repairs", "learned-posts-1"


@pytest.fixture(scope="module")
def forum(crawled_forum: CrawledForum) -> Iterator[Hearthstead]:
    """Yield the forum after it has changed its theme."""
    forum = crawled_forum.forum
    before, forum.theme = forum.theme, SLATE
    yield forum
    forum.theme = before


@pytest.fixture(scope="module")
def cockpit(
    crawled_forum: CrawledForum, forum: Hearthstead, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Cockpit]:
    """Yield a cockpit with an entry of one's own, and a crawl before and after the forum changed its theme."""
    place = crawled_forum.copied(tmp_path_factory.mktemp("repairs"))
    score = crawled(place, "forum", forum, crawled_forum.site)
    assert score.is_whole, score.mistakes()
    with serving(place) as cockpit:
        yield cockpit


def test_a_reader_sees_repairs_and_can_do_nothing_about_them(cockpit: Cockpit) -> None:
    reader = Client(cockpit, cockpit.entered(READER))
    until(lambda: REPAIR in reader.page(REPAIRS))
    found = re.search(rf'{REPAIR}.*?href="({REPAIRS}/[^"?#]+)', reader.page(REPAIRS))
    assert found is not None
    assert f"{REPAIR}</h1>" in reader.page(found[1])
    assert not [form for form in reader.forms(found[1]) if form.startswith(REPAIRS)]
    assert reader.post(f"{found[1]}/accept").status == 403


def test_a_repair_is_seen_beside_what_it_replaces_and_accepted(
    chromium: Browser, cockpit: Cockpit, forum: Hearthstead, crawled_forum: CrawledForum
) -> None:
    assert REPAIR in summary(cockpit.place / "forum")["learned"]
    with visiting(chromium, cockpit, EDITOR) as visit:
        archivist = Archivist(visit, "forum", forum.host)
        archivist.look_at_repair(REPAIR)
        before, after = (visit.page.frame_locator(f"iframe[name={side}]") for side in ("side1", "side2"))
        for shown in (before, after):
            expect(shown.get_by_role("heading", level=1)).to_be_visible()
        sides = visit.page.locator(".two > section")
        expect(sides.nth(0)).to_contain_text("Nothing.")
        expect(sides.nth(1).locator("ol.objects > li").first).to_contain_text("author")
        visit.page.get_by_role("button", name="Accept it").click()
        assert "Accepted: it is part of hearthstead" in archivist.told_of_repairs()
    entry = cockpit.place / OWN_NAME / "applications" / "hearthstead.xml"
    text = entry.read_text("utf-8")
    assert "<!-- Each post, with what was written and no signature. -->" in text
    assert 'css="section.prose"' in text

    score = crawled(cockpit.place, "forum-anew", forum, crawled_forum.site)
    assert score.is_whole, score.mistakes()
    assert not any(name.startswith("learned-posts") for name in summary(cockpit.place / "forum-anew")["learned"])
