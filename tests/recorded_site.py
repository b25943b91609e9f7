"""How a test asks for a recorded site: it is skipped where there is none, and fails where there must be one."""

import pytest

from benchmarks import recorded


def recorded_site(name: str) -> recorded.RecordedSite:
    """Return the site ``app/theme``, or skip the test; with AAH_REQUIRE_RECORDED_SITES=1, fail it."""
    try:
        return recorded.recorded_site(name)
    except recorded.NoRecordedSitesError as error:
        if recorded.required():
            pytest.fail(f"{error} ({recorded.REQUIRED}=1 requires them)")
        pytest.skip(str(error))
