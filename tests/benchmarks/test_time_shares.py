import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from benchmarks.subsystems import CALLER, OTHER, START, SUBSYSTEMS, of_module, share_rows, subsystem

PROJECT = Path(__file__).parents[2]
LOOP = ("asyncio.base_events", "runpy")

PROGRAM = """
import gc
import math
import threading
import time

def burn(seconds):
    end = time.thread_time() + seconds
    while time.thread_time() < end:
        math.factorial(300)

beside = threading.Thread(target=burn, args=(0.2,))
beside.start()
burn(0.4)
beside.join()
kept = [[number] for number in range(100_000)]
for _ in range(20):
    gc.collect()
raise SystemExit(3)
"""


def modules() -> Iterator[str]:
    for package in ("aahcrawler", "online_analysis", "knowledge_base"):
        for path in (PROJECT / package).rglob("*.py"):
            if path.stem != "__init__":
                yield ".".join(path.relative_to(PROJECT).with_suffix("").parts)


def test_every_module_of_the_crawler_belongs_to_a_subsystem() -> None:
    known = list(modules())
    assert len(known) > 400
    assert [module for module in known if of_module(module) is None] == []


def test_every_name_of_the_table_is_a_module_of_the_crawler_or_of_something_it_uses() -> None:
    names = {".".join(module.split(".")[:end]) for module in modules() for end in range(1, 9)}
    packages = ("aahcrawler", "online_analysis", "knowledge_base")
    assert {name for name in SUBSYSTEMS if name.split(".")[0] in packages} - names == set()


@pytest.mark.parametrize(
    ("stack", "expected"),
    [
        (("re", "aahcrawler.induction.outline", "aahcrawler.page.page", "aahcrawler.helper.generic_reading"),
         "helper: generic reading, induction"),
        (("aahcrawler.induction.outline", "aahcrawler.helper.application.application_reading"), "helper: completion"),
        (("aahcrawler.page.page", "aahcrawler.helper.generic_reading"), "parse"),
        (("redis.connection", "aahcrawler.frontier.redis.frontier"), "frontier client"),
        (("gc", "aahcrawler.induction.outline"), "garbage collection"),
        (("aahcrawler.urls",), OTHER),
    ],
)  # fmt: skip
def test_time_belongs_to_the_innermost_subsystem_and_that_of_what_many_use_to_its_caller(
    stack: tuple[str, ...], expected: str
) -> None:
    assert subsystem(stack) == expected


def test_all_outside_of_the_event_loop_is_start_and_end() -> None:
    assert subsystem(("knowledge_base.matching", "aahcrawler.cli", "runpy")) == START
    assert subsystem(("knowledge_base.matching", "aahcrawler.crawl.startup.factory", *LOOP)) == START
    assert subsystem(("knowledge_base.matching", "aahcrawler.crawl.response.handler", *LOOP)) == "helper: recognition"


def test_rows_hold_all_of_the_time_and_name_what_is_in_no_subsystem() -> None:
    seconds: dict[tuple[str, ...], float] = {
        ("redis.client",): 3.0,
        ("nobody.knows",): 0.5,
        ("aahcrawler.traps.traps",): 0.5,
    }
    rows = share_rows(seconds, 100)
    assert [(row["subsystem"], row["share"]) for row in rows] == [
        ("frontier client", 0.75),
        (OTHER, 0.125),
        ("traps", 0.125),
    ]
    assert rows[0]["cpu_ms_per_page"] == 30
    assert rows[1]["modules"] == "nobody.knows 12.5%"
    assert CALLER not in {row["subsystem"] for row in rows}


def test_a_program_ends_as_ever_and_its_time_is_found_in_its_stacks(tmp_path: Path) -> None:
    (tmp_path / "burning.py").write_text(PROGRAM)
    target = tmp_path / "stacks.json"
    command = [sys.executable, "-m", "benchmarks.stack_sampler", str(target), "burning"]
    environment = {"PYTHONPATH": f"{tmp_path}:{PROJECT}"}
    assert subprocess.run(command, env=environment, check=False).returncode == 3
    found = json.loads(target.read_text())
    seconds = {tuple(stack): spent for stack, spent in found["stacks"]}
    assert sum(seconds.values()) == pytest.approx(found["seconds"], rel=0.1)
    program = sum(spent for stack, spent in seconds.items() if stack[0] == "__main__" and "runpy" in stack)
    assert 0.3 < program < 0.6
    beside = sum(spent for stack, spent in seconds.items() if stack[0] == "__main__" and "runpy" not in stack)
    assert 0.1 < beside < 0.3
    assert sum(spent for stack, spent in seconds.items() if stack[0] == "gc") > 0.01
