"""Dates of all languages, as Babel writes them from the Unicode CLDR, are read back."""

from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

import pytest
from babel import Locale, localedata
from babel.core import get_global
from babel.dates import format_date, format_datetime, format_time

from aahcrawler.page.date_parts import OWN, TABLE, languages, tokens
from aahcrawler.page.dates import parse
from benchmarks.date_words import table

NOW = datetime(2026, 11, 28, 12, tzinfo=UTC)
MOMENTS = [datetime(2001, 3, 20, 14, 5, tzinfo=UTC), datetime(2013, 8, 4, 0, 5, tzinfo=UTC)]
REGIONS = ["en_GB", "en_CA", "fr_CA", "es_MX", "pt_PT", "de_AT", "ar_LB", "ar_MA", "nb", "nn", "sr_Latn", "zh_Hant_TW"]


@pytest.mark.slow
@pytest.mark.parametrize("name", [*languages(), *REGIONS])
def test_what_a_language_writes_is_read(name: str) -> None:
    locale = _locale(name)
    wrong = [
        (text, found)
        for moment in MOMENTS
        for text, exact in _written(locale, moment)
        if (found := parse(text, now=NOW, language=name.replace("_", "-"))) != exact
    ]
    assert wrong == []


@pytest.mark.slow
@pytest.mark.parametrize("name", [*languages(), *REGIONS])
def test_what_a_language_writes_in_words_is_never_read_as_another_day(name: str) -> None:
    locale = _locale(name)
    texts = [
        (format_date(each.replace(day=day), width, locale), each.replace(day=day).date())
        for each in MOMENTS
        for day in (1, 9, 28)
        for width in ("full", "long")
    ]
    found = [(text, parse(text, now=NOW), day) for text, day in texts if not text[:4].isascii()]
    assert [each for each in found if each[1] is not None and each[1].date() != each[2]] == []


@pytest.mark.soak
def test_the_table_is_what_babel_keeps() -> None:
    written = TABLE.read_text(encoding="utf-8")
    if f"version {get_global('cldr')['version']}," not in written:
        pytest.skip("another version of the CLDR")
    assert table() == written


@pytest.mark.parametrize("path", [TABLE, OWN])
def test_words_are_written_as_they_are_compared(path: Path) -> None:
    lines = [line for line in path.read_text(encoding="utf-8").splitlines() if line[:1] not in "#["]
    assert [line for line in lines if any(" ".join(tokens(each)) != each for each in _words(line))] == []


def _words(line: str) -> Iterator[str]:
    group, _, rest = line.partition(" ")
    for part in rest.split("|"):
        yield from filter(None, (part.partition(" ")[2] if group == "H" else part).split("/"))


def _written(locale: Locale, moment: datetime) -> Iterator[tuple[str, datetime]]:
    day = moment.replace(hour=0, minute=0)
    for width in ("full", "long", "medium", "short"):
        date = format_date(moment, width, locale)
        yield date, day
        yield f"{date} {format_time(moment, 'short', locale=locale)}", moment
        yield f"{date}, {format_time(moment, 'medium', locale=locale)}", moment
        yield format_datetime(moment, "medium" if width == "full" else "short", locale=locale), moment


def _locale(name: str) -> Locale:
    # What Babel keeps loaded takes up words of locales that were loaded before.
    localedata._cache.clear()
    return Locale.parse(name)
