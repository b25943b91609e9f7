from datetime import UTC, datetime, timedelta, timezone
from zoneinfo import ZoneInfoNotFoundError

import pytest
from hypothesis import given
from hypothesis import strategies as st

from aahcrawler.page.dates import MAX_LENGTH, parse, read_date
from tests.page.building import NOW

MOMENT = datetime(2022, 1, 14, 13, 18, tzinfo=UTC)
DAY = datetime(2022, 1, 14, tzinfo=UTC)


@pytest.mark.parametrize(
    "text",
    [
        "2022-01-14T13:18:00+00:00",
        "2022-01-14T13:18:00Z",
        "2022-01-14 13:18:00+00:00 +0000",
        "2022-01-14 14:18:00+0100 +01:00",
        "2022-01-14T14:18:00+0100",
        "2022-01-14 13:18",
        "20220114T131800Z",
        "Fri, 14 Jan 2022 13:18:00 GMT",
        "Fri, 14 Jan 2022 14:18:00 +0100",
        "1642166280",
        "1642166280000",
        "01-14-2022, 01:18 PM",
        "1/14/22 1:18pm",
        "2022/01/14 13:18",
        "14.01.2022, 13.18 Uhr",
        "14 January 2022 at 13:18",
        "January 14th, 2022, 1:18 p.m.",
        "Fri Jan 14, 2022 1:18 pm",
        "Fri Jan 14 2022 14:18:00 GMT+0100 (CET)",
        "Posted on Jan 14, 2022 at 13:18",
        "by admin » Fri Jan 14, 2022 1:18 pm",
        "14 January 2022 13:18 | 5 comments",
        "Yesterday, 01:18 PM",
        "14. Januar 2022, 13:18 Uhr",
        "Fr 14. Jan 2022, 13:18",
        "Gestern um 13:18",
        "14 janvier 2022 à 13h18",
        "ven. 14 janv. 2022 13:18",
        "hier à 13:18",
        "14 de enero de 2022 a las 13:18",
        "ayer, 13:18",
        "14 gennaio 2022, 13:18",
        "ieri alle 13:18",
        "14 de janeiro de 2022 às 13:18",
        "vrijdag 14 januari 2022 om 13:18 uur",
        "fredag 14 januari 2022 kl. 13:18",
        "pe 14. tammikuuta 2022 klo 13.18",
        "14 stycznia 2022, 13:18",
        "Пт янв 14, 2022 1:18 pm",
        "вчера в 13:18",
        "14 Ιανουαρίου 2022, 13:18",
        "Παρ Ιαν 14, 2022 1:18 μ.μ.",
        "Χθες, 13:18",
        "14 Ocak 2022 Cuma 13:18",
        "2022年1月14日 下午1:18",
        "2022年1月14日 13时18分",
        "2022年1月14日(金) 13:18",
        "2022년 1월 14일 오후 1:18",
        "昨天 13:18",
        "昨日 13:18",
        "어제 13:18",
        "１４ January ２０２２　13:18",
    ],
)
def test_ways_to_write_one_moment(text: str) -> None:
    assert parse(text, now=NOW) == MOMENT


@pytest.mark.parametrize(
    ("text", "ago"),
    [
        ("just now", timedelta()),
        ("less than a minute ago", timedelta(minutes=1)),
        ("a few seconds ago", timedelta(seconds=1)),
        ("3 hours ago", timedelta(hours=3)),
        ("1 hour, 5 minutes ago", timedelta(hours=1, minutes=5)),
        ("vor 3 Stunden", timedelta(hours=3)),
        ("vor einer Minute", timedelta(minutes=1)),
        ("il y a 3 heures", timedelta(hours=3)),
        ("hace 2 días", timedelta(days=2, hours=12)),
        ("3 ore fa", timedelta(hours=3)),
        ("há 3 horas", timedelta(hours=3)),
        ("3 uur geleden", timedelta(hours=3)),
        ("för 3 timmar sedan", timedelta(hours=3)),
        ("3 godziny temu", timedelta(hours=3)),
        ("3 часа назад", timedelta(hours=3)),
        ("πριν από 3 ώρες", timedelta(hours=3)),
        ("3 saat önce", timedelta(hours=3)),
        ("3小时前", timedelta(hours=3)),
        ("3時間前", timedelta(hours=3)),
        ("3시간 전", timedelta(hours=3)),
        ("5 分钟前", timedelta(minutes=5)),
    ],
)
def test_how_long_ago(text: str, ago: timedelta) -> None:
    assert parse(text, now=NOW) == NOW - ago


LATER = datetime(2022, 1, 15, 12, 34, 56, 789_012, tzinfo=UTC)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("just now", LATER.replace(second=0, microsecond=0)),
        ("10 seconds ago", LATER.replace(second=46, microsecond=0)),
        ("5 minutes ago", LATER.replace(minute=29, second=0, microsecond=0)),
        ("3 hours ago", datetime(2022, 1, 15, 9, tzinfo=UTC)),
        ("3 days ago", datetime(2022, 1, 12, tzinfo=UTC)),
        ("1 month, 2 days ago", datetime(2021, 12, 13, tzinfo=UTC)),
        ("yesterday", datetime(2022, 1, 14, tzinfo=UTC)),
    ],
)
def test_a_relative_date_is_no_more_exact_than_it_says(text: str, expected: datetime) -> None:
    assert parse(text, now=LATER) == expected


@pytest.mark.parametrize("text", ["2 weeks ago", "1 month ago", "a year ago", "2 years, 3 months ago", "vor 2 Wochen"])
def test_weeks_months_and_years_name_no_day(text: str) -> None:
    assert parse(text, now=LATER) is None
    about = read_date(text, now=LATER)
    assert about is not None
    assert about.vague
    assert (about.moment.hour, about.moment.minute, about.moment.microsecond) == (0, 0, 0)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("14 January 2022", DAY),
        ("2022-01-14", DAY),
        ("14 de enero de 2022", DAY),
        ("1er janvier 2022", datetime(2022, 1, 1, tzinfo=UTC)),
        ("mar. 2 mars 2021", datetime(2021, 3, 2, tzinfo=UTC)),
        ("mar. 11 janv. 2022", datetime(2022, 1, 11, tzinfo=UTC)),
        ("Today 9:01", datetime(2022, 1, 15, 9, 1, tzinfo=UTC)),
        ("today", datetime(2022, 1, 15, tzinfo=UTC)),
        ("Monday at 5:10 PM", datetime(2022, 1, 10, 17, 10, tzinfo=UTC)),
        ("Saturday 11:00", datetime(2022, 1, 15, 11, 0, tzinfo=UTC)),
        ("Saturday 13:00", datetime(2022, 1, 8, 13, 0, tzinfo=UTC)),
        ("12:00 AM, 14 Jan 2022", DAY),
        ("14 Jan 71", datetime(1971, 1, 14, tzinfo=UTC)),
    ],
)
def test_days_and_what_is_left_out(text: str, expected: datetime) -> None:
    assert parse(text, now=NOW) == expected


@pytest.mark.parametrize(
    "text",
    [
        "",
        "   ",
        "May",
        "hello",
        "12",
        "2022",
        "January 2022",
        "Monday",
        "10:20 PM",
        "1.2.3",
        "555-12-3456",
        "20220114",
        "123456789",
        "31 February 2022",
        "99/99/9999",
        "2022-13-45",
        "25:99 14 January 2022",
        "ago",
        "3 hours",
        "3",
        "hours ago",
        "Posts: 3",
        "Joined: Jan 2022",
        "Re: what happened today",
        "14 January 2022 – 15 January 2022",
        "I was there on 14 January 2022 and saw it",
        "14 May maybe 2022",
        "Page 1 of 3",
        "4 comments",
        "192.168.1.1",
        "1" * 5000,
        "14 January 2022" + " and" * 40,
        "٣",
        "0001-01-01T00:00:00+14:00",
        "0001-01-01",
        "0000-00-00 00:00:00",
        "1601-01-01T00:00:00Z",
        "1899-12-30",
        "1900-01-01",
        "1969-12-31T19:00:00-05:00",
        "1970-01-01T00:00:00Z",
        "1 January 1970",
        "0000000000",
        "9999-12-31T23:59:59Z",
        "March 5, 1871",
        "14 January 2023",
        "14 Jan",
        "Mar 20 1",
    ],
)
def test_what_is_no_date(text: str) -> None:
    assert parse(text, now=NOW) is None


def test_order_settles_what_numbers_mean() -> None:
    march, february = datetime(2021, 3, 2, tzinfo=UTC), datetime(2021, 2, 3, tzinfo=UTC)
    assert parse("03/02/2021", order="mdy", now=NOW) == march
    assert parse("03/02/2021", order="dmy", now=NOW) == february
    assert parse("21-03-02", order="ymd", now=NOW) == march
    assert parse("2021-03-02", order="dmy", now=NOW) == march
    assert parse("14/01/2022", order="mdy", now=NOW) == DAY


def test_without_an_order_the_language_settles_it() -> None:
    assert parse("03/02/2021", now=NOW, language="fr") == datetime(2021, 2, 3, tzinfo=UTC)
    assert parse("03/02/2021", now=NOW, language="en") == datetime(2021, 3, 2, tzinfo=UTC)
    assert parse("03.02.2021", now=NOW) == datetime(2021, 2, 3, tzinfo=UTC)


def test_language_settles_what_words_mean() -> None:
    assert parse("14 listopad 2021", now=NOW, language="pl") == datetime(2021, 11, 14, tzinfo=UTC)
    assert parse("14 listopad 2021", now=NOW, language="hr") == datetime(2021, 10, 14, tzinfo=UTC)
    assert parse("14 listopad 2021", now=NOW, language="xx-unknown") is None
    assert parse("14 listopada 2021", now=NOW, language="en") is None


def test_zones() -> None:
    assert parse("14 January 2022 14:18", zone="Europe/Berlin", now=NOW) == MOMENT
    assert parse("14 July 2021 14:18", zone="Europe/Berlin", now=NOW) == datetime(2021, 7, 14, 12, 18, tzinfo=UTC)
    assert parse("14 January 2022 15:18", zone=timezone(timedelta(hours=2)), now=NOW) == MOMENT
    assert parse("2022-01-14T13:18Z", zone="Europe/Berlin", now=NOW) == MOMENT
    assert parse("14 Jan 2022 08:18 EST", now=NOW) == MOMENT
    assert parse("14 Jan 2022 15:18 UTC+2", now=NOW) == MOMENT
    assert parse("Yesterday 23:30", zone="Asia/Tokyo", now=datetime(2022, 1, 14, 20, 0, tzinfo=UTC)) == datetime(
        2022, 1, 14, 14, 30, tzinfo=UTC
    )
    with pytest.raises(ZoneInfoNotFoundError):
        parse("14 January 2022", zone="Nowhere/Town", now=NOW)


def test_a_format_is_tried_alone() -> None:
    assert parse("14|01|2022", format="%d|%m|%Y", now=NOW) == DAY
    assert parse("14|01|2022 14:18", format="%d|%m|%Y %H:%M", zone="Europe/Berlin", now=NOW) == MOMENT
    assert parse("14 January 2022", format="%d|%m|%Y", now=NOW) is None
    assert parse("2022-01-14T14:18+0100", format="%Y-%m-%dT%H:%M%z", now=NOW) == MOMENT


@given(
    st.datetimes(datetime(1970, 1, 2), datetime(2022, 1, 15), timezones=st.just(UTC)),  # noqa: DTZ001
    st.sampled_from(["%Y-%m-%dT%H:%M:%S", "%d %B %Y %H:%M:%S"]),
)
def test_what_was_written_is_read(moment: datetime, form: str) -> None:
    expected = moment.replace(microsecond=0)
    assert parse(expected.strftime(form), now=NOW) == expected


ALPHABET = st.sampled_from(
    [*"0123456789:/.-, ", " ago", "jan", " am", "年", "月", "日", "hours", "vor ", "yesterday", "+", "z", "t"]
)


@given(st.one_of(st.text(max_size=MAX_LENGTH + 5), st.lists(ALPHABET, max_size=15).map("".join)))
def test_every_text_is_a_date_with_its_offset_or_none(text: str) -> None:
    moment = parse(text, now=NOW)
    assert moment is None or moment.utcoffset() is not None


@pytest.mark.parametrize(
    ("text", "zone", "written"),
    [
        ("2021-03-04T00:30:00+02:00", None, "2021-03-04T00:30:00+02:00"),
        ("2021-03-04T00:30:00Z", "Europe/Berlin", "2021-03-04T00:30:00+00:00"),
        ("4 March 2021, 00:30", "Europe/Berlin", "2021-03-04T00:30:00+01:00"),
        ("4 August 2021", "Europe/Berlin", "2021-08-04T00:00:00+02:00"),
        ("4 March 2021, 00:30 PST", None, "2021-03-04T00:30:00-08:00"),
    ],
)
def test_the_offset_is_the_one_that_is_named(text: str, zone: str | None, written: str) -> None:
    moment = parse(text, zone=zone, now=NOW)
    assert moment is not None
    assert moment.isoformat() == written


def test_a_french_yesterday_is_none_in_other_languages() -> None:
    assert parse("hier", now=NOW, language="de") is None
    assert parse("hier", now=NOW, language="fr-ca") == NOW.replace(hour=0) - timedelta(days=1)
    assert parse("hier, 10:20", now=NOW) == NOW.replace(hour=10, minute=20) - timedelta(days=1)
