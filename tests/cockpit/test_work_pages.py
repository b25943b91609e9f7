"""Pages of works by HTTP as it is: what is chosen on several pages, and what forms of former works do."""

import re
from collections.abc import Iterator
from html import unescape

import pytest

from tests.cockpit.cockpit_browser import COLLEAGUE, EDITOR, READER, Client, Cockpit, serving
from tests.cockpit.shown_crawl import CRAWL, FORUM

pytestmark = pytest.mark.starts

STUDIO = f"/crawls/{CRAWL}/studio"
WORK = f"{STUDIO}/works/fluxbb"


@pytest.fixture
def editor(shown: Cockpit) -> Iterator[Client]:
    """Yield an editor with a work that has pages of its own."""
    someone = Client(shown, shown.entered(EDITOR))
    with someone.at_work(STUDIO, "fluxbb"):
        yield someone


def test_what_is_chosen_on_a_page_of_the_work_stays_chosen_on_others(editor: Client) -> None:
    listed = editor.page(f"{WORK}/pages?host={FORUM}")
    own = re.findall(r"/pages/(work:[\w.-]+)", listed)[0]
    captured = next(each for each in re.findall(r"/pages/([\w.:-]+)", listed) if not each.startswith("work:"))
    for asked, shown_as in ((own, 1), ("work:gone", 0)):
        page = editor.page(f"{WORK}/pages/{captured}/chosen?as=sign&element=9&right={asked}@9&right={captured}@9")
        assert page.count('<span class="tag good">this</span>') == 1 + shown_as
        assert ("1 element that you chose cannot be looked at any more" in page) is (shown_as == 0)


def test_who_may_only_read_sees_all_and_changes_nothing(editor: Client, shown: Cockpit) -> None:
    reader = Client(shown, shown.entered(READER))
    listed = editor.page(f"{WORK}/pages?host={FORUM}")
    captured = next(each for each in re.findall(r"/pages/([\w.:-]+)", listed) if not each.startswith("work:"))
    rules = editor.page(f"{WORK}/pages/{captured}/chosen?as=sign&element=9")
    rule = unescape(re.findall(r'href="([^"]*expression=[^"#]*)', rules)[0])
    for path in (STUDIO, WORK, f"{WORK}/xml", f"{WORK}/pages?host={FORUM}", rule):
        assert [form for form in editor.forms(path) if form.startswith(STUDIO)], path
        assert not [form for form in reader.forms(path) if form.startswith(STUDIO)], path
    for act in ("save", "undo", "confirm", "remove", "xml", "discard", "pages/x/keep", "fetch", "try"):
        assert reader.post(f"{WORK}/{act}", seen=editor.seen(WORK)).status == 403, act
    for act in ("entries/add", "entries/open", "begin", "repairs/0/accept"):
        assert reader.post(f"{STUDIO}/{act}").status == 403, act


def test_who_changes_a_part_second_is_told_of_the_first_and_of_what_was_not_done(
    editor: Client, shown: Cockpit
) -> None:
    colleague, page = Client(shown, shown.entered(COLLEAGUE)), editor.page(WORK)
    seen, place = (re.findall(rf'name="{name}" value="(\w[^"]+)"', page)[0] for name in ("seen", "place"))
    assert "Removed" in editor.told(editor.post(f"{WORK}/remove", seen=seen, place=place))
    said = colleague.told(colleague.post(f"{WORK}/remove", seen=seen, place=place))
    assert "Editor changed this" in said
    assert "What you wanted, which was not done" in said


def test_a_page_of_a_former_work_changes_nothing_of_the_one_begun_under_its_name(editor: Client) -> None:
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


def test_a_work_that_cannot_be_read_says_so_and_can_be_discarded(editor: Client) -> None:
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
        editor = Client(cockpit, cockpit.entered(EDITOR))
        home, begin = editor.page(STUDIO), editor.page(f"{STUDIO}/begin?host={FORUM}")
        for page in (home, begin):
            assert "AAH_KNOWLEDGE_BASE=shipped:FOLDER" in page
        assert "Make a draft" not in begin
        assert "Change its entry" not in home
