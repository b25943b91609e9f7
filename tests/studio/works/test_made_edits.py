"""People who write no selector make valid entries: levels from groups, links, objects, fields and signs."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from aahcrawler.editor.drafting.address_groups import address_groups
from aahcrawler.editor.drafts import made_edits
from aahcrawler.editor.drafts.made_edits import REASONS, ROLES, Extent, Made, NamedGroup
from aahcrawler.editor.entries.entry_files import Entry
from aahcrawler.editor.entries.staging import staged
from aahcrawler.editor.text.edits import apply
from aahcrawler.editor.text.entry_text import EditError, EntryText
from aahcrawler.helper import ApplicationAwareHelper
from aahcrawler.wrapper_induction.robust_paths import Expression
from knowledge_base.model import FieldKind, KnowledgeBase, Strength
from knowledge_base.url_rules import Reason
from tests.authoring.tinyforum import BOARD, SITE, TOPIC
from tests.studio.works.sailing import DATE, DRAFT, EXTRACT

BARE = b"""<application name="TinyForum" kind="web-forum">
  <detect>
    <pattern strength="proof" generator="TinyForum"/>
  </detect>
</application>
"""
POSTS = "level[topic]/extract[replies]"
GROUPS = {
    each.shape.path: each
    for each in address_groups(
        f"{SITE}/{path}"
        for path in ("topic.php?id=7", "topic.php?id=8", "board.php?id=2", "user.php?id=1", "login.php")
    )
}


def loaded(text: EntryText, folder: Path) -> KnowledgeBase:
    """Load the knowledge base that an entry would be, which proves that it is valid."""
    with staged(Entry("tinyforum", text.data), (folder / "own",)) as stage:
        return stage.knowledge_base


def test_an_entry_is_made_of_groups_and_clicks_alone(tmp_path: Path) -> None:
    text = EntryText(BARE)
    said = []

    def make(made: Made) -> None:
        nonlocal text
        text = apply(text, made.edits)
        said.append(made.said)

    make(made_edits.name_level(text, NamedGroup(GROUPS["**/board.php"], "intermediate", "Board")))
    make(made_edits.name_level(text, NamedGroup(GROUPS["**/topic.php"], "terminal", "Topic")))
    make(made_edits.add_link_rule(text, "board", "topic"))
    make(made_edits.avoid(text, GROUPS["**/login.php"], Reason.LOGIN))
    make(made_edits.avoid(text, GROUPS["**/user.php"], Reason.PROFILE))
    make(made_edits.add_objects(text, "topic", "reply", Expression(css="div.entry")))
    make(made_edits.add_field(text, POSTS, "date", FieldKind.DATETIME, Expression(css=".when")))
    make(
        made_edits.add_field(text, POSTS, "title", FieldKind.TEXT, Expression(css="h1"), Extent(page=True, first=True))
    )
    make(made_edits.replace_select(text, f"{POSTS}/field[body]/select[1]", Expression(css=".text")))
    make(made_edits.exclude(text, f"{POSTS}/field[body]", Expression(css=".edited")))
    make(made_edits.add_sign(text, Expression(css="p.credit"), Strength.HINT))
    make(made_edits.add_sign(text, Expression(css="div.entry"), level="topic"))
    assert said == [
        f"pages such as {SITE}/board.php?id=2 are of level board, which leads to content",
        f"pages such as {SITE}/topic.php?id=7 are of level topic, which holds content",
        "on pages of level board, all links to topic lead to level topic",
        f"addresses such as {SITE}/login.php are avoided: a form to log in or out",
        f"addresses such as {SITE}/user.php?id=1 are avoided: the page of a member",
        "each div.entry on pages of level topic is a reply",
        "the date of reply is .when",
        "the title of reply is h1",
        "the body of reply is .text",
        "the body of reply is without .edited",
        "p.credit is a sign of the application",
        "pages with div.entry are of level topic",
    ]
    helper = ApplicationAwareHelper(loaded(text, tmp_path))
    read = helper.assist(TOPIC)
    assert [each.first("body") for each in read.objects][:1] == [
        "Which knot holds best when the rope is wet and stiff from the salt of the sea?"
    ]
    assert len(read.objects) == 3
    assert read.objects[0].first("title") == "Wet ropes"
    assert {each.reason for each in read.refused} >= {Reason.LOGIN, Reason.PROFILE}
    assert {link.url for link in helper.assist(BOARD).document.outlinks} == {f"{SITE}/topic.php?id={n}" for n in (7, 8)}


def test_what_is_marked_on_an_entry_that_is_there_goes_to_its_place(tmp_path: Path) -> None:
    text = EntryText(DRAFT)
    group = address_groups([f"{SITE}/show.php?post=7", f"{SITE}/show.php?post=8"])[0]
    made = made_edits.add_link_rule(text, "forum", "thread", group)
    text = apply(text, made.edits)
    assert made.said == "on pages of level forum, all links to thread lead to level thread"
    assert b'optional="page"/>\n    <address path="**/show.php" parameters="post"/>\n    <paging' in text.data
    assert text.data.count(b'to="thread"') == 1
    assert made_edits.add_link_rule(text, "forum", "thread", group).edits == ()
    way = made_edits.add_link_rule(text, "thread", "forum", expression=Expression(css="p.path a"))
    text = apply(text, way.edits)
    text = apply(text, made_edits.add_item(text, EXTRACT, Expression(css="li.entry")).edits)
    text = apply(text, made_edits.add_select(text, DATE, Expression(css="time", attribute="datetime")).edits)
    knowledge_base = loaded(text, tmp_path)
    level = knowledge_base.application("TinyForum").level("thread")
    assert [action.name for action in level.actions] == ["more-posts", "posts", "to-forum"]
    made = made_edits.remove(text, "level[forum]")
    assert made.said == "removed level forum"
    text = apply(text, made.edits)
    assert b"to-forum" not in text.data
    loaded(text, tmp_path)


def test_what_is_removed_last_takes_along_what_would_be_empty() -> None:
    text = EntryText(BARE)
    text = apply(text, made_edits.avoid(text, GROUPS["**/login.php"], Reason.LOGIN).edits)
    assert b"<avoid>" in text.data
    made = made_edits.remove(text, "avoid/url[1]")
    assert made.said == "removed url login **/login.php"
    assert apply(text, made.edits).data == BARE
    with pytest.raises(EditError, match="the last pattern, and one must be there"):
        made_edits.remove(text, "detect/pattern[1]")


def test_what_would_make_no_valid_entry_is_refused_in_words() -> None:
    text = EntryText(DRAFT)
    thread = NamedGroup(GROUPS["**/topic.php"], "terminal", "thread")
    refused: dict[str, Callable[[], Made]] = {
        "there is a level thread already": lambda: made_edits.name_level(text, thread),
        "give a name that begins with a letter": lambda: made_edits.name_level(text, replace(thread, name="42")),
        "the addresses of level": lambda: made_edits.avoid(text, GROUPS["**/topic.php"], Reason.API),
        "there is no level nothing": lambda: made_edits.add_link_rule(text, "nothing", "thread"),
        "say first that it holds content": lambda: made_edits.add_objects(text, "forum", "post", Expression(css="a")),
        "there is a field date already": lambda: made_edits.add_field(
            text, EXTRACT, "Date", FieldKind.TEXT, Expression(css="a")
        ),
        "choose an element first": lambda: made_edits.add_item(text, EXTRACT, Expression()),
        "is no field": lambda: made_edits.exclude(text, EXTRACT, Expression(css="a")),
        "has no selector": lambda: made_edits.replace_select(text, DATE, Expression(css="a")),
    }
    for said, made in refused.items():
        with pytest.raises(EditError, match=said):
            made()


def test_all_that_can_be_chosen_has_words() -> None:
    assert set(REASONS) == set(Reason)
    assert set(ROLES) == {"intermediate", "terminal"}
    assert len(set(REASONS.values())) == len(Reason)


def test_what_pages_of_a_level_are_for_is_changed_but_not_where_objects_are_read(tmp_path: Path) -> None:
    text = EntryText(DRAFT)
    made = made_edits.set_role(text, "forum", "terminal")
    assert made.said == "level forum holds content"
    (application,) = loaded(apply(text, made.edits), tmp_path).applications
    assert {each.name: each.role for each in application.levels} == {"forum": "terminal", "thread": "terminal"}
    with pytest.raises(EditError, match="objects are read on pages of level thread"):
        made_edits.set_role(text, "thread", "intermediate")
