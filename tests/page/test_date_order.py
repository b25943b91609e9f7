"""Which of two small numbers of a date is the day: what pages of a site show, and what is said where none does."""

from dataclasses import replace
from datetime import UTC, datetime

import pytest

from aahcrawler.helper import ApplicationAwareHelper
from aahcrawler.helper.application_aware import UNKNOWN_ORDER
from aahcrawler.helper.extraction.field_reader import as_date
from aahcrawler.helper.site_memory import Sites
from aahcrawler.page import dates
from aahcrawler.page.generic import NumericDates
from knowledge_base.model import DateFormat, KnowledgeBase
from tests.page.building import page_of

NOW = datetime(2026, 1, 1, tzinfo=UTC)


@pytest.mark.parametrize(
    ("shown", "order"),
    [
        ("14/11/2024", "dmy"),
        ("11/14/2024", "mdy"),
        ("06/11/2024", None),
        ("Wed 06/11/2024", "dmy"),
        ("Tue 06/11/2024", "mdy"),
        ("Mi., 06/11/2024", "dmy"),
        ("14/11/2024</p><p>11/14/2024", None),
        ("11/11/2024", None),
        ("1/2", None),
    ],
)
def test_numbers_and_weekdays_tell_the_order(shown: str, order: str | None) -> None:
    assert NumericDates(page_of(f"<html><body><p>{shown}</p></body></html>")).shown_order() == order


def test_a_weekday_is_believed_before_any_order() -> None:
    for order in (None, "dmy", "mdy"):
        found = dates.parse("Wed 06/11/2024", order=order, now=NOW)
        assert found == datetime(2024, 11, 6, tzinfo=UTC)
    assert dates.parse("Mon 06/11/2024", now=NOW) == datetime(2024, 6, 11, tzinfo=UTC)  # It agrees with neither.


def test_english_of_a_country_that_writes_the_day_first() -> None:
    for language, month in {"en": 2, "en-us": 2, "en-gb": 10, "de": 10}.items():
        found = dates.parse("02/10/2020", language=language, now=NOW)
        assert found is not None
        assert found.month == month


def test_a_site_is_known_by_its_pages_until_they_contradict_each_other() -> None:
    sites = Sites()
    assert sites.date_order("http://a.test/1", None) is None
    assert sites.date_order("http://a.test/2", "dmy") == "dmy"
    assert sites.date_order("http://a.test/3", None) == "dmy"
    assert sites.date_order("http://b.test/3", None) is None
    sites.date_order("http://a.test/4", "mdy")
    assert sites.date_order("http://a.test/5", None) is None


@pytest.mark.parametrize(
    ("markup", "order"),
    [
        ("".join(f"<i>0{day}/05/2021</i>" for day in (1, 3, 4, 8, 9)), None),  # Both orders follow one another.
        ("".join(f"<i>{day}/2021</i>" for day in ("09/01", "02/03", "11/04", "01/08", "03/09")), "dmy"),
        ("".join(f"<i>{day}/2021</i>" for day in ("12/09", "11/02", "04/11", "03/01", "02/03")), "mdy"),
        ("".join(f"<i>{day}/2021</i>" for day in ("09/01", "02/03", "11/04", "01/08")), None),  # Too few.
        ('<time datetime="2021-04-03T10:00:00Z">03/04/2021</time>', "dmy"),
        ('<time datetime="2021-03-04">03/04/2021</time>', "mdy"),
        ('<time datetime="2021-03-03">03/03/2021</time><time>03/04/2021</time>', None),
    ],
)
def test_a_sequence_and_machine_readable_dates_imply_the_order(markup: str, order: str | None) -> None:
    assert NumericDates(page_of(f"<html><body>{markup}</body></html>")).implied_order() == order


def test_an_implied_order_gives_way_to_one_that_is_shown() -> None:
    sites = Sites()
    assert sites.date_order("http://a.test/1", None, "mdy") == "mdy"
    assert sites.date_order("http://a.test/2", "dmy", "mdy") == "dmy"
    assert sites.date_order("http://a.test/3", None) == "dmy"


def test_the_site_is_believed_before_the_file_and_nothing_is_dated_after_its_capture() -> None:
    page = replace(page_of("<html></html>"), fetched_at=NOW)
    assert as_date("06/11/2024", DateFormat("mdy"), page) == datetime(2024, 6, 11, tzinfo=UTC)
    assert as_date("06/11/2024", DateFormat("mdy"), page.of_site("dmy")) == datetime(2024, 11, 6, tzinfo=UTC)
    assert as_date("06/11/2026", DateFormat("dmy"), page) is None


def test_dates_that_nothing_tells_the_order_of_are_marked() -> None:
    text = "<p>" + "The harbour froze in the second week of January, and everybody walked across it. " * 4 + "</p>"
    byline = "<p>By <b class=author>Eve</b> <i>{}</i></p>{}"
    markup = f"<html><head><title>Ice</title></head><body><article><h1>Ice</h1>{byline}</article></body></html>"
    helper = ApplicationAwareHelper(KnowledgeBase(()))
    [doubtful] = helper.assist(page_of(markup.format("06/11/2020", text))).objects
    assert doubtful.inferred == {"date": UNKNOWN_ORDER}
    helper.assist(page_of(markup.format("14/11/2020", text)))
    [sure] = helper.assist(page_of(markup.format("06/11/2020", text))).objects
    assert sure.inferred == {}
    assert sure.first("date") == datetime(2020, 11, 6, tzinfo=UTC)
    assert NumericDates(page_of("<p>14/11/2020</p><p>6/11/2020</p>")).ambiguous_days() == {frozenset((6, 11))}


def test_a_hostile_page_of_digits_is_looked_at_in_no_time() -> None:
    assert NumericDates(page_of("<p>" + "1/" * 200_000 + "</p>")).shown_order() is None


def test_years_of_two_digits_tell_no_order_of_day_and_month_where_they_come_first() -> None:
    japanese = NumericDates(page_of("<html lang=ja><body><p>13/03/20</p><p>99/12/31</p></body></html>"))
    assert japanese.shown_order() == "ymd"
    assert japanese.ambiguous_days() == frozenset()
    assert NumericDates(page_of("<p>99/12/31</p><p>98/01/02</p>")).shown_order() == "ymd"
