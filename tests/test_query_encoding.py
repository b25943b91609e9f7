"""Queries in the encoding of their document, by the URL and Encoding standards."""

from urllib.parse import unquote_to_bytes

import pytest
from hypothesis import given
from hypothesis import strategies as st

from aahcrawler.page.markup import codec_of
from aahcrawler.query_encoding import ISO_2022_JP, in_encoding, in_form, in_utf8


@pytest.mark.parametrize(
    ("label", "query", "written"),
    [
        ("utf-8", "é", "é"),
        ("utf-16le", "é", "é"),
        ("windows-1252", "é€", "%E9%80"),
        ("iso-8859-1", "€", "%80"),
        ("windows-1251", "маяк", "%EC%E0%FF%EA"),
        ("windows-1251", "a海b", "a%26%2328023%3Bb"),
        ("windows-1251", "😀", "%26%23128512%3B"),
        ("windows-1251", "\ud83d", "%26%2365533%3B"),
        ("windows-1252", "\x81", "%81"),
        ("koi8-r", "маяк", "%CD%C1%D1%CB"),
        ("koi8-u", "ў", "%AE"),
        ("x-mac-cyrillic", "ґ", "%B6"),
        ("iso-8859-5", "маяк", "%DC%D0%EF%DA"),
        ("windows-1254", "ğışİ", "%F0%FD%FE%DD"),
        ("windows-874", "กรุง", "%A1%C3%D8%A7"),
        ("shift_jis", "灯台", "%93%94%91%E4"),
        ("shift_jis", "ソ", "%83\\"),
        ("shift_jis", "①髙ｱ", "%87@%FB%FC%B1"),
        ("shift_jis", "¥‾−～", "\\~%81|%81`"),
        ("shift_jis", "〜\ue000", "%26%2312316%3B%26%2357344%3B"),
        ("euc-jp", "灯台", "%C5%F4%C2%E6"),
        ("euc-jp", "①髙ｱ¥−", "%AD%A1%FC%E2%8E%B1\\%A1%DD"),
        ("euc-jp", "丂", "%26%2319970%3B"),
        ("iso-2022-jp", "a灯b", "a%1B$BEt%1B(Bb"),
        ("iso-2022-jp", "ｱ", "%1B$B%%22%1B(B"),
        ("iso-2022-jp", "¥x", "%1B(J\\x%1B(B"),
        ("iso-2022-jp", "灯€", "%1B$BEt%1B(B%26%238364%3B"),
        ("gb2312", "灯塔", "%B5%C6%CB%FE"),
        ("gbk", "€😀", "%80%26%23128512%3B"),
        ("gb18030", "€😀", "%A2%E3%949%FC6"),
        ("big5", "燈塔碁", "%BFO%B6%F0%F9%D6"),
        ("big5", "€\u4e37", "%A3%E1%26%2320023%3B"),
        ("euc-kr", "등대똠", "%B5%EE%B4%EB%8Cc"),
    ],
)
def test_queries_are_written_as_the_standard_says(label: str, query: str, written: str) -> None:
    assert in_encoding(f"find?q={query}", codec_of(label)) == f"find?q={written}"


def test_paths_and_fragments_stay_as_they_are() -> None:
    assert in_encoding("/ё?ё#ё?ё", "windows-1251") == "/ё?%B8#ё?ё"
    assert in_encoding("/ё#ё?ё", "windows-1251") == "/ё#ё?ё"


def test_white_space_that_a_url_loses_is_not_encoded() -> None:
    assert in_encoding("?ё\t\nё \x00", ISO_2022_JP) == "?%1B$B%27W%27W%1B(B"
    assert in_encoding("?ё \n", "windows-1251") == "?%B8"


@pytest.mark.parametrize("label", ["euc-jp", "iso-2022-jp", "euc-kr", "windows-1251", "koi8-r"])
def test_what_a_document_has_is_sent_as_its_bytes(label: str) -> None:
    codec = codec_of(label)
    for lead in range(0xA1, 0xFF):
        for trail in range(0xA1, 0xFF):
            pair = bytes((lead, trail))
            raw = b"\x1b$B" + bytes((lead & 0x7F, trail & 0x7F)) + b"\x1b(B" if codec == ISO_2022_JP else pair
            text = raw.decode(codec, "ignore") if label != "euc-jp" else raw.decode("euc_jp", "ignore")
            if text.encode(codec, "ignore") == raw and not text.isascii():
                assert unquote_to_bytes(in_encoding(f"?{text}", codec)[1:]) == raw


@given(st.text(max_size=40), st.sampled_from(["windows-1251", "cp932", ISO_2022_JP, "gb18030", "big5hkscs", "utf-8"]))
def test_a_form_sends_plain_signs_alone(text: str, codec: str) -> None:
    written = in_form(text, codec)
    assert written.isascii()
    assert not set(written) & set("&=#?/ <>\"'~")


def test_style_sheets_are_in_utf_8() -> None:
    assert in_utf8("/ё?ё") == "/%D1%91?%D1%91"
