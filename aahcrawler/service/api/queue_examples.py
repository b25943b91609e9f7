"""Examples of what is shown of a queue, for the OpenAPI description."""

from collections.abc import Mapping
from typing import Any

_REASON = {"name": "other_site", "words": "on other sites than the seeds"}
_URL = {
    "url": "https://forum.example.org/thread/17",
    "site": "example.org",
    "state": "queued",
    "score": 0.83,
    "depth": 2,
    "kind": "page",
    "via": "https://forum.example.org/",
    "at_front": False,
    "attempts": 0,
}
_SITE = {
    "name": "example.org",
    "queued": 1250,
    "leased": 1,
    "done": 310,
    "requisites_queued": 4,
    "best": 0.83,
    "delay": 2.0,
    "asked_delay": 0.0,
    "opens_in": 1.4,
    "is_paused": False,
    "waits_for": "its delay, for 1.4 s more",
}
_COVERAGE = {"read": 20480, "of": 20480}
_REFUSED = {
    "url": "https://elsewhere.example.net/",
    "site": "example.net",
    "reason": _REASON,
    "via": "https://forum.example.org/",
    "score": 0.2,
    "depth": 3,
    "kind": "page",
}
_FAILED = {
    "url": "https://forum.example.org/gone",
    "site": "example.org",
    "reason": {"name": "status 503", "words": "server error (503)"},
    "kind": "page",
    "via": "https://forum.example.org/",
}
_PART = {"analyser": "keywords", "weight": 1.0, "value": 0.83, "share": 0.83}

EXAMPLES: Mapping[str, Mapping[str, Any]] = {
    "CrawlStatus": {
        "id": "flood",
        "title": "The flood",
        "crawl": 1,
        "state": "running",
        "reason": "",
        "is_live": True,
        "begun_at": "2026-11-26T10:00:00+00:00",
        "since": "2026-11-26T10:00:00+00:00",
        "seconds": 600.0,
        "pages": {"queued": 5000, "leased": 3, "done": 1200, "failed": 4, "blocked": 30, "due": 0},
        "fetched": 1200,
        "relevant": 700,
        "harvest_ratio": 0.5833,
        "rates": [{"seconds": 10.0, "pages": 2.1, "relevant": 1.2, "objects": 9.0, "requests": 3.0, "bytes": 81000.0}],
        "limits": [{"name": "limits.pages", "bound": 10000, "used": 1200, "share": 0.12}],
        "disk": {"free": 81000000000, "total": 250000000000},
    },
    "QueuePage": {
        "urls": [_URL],
        "looked_at": 50,
        "of": 5000,
        "next": "-830000.1.000000001f8f3b2a9d",
        "is_ordered": True,
    },
    "SitesPage": {"sites": [_SITE], "of": 40, "next": "50"},
    "SitePage": {
        "site": _SITE,
        "urls": [_URL],
        "refused": None,
        "failed": None,
        "avoided": [],
        "rules": ["host example.org"],
    },
    "RefusedPage": {
        "urls": [_REFUSED],
        "reasons": [{**_REASON, "count": 121}],
        "coverage": _COVERAGE,
        "next": "50",
    },
    "FailedPage": {
        "urls": [_FAILED],
        "reasons": [{"name": "status 503", "words": "server error (503)", "count": 4}],
        "of": 4,
        "coverage": _COVERAGE,
        "next": "",
    },
    "UrlStory": {
        "url": "https://forum.example.org/thread/17",
        "site": "example.org",
        "state": "queued",
        "story": ["12 URLs of its site are fetched before it.", "Its site waits: its delay, for 1.4 s more."],
        "acts": ["fetch_now", "rescore", "block"],
        "queued": _URL,
        "ahead": 12,
        "waits_for": "its delay, for 1.4 s more",
        "coverage": _COVERAGE,
    },
    "ScoreHistory": {
        "url": "https://forum.example.org/thread/17",
        "events": [
            {
                "at": "2026-11-26T10:00:00.000+00:00",
                "crawl": 1,
                "what": "linked",
                "score": 0.83,
                "queued": 0.83,
                "source": "https://forum.example.org/",
                "parts": [_PART],
            }
        ],
        "of": 1,
        "parts": [_PART],
        "coverage": _COVERAGE,
    },
    "SeedsPage": {
        "seeds": [
            {
                "url": "https://forum.example.org/",
                "verdict": "not found",
                "advice": "correct it in the ICD",
                "detail": "status 404",
                "ended_at": "",
                "pages": 0,
                "objects": 0,
            }
        ],
        "verdicts": {"fetched": 11, "not found": 1},
        "of": 12,
        "next": "",
    },
    "EventsPage": {
        "events": [
            {
                "at": "2026-11-26T10:00:00.123Z",
                "level": "INFO",
                "crawl": 1,
                "subsystem": "crawl.response.handler",
                "message": "https://forum.example.org/ 200 new",
            }
        ],
        "unread": 0,
        "next": "4711",
    },
}
"""Examples by the name of their model."""


def example_of(model: type) -> dict[int | str, dict[str, Any]]:
    """Return the description of an answer with an example of a model."""
    return {200: {"content": {"application/json": {"example": EXAMPLES[model.__name__]}}}}
