"""Correct the title and date of a page's only text: an action may have read those of something else."""

from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime, timedelta

from aahcrawler.helper.application.completion import WHOLES
from aahcrawler.helper.extraction.extraction import Extracted
from aahcrawler.induction import datelines
from aahcrawler.induction.prepared_page import PreparedPage
from aahcrawler.page import Page, claims
from aahcrawler.page.titles import title_of
from aahcrawler.webobject import Value, WebObject

SOURCE = "what the page shows and declares"

MOST_APART = timedelta(days=2)
"""The most by which two times of one day may differ, given in any zone and to the day."""


def corrected(page: Page, extracted: Sequence[Extracted]) -> tuple[Extracted, ...]:
    """Return the objects of a page, with the page's title and date for its only whole object if they are better.

    A value that an action found stays unless the page contradicts it.
    """
    wholes = [each for each in extracted if each.object.type in WHOLES and each.object.part_of is None]
    if len(wholes) != 1:
        return tuple(extracted)
    whole = wholes[0]
    better = _with_date(page, _with_title(page, whole.object))
    return tuple(replace(each, object=better) if each is whole else each for each in extracted)


def _with_title(page: Page, whole: WebObject) -> WebObject:
    title = whole.first("title")
    better = title_of(page, title) if isinstance(title, str) else ""
    return _with(whole, "title", better) if better and better != title else whole


def _with_date(page: Page, whole: WebObject) -> WebObject:
    date, title = whole.first("date"), whole.first("title")
    if not isinstance(date, datetime) or not isinstance(title, str) or not _is_contradicted(page, date):
        return whole
    prepared = page.once(PreparedPage.of)
    if any(each.moment.date() == date.date() for each in datelines.dateline(prepared, title)):
        return whole
    better = datelines.published(page, prepared, title, claims.work_of(page))
    return _with(whole, "date", better) if better is not None else whole


def _is_contradicted(page: Page, date: datetime) -> bool:
    """Return whether a page declares other days of publication alone, or its URL has another one."""
    declared = claims.publication_moments(page, claims.work_of(page)).certain
    addressed = claims.address_date(page)
    if declared:
        return all(abs(each - date) > MOST_APART for each in declared)
    return bool(addressed) and abs(datetime.fromisoformat(addressed) - date) > MOST_APART


def _with(whole: WebObject, name: str, value: Value) -> WebObject:
    return replace(
        whole,
        properties={**whole.properties, name: (value,)},
        inferred={**whole.inferred, name: SOURCE},
    )
