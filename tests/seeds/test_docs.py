"""``docs/operating.md`` explains every verdict, and no other."""

import re
from pathlib import Path

from aahcrawler.seeds import Verdict
from aahcrawler.seeds.verdicts import GIVING, advice

PAGE = (Path(__file__).parents[2] / "docs" / "operating.md").read_text("utf-8")


def test_the_table_has_every_verdict_once() -> None:
    table = PAGE.split("| verdict | what was met |")[1].split("\n\n")[0]
    cells = re.findall(r"^\| ([^|]+) \|", table, re.MULTILINE)
    shown = [name for cell in cells for name in re.findall(r"`([^`]+)`", cell)]
    assert sorted(shown) == sorted(verdict.value for verdict in Verdict)


def test_every_verdict_but_success_comes_with_advice() -> None:
    assert [verdict for verdict in Verdict if not advice(verdict)] == [Verdict.FETCHED]
    assert Verdict.FETCHED in GIVING
