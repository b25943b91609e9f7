"""The dates of a page."""

from enum import StrEnum


class DateOf(StrEnum):
    """The kinds of dates of a page."""

    CAPTURED = "captured"
    PUBLISHED = "published"
