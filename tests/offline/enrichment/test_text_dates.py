from datetime import date, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from offline.enrichment.text_dates import dates_in, published_day

PUBLISHED = date(2020, 1, 8)
"""A Wednesday."""


def when(text: str, language: str = "en", published: date | None = PUBLISHED) -> list[tuple[str, str]]:
    return [(each.when, text[each.start : each.end]) for each in dates_in(text, language, published)]


@pytest.mark.parametrize(
    ("language", "text", "expected"),
    [
        ("en", "on the 12th of May 2017,", [("2017-05-12", "12th of May 2017")]),
        ("en", "On Thursday, 14 March 2019 it", [("2019-03-14", "Thursday, 14 March 2019")]),
        ("en", "Jan. 3, 2020 and Feb 2, 2019", [("2020-01-03", "Jan. 3, 2020"), ("2019-02-02", "Feb 2, 2019")]),
        ("en", "in May 1953, in 1956.", [("1953-05", "May 1953"), ("1956", "1956")]),
        ("en", "from 28 December to 2 January 2019", [("2018-12-28/2019-01-02", "28 December to 2 January 2019")]),
        ("en", "between July 7 and July 15, 2007", [("2007-07-07/2007-07-15", "July 7 and July 15, 2007")]),
        ("en", "3–7 May 2018; May 3–7, 2018",
         [("2018-05-03/2018-05-07", "3–7 May 2018"), ("2018-05-03/2018-05-07", "May 3–7, 2018")]),
        ("en", "between 3 and 7 May 2018", [("2018-05-03/2018-05-07", "3 and 7 May 2018")]),
        ("en", "3 and 7 May 2018", [("2018-05-07", "7 May 2018")]),
        ("de", "am Dienstag, dem 16. Januar 2018", [("2018-01-16", "Dienstag, dem 16. Januar 2018")]),
        ("de", "vom 3. bis zum 7. Mai 2018", [("2018-05-03/2018-05-07", "3. bis zum 7. Mai 2018")]),
        ("de", "4.3.2019 im Jahr 2004", [("2019-03-04", "4.3.2019"), ("2004", "2004")]),
        ("fr", "le 1er mai 2019, du 3 au 7 mai 2018",
         [("2019-05-01", "1er mai 2019"), ("2018-05-03/2018-05-07", "3 au 7 mai 2018")]),
        ("es", "el 3 de mayo de 2018", [("2018-05-03", "3 de mayo de 2018")]),
        ("ru", "14 марта 2019 г., в 2018 году", [("2019-03-14", "14 марта 2019"), ("2018", "2018")]),
        ("ja", "2014年5月3日に、2014年6月", [("2014-05-03", "2014年5月3日"), ("2014-06", "2014年6月")]),
        ("hu", "2019. május 3. volt", [("2019-05-03", "2019. május 3")]),
        ("", "am 14.3.2019 und 2019-03-15", [("2019-03-14", "14.3.2019"), ("2019-03-15", "2019-03-15")]),
    ],
)  # fmt: skip
def test_dates_that_stand_in_a_text(language: str, text: str, expected: list[tuple[str, str]]) -> None:
    assert when(text, language) == when(text, language, None) == expected


@pytest.mark.parametrize(
    ("language", "text", "expected"),
    [
        ("en", "yesterday, two days ago", ["2020-01-07", "2020-01-06"]),
        ("en", "last Tuesday, last Wednesday, next Monday", ["2020-01-07", "2020-01-01", "2020-01-13"]),
        ("en", "on 14 February, on May 3, December 5th", ["2020-02-14", "2020-05-03"]),
        ("de", "gestern, vor 3 Tagen, vor drei Tagen, letzten Freitag",
         ["2020-01-07", "2020-01-05", "2020-01-05", "2020-01-03"]),
        ("fr", "hier, avant-hier, il y a 3 jours, mardi dernier, le 5 décembre",
         ["2020-01-07", "2020-01-06", "2020-01-05", "2020-01-07", "2019-12-05"]),
        ("es", "hace 3 días, el pasado lunes, el lunes pasado", ["2020-01-05", "2020-01-06", "2020-01-06"]),
    ],
)  # fmt: skip
def test_what_counts_from_publication_needs_it(language: str, text: str, expected: list[str]) -> None:
    found = dates_in(text, language, PUBLISHED)
    assert [each.when for each in found] == expected
    assert all(each.relative or each.lacks_year for each in found)
    assert dates_in(text, language, None) == []


@pytest.mark.parametrize(
    "text",
    [
        "You may march in by 12 doors; April brought 3.",
        "The hall seats 2019 people.",
        "Version 3.11.2, call 01768 555 014, room 12.04, 1,950 tickets, 10-12.",
        "3/4/2019 and 14.3.19",
        "31.2.2019, 2019-13-04, 30 February 2019, 31 June",
        "On Friday, 14 March 2019",
        "the day before yesterday, 2 weeks ago, in March, on Tuesday",
        "on 15 July",
        "the year 1 in 12345, at 10:30 May 2",
        "192.168.12.2019 and 1.2.3.2019",
    ],
)
def test_what_states_no_date_is_none(text: str) -> None:
    assert when(text) == []


def test_the_day_of_publication_is_known_or_not() -> None:
    assert published_day("2020-01-08T10:00:00+00:00") == PUBLISHED
    assert [published_day(text) for text in ("", "2020", "2020-01", "0000-00-00", "yesterday!!")] == [None] * 5


@given(st.dates(date(1500, 1, 1), date(2099, 12, 31)))
def test_every_day_is_read_as_it_is_written(day: date) -> None:
    for text in (f"{day:%-d %B %Y}", f"{day:%B %-d, %Y}", f"{day:%A, %-d %b %Y}", day.isoformat()):
        assert when(f"It was on {text}.") == [(day.isoformat(), text)]


@given(st.dates(date(1990, 1, 1), date(2030, 12, 31)), st.integers(1, 9))
def test_days_ago_are_counted_from_publication(day: date, back: int) -> None:
    assert when(f"vor {back} Tagen", "de", day)[0][0] == (day - timedelta(back)).isoformat()


@given(st.text("3 May2019.,-–/to and第年月日\n'", max_size=60), st.sampled_from(["en", "de", "ja", "hu", "xx", ""]))
def test_whatever_the_text_dates_stand_in_it_in_order(text: str, language: str) -> None:
    ends = 0
    for each in dates_in(text, language, PUBLISHED):
        assert ends <= each.start < each.end <= len(text)
        assert each.first <= each.last
        ends = each.end
