"""The dates of a page."""

from enum import StrEnum


class DateOf(StrEnum):
    """Which date of a page is meant."""

    CAPTURED = "captured"
    PUBLISHED = "published"
