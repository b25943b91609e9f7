"""Pages of works by HTTP as it is: what is chosen on several pages, and what forms of former works do."""

import re
from collections.abc import Iterator
from dataclasses import dataclass

import pytest

from aahcrawler.service.cockpit.site import COOKIE
from tests.cockpit.cockpit_browser import EDITOR, Cockpit, serving
from tests.cockpit.shown_crawl import CRAWL, FORUM
from tests.service.asking import Reply

pytestmark = pytest.mark.starts

STUDIO = f"/crawls/{CRAWL}/studio"
WORK = f"{STUDIO}/works/fluxbb"


@dataclass(frozen=True, slots=True)
class Editor:
    """Somebody who edits, with a session."""

    cockpit: Cockpit
    cookie: str

    def page(self, path: str) -> str:
        answer = self.cockpit.ask("GET", path, Cookie=f"{COOKIE}={self.cookie}")
        assert answer.status == 200, (path, answer.body[:2_000])
        return answer.body.decode()

    def post(self, path: str, **fields: str) -> Reply:
        secret = self.cockpit.form_secret(self.cookie)
        return self.cockpit.post(path, {"secret": secret, **fields}, self.cookie)

    def seen(self, path: str) -> str:
        """Return the state of its work that the forms of a page name."""
        return str(re.findall(r'name="seen" value="([\w-]+)"', self.page(path))[0])

    def told(self, answer: Reply) -> str:
        """Return the page that an act led to."""
        assert answer.status == 303, answer.body[:2_000]
        return self.page(answer.headers["location"].removeprefix(self.cockpit.names.cockpit))


@pytest.fixture
def editor(shown: Cockpit) -> Iterator[Editor]:
    """Yield an editor with a work that has pages of its own."""
    someone = Editor(shown, shown.entered(EDITOR))
    assert someone.post(f"{STUDIO}/entries/open", name="fluxbb").headers["location"].endswith("/works/fluxbb")
    yield someone
    someone.post(f"{WORK}/discard", seen=someone.seen(WORK))


def test_what_is_chosen_on_a_page_of_the_work_stays_chosen_on_others(editor: Editor) -> None:
    listed = editor.page(f"{WORK}/pages?host={FORUM}")
    own = re.findall(r"/pages/(work:[\w.-]+)", listed)[0]
    captured = next(each for each in re.findall(r"/pages/([\w.:-]+)", listed) if not each.startswith("work:"))
    for asked, shown_as in ((own, 1), ("work:gone", 0)):
        page = editor.page(f"{WORK}/pages/{captured}/chosen?as=sign&element=9&right={asked}@9&right={captured}@9")
        assert page.count('<span class="tag good">this</span>') == 1 + shown_as
        assert ("1 element that you chose cannot be looked at any more" in page) is (shown_as == 0)


def test_a_page_of_a_former_work_changes_nothing_of_the_one_begun_under_its_name(editor: Editor) -> None:
    shown = editor.page(WORK)
    seen, place = (
        re.findall(r'name="seen" value="([\w-]+)"', shown)[0],
        re.findall(r'name="place" value="(\w[^"]+)"', shown)[0],
    )
    assert "is discarded" in editor.told(editor.post(f"{WORK}/discard", seen=seen))
    editor.post(f"{STUDIO}/entries/open", name="fluxbb")
    text = editor.page(f"{WORK}/xml")
    for act, said in (
        ("remove", {"seen": seen, "place": place}),
        ("discard", {"seen": seen}),
        ("undo", {"seen": seen}),
    ):
        assert "begun another one" in editor.told(editor.post(f"{WORK}/{act}", **said)), act
    assert "begun another one" in editor.post(f"{WORK}/xml", seen=seen, xml="<application/>").body.decode()
    now = editor.page(f"{WORK}/xml")
    assert re.findall("<textarea.*</textarea>", now, re.DOTALL) == re.findall("<textarea.*</textarea>", text, re.DOTALL)
    for act in ("discard", "undo", "save", "remove"):
        assert editor.post(f"{WORK}/{act}").status == 400, act


def test_a_work_that_cannot_be_read_says_so_and_can_be_discarded(editor: Editor) -> None:
    editor.post(f"{STUDIO}/entries/open", name="smf")
    work, folder = f"{STUDIO}/works/smf", editor.cockpit.place / "knowledge-base" / "works" / "smf"
    assert "look at it before" in editor.told(editor.post(f"{work}/discard", unreadable="yes"))
    (folder / "origin.json").write_text("{")
    assert "cannot be read" in editor.page(STUDIO)
    assert "Discard it" in editor.page(work)
    assert "is discarded" in editor.told(editor.post(f"{work}/discard", unreadable="yes"))
    assert not folder.exists()


def test_where_nothing_can_be_saved_the_studio_says_so_at_once(shown: Cockpit) -> None:
    with serving(shown.place / CRAWL) as cockpit:
        editor = Editor(cockpit, cockpit.entered(EDITOR))
        home, begin = editor.page(STUDIO), editor.page(f"{STUDIO}/begin?host={FORUM}")
        for page in (home, begin):
            assert "AAH_KNOWLEDGE_BASE=shipped:FOLDER" in page
        assert "Make a draft" not in begin
        assert "Change its entry" not in home
