"""The words that somebody looked for are marked on a page, and nothing else about it changes."""

import re
from collections.abc import Sequence
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from lxml import html

from aahcrawler.replay.addresses import Address, Modifier
from aahcrawler.replay.page_marks import FIRST_WORD, MAX_WORDS, mark_words
from aahcrawler.replay.replayed_captures import ReplayedCaptures
from aahcrawler.search.snippets import words_in
from tests.replay.archived import MOMENT, URL, Archived, body_of


def dykes(text: str) -> Sequence[tuple[int, int]]:
    return [found.span() for found in re.finditer("dyke", text)]


def marked(page: str) -> tuple[int, str]:
    tree = html.document_fromstring(page)
    text = tree.text_content()
    number = mark_words(tree, dykes)
    assert tree.text_content() == text
    return number, re.sub(' style="[^"]*"', "", html.tostring(tree, encoding="unicode"))


def test_words_are_marked_where_a_reader_sees_them() -> None:
    number, page = marked(
        "<html><head><title>dyke</title></head><body><p>The dyke, <b>a dyke</b> dykedyke <!-- dyke --> dyke"
        "<script>dyke</script><select><option>dyke</select> end dyke</p>dyke</body></html>"
    )
    assert number == 7
    assert page == (
        '<html><head><title>dyke</title></head><body><p>The <mark id="aah-word">dyke</mark>, '
        "<b>a <mark>dyke</mark></b> "
        "<mark>dyke</mark><mark>dyke</mark> <!-- dyke --> <mark>dyke</mark><script>dyke</script>"
        "<select><option>dyke</option></select> end <mark>dyke</mark></p><mark>dyke</mark></body></html>"
    )


@given(st.lists(st.sampled_from(["dyke", " ", "<b>", "</b>", "<p>", "x", "&amp;", "<br>", "<i>dyke</i>"]), max_size=30))
def test_whatever_the_markup_the_text_stays_and_every_whole_word_is_marked(parts: list[str]) -> None:
    page = f"<html><body>{''.join(parts)}</body></html>"
    words = "\n".join(html.document_fromstring(page).xpath("//body//text()")).count("dyke")
    assert marked(page)[0] == words


def test_of_very_many_words_the_first_are_marked() -> None:
    assert marked(f"<html><body>{'dyke <br>' * (MAX_WORDS + 10)}</body></html>")[0] == MAX_WORDS


def test_of_a_place_in_very_many_texts_the_first_are_marked() -> None:
    tree = html.document_fromstring(f"<html><body>dyke <p>{'. <br>' * (MAX_WORDS + 10)}</p> board</body></html>")
    text = tree.text_content()
    assert mark_words(tree, lambda text: words_in('"dyke board"', text)) == 1
    assert len(tree.findall(".//mark")) == MAX_WORDS
    assert tree.text_content() == text


@pytest.mark.parametrize("words", ["dyke", "a/b c?d#e%2F", "東京", '"high water" -dike'])
def test_words_are_a_part_of_the_address(words: str) -> None:
    address = Address("a/b", MOMENT, Modifier.WORDS, "http://a.test/x?y=1", words)
    path, _, query = address.path.partition("?")
    assert path.isascii()
    assert Address.parse(path, query) == address


def test_a_capture_is_shown_with_its_words_marked(tmp_path: Path) -> None:
    archived = Archived(tmp_path)
    sent = b"<html><body><p>The wardens watched the <b>flooded</b> fields.</p><a href=/next>on</a></body></html>"
    archived.add(sent)
    archived.close()
    captures = ReplayedCaptures(tmp_path, find_words=words_in)

    def shown(words: str, modifier: Modifier = Modifier.WORDS) -> str:
        return body_of(captures.show(Address("test", MOMENT, modifier, URL, words))).decode()

    page = shown("warden flood")
    assert re.findall(r"<mark[^>]*>(\w+)</mark>", page) == ["wardens", "flooded"]
    assert f'id="{FIRST_WORD}"' in page
    assert "2 places have what was looked for" in page
    assert "mp_/http" in page
    assert "wo_/http" not in page
    assert re.findall(r"<mark[^>]*>(\w+)</mark>", shown("wardnes")) == ["wardens"]
    page = shown('"the FLOODED fields"')
    assert re.findall(r"<mark[^>]*>([^<]+)</mark>", page) == ["the ", "flooded", " fields"]
    assert "1 place has what was looked for" in page
    assert re.findall(r"<mark[^>]*>(\w+)</mark>", shown('"the wardens flooded"')) == [
        "The",
        "wardens",
        "the",
        "flooded",
    ]
    assert "<mark" not in shown("(unreadable")
    assert shown("warden", Modifier.FILE).encode() == sent
