import json
import subprocess
import sys
from pathlib import Path

import pytest

from benchmarks.fault_crawl import FaultSite, Machine, Request, interposer
from benchmarks.faults import SETTLING, Struck, beyond_in_flight

PAGE = "http://d0.test/1.html"


@pytest.mark.parametrize(
    ("struck", "found"),
    [((10.5, 12.0), 0), ((11.0 + SETTLING, 20.0), 0), ((8.0, 10.0), 0), ((11.1 + SETTLING, 20.0), 1), ((8.0, 9.9), 1)],
)
def test_only_what_was_under_way_when_a_fault_struck_may_be_asked_for_again(
    struck: tuple[float, float], found: int
) -> None:
    requests = [Request(PAGE, 30.0, 31.0), Request(PAGE, 10.0, 11.0), Request("http://d0.test/robots.txt", 40.0, 41.0)]
    assert beyond_in_flight([*requests, *requests[2:]], {PAGE}, [Struck(*struck)]) == found


def test_requests_to_one_domain_that_come_too_early_are_counted() -> None:
    site = FaultSite(2, 3)
    for begin, end in ((1.0, 1.1), (1.3, 1.4), (1.45, 1.6), (1.5, 1.7)):
        site.requests.append(Request("http://d0.test/", begin, end))
    site.requests.append(Request("http://d1.test/", 1.1, 1.2))
    assert site.too_early(0.2) == 2


def test_what_a_script_asks_for_belongs_to_the_visit_of_its_page_and_a_page_does_not() -> None:
    site = FaultSite(1, 3, is_scripted=True)
    for path, begin, end in (
        ("", 1.0, 1.1),
        ("data/0", 1.15, 1.3),
        ("favicon.ico", 1.3, 1.3),
        ("1.html", 1.4, 1.5),
        ("2.html", 1.75, 1.8),
    ):
        site.requests.append(Request(f"http://d0.test/{path}", begin, end))
    assert site.too_early(0.2) == 1


def test_pages_made_by_scripts_lead_nowhere_but_by_their_data() -> None:
    site = FaultSite(2, 3, is_scripted=True)
    assert b"d0.test" not in site._message("d0.test", "/1.html")[1]
    links = json.loads(site._message("d0.test", "/data/0")[1])["links"]
    assert links == ["http://d0.test/1.html", "http://d0.test/2.html", "http://d1.test/"]


def test_a_clock_and_a_disk_lie_to_one_process(tmp_path: Path) -> None:
    library = interposer(tmp_path)
    if library is None:
        pytest.skip("there is no C compiler")
    machine = Machine(tmp_path / "machine", library)

    def run(code: str) -> str:
        command = [sys.executable, "-I", "-c", code]
        done = subprocess.run(command, env=machine.environment, capture_output=True, text=True, check=True)
        return done.stdout.strip()

    now = "import time; print(time.time())"
    before = float(run(now))
    machine.jump(3600.5)
    assert 3600 < float(run(now)) - before < 4200
    write = f"open({str(tmp_path / 'file')!r}, 'wb', buffering=0).write(b'x')"
    machine.disk(is_full=True)
    assert "No space left" in run(f"try: {write}\nexcept OSError as error: print(error)")
    machine.disk(delay=0.3)
    timed = f"import time; begin = time.monotonic(); {write}; print(time.monotonic() - begin)"
    assert float(run(timed)) >= 0.3
