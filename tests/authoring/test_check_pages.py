"""What files find, miss, share and cut off on pages is told with its line, its element and what to write instead."""

import json
from pathlib import Path

import pytest
from lxml import etree

from aahcrawler.editor.checks.check_findings import Finding
from aahcrawler.editor.checks.examination import Task, reports
from aahcrawler.editor.text.entry_text import EntryText
from aahcrawler.editor.text.file_lines import element_place, read_files
from knowledge_base.file_selection import SHIPPED
from tests.authoring.tinyforum import SITE, board, form, topic

FILE = """<?xml version="1.0"?>
<application name="Tiny" kind="web-forum">
  <detect>
    <pattern strength="proof" generator="TinyForum" cite="header.tpl"/>
  </detect>
  <avoid>
    <url reason="profile" path="**/user.php" cite="user.php"/>
  </avoid>
  <level name="forum" role="intermediate">
    <when css="ul.topics" cite="board.tpl"/>
    <address path="**/board.php" parameters="id"/>
    <navigate name="topics" to="thread">
      <select css="a.topic-link"/>
    </navigate>
  </level>
  <level name="thread" role="terminal">
    <when css="div.entry" path="**/topic.php" cite="topic.tpl"/>
    <address path="**/topic.php" parameters="id" optional="page"/>
    <extract name="posts" type="reply" many="yes">
      <item css="div.entry" cite="unproven: read off a page"/>
      <identity trim="entry-"><select xpath="@id" cite="topic.tpl"/></identity>
      <field name="title" page="yes"><select css="h1.subject" cite="topic.tpl"/></field>
      <field name="author" kind="person"><select css=".who a" cite="topic.tpl"/></field>
      <field name="signature"><select css=".who" cite="topic.tpl"/></field>
      <field name="body">
        <select css=".text" cite="topic.tpl"/>
      </field>
    </extract>
  </level>
</application>
"""
LONG = (
    "<p>Which knot holds best when the rope is wet and stiff from the salt of the sea?</p>"
    "<p>Mine came loose in the middle of the night, and the boat was on the rocks in the morning.</p>"
)


def save(base: Path, name: str, url: str, markup: str, **expected: object) -> None:
    folder = base / "applications" / "pages" / name.partition("/")[0]
    folder.mkdir(parents=True, exist_ok=True)
    page = folder / f"{name.partition('/')[2]}.html"
    page.write_text(markup, "utf-8")
    page.with_suffix(".json").write_text(json.dumps({"url": url, "application": "Tiny", **expected}), "utf-8")


@pytest.fixture
def base(tmp_path: Path) -> Path:
    """Return a knowledge base of one file with a saved page of each of its levels."""
    (tmp_path / "applications").mkdir()
    links = {f"{SITE}/topic.php?id={number}": "topics" for number in (7, 8)}
    save(tmp_path, "app/board", f"{SITE}/board.php?id=2", board(), level="forum", links=links)
    markup = topic().replace(
        "<p>Which knot holds best when the rope is wet and stiff from the salt of the sea?</p>", LONG
    )
    save(tmp_path, "app/topic", f"{SITE}/topic.php?id=7", markup, level="thread")
    save(tmp_path, "app/form", f"{SITE}/login.php", form(), level=None)
    return tmp_path


def findings(base: Path, old: str = "", new: str = "", text: str = FILE) -> list[Finding]:
    """Check the file with a part of it replaced."""
    assert old in text
    (base / "applications" / "app.xml").write_text(text.replace(old, new, 1), "utf-8")
    return [each for each in reports(Task((base,), seconds=60), lambda _: None) if isinstance(each, Finding)]


def line_of(text: str, part: str) -> int:
    return text[: text.index(part)].count("\n") + 1


def test_a_file_that_fits_its_pages_is_told_nothing(base: Path) -> None:
    assert findings(base) == []


@pytest.mark.parametrize(
    ("old", "new", "element", "says"),
    [
        (
            '<item css="div.entry" cite="unproven: read off a page"/>',
            '<item css="div.entry"/><item css="div.post" cite="unproven: read off a page"/>',
            "level[thread]/extract[posts]/item[2]",
            'this finds nothing on the saved page of level thread: css="div.post"; div finds 10, div.post',
        ),
        (
            '<item css="div.entry" cite="unproven: read off a page"/>',
            '<item css="div.post" cite="topic.tpl"/>',
            "level[thread]/extract[posts]",
            "the action posts finds no object on",
        ),
        (
            '<select css=".text" cite="topic.tpl"/>',
            '<select css=".txt" cite="topic.tpl"/>',
            "level[thread]/extract[posts]/field[body]",
            "the field body is found in no object on the saved page of level thread",
        ),
        (
            '<select css=".who" cite="topic.tpl"/>',
            '<select css=".sig"/>',
            "level[thread]/extract[posts]/field[signature]",
            "the field signature is found in no object on",
        ),
        (
            'xpath="@id"',
            'xpath="@name"',
            "level[thread]/extract[posts]/identity[1]",
            "the number of no object is found",
        ),
        (
            '<select css="a.topic-link"/>',
            '<select css="a.topic" cite="unproven: read off a page"/>',
            "level[forum]/navigate[topics]",
            "the action topics finds no link on the saved page of level forum",
        ),
        (
            '<select css="a.topic-link"/>',
            '<select css=".menu a" documented="yes" cite="unproven: read off a page"/>',
            "level[forum]/navigate[topics]",
            "finds links, but none that an <address> of level thread fits, on the saved page of level forum",
        ),
        (
            '<when css="ul.topics" cite="board.tpl"/>',
            '<when css="ul.topics"/><when css="ol.topics" cite="unproven: read off a page"/>',
            "level[forum]/when[2]",
            "this sign is not on the saved page of level forum",
        ),
    ],
)
def test_parts_that_find_nothing_on_their_pages(base: Path, old: str, new: str, element: str, says: str) -> None:
    (finding,) = findings(base, old, new)
    assert (finding.severity.value, finding.element) == ("warning", element)
    assert says in finding.message
    assert finding.place.line == EntryText(FILE.replace(old, new, 1).encode()).line(element)


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ('<select css=".who" cite="topic.tpl"/>', '<select css=".sig" cite="topic.tpl"/>'),
        ('<select css=".text" cite="topic.tpl"/>', '<select css=".text"/><select css=".text-of-1"/>'),
        ('<when css="ul.topics" cite="board.tpl"/>', '<when css="ul.topics"/><when css="ol.topics"/>'),
    ],
)
def test_what_is_documented_and_alternatives_may_be_on_no_saved_page(base: Path, old: str, new: str) -> None:
    assert findings(base, old, new) == []


def test_a_body_that_is_cut_short(base: Path) -> None:
    (finding,) = findings(base, 'css=".text"', 'css=".text p"')
    assert finding.element == "level[thread]/extract[posts]/field[body]/select[1]"
    assert "#4 on app/topic it reads 61 of 130 letters" in finding.message
    assert 'the element div.text holds the whole: write css="div.text"' in finding.message


def test_what_is_left_out_of_a_body_on_purpose_is_no_cut(base: Path) -> None:
    without = '<select css=".text" cite="topic.tpl"/><without css=".text p + p" cite="topic.tpl"/>'
    assert findings(base, '<select css=".text" cite="topic.tpl"/>', without) == []


@pytest.mark.parametrize(
    ("rule", "says"),
    [
        (
            'path="**/topic.php" parameters="id=7"',
            "refuses a link that is expected to be followed from app/board: http://knots.example/topic.php?id=7;",
        ),
        (
            'path="**/topic.php" parameters="id=9"',
            "refuses the saved page app/last: http://knots.example/topic.php?id=9;",
        ),
        ('path="**/topic.php" parameters="id=8"', "refuses a link that is expected to be followed from app/board"),
    ],
)
def test_rules_that_cut_off_content(base: Path, rule: str, says: str) -> None:
    save(base, "app/last", f"{SITE}/topic.php?id=9", topic(), level="thread")
    (finding,) = findings(base, 'path="**/user.php"', rule)
    assert finding.element == "avoid[1]/url[1]"
    assert says in finding.message
    assert "narrow it" in finding.message


def test_a_rule_that_refuses_most_links_of_an_action(base: Path) -> None:
    old = '<select css="a.topic-link"/>'
    (base / "applications" / "pages" / "app" / "board.html").write_text(
        board()
        .replace(" by Ada", ' <a class="person" href="/user.php?id=1">Ada</a>')
        .replace(" by Bo", ' <a class="person" href="/user.php?id=2">Bo</a>')
    )
    (finding,) = findings(base, old, f'{old}</navigate><navigate name="people" to="thread"><select css="a.person"/>')
    assert "refuses 2 of the 2 links that the action people of level forum finds" in finding.message


@pytest.mark.slow
def test_signs_that_other_software_shares(base: Path) -> None:
    shop = (
        '<!doctype html><html><head><link rel="stylesheet" href="/static/css/shop.css"></head><body>Ropes</body></html>'
    )
    save(base, "none/shop", "http://shop.example/", shop, application=None, level=None)
    sign = '<pattern strength="strong" css="body" literal="&lt;body" cite="x"/>'
    found = findings(base, "</detect>", f"{sign}</detect>")
    (finding,) = [each for each in found if "other software shows this sign as well" in each.message]
    assert finding.element == "detect[1]/pattern[2]"
    assert "the saved page none/shop of no application" in finding.message
    assert findings(base, "</detect>", f"{sign.replace('strong', 'hint')}</detect>") == []


@pytest.mark.parametrize(
    ("sign", "says"),
    [
        ('link="favicon.ico"', 'common on the web: other software has the same (link="favicon.ico")'),
        ('link="static/css/styles.css"', "files of this name are common on the web"),
        ('css=".post-content"', "classes and ids of these names are common on the web"),
    ],
)
def test_signs_that_all_the_web_has(base: Path, sign: str, says: str) -> None:
    added = f'<pattern strength="hint" {sign} cite="unproven: read off a page"/></detect>'
    (finding,) = findings(base, "</detect>", added)
    assert finding.element == "detect[1]/pattern[2]"
    assert says in finding.message
    assert findings(base, "</detect>", added.replace("unproven: read off a page", "header.tpl, Tiny 1")) == []


MANY = "".join(
    f'<li><a class="topic-link" href="/forum/{number}-{title}-{number * 7}/">{title}</a></li>'
    for number, title in enumerate(("music", "the-arts", "sailing", "ropes-and-knots", "harbours", "the-sea"), 1)
)


@pytest.mark.slow
@pytest.mark.parametrize("path", ["**/forum/#-music-#/", "**/forum/1-music-7/"])
def test_an_address_that_fits_one_of_many_like_links(base: Path, path: str) -> None:
    page = base / "applications" / "pages" / "app" / "board.html"
    page.write_text(page.read_text("utf-8").replace("</ul>", f"{MANY}</ul>"), "utf-8")
    address = '<address path="**/board.php" parameters="id"/>'
    (finding,) = findings(base, address, f'{address}<address path="{path}"/>')
    assert finding.element == "level[forum]/address[2]"
    assert (
        f'this (path="{path}") fits 1 of 6 links that look alike, and no level fits the others, such as'
        in finding.message
    )
    assert finding.message.endswith('write path="**/forum/#-*/"')
    assert findings(base, address, f'{address}<address path="**/forum/#-*/"/>') == []
    assert findings(base, address, f'{address}<address path="**/forum/#-*/"/><address path="{path}"/>') == []


def test_a_page_of_its_own_beside_others_is_no_narrow_address(base: Path) -> None:
    page = base / "applications" / "pages" / "app" / "board.html"
    menu = "".join(f'<li><a href="/{name}">{name}</a></li>' for name in ("about", "shop", "club", "boats", "people"))
    page.write_text(page.read_text("utf-8").replace("</ul>", f"{menu}</ul>"), "utf-8")
    address = '<address path="**/board.php" parameters="id"/>'
    assert findings(base, address, f'{address}<address path="/club"/>') == []


@pytest.mark.slow
def test_drafts_and_guesses_that_are_left(base: Path) -> None:
    guessed = FILE.replace(
        '      <field name="signature">', '      <!-- guess: who signs -->\n      <field name="signature">'
    )
    guessed = guessed.replace('    <when css="ul', '    <!-- guess: the list tells the page -->\n    <when css="ul')
    found = findings(base, text=guessed)
    assert [(each.element, each.place.line) for each in found] == [
        ("level[forum]/when[1]", line_of(guessed, '<when css="ul')),
        ("level[thread]/extract[posts]/field[signature]", line_of(guessed, '<field name="signature"')),
    ]
    assert "still marked as a guess (the list tells the page)" in found[0].message
    (draft,) = findings(base, 'kind="web-forum"', 'kind="web-forum" draft="yes"', text=guessed)
    assert draft.element == ""
    assert (
        "2 guesses nobody has confirmed, most important first: line 11 (the list tells the page); line 2"
        in draft.message
    )
    (done,) = findings(base, 'kind="web-forum"', 'kind="web-forum" draft="yes"')
    assert "no guess is left in it" in done.message


def test_elements_are_named_as_those_who_change_files_name_them() -> None:
    (file,) = read_files([SHIPPED / "applications" / "wordpress.xml"])
    named = [element_place(element) for element in file.root.iter("*")]
    assert named == list(EntryText(file.path.read_bytes()).places())
    odd = b"<application><level name='a/b'/><level name='2'/><level name='x'/><level name='x'/><level/></application>"
    assert [element_place(element) for element in etree.fromstring(odd).iter("*")] == list(EntryText(odd).places())
