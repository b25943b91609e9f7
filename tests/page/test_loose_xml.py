"""XML that is not well-formed is read as a reader would, wherever the pieces end that it comes in."""

from hypothesis import given
from hypothesis import strategies as st

from aahcrawler.page.loose_xml import LooseXml, Mistakes, Tag, Tokens, Vocabulary
from tests.pace import at_most

WORDS = Vocabulary(
    containers=frozenset({"list"}),
    entries=frozenset({"item"}),
    texts=frozenset({"link", "title"}),
    fields=frozenset({"link", "title"}),
)
_MARKUP = "<item> </item> <link> </link> <a_b='<'> </list> &amp; &eacute; & < > <!-- --> <![CDATA[ ]]> <?x ?> &#12;"
PARTS = st.sampled_from([*_MARKUP.split(), "<!DOCTYPE x>", "text", "'", '"', "<b c=d/>", " ", "\ufffd", "<list>"])


def tokens(*pieces: str) -> list[str | Tag]:
    return list(Tokens(pieces, Mistakes(), allows_subset=True))


def joined(found: list[str | Tag]) -> list[str | Tag]:
    """Return tokens with texts that follow each other as one."""
    texts: list[str | Tag] = []
    for each in found:
        last = texts[-1] if texts else None
        if isinstance(each, str) and isinstance(last, str):
            texts[-1] = last + each
        else:
            texts.append(each)
    return texts


def test_attributes_may_lack_quotes_and_hold_signs_of_markup() -> None:
    tag = tokens("""<X:Link HREF=http://a.test/?a=1&b=2 rel='a"b' title="1 < 2" t2="a > b"/>""")[0]
    assert isinstance(tag, Tag)
    assert (tag.name, tag.prefix, tag.is_empty) == ("link", "x", True)
    assert tag.attributes == {"href": "http://a.test/?a=1&b=2", "rel": 'a"b', "title": "1 < 2", "t2": "a > b"}


def test_names_without_values_are_no_attributes_however_long_they_are() -> None:
    with at_most(1.0):
        tag = tokens(f"""<link {"x" * 300_000} alone href="/a" empty="" {"y " * 100_000} rel = "b"/>""")[0]
    assert isinstance(tag, Tag)
    assert tag.attributes == {"href": "/a", "empty": "", "rel": "b"}


def test_entities_that_a_document_declares_are_not_known() -> None:
    subset = "<!DOCTYPE x [<!ENTITY own 'http://evil.test/'><!ENTITY nbsp '&#160;'>]>"
    assert joined(tokens(subset, "&own;/x &nbsp; &other;")) == ["\ufffd/x \xa0 &other;"]


def test_elements_end_where_their_parents_do() -> None:
    xml = LooseXml(["<list><title>of all</title><item><link>1<title>a</item><item><b><i>x</b><link>2</link>"], WORDS)
    assert [[(each.name, each.text) for each in entry.children] for entry in xml] == [
        [("link", "1"), ("title", "a")],
        [("b", "x"), ("link", "2")],
    ]
    assert [each.text for each in xml.others] == ["of all"]
    assert xml.mistakes.mended


@given(st.lists(PARTS, max_size=30), st.integers(1, 9))
def test_where_pieces_end_does_not_matter(parts: list[str], size: int) -> None:
    whole = "".join(parts)
    pieces = [whole[at : at + size] for at in range(0, len(whole), size)]
    assert joined(tokens(*pieces)) == joined(tokens(whole))


@given(st.lists(PARTS, max_size=40))
def test_entries_before_a_mistake_are_read_whatever_follows(parts: list[str]) -> None:
    xml = LooseXml(["<list><item><link>http://a.test/</link></item>", *parts], WORDS)
    first = next(iter(xml))
    assert [each.url for each in first.children] == ["http://a.test/"]
