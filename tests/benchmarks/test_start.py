from pathlib import Path
from urllib.request import urlopen

import pytest

from benchmarks.forum import Forum
from benchmarks.start import Start, environment, rows, serving, start, write_definition


def test_of_several_rounds_the_median_counts_and_what_was_not_measured_is_left_open() -> None:
    found = {"warm": [Start(seconds, 100.0, 150.0) for seconds in (1.0, 9.0, 2.0)], "imports": [Start(0.5, 400.0)]}
    first, second = rows(found)
    assert (first["start"], first["seconds"], first["first_page_mib"]) == ("warm", 2.0, 150.0)
    assert (second["cpu_ms"], second["peak_mib"]) == (400.0, None)


def test_the_site_tells_of_the_first_request_and_of_the_second_page() -> None:
    told: list[str] = []
    with serving(Forum(2)) as (url, site):
        site.watch(lambda: told.append("request"), lambda: told.append("page"))
        with pytest.raises(OSError, match="404"):
            urlopen(f"{url}robots.txt")
        for _ in range(3):
            with urlopen(f"{url}viewtopic.php?t=0") as response:
                assert b"phpbb" in response.read()
    assert told == ["request", "page"]
    assert site.pages == 3


@pytest.mark.soak
def test_a_start_is_measured_from_the_process_to_its_pages(tmp_path: Path) -> None:
    with serving(Forum(2)) as (url, site):
        measured = start(write_definition(tmp_path, url), site, environment(tmp_path / "caches"))
    assert measured.cpu_ms > 0
    assert measured.seconds > 0
    assert 30 < measured.private_mib < measured.first_page_mib
    assert measured.pages >= 3
