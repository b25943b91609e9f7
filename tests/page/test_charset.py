"""Pages are readable in the encoding that they are in, whether or not they say so, and whether that is true."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from aahcrawler.page import Headers, Page
from tests.page.building import NOW, page_of

KOREAN = "등대지기는 매일 밤 바다를 비추는 등불을 지켰습니다."
JAPANESE = "灯台守は毎晩、海を照らす灯りを守りました。"
CHINESE = "灯塔的守护者每天晚上都要点亮灯火，照亮大海上的船只。"
TAIWANESE = "燈塔的守護者每天晚上都要點亮燈火，照亮大海上的船隻。"
RUSSIAN = "Смотритель маяка каждый вечер поднимался по лестнице."
POLISH = "Latarnik każdego wieczoru wchodził po schodach i zapalał lampę, żeby statki widziały brzeg."
GREEK = "Ο φαροφύλακας ανέβαινε κάθε βράδυ τη σκάλα."
HEBREW = "שומר המגדלור עלה בכל ערב במדרגות והדליק את המנורה."
ARABIC = "كان حارس المنارة يصعد الدرج كل مساء ويوقد المصباح."
THAI = "ผู้เฝ้าประภาคารขึ้นบันไดทุกเย็นและจุดตะเกียงเพื่อให้เรือมองเห็นชายฝั่ง"
TURKISH = "Deniz feneri bekçisi her akşam merdivenleri çıkar ve lambayı yakardı, gemiler kıyıyı görsün diye."
FRENCH = "Le gardien montait chaque soir l’escalier et allumait la lampe pour que l’on aperçoive la côte."
LATVIAN = "Bākas sargs katru vakaru kāpa pa kāpnēm un iededza lampu, lai kuģi redzētu krastu."
TEXTS = [
    (KOREAN, "euc-kr"),
    (JAPANESE, "euc-jp"),
    (JAPANESE, "shift_jis"),
    (JAPANESE, "iso2022_jp"),
    (CHINESE, "gbk"),
    (CHINESE, "gb18030"),
    (TAIWANESE, "big5"),
    (RUSSIAN, "windows-1251"),
    (RUSSIAN, "koi8-r"),
    (RUSSIAN, "iso-8859-5"),
    (RUSSIAN, "cp866"),
    (POLISH, "iso-8859-2"),
    (POLISH, "windows-1250"),
    (GREEK, "iso-8859-7"),
    (GREEK, "windows-1253"),
    (HEBREW, "windows-1255"),
    (ARABIC, "windows-1256"),
    (ARABIC, "iso-8859-6"),
    (THAI, "tis-620"),
    (TURKISH, "iso-8859-9"),
    (FRENCH, "windows-1252"),
    (LATVIAN, "windows-1257"),
    (RUSSIAN, "utf-16-le"),
    (JAPANESE, "utf-16-be"),
    (RUSSIAN, "utf-8"),
]
every_text = pytest.mark.parametrize(("text", "encoding"), TEXTS, ids=[f"{text[:4]} {name}" for text, name in TEXTS])


@every_text
def test_a_page_that_declares_nothing_is_readable(text: str, encoding: str) -> None:
    markup = f"\n<html><head><title>{text[:9]}</title></head><body class=a><p>{text}</p></body></html>"
    assert text in page_of(markup.encode(encoding), "text/html").text


@every_text
def test_text_behind_much_script_counts(text: str, encoding: str) -> None:
    markup = f"<script>{'var a = 1;' * 9_000}</script><p>{text * 3}</p>"
    assert text in page_of(markup.encode(encoding), "text/html").text


@every_text
def test_a_page_may_end_within_a_character(text: str, encoding: str) -> None:
    body = f"<p>{text * 3}".encode(encoding)
    assert page_of(body[:-1], "text/html").text.startswith(f"<p>{text}{text}")


@every_text
def test_a_header_that_is_wrong_gives_way_to_what_the_page_declares(text: str, encoding: str) -> None:
    label = encoding.replace("iso2022_jp", "iso-2022-jp").replace("cp866", "ibm866")
    body = f"<meta charset={label}><p>{text}".encode(encoding)
    declared = "utf-16" if encoding == "iso2022_jp" else "utf-8"
    if not encoding.startswith("utf-16"):
        assert text in page_of(body, f"text/html; charset={declared}").text


def test_bytes_are_guessed_where_no_declaration_fits_them() -> None:
    assert page_of(f"<p>{RUSSIAN}".encode("koi8-r"), "text/html; charset=utf-8").text == f"<p>{RUSSIAN}"
    assert page_of(f"<p>{FRENCH}".encode("cp1252"), "text/html; charset=utf-8").text == f"<p>{FRENCH}"
    assert page_of(b"<p>caf\xe9", "text/html; charset=utf-8").text == "<p>caf\ufffd"
    assert page_of(b"<p>plain", "text/html; charset=utf-16le").text == "<p>plain"


def test_a_western_declaration_does_not_count_for_words_without_plain_letters() -> None:
    declared = "text/html; charset=iso-8859-1"
    for text, encoding in ((RUSSIAN, "koi8-r"), (GREEK, "iso-8859-7"), (CHINESE, "gbk"), (KOREAN, "euc-kr")):
        assert text * 3 in page_of(f"<p>{text * 3}".encode(encoding), declared).text
    for text in (FRENCH * 3, "\xa0" * 90 + "·" * 90 + "«««»»»" * 20 + "déjà vu", "ÄÖÜ äöü " * 20):
        assert text in page_of(f"<p>{text}".encode("cp1252"), declared).text


def test_a_few_bad_bytes_do_not_make_it_another_encoding() -> None:
    body = f"<p>{RUSSIAN}".encode() + b" caf\xe9 " + RUSSIAN.encode()
    for field in ("text/html", "text/html; charset=utf-8"):
        assert page_of(body, field).text == f"<p>{RUSSIAN} caf\ufffd {RUSSIAN}"
    body = f"<meta charset=gb2312><p>{CHINESE}".encode("gbk") + b"\xff " + CHINESE.encode("gbk")
    assert page_of(body, "text/html").text.count(CHINESE) == 2


def test_the_domain_counts_where_the_bytes_leave_it_open() -> None:
    text = "Čuvar svjetionika svake se večeri penjao stubama i palio svjetiljku."
    body = f"<p>{text}".encode("windows-1250")
    page = Page("http://svjetionik.hr/", 200, Headers((("Content-Type", "text/html"),)), body, NOW)
    assert page.text == f"<p>{text}"


def test_characters_that_web_pages_have_beyond_the_standard_of_a_charset_are_read() -> None:
    assert page_of("①".encode("euc_jis_2004"), "text/html; charset=euc-jp").text == "①"
    assert page_of("①".encode("cp932"), "text/html; charset=shift_jis").text == "①"
    assert page_of(b"\x1b(I123\x1b(B", "text/html; charset=iso-2022-jp").text == "ｱｲｳ"


def test_escape_sequences_of_terminals_are_no_japanese() -> None:
    assert page_of(b"<pre>\x1b[31mred\x1b[0m", "text/html").encoding == "utf-8"


@given(st.binary(max_size=200), st.sampled_from(["", "utf-8", "gbk", "utf-16", "iso-2022-jp", "windows-1252", "x"]))
def test_any_bytes_have_an_encoding(body: bytes, declared: str) -> None:
    assert isinstance(page_of(body, f"text/html; charset={declared}").text, str)
