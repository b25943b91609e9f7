"""Files are changed in one place; all other bytes stay, and what is parsed afterwards is what was meant."""

from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from lxml import etree

from aahcrawler.editor.text.edits import Add, Confirm, Edit, Put, Remove, SetAttribute, apply
from aahcrawler.editor.text.entry_text import EditError, EntryText

SHIPPED = sorted(Path("knowledge_base/applications").glob("*.xml"))
FILE = b"""<?xml version="1.0" encoding="UTF-8"?>
<!-- At the top. -->
<application name="Tiny" kind="web-forum">
  <detect>
    <!-- Signs of all versions. -->
    <!-- guess: this is in the page -->
    <pattern strength="proof" generator="Tiny"  cite='a &lt; "b"'/> <!-- beside it -->
    <!-- guess: and this -->
    <pattern
      strength="hint"
      text="tiny &#233;" />
  </detect>
  <avoid><url reason="login" path="**/login"/></avoid>

  <level name="forum" role="intermediate">
    <when css="ul"/>
    <navigate name="topics" to="thread"><select css="a"/></navigate>
  </level>

  <!-- What holds posts. -->
  <level name="thread" role="terminal">
    <when css="div"/>
    <extract name="posts" type="reply">
      <item css="div.a"/>
      <field name="title"><select css="h1"/></field>
      <field name="title"><select css="h2"/></field>
      <field name="body"/>
    </extract>
    <!-- the end -->
  </level>
</application>
"""


@pytest.fixture
def text() -> EntryText:
    return EntryText(FILE)


def test_places_are_told_by_name_or_by_number_where_names_repeat(text: EntryText) -> None:
    assert list(text.places()) == [
        "",
        "detect[1]",
        "detect[1]/pattern[1]",
        "detect[1]/pattern[2]",
        "avoid[1]",
        "avoid[1]/url[1]",
        "level[forum]",
        "level[forum]/when[1]",
        "level[forum]/navigate[topics]",
        "level[forum]/navigate[topics]/select[1]",
        "level[thread]",
        "level[thread]/when[1]",
        "level[thread]/extract[posts]",
        "level[thread]/extract[posts]/item[1]",
        "level[thread]/extract[posts]/field[1]",
        "level[thread]/extract[posts]/field[1]/select[1]",
        "level[thread]/extract[posts]/field[2]",
        "level[thread]/extract[posts]/field[2]/select[1]",
        "level[thread]/extract[posts]/field[body]",
    ]
    assert text.place("level[2]/extract/field[3]") == "level[thread]/extract[posts]/field[body]"
    assert text.place("level/when") is None
    element = text.element("level[thread]/extract/field[2]/select")
    assert element is not None
    assert element.get("css") == "h2"
    assert text.element("level[nothing]") is None
    assert text.line("level[thread]") == 21


def test_new_elements_are_written_as_their_neighbours(text: EntryText) -> None:
    """Lines of their own where the neighbours have them, an empty line before a level, and comments kept in place."""
    edits: list[Edit] = [
        Add(place="detect", xml='<!-- guess: new --><pattern strength="hint" link="x"/>', before="detect/pattern[2]"),
        Add(place="avoid", xml='<url reason="search" path="**/search"/>'),
        Add(place="", xml='<level name="home" role="intermediate"><when css="p"/></level>', before="level[thread]"),
        Add(place="", xml='<level name="last" role="intermediate"><when css="b"/></level>'),
        Add(place="level[thread]/extract/field[body]", xml='<select css=".text"/>'),
        Add(place="level[thread]/extract/field[1]", xml='<select css=".t"/>'),
    ]
    wanted = (
        FILE.replace(
            b"    <!-- guess: and this -->",
            b'    <!-- guess: new -->\n    <pattern strength="hint" link="x"/>\n    <!-- guess: and this -->',
        )
        .replace(b"</avoid>", b'<url reason="search" path="**/search"/></avoid>')
        .replace(
            b"  <!-- What holds",
            b'  <level name="home" role="intermediate">\n    <when css="p"/>\n  </level>\n\n  <!-- What holds',
        )
        .replace(
            b"</application>",
            b'\n  <level name="last" role="intermediate">\n    <when css="b"/>\n  </level>\n</application>',
        )
        .replace(b'"body"/>', b'"body">\n        <select css=".text"/>\n      </field>')
        .replace(b'<select css="h1"/>', b'<select css="h1"/><select css=".t"/>')
    )
    assert apply(text, edits).data.decode() == wanted.decode()


def test_what_is_removed_or_confirmed_takes_its_mark_with_it(text: EntryText) -> None:
    assert text.guesses() == {"detect[1]/pattern[1]": "this is in the page", "detect[1]/pattern[2]": "and this"}
    confirmed = text.confirm("detect/pattern[1]")
    assert confirmed.data == FILE.replace(b"    <!-- guess: this is in the page -->\n", b"")
    assert confirmed.confirm("detect/pattern[1]") == confirmed
    assert text.remove("detect/pattern[2]").data == FILE.replace(
        b'    <!-- guess: and this -->\n    <pattern\n      strength="hint"\n      text="tiny &#233;" />\n', b""
    )
    assert text.remove("level[forum]").data == FILE.replace(
        FILE[FILE.index(b'  <level name="forum') : FILE.index(b"  <!-- What")], b""
    )


def test_attributes_change_within_their_start_tag_alone(text: EntryText) -> None:
    first, second = "detect/pattern[1]", "detect/pattern[2]"
    assert text.set(first, "cite", 'it\'s <b> & "c"').data == FILE.replace(
        b"'a &lt; \"b\"'", b"'it&apos;s &lt;b> &amp; \"c\"'"
    )
    assert text.set(first, "generator", None).data == FILE.replace(b' generator="Tiny"', b"")
    assert text.set(second, "cite", "x\ny").data == FILE.replace(b'&#233;" />', b'&#233;"\n      cite="x&#10;y" />')
    assert text.set("detect", "a", "1").data == FILE.replace(b"<detect>", b'<detect a="1">')
    assert text.set("", "draft", "yes").data == FILE.replace(b'"web-forum">', b'"web-forum" draft="yes">')


def test_tabs_and_line_ends_of_windows_are_kept() -> None:
    data = b'\xef\xbb\xbf<a>\r\n\t<b name="x">\r\n\t\t<c/>\r\n\t</b>\r\n</a>'
    text = EntryText(data).add("b", "<c><d/></c>").add("b/c[1]", "<e/>")
    assert text.data == (
        b'\xef\xbb\xbf<a>\r\n\t<b name="x">\r\n\t\t<c>\r\n\t\t\t<e/>\r\n\t\t</c>\r\n'
        b"\t\t<c>\r\n\t\t\t<d/>\r\n\t\t</c>\r\n\t</b>\r\n</a>"
    )


def test_another_encoding_is_kept() -> None:
    data = '<?xml version="1.0" encoding="ISO-8859-1"?><a b="é"><c/></a>'.encode("latin-1")
    text = EntryText(data).set("c", "d", "ü€").add("", "<e>ß</e>")
    assert text.data == data.replace(b"<c/>", b'<c d="\xfc&#8364;"/><e>\xdf</e>')


@pytest.mark.parametrize(
    ("data", "said"),
    [
        (b"", "not well-formed"),
        (b"<a>", "not well-formed"),
        (b"<a></b>", "not well-formed"),
        (b"<!DOCTYPE a [<!ENTITY x 'y'>]><a>&x;</a>", "DOCTYPE"),
        ("<a/>".encode("utf-16"), "UTF-8"),
        (b"<a>\x00</a>", "UTF-8"),
        (b"<a>\xff</a>", "not well-formed"),
        (b"<?xml version='1.0' encoding='nothing-known'?><a/>", "not well-formed"),
        (b"<?xml version='1.0' encoding='utf-7'?><a/>", "not well-formed"),
        (b"<a>" * 61 + b"</a>" * 61, "within one another"),
        (b"<a>" * 100_000 + b"</a>" * 100_000, "well-formed"),
        (b"<a>" + b" " * 5_000_000 + b"</a>", "larger"),
    ],
)
def test_files_that_cannot_be_edited_are_refused_in_words(data: bytes, said: str) -> None:
    with pytest.raises(EditError, match=said):
        EntryText(data)


@pytest.mark.parametrize(
    ("edit", "said"),
    [
        (Put(place="level[nothing]", xml="<a/>"), r"there is no level\[nothing\]"),
        (Put(place="detect", xml="<!-- guess: x --><a/>"), "comments"),
        (Add(place="detect", xml="<a/><b/>"), "one element"),
        (Add(place="detect", xml="<a/>text"), "one element"),
        (Add(place="detect", xml="text"), "one element"),
        (Add(place="detect", xml=""), "one element"),
        (Add(place="detect", xml="</around><around>"), "not well-formed"),
        (Add(place="detect", xml="<!DOCTYPE a><a/>"), "not well-formed"),
        (Add(place="detect", xml="<a>&lol;</a>"), "not well-formed"),
        (Add(place="detect", xml="<x:a/>"), "not well-formed"),
        (Add(place="detect", xml="<a>\x01</a>"), r"U\+0001"),
        (Add(place="detect", xml="<a/>", before="level[forum]"), "not directly in"),
        (Remove(place=""), "root"),
        (Remove(place="detect/../detect"), "there is no"),
        (SetAttribute(place="detect", attribute='a="1" b', value="x"), "name of an attribute"),
        (SetAttribute(place="detect", attribute="xmlns", value="x"), "name of an attribute"),
        (SetAttribute(place="detect", attribute="y:a", value="x"), "not well-formed"),
        (SetAttribute(place="detect", attribute="a", value="\x00"), r"U\+0000"),
        (Confirm(place="level[9]"), "there is no"),
    ],
)
def test_edits_that_cannot_be_made_are_refused_in_words(text: EntryText, edit: Edit, said: str) -> None:
    with pytest.raises(EditError, match=said):
        apply(text, [edit])


def test_places_are_followed_through_edits(text: EntryText) -> None:
    extract = "level[thread]/extract[posts]"
    edits: list[Edit] = [
        Remove(place="detect/pattern[1]"),
        SetAttribute(place="level[thread]", attribute="name", value="topic"),
        Add(place="level[topic]/extract", xml='<field name="date"/>', before="level[topic]/extract/field[1]"),
        Put(place="level[topic]/extract/field[1]", xml='<field name="when"><select css="time"/></field>'),
        Remove(place="level[topic]/extract/field[2]"),
    ]
    now: dict[str, str | None] = {
        "": "",
        "detect[1]/pattern[1]": "detect[1]/pattern[1]",
        "detect[1]/pattern[2]": "detect[1]/pattern[2]",
        f"{extract}/field[1]": f"{extract}/field[1]",
        f"{extract}/field[2]/select[1]": f"{extract}/field[2]/select[1]",
    }
    for edit in edits:
        after = edit.apply(text)
        now = {origin: place if place is None else after.followed(place, text) for origin, place in now.items()}
        text = after
    assert now == {
        "": "",
        "detect[1]/pattern[1]": None,
        "detect[1]/pattern[2]": "detect[1]/pattern[1]",
        f"{extract}/field[1]": None,
        f"{extract}/field[2]/select[1]": "level[topic]/extract[posts]/field[title]/select[1]",
    }


def _shape(element: etree._Element) -> tuple[object, ...]:
    """Return what a parsed element says; blank text is layout."""
    children = [child for child in element if isinstance(child.tag, str)]
    return element.tag, dict(element.attrib), (element.text or "").strip(), tuple(map(_shape, children))


def _tree(data: bytes) -> etree._Element:
    return etree.fromstring(data, etree.XMLParser(remove_comments=True))


def _at(root: etree._Element, text: EntryText, place: str) -> etree._Element:
    """Find an element in another tree by its number in the order of the file."""
    return list(root.iter("*"))[list(text.places()).index(place)]


_VALUES = st.text(st.characters(min_codepoint=32, exclude_categories=("Cs", "Cn", "Co", "Cc")), max_size=12)
_NEW = '<field name="new" kind="text"><select css="a &gt; b"/></field>'


@settings(deadline=None)
@given(st.data())
def test_a_change_of_the_text_is_that_of_the_tree_and_leaves_all_other_bytes(data: st.DataObject) -> None:
    """Any element of any file that ships, and any change."""
    before = EntryText(data.draw(st.sampled_from(SHIPPED)).read_bytes())
    place = data.draw(st.sampled_from(list(before.places())[1:]))
    tree = _tree(before.data)
    element = _at(tree, before, place)
    written = before.text(place).encode()
    kind = data.draw(st.sampled_from(["put", "add", "before", "remove", "set"]))
    above = element.getparent()
    assert above is not None
    parent = "/".join(place.split("/")[:-1])
    edit: Edit
    match kind:
        case "put":
            edit = Put(place=place, xml=_NEW)
            above.replace(element, etree.fromstring(_NEW))
        case "add":
            edit = Add(place=place, xml=_NEW)
            element.append(etree.fromstring(_NEW))
        case "before":
            edit = Add(place=parent, xml=_NEW, before=place)
            element.addprevious(etree.fromstring(_NEW))
        case "remove":
            edit = Remove(place=place)
            above.remove(element)
        case _:
            value = data.draw(_VALUES)
            edit = SetAttribute(place=place, attribute="css", value=value)
            element.set("css", value)
    after = apply(before, [edit])
    assert _shape(_tree(after.data)) == _shape(tree)
    begin = before.data.index(written, _offset(before, place))
    same = len(_common(before.data, after.data))
    behind = len(_common(before.data[::-1], after.data[::-1]))
    if kind == "before":
        assert same + behind >= len(before.data)
    else:
        # Nothing but an empty line is missing around what was removed.
        assert not before.data[same:begin].strip()
        assert not before.data[begin + len(written) : len(before.data) - behind].strip()


def _offset(text: EntryText, place: str) -> int:
    lines = text.data.splitlines(keepends=True)
    return sum(map(len, lines[: text.line(place) - 1]))


def _common(first: bytes, second: bytes) -> bytes:
    for number, (one, other) in enumerate(zip(first, second, strict=False)):
        if one != other:
            return first[:number]
    return min(first, second, key=len)
