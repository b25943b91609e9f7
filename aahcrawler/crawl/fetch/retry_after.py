"""How long an answer asks to be left in peace."""

from collections.abc import Sequence
from email.utils import parsedate_to_datetime
from time import time
from typing import Final

from aahcrawler.page import Headers

AGAIN: Final = frozenset({408, 425, 429, 500, 502, 503, 504})
"""Answers that may be another one later."""
LONGEST_REST: Final = 3600.0
"""Seconds beyond which a Retry-After is not believed."""


def retry_after(status: int, fields: Sequence[tuple[str, str]]) -> float:
    """Return for how many seconds an answer asks to be left in peace, at most ``LONGEST_REST`` (RFC 9110, 10.2.3).

    0 for answers that mean something else by Retry-After, and where it cannot be read.
    """
    if status not in AGAIN:
        return 0.0
    value = Headers(tuple(fields)).get("Retry-After").strip()
    if value.isascii() and value.isdigit():
        return min(float(value[:9]), LONGEST_REST)
    try:
        seconds = parsedate_to_datetime(value).timestamp() - time()
    except (ValueError, OverflowError):
        return 0.0
    return min(max(0.0, seconds), LONGEST_REST)
