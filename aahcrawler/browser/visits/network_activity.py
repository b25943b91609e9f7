"""Tell when a page's network is at rest."""

import time
from collections import Counter
from urllib.parse import urlsplit

_NEVER_AWAITED = frozenset({"CSPViolationReport", "EventSource", "Media", "Other", "Ping", "Prefetch", "TextTrack"})
"""Types of requests that end late or never, or that bring nothing to look at."""
_STALLED = 4.0
"""Seconds without a byte for any request after which those that are open are not waited for: long polls."""
_STREAM = 12.0
"""Seconds after which an answer that still arrives is taken for a stream."""
_POLLS = 6
"""How often the same address, but for its query, is asked for before that counts as polling."""


class NetworkActivity:
    """The open requests of a visit, as far as the page is not there without them."""

    def __init__(self) -> None:
        self._open: dict[int, float] = {}
        self._asked = Counter[str]()
        self._last_number = 0
        self._changed = self._progressed = time.monotonic()

    def begin(self, url: str, resource_type: str, *, in_background: bool = False) -> int:
        """Note that a request is made; return its number, 0 where it is not waited for."""
        parts = urlsplit(url)
        address = f"{parts.netloc}{parts.path}"
        if resource_type in ("Fetch", "XHR"):
            self._asked[address] += 1
        if in_background or resource_type in _NEVER_AWAITED or self._asked[address] > _POLLS:
            return 0
        self._last_number += 1
        self._changed = self._progressed = self._open[self._last_number] = time.monotonic()
        return self._last_number

    def progress(self, number: int) -> None:
        """Note that something came for a request."""
        if number in self._open:
            self._progressed = time.monotonic()

    def end(self, number: int) -> None:
        """Note that a request has ended."""
        if self._open.pop(number, None) is not None:
            self._changed = self._progressed = time.monotonic()

    @property
    def idle(self) -> float:
        """How many seconds nothing has come for any request, whether or not some are open."""
        return time.monotonic() - self._progressed

    @property
    def quiet(self) -> float:
        """How many seconds there has been no request that is waited for; 0 while there is one."""
        now = time.monotonic()
        awaited = any(now - begun < _STREAM for begun in self._open.values())
        if awaited and now - self._progressed < _STALLED:
            return 0.0
        return now - self._changed
