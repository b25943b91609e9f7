"""Software that nobody has described is added in the studio, without a selector, and read whole from then on."""

import re
from collections.abc import Iterator
from datetime import UTC, datetime

import pytest
from playwright.sync_api import Browser

from tests.cockpit.cockpit_browser import EDITOR, Cockpit, serving, visiting
from tests.studio.archivist import LIST, NEITHER, Archivist
from tests.studio.crawled_software import crawled
from tests.studio.made_up.hearthstead import Hearthstead
from tests.studio.made_up.inkwell import Inkwell
from tests.studio.made_up.lumen import Lumen
from tests.studio.made_up.published import published
from tests.studio.typist import Typist

pytestmark = pytest.mark.slow

ANSWER = "a form to write an answer or something new"
COPY = "another address of a page that is fetched anyway"
ALL = {"barren": 0}
"""Which pages a sample of a barren pattern falls on depends on how fast pages come."""


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
        before = crawled(cockpit.place, "forum", forum, site, traps=ALL)
        assert not before.is_whole
        archivist = Archivist(visit, "forum", forum.host)
        archivist.begin(
            "Hearthstead",
            "web-forum",
            {
                "…/u/‹any text›": "the page of a member",
                "…/account/sign-in with back": "a form to log in or out",
                "…/post/‹number›/revisions": COPY,
            },
        )
        edited = next(shown for each in forum.discussions for shown in each.posts if shown.post.revised)
        page = next(each for each in forum.discussions if each.number == edited.thread).page_path(1)
        archivist.look_at("hearthstead", page)
        archivist.point_at("Last edited by")
        archivist.say("Of posts, not a part of", "body")
        archivist.keep()
        archivist.point_at("Kept warm by")
        archivist.say("A sign", "of Hearthstead")
        archivist.keep()
        archivist.open("hearthstead")
        archivist.take_out("Sign the site is")
        archivist.confirm_the_rest()
        assert "Saved" in archivist.save("hearthstead")

        assert not visit.strange()
        after = crawled(cockpit.place, "forum-again", forum, site, traps=ALL)
        assert after.is_whole, after.mistakes()


@pytest.mark.soak
def test_a_gallery_is_added_by_pointing_at_what_is_read_wrongly(chromium: Browser, cockpit: Cockpit) -> None:
    gallery = Lumen()
    with published(gallery) as site, visiting(chromium, cockpit, EDITOR) as visit:
        before = crawled(cockpit.place, "gallery", gallery, site)
        assert not before.is_whole
        archivist = Archivist(visit, "gallery", gallery.host)
        archivist.begin(
            "Lumen",
            "photo",
            {
                "/": LIST,
                "/map": NEITHER,
                "…/albums/garden/‹any text›": NEITHER,
                **{f"…/albums/{album}slideshow": COPY for album in ("‹any text›/", "garden/‹any text›/", "workshop/")},
            },
        )
        unsure = [guess for guess in archivist.guesses() if guess.startswith("No ")]
        archivist.avoid_what_leads_nowhere("/picture/")
        picture = max(gallery.pictures, key=lambda each: len(each.voices))
        shown = {
            "title": picture.title,
            "author": picture.author,
            "date": datetime.fromisoformat(picture.date).strftime("%d.%m.%Y"),
            "body": picture.caption,
        }
        archivist.look_at("lumen", picture.path)
        read = archivist.values()
        for name, text in shown.items():
            if not is_read(text, read.get(name, "")) or any(guess.startswith(f"No {name}") for guess in unsure):
                archivist.point_at(text[:40])
                archivist.say("Of photo", f"its {name}")
                archivist.keep()
        archivist.open("lumen")
        archivist.confirm_the_rest()
        assert "Saved" in archivist.save("lumen")

        assert not visit.strange()
        after = crawled(cockpit.place, "gallery-again", gallery, site)
        assert after.is_whole, after.mistakes()


def is_read(shown: str, value: str) -> bool:
    """Whether a value is what the page shows: its beginning where it is long, and a date however it is written."""
    if re.fullmatch(r"\d\d\.\d\d\.\d{4}", shown):
        return value.startswith(datetime.strptime(shown, "%d.%m.%Y").replace(tzinfo=UTC).strftime("%Y-%m-%d"))
    return (
        value.removesuffix("...").removesuffix("…") == shown[: len(value.removesuffix("...").removesuffix("…"))] != ""
    )


@pytest.mark.soak
def test_a_blog_is_added_by_the_keys_alone(chromium: Browser, cockpit: Cockpit) -> None:
    blog = Inkwell()
    with published(blog) as site, visiting(chromium, cockpit, EDITOR) as visit:
        before = crawled(cockpit.place, "blog", blog, site)
        assert not before.is_whole
        typist = Typist(visit, "blog", blog.host)
        typist.begin("Inkwell", "blog", {"/": LIST, "/‹number›/‹number›/‹any text›/ with answer": ANSWER})
        entry = max(blog.entries, key=lambda each: len(each.remarks))
        typist.look_at(entry.path)
        # What stands first on the page, the one beside it, what is in that, and out again.
        assert typist.walk("ArrowRight", "Enter")
        typist.find("Inkwell")
        typist.take("of Inkwell", "Look at it")
        assert "sign" in typist.keep()
        typist.act("inkwell", "All that is left is right")
        typist.act("inkwell", "Save")
        assert "Saved" in typist.arrived()

        assert not visit.strange()
        after = crawled(cockpit.place, "blog-again", blog, site)
        assert after.is_whole, after.mistakes()
