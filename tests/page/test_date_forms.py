"""Dates in the forms of software and people, whose right values are known."""

from datetime import UTC, datetime
from time import process_time

import pytest

from aahcrawler.page.dates import MAX_LENGTH, parse, read_date

NOW = datetime(2026, 11, 28, 12, tzinfo=UTC)
MARCH = "2001-03-20T14:05:00+00:00"
DAY = "2001-03-20T00:00:00+00:00"


def _read(text: str, language: str | None) -> str | None:
    found = parse(text, now=NOW, language=language)
    return None if found is None else found.isoformat()


@pytest.mark.parametrize(
    ("text", "right"),
    [
        ("20-Mar-2001 14:05", MARCH),
        ("20-Mar-01 14:05", MARCH),
        ("14:05 20-Mar-2001", MARCH),
        ("14:05 - 20 Mar 2001", MARCH),
        ("14:05-20-03-2001", MARCH),
        ("20 March 2001, 10:00-11:30", "2001-03-20T10:00:00+00:00"),
        ("20 March 2001 14:05 +0200", "2001-03-20T14:05:00+02:00"),
        ("20 March 2001 14:05:00+02:00", "2001-03-20T14:05:00+02:00"),
        ("20 March 2001 14:05 UTC-3", "2001-03-20T14:05:00-03:00"),
        ("20 March 2001 14:05 GMT+5:30", "2001-03-20T14:05:00+05:30"),
        ("20 March 2001 14:05 (GMT)", MARCH),
        ("20 March 2001 14:05 +9900", None),
        ("2001-03-20T14:05:00+20:01", None),
        ("Tue Mar 20 14:05:00 -0500 2001", "2001-03-20T14:05:00-05:00"),
        ("Tue Mar 20 14:05:00 2001 -0500", "2001-03-20T14:05:00-05:00"),
        ("Tue Mar 20 14:05:00 EST 2001", "2001-03-20T14:05:00-05:00"),
        ("20/Mar/2001:14:05:00 +0000", MARCH),
        ("20 March 2001 14:05 AEST", "2001-03-20T14:05:00+10:00"),
        ("20 March 2001 2:05 pm NZDT", "2001-03-20T14:05:00+13:00"),
        ("20 March 2001 14:05 (CET)", "2001-03-20T14:05:00+01:00"),
        ("14:05, 20 March 2001 (UTC)", MARCH),
        ("20 March 2001 14:05 IST", MARCH),
        ("Mar 20 '01, 14:05", MARCH),
        ("20th of March, 2001 - 14:05", MARCH),
        ("2001-03-20 14.05", MARCH),
        ("985097100000", None),
        ("Mar 20 1", None),
        ("20 March 2001 1405", None),
        ("99/03/20", "1999-03-20T00:00:00+00:00"),
    ],
)
def test_forms_in_english(text: str, right: str | None) -> None:
    assert _read(text, "en") == right


@pytest.mark.parametrize(
    ("language", "text", "right"),
    [
        ("ja", "01/03/20 14:05", MARCH),
        ("zh", "01-03-20 14:05", MARCH),
        ("ko", "01. 3. 20. 오후 2:05", MARCH),
        ("hu", "2001. márc. 20. 14:05", MARCH),
        ("sv", "01-03-20", DAY),
        ("en-GB", "03/04/2001", "2001-04-03T00:00:00+00:00"),
        ("en-US", "03/04/2001", "2001-03-04T00:00:00+00:00"),
        ("ja", "H13.3.20", DAY),
        ("ja", "平成13年3月20日 14:05", MARCH),
        ("ja", "平成１３年３月２０日（火）", DAY),
        ("ja", "昭和64年1月7日", "1989-01-07T00:00:00+00:00"),
        ("ja", "令和元年5月1日", "2019-05-01T00:00:00+00:00"),
        ("ja", "令和元年4月1日", None),
        (None, "民國90年3月20日", DAY),
        ("zh-TW", "110/03/20", "2021-03-20T00:00:00+00:00"),
        ("zh-TW", "90/03/20", None),
        ("zh", "二〇〇一年三月二十日", DAY),
        ("zh", "2001年3月20日 下午 2:05", MARCH),
        ("zh", "2001年3月20日 晚上9:05", "2001-03-20T21:05:00+00:00"),
        ("th", "20 มีนาคม 2544 14:05", MARCH),
        ("th", "20/03/2544", DAY),
        ("th", "20 มี.ค. 44, 14:05 น.", MARCH),
        ("th", "วันอังคารที่ 20 มีนาคม พ.ศ. 2544 เวลา 14:05 น.", MARCH),
        ("fa", "1399/12/30 14:05", "2021-03-20T14:05:00+00:00"),
        ("fa", "۱۳۹۹/۱۲/۳۰", "2021-03-20T00:00:00+00:00"),
        ("fa", "سه‌شنبه ۲۹ اسفند ۱۳۷۹، ۱۴:۰۵", "2001-03-19T14:05:00+00:00"),
        ("fa", "سه شنبه ۲۰ مارس ۲۰۰۱ ۲:۰۵ ب.ظ", MARCH),
        ("en", "1399-12-30T10:00:00", None),
        ("ar", "الثلاثاء ٢٠ مارس ٢٠٠١ ٢:٠٥ م", MARCH),
        ("ar", "20 مارس 2001 12:05 ص", "2001-03-20T00:05:00+00:00"),
        ("ar", "20 آذار/مارس 2001 م", DAY),
        ("el", "20 Μαρ 2001 2:05 μ.μ.", MARCH),
        ("tr", "20 Mart 2001 ÖS 2:05", MARCH),
        ("tr", "Sal Mar 20, 2001 2:05 pm", MARCH),
        ("vi", "Thứ Ba, ngày 20 tháng 3 năm 2001 2:05 CH", MARCH),
        ("vi", "20 Tháng Ba 2001, 14:05", MARCH),
        ("vi", "thg 3 20, 2001", DAY),
        ("sq", "20 mars 2001, 2:05 e pasdites", MARCH),
        ("hi", "20 मार्च 2001, 2:05 अपराह्न", MARCH),
        ("bn", "২০ মার্চ ২০০১", DAY),
        ("es", "Mar Mar 20, 2001 2:05 p. m.", MARCH),
        ("it", "mar 20 mag 2003", "2003-05-20T00:00:00+00:00"),
        ("ro", "Mar Mar 20, 2001", DAY),
        ("lt", "2001 m. kovo 20 d. 14:05", MARCH),
        ("lv", "2001. gada 20. marts, plkst. 14:05", MARCH),
        ("eu", "2001(e)ko martxoaren 20a, 14:05", MARCH),
        ("id", "20 Agt 2001", "2001-08-20T00:00:00+00:00"),
        ("fi", "Lähetetty: Ti Maalis 20, 2001 2:05 pm", MARCH),
        ("ru", "Отправлено 20 Март 2001 - 14:05", MARCH),
        ("fi", "20 Maalis 2001 klo 14.05", MARCH),
        ("da", "20. marts 2001 14.05", MARCH),
        ("fr", "20 mars 2001 à 14 h 05", MARCH),
        ("en", "20 Mart 2001, 14:05", MARCH),
        (None, "20 Mart 2001, 14:05", MARCH),
        (None, "20 listopada 2001", None),
    ],
)
def test_forms_in_other_languages(language: str | None, text: str, right: str | None) -> None:
    assert _read(text, language) == right


@pytest.mark.parametrize(("language", "text"), [("en", "20 March"), ("de", "20. März, 14:05"), ("fa", "۲۹ اسفند")])
def test_a_year_that_is_filled_in_is_said(language: str, text: str) -> None:
    found = read_date(text, now=NOW, language=language)
    assert found is not None
    assert found.lacks_year
    assert found.moment.year == 2026
    assert parse(text, now=NOW, language=language) is None


def test_a_weekday_chooses_the_year_that_is_filled_in() -> None:
    found = read_date("Thursday, March 20", now=NOW, language="en")
    assert found is not None
    assert (found.moment.year, found.lacks_year) == (2025, True)


def test_a_sign_for_the_day_of_the_month_is_no_weekday() -> None:
    found = read_date("3月20日", now=NOW, language="ja")
    assert found is not None
    assert (found.moment.year, found.lacks_year) == (2026, True)


@pytest.mark.parametrize("language", [None, "en", "fr"])
@pytest.mark.parametrize("text", ["Leo", "Jana", "Haut", "ma", "nu", "Dun"])
def test_a_name_is_no_day_of_another_language(text: str, language: str | None) -> None:
    assert read_date(text, now=NOW, language=language) is None


def test_a_word_alone_names_a_day_in_its_own_language() -> None:
    for text, language in (("dün", "tr"), ("Gestern", None), ("today", "fr"), ("сегодня", "en"), ("今日", None)):
        found = read_date(text, now=NOW, language=language)
        assert found is not None, text
        assert found.relative


def test_what_is_counted_from_the_capture_is_said() -> None:
    told = {
        text: read_date(text, now=NOW, language="en") for text in ("3 hours ago", "Yesterday, 10:20", "2 weeks ago")
    }
    assert {text: (each.relative, each.vague) for text, each in told.items() if each} == {
        "3 hours ago": (True, False),
        "Yesterday, 10:20": (True, False),
        "2 weeks ago": (True, True),
    }


@pytest.mark.parametrize(
    "piece", ["1", "1-", "1:", "20 ", "+", "mar ", "年月", "一", "月", "(", "\u0e01", "a.m. ", "h13."]
)
def test_no_text_takes_long(piece: str) -> None:
    begun = process_time()
    for language in (None, "ja", "th"):
        read_date((piece * MAX_LENGTH)[:MAX_LENGTH], now=NOW, language=language)
    assert process_time() - begun < 2
