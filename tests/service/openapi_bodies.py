"""What schemathesis cannot know by itself: how some bodies are written, and when a service may be unavailable.

Its configuration names this module.
"""

import os
from pathlib import Path
from typing import Any

import schemathesis
from hypothesis.internal.conjecture import providers

from aahcrawler.crawls import running_process
from tests.service.asking import CRAWLS

# As in ``tests.conftest``: what is asked depends on no source of local modules, of which to read all takes seconds.
providers._get_local_constants = lambda: providers._local_constants
_AT_REST = frozenset({"crawl-not-running", "frontier-unavailable"})
_BUSY = {"store-busy": "/sparql", "too-many-streams": "/events"}
"""What others may take up at a moment, and the paths where that is."""


@schemathesis.serializer("application/x-ndjson", "application/sparql-query")
def written(_context: object, value: object) -> bytes:
    """Return a text as it is sent."""
    return value if isinstance(value, bytes) else str(value).encode("utf-8", "surrogatepass")


@schemathesis.check
def unavailable_at_rest_alone(_context: object, response: Any, case: Any) -> None:
    """Fail for 503 of a frontier whose crawl runs: that of one at rest is lent, and goes when the folder is needed."""
    if response.status_code != 503:
        return
    problem = response.json()
    kind = problem["type"].rpartition(":")[2]
    crawl = str((case.path_parameters or {}).get("crawl", ""))
    is_at_rest = kind in _AT_REST and running_process(Path(os.environ[CRAWLS]) / crawl) is None
    is_busy = kind in _BUSY and _BUSY[kind] in case.path
    assert is_at_rest or is_busy, f"{crawl} is not to be had: {problem}"
