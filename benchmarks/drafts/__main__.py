"""Crawls sites of software whose file was removed: with no file, with a draft, and with a draft that was mended.

    python -m benchmarks.drafts [--app NAME ...] [--case NAME ...] [--quick] [--keep FOLDER] --json FILE

The applications of `benchmarks.software` are installed, filled and served; recorded sites are served as they are, from
a knowledge base without their application, one theme of each application unless ``--all-themes``. A draft is made from
two pages with content and two lists that a person would choose, for any site of the software. Rows are written as they
are measured; those that FILE has already, and that did not fail, are not measured again.
"""

import argparse
import json
import sys
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path

from aahcrawler.editor.drafting.doubts import Doubt
from aahcrawler.editor.drafting.draft import DraftError
from benchmarks.drafts.claims import Strangers
from benchmarks.drafts.drafted import Folders, first_draft
from benchmarks.drafts.mending import Mended, Truth, mended
from benchmarks.drafts.recorded_subject import RecordedSubject
from benchmarks.drafts.software_subject import opened_subject
from benchmarks.drafts.subject import MEASURED, Subject
from benchmarks.recorded import NoRecordedSitesError, RecordedSite, SiteServerError, recorded_sites
from benchmarks.results import Cell, Row, report
from benchmarks.sites import BenchmarkError
from benchmarks.software.installation import APPLICATIONS, Application, InstallationError
from benchmarks.software.measuring import Plan
from benchmarks.software.writing import QUICK, Size
from knowledge_base.loader import LoadError

_COLUMNS = ("app", "theme", "case", *MEASURED, "corrections", "claimed", "failure")
_FAILURES = (DraftError, LoadError, InstallationError, BenchmarkError, SiteServerError)


class Case(StrEnum):
    """What the knowledge base knows of a site's software."""

    NONE = "none"
    """Nothing."""
    DRAFT = "draft"
    """A draft that nobody has looked at."""
    MENDED = "mended"
    """The draft with at most five corrections: from the top of its doubts, what the truth confirms."""


@dataclass(frozen=True, slots=True)
class Place:
    """A site that can be measured: its names, and how to open it until a block ends."""

    app: str
    theme: str
    open: Callable[[Path], AbstractContextManager[Subject]]


@dataclass
class Rows:
    """The rows measured so far, which are those of a file to begin with, and written to it one by one."""

    target: Path | None
    rows: list[Row] = field(default_factory=list)

    def __post_init__(self) -> None:
        if self.target is not None and self.target.is_file():
            known = json.loads(self.target.read_text("utf-8"))["rows"]
            self.rows = [row for row in known if not row["failure"]]

    def lacks(self, app: str, theme: str, case: Case) -> bool:
        """Return whether a row is still to be measured."""
        return (app, theme, case) not in {(row["app"], row["theme"], row["case"]) for row in self.rows}

    def add(self, row: Row) -> None:
        """Keep a row, say what it is, and write all of them."""
        self.rows.append({name: row.get(name) for name in _COLUMNS})
        said = (f"{name}={value}" for name, value in row.items() if value is not None)
        print(" ".join(said), file=sys.stderr, flush=True)
        if self.target is not None:
            self.target.write_text(json.dumps({"rows": self.rows}, indent=2) + "\n", "utf-8")


@dataclass(frozen=True, slots=True)
class Measuring:
    """The measuring of sites: what with, and where their crawls are kept."""

    strangers: Strangers
    kept: Path | None

    def row(self, subject: Subject, case: Case, folder: Path) -> Mapping[str, Cell]:
        """Measure a case; raises one of the failures that a row can tell."""
        kept = self.kept and self.kept / "-".join(filter(None, (subject.app, subject.theme, case)))
        folders = Folders(subject.knowledge_base(folder / "base"), folder / "own")
        if case is Case.NONE:
            return subject.crawled(str(folders.base), folder / "site", kept)
        made = first_draft(subject, folders)
        file = Mended(made.file)
        if case is Case.MENDED:
            truth = Truth(subject.known_pages(), lambda application: self.strangers.claims(application, subject.app))
            file = mended(made.file, made.doubts, truth)
        folders.write(file.file)
        claimed = self.strangers.claims(folders.application(), subject.app)
        crawled = subject.crawled(folders.setting, folder / "site", kept)
        if kept:
            self._keep(made.doubts, file, kept)
        return {**crawled, "corrections": len(file.corrections), "claimed": claimed}

    def _keep(self, doubts: Sequence[Doubt], file: Mended, kept: Path) -> None:
        """Keep a draft beside its crawl, with its doubts, its corrections and the pages that it claims."""
        (kept / "draft.xml").write_bytes(file.file)
        said = [
            f"{each.doubt:.2f} {each.place}: {each.said}{''.join(f' | {a.said}' for a in each.alternatives)}"
            for each in doubts
        ]
        for name, lines in (("doubts", said), ("corrections", file.corrections), ("claimed", self.strangers.claimed)):
            (kept / f"{name}.txt").write_text("".join(f"{line}\n" for line in lines), "utf-8")


def places(sites: Sequence[RecordedSite], plan: Plan, *, all_themes: bool, held_out: bool) -> Iterator[Place]:
    """Yield what there is to measure: installed software, then recorded sites, the first theme of each or all."""
    for application in APPLICATIONS:
        if held_out or not application.held_out:
            yield Place(application.name, "", _opening(application, plan))
    seen: set[str] = set()
    for site in sites:
        if all_themes or site.app not in seen:
            seen.add(site.app)
            yield Place(site.app, site.theme, _recorded(site))


def _opening(application: Application, plan: Plan) -> Callable[[Path], AbstractContextManager[Subject]]:
    return lambda folder: opened_subject(application, plan, folder)


def _recorded(site: RecordedSite) -> Callable[[Path], AbstractContextManager[Subject]]:
    return lambda _: nullcontext(RecordedSubject(site))


def measure(place: Place, cases: Sequence[Case], measuring: Measuring, rows: Rows) -> None:
    """Measure the cases of a site that have no row yet."""
    lacking = [case for case in cases if rows.lacks(place.app, place.theme, case)]
    if not lacking:
        return
    head: dict[str, Cell] = {"app": place.app, "theme": place.theme}
    with tempfile.TemporaryDirectory(prefix="aah-drafts-") as name:
        try:
            with place.open(Path(name) / "filled") as subject:
                for case in lacking:
                    try:
                        rows.add({**head, "case": case, **measuring.row(subject, case, Path(name) / case)})
                    except _FAILURES as error:
                        rows.add({**head, "case": case, "failure": str(error)})
        except InstallationError as error:
            rows.add({**head, "case": lacking[0], "failure": str(error)})


def main() -> int:
    """Run the benchmark from the command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--app", nargs="+", metavar="NAME", help="measure these alone: spirit, mybb, mybb/cerise")
    parser.add_argument("--case", nargs="+", choices=list(Case), default=list(Case), help="measure these cases alone")
    parser.add_argument("--all-themes", action="store_true", help="measure every theme of recorded sites")
    parser.add_argument(
        "--held-out", action="store_true", help="measure software as well that nobody looks at while tuning"
    )
    parser.add_argument("--quick", action="store_true", help="fill installed software with little content")
    parser.add_argument("--keep", type=Path, metavar="FOLDER", help="keep each crawl here, with its draft")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the rows here")
    arguments = parser.parse_args()
    try:
        sites = recorded_sites()
    except NoRecordedSitesError as error:
        print(f"{error}: software alone is measured", file=sys.stderr)
        sites = ()
    plan = Plan(frozenset(), (), QUICK if arguments.quick else Size(), 1)
    wanted = set(arguments.app or ())
    named = any("/" in name for name in wanted)
    found = list(places(sites, plan, all_themes=arguments.all_themes or named, held_out=arguments.held_out))
    chosen = [place for place in found if not wanted or wanted & {place.app, f"{place.app}/{place.theme}"}]
    if not chosen:
        parser.error(f"there is nothing of these names; there are {', '.join(place.app for place in found)}")
    rows = Rows(arguments.json)
    for place in chosen:
        measure(place, tuple(map(Case, arguments.case)), Measuring(Strangers(sites), arguments.keep), rows)
    report(rows.rows, arguments.json)
    return int(any(row["failure"] for row in rows.rows))


if __name__ == "__main__":
    sys.exit(main())
