"""Crawls sites that use the web in unusual ways, and judges what was requested, read and reported.

    python -m benchmarks.wildweb [--kind KIND]... [--case NAME]... [--keep FOLDER] [--json FILE]

Each kind has a row: ``cases``; ``right``, those with everything that is right and nothing else; ``lost``, those of
which something was not requested, not read or wrongly reported; ``invented``, those of which something that nobody
wrote was requested or stated: a URL, a date, an object, an author. The mistakes of each case are printed. Everything is
on loopback; the cases of a kind are crawled together, by ``aah crawl`` with the shipped defaults.
"""

import argparse
import os
import sys
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path

from benchmarks.results import Row, report
from benchmarks.wildweb.addresses import ADDRESS_CASES, CONTENT_CASES, JUNK_CASES, SESSION_CASES
from benchmarks.wildweb.case import Case
from benchmarks.wildweb.crawling import CrawlError, Judgement, crawl, judge, together
from benchmarks.wildweb.dates import DECLARED_CASES, LANGUAGE_CASES, NOBODY_CASES
from benchmarks.wildweb.requests import REFRESH_CASES, REQUISITE_CASES, VERDICT_CASES

_AT_ONCE = 2
"""The most crawls at the same time; on small machines, more would exceed time limits, which are real."""

CASES = (
    *(*SESSION_CASES, *CONTENT_CASES, *JUNK_CASES),
    *(*LANGUAGE_CASES, *DECLARED_CASES, *NOBODY_CASES),
    *(*ADDRESS_CASES, *REFRESH_CASES, *REQUISITE_CASES),
    *VERDICT_CASES,
)
"""All cases."""


def judged(cases: Sequence[Case], keep: Path | None = None) -> Mapping[str, Judgement]:
    """Crawl cases together, and return judgements by case. A crawl without output has lost everything."""
    try:
        seen = crawl(cases, keep)
    except CrawlError as error:
        print(error, file=sys.stderr)
        return {case.name: Judgement(["the crawl left nothing"]) for case in cases}
    return {case.name: judge(case, seen[case.name]) for case in cases}


def rows(cases: Sequence[Case], judgements: Mapping[str, Judgement]) -> Sequence[Row]:
    """Return a row for each kind, and one for all."""
    kinds = dict.fromkeys(case.kind for case in cases)
    groups = {kind: [judgements[case.name] for case in cases if case.kind == kind] for kind in kinds}
    return [
        {
            "kind": kind,
            "cases": len(group),
            "right": sum(each.right for each in group),
            "lost": sum(bool(each.lost) for each in group),
            "invented": sum(bool(each.invented) for each in group),
        }
        for kind, group in {**groups, "all": [each for group in groups.values() for each in group]}.items()
    ]


def told(name: str, judgement: Judgement) -> None:
    """Print the mistakes of a case."""
    for what, wrong in (("lost", judgement.lost), ("invented", judgement.invented)):
        for each in wrong:
            print(f"{name}: {what}: {each}", flush=True)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the benchmark; the exit code is 1 if a case is not right."""
    kinds = sorted({case.kind for case in CASES})
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.wildweb", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--kind", action="append", choices=kinds, metavar="KIND", help=f"one of: {', '.join(kinds)}")
    parser.add_argument("--case", action="append", choices=[case.name for case in CASES], metavar="NAME")
    parser.add_argument("--keep", type=Path, metavar="FOLDER", help="keep the crawls here")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the rows to this file as well")
    given = parser.parse_args(arguments)
    cases = [
        case
        for case in CASES
        if (not given.case or case.name in given.case) and (not given.kind or case.kind in given.kind)
    ]
    judgements = dict[str, Judgement]()
    with ThreadPoolExecutor(min(_AT_ONCE, os.cpu_count() or 1)) as pool:
        for each in pool.map(partial(judged, keep=given.keep), together(cases)):
            judgements.update(each)
            for name, judgement in each.items():
                told(name, judgement)
    report(rows(cases, judgements), given.json)
    return int(not all(each.right for each in judgements.values()))


if __name__ == "__main__":
    sys.exit(main())
