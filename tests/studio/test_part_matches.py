"""What each part of an entry matches on a page, and what becomes of its links."""

from pathlib import Path

import pytest

from aahcrawler.editor.rules.link_fates import Fate
from aahcrawler.editor.rules.part_matches import MAX_FOUND, PageMatches, matched_places, matches
from aahcrawler.editor.text.entry_text import EntryText
from knowledge_base.loader import load
from knowledge_base.model import Application, KnowledgeBase
from tests.studio.ropes import parsed

ENTRY = b"""<?xml version="1.0"?>
<application name="RopeBoard" kind="web-forum">
  <detect>
    <pattern strength="proof" generator="RopeBoard" cite="x"/>
    <pattern strength="hint" css="div.credits" cite="x"/>
  </detect>
  <avoid>
    <url reason="login" path="**/login" cite="x"/>
    <url reason="reply-form" path="**/reply/#" cite="x"/>
  </avoid>
  <level name="board" role="intermediate">
    <when css="ul.lines" cite="x"/>
    <address path="/board/#"/>
    <navigate name="threads" to="thread"><select css="a.line-link" cite="x"/></navigate>
  </level>
  <level name="thread" role="terminal">
    <when css="div.entry" path="/thread/#" cite="x"/>
    <unless css="div.print" cite="x"/>
    <address path="/thread/#"/>
    <navigate name="back" to="board"><select css="p.path a" cite="x"/></navigate>
    <extract name="posts" type="reply" many="yes">
      <item css="div.post" cite="x"/>
      <item css="div.entry" cite="x"/>
      <identity trim="entry-" prefix="entry-"><select xpath="@id" cite="x"/></identity>
      <field name="title" page="yes" first-only="yes"><select css="h1.subject" cite="x"/></field>
      <field name="author" kind="person">
        <select css=".writer" cite="x"/><select css=".who a" cite="x"/><select css=".who" cite="x"/>
      </field>
      <field name="date" kind="datetime" order="dmy"><select css=".when time" cite="x"/></field>
      <field name="body"><select css=".text" cite="x"/></field>
    </extract>
  </level>
</application>"""


@pytest.fixture(scope="module")
def application(tmp_path_factory: pytest.TempPathFactory) -> Application:
    """Return the entry as it is loaded."""
    folder: Path = tmp_path_factory.mktemp("kb") / "applications"
    folder.mkdir()
    (folder / "ropeboard.xml").write_bytes(ENTRY)
    return load(folder.parent).application("RopeBoard")


def read(application: Application, path: str, entry: bytes = ENTRY) -> PageMatches:
    """Return what the entry matches on a page of the site."""
    return matches(application, EntryText(entry), parsed(path))


def test_parts_show_their_elements_and_values(application: Application) -> None:
    found = read(application, "/thread/2")
    assert (found.application, found.level) == ("RopeBoard", "thread")
    assert found.why == ("The page is taken for RopeBoard: it shows 1 of 2 signs.", "It is of level thread.")

    def values(place: str) -> list[str]:
        part = found.at(place)
        assert part is not None
        assert part.counts
        return [finding.value for finding in part.findings]

    posts = "level[thread]/extract[posts]"
    assert len(values(f"{posts}/item[2]")) == 4
    assert values(f"{posts}/item[1]") == []
    assert values(f"{posts}/identity[1]/select[1]") == ["entry-21", "entry-22", "entry-23", "entry-24"]
    assert values(f"{posts}/field[author]/select[2]") == ["Dag", "Edda", "Ada", "Bo"]
    assert values(f"{posts}/field[author]/select[1]") == values(f"{posts}/field[author]/select[3]") == []
    assert values(f"{posts}/field[date]")[0] == "2024-02-11T02:15:00+00:00"
    title = found.at(f"{posts}/field[title]/select[1]")
    assert title is not None
    assert title.findings[0].element is not None
    assert [finding.value for finding in title.findings] == ["Storm anchors"]
    assert title.findings[0].element.tag == "h1"
    assert title.findings[0].item == 0


def test_signs_conditions_and_addresses_say_whether_they_hold_and_why(application: Application) -> None:
    found = read(application, "/thread/2")
    told = {part.place: (part.holds, part.said) for part in found.parts if part.holds is not None}
    assert told == {
        "detect[1]/pattern[1]": (True, "holds"),
        "detect[1]/pattern[2]": (
            False,
            "does not hold; finds nothing; div finds 14; div.credits finds 0",
        ),
        "level[board]/when[1]": (False, "does not hold; finds nothing"),
        "level[board]/address[1]": (False, "the page's own address does not fit; 1 link of the page fit"),
        "level[thread]/when[1]": (True, "holds; finds 4"),
        "level[thread]/unless[1]": (False, "does not hold; finds nothing; div finds 14; div.print finds 0"),
        "level[thread]/address[1]": (True, "the page's own address fits; 0 links of the page fit"),
    }
    item = found.at("level[thread]/extract[posts]/item[1]")
    assert item is not None
    assert item.said == "finds nothing; div finds 14; div.post finds 0"
    of_board = found.at("level[board]/navigate[threads]/select[1]")
    assert of_board is not None
    assert not of_board.counts


def test_links_say_what_becomes_of_them_and_by_which_rule(application: Application) -> None:
    found = read(application, "/thread/2")
    told = {link.url.partition("test")[2]: (link.fate, link.level, link.place) for link in found.links}
    assert told["/board/1"] == (Fate.LEADS, "board", "level[thread]/navigate[back]")
    assert told["/login"] == (Fate.AVOIDED, "", "avoid[1]/url[1]")
    assert told["/reply/21"] == (Fate.AVOIDED, "", "avoid[1]/url[2]")
    assert told["/sailor/dag"] == (Fate.LEFT, "", "")
    threads = read(application, "/board/1").links
    assert {link.said for link in threads if link.fate is Fate.LEADS} == {"leads to thread, by threads"}


@pytest.mark.parametrize("path", ["/board/1", "/thread/1", "/thread/2"])
def test_the_places_that_match_are_those_of_the_whole_account(application: Application, path: str) -> None:
    whole = read(application, path)
    level, places = matched_places(application, EntryText(ENTRY), parsed(path))
    assert level == whole.level != ""
    found = {part.place for part in whole.parts if part.counts and (part.found or part.holds)}
    assert places == found | {link.place for link in whole.links if link.place}
    assert "avoid[1]/url[1]" in places


def test_a_page_of_nothing_known_has_no_level_and_no_place(application: Application) -> None:
    assert matched_places(application, EntryText(ENTRY), parsed("/thread/1", "<p>Nothing")) == ("", frozenset())


def test_pages_of_no_application_and_rivals_are_told(application: Application) -> None:
    other = matches(application, EntryText(ENTRY), parsed("/thread/1", "<p class=x>Nothing <a href='/a'>a</a></p>"))
    assert other.application == other.level == ""
    assert other.why == ("The page is not taken for RopeBoard: it shows no sign of it.",)
    assert [link.said for link in other.links] == ["followed, as all links of pages that nothing is known of"]
    twin = Application("Twin", "web-forum", application.patterns, application.levels)
    both = matches(application, EntryText(ENTRY), parsed("/thread/1"), KnowledgeBase((application, twin)))
    assert both.why == ("RopeBoard and Twin claim the page with equal strength, so that it counts for neither.",)


def test_a_text_that_has_changed_since_is_shown_as_far_as_it_goes(application: Application) -> None:
    changed = ENTRY.replace(b'css=".text"', b'css=".words"').replace(b'css="div.entry" cite', b'css="p.when" cite')
    found = read(application, "/thread/2", changed)
    body = found.at("level[thread]/extract[posts]/field[body]")
    item = found.at("level[thread]/extract[posts]/item[2]")
    assert body is not None
    assert body.findings == ()
    assert item is not None
    assert len(item.findings) == 4


@pytest.mark.slow
def test_pages_that_mean_ill_are_read_within_bounds(application: Application) -> None:
    head = '<html><head><meta name="generator" content="RopeBoard"></head><body>'
    wide = "".join(f"<div class='entry' id='entry-{number}'>x</div>" for number in range(3_000))
    item = read_body(application, head + wide).at("level[thread]/extract[posts]/item[2]")
    assert item is not None
    assert (item.found, len(item.findings)) == (3_000, MAX_FOUND)
    deep = read_body(application, head + "<div class='entry'>" * 1_500 + "x")
    assert deep.level == "thread"
    strange = "<a href='http://[bad'>x</a><a href='javascript:alert(1)'>y</a><a href='/\u202e'>\x00z</a>"
    fates = [link.fate for link in read_body(application, head + strange).links]
    assert fates == [Fate.NO_PAGE, Fate.NO_PAGE, Fate.FOLLOWED]
    assert read_body(application, "").parts


def read_body(application: Application, body: str) -> PageMatches:
    """Return what the entry matches on a page of some markup."""
    return matches(application, EntryText(ENTRY), parsed("/thread/1", body))
