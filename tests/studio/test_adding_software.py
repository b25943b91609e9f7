"""Software that nobody has described is added in the studio, without a selector, and read whole from then on."""

from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser

from tests.cockpit.cockpit_browser import EDITOR, Cockpit, serving, visiting
from tests.studio.archivist import Archivist
from tests.studio.crawled_software import crawled
from tests.studio.made_up.hearthstead import Hearthstead
from tests.studio.made_up.published import published

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def cockpit(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cockpit]:
    """Yield a cockpit whose folder is empty yet."""
    place = tmp_path_factory.mktemp("studio") / "crawls"
    place.mkdir()
    with serving(place) as cockpit:
        yield cockpit


def test_a_forum_is_added_by_pointing_at_its_pages(chromium: Browser, cockpit: Cockpit) -> None:
    forum = Hearthstead()
    with published(forum) as site, visiting(chromium, cockpit, EDITOR) as visit:
        before = crawled(cockpit.place, "forum", forum, site)
        assert not before.is_whole
        archivist = Archivist(visit, "forum", forum.host)
        archivist.begin(
            "Hearthstead",
            "web-forum",
            {"…/u/‹any text›": "the page of a member", "…/account/sign-in with back": "a form to log in or out"},
        )
        edited = next(shown for each in forum.discussions for shown in each.posts if shown.post.revised)
        page = next(each for each in forum.discussions if each.number == edited.thread).page_path(1)
        archivist.look_at("hearthstead", page)
        archivist.point_at("Last edited by")
        archivist.say("Not a part of", "body")
        archivist.keep()
        archivist.point_at("Kept warm by")
        archivist.say("A sign", "of Hearthstead")
        archivist.keep()
        archivist.open("hearthstead")
        archivist.take_out("Sign the site is")
        archivist.confirm_the_rest()
        assert "Saved" in archivist.save("hearthstead")

        after = crawled(cockpit.place, "forum-again", forum, site)
        assert after.is_whole, after.mistakes()
