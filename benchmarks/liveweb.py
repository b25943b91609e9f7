"""Crawls small sites that behave as sites on the web do, and compares what was reached and what was said of the seed.

    python -m benchmarks.liveweb [--case NAME]... [--sessions] [--all] [--json FILE]

A row a case: ``reachable``, the pages that a reader with a browser without scripts could reach; ``reached`` of these;
``verdict`` on the seed in ``crawl.json``, and the ``expected`` one; ``leaks``, the files that hold a secret which does
not belong there; ``exit_code`` of the crawl, ``seconds``. Everything is on loopback. Without an option the sites of
``liveweb_sites`` are crawled; with ``--sessions`` those with logins, cookies, headers, certificates and proxies, among
them proxies that others made; with ``--all`` everything, the further walls and lookalikes too. Where a proxy is not
installed, its cases are left out, and that is said. Interrupted, it keeps the rows up to the first case that had not
ended.
"""

import argparse
import json
import os
import sys
import tempfile
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from benchmarks.liveweb_members import MEMBERS, PASSWORD, SESSION, VARIABLE, write_cookies
from benchmarks.liveweb_proxied import PROXIED, not_installed
from benchmarks.liveweb_sites import KEYWORD, PROXY_PASSWORD, SITES, proxying_for, serving
from benchmarks.liveweb_walls import HELD_BACK, LATER, LOOKALIKES, WALLS
from benchmarks.process_memory import run
from benchmarks.results import Row, report
from benchmarks.secret_search import leaks

CASES = {**SITES, **WALLS, **LOOKALIKES, **HELD_BACK, **LATER, **MEMBERS, **PROXIED}
SESSIONS = (
    *(name for name in SITES if name.startswith(("certificate", "client-certificate", "cookie", "proxy"))),
    *MEMBERS,
    *PROXIED,
)
"""The cases of sites that know the crawl, and of those that are reached in a way that the definition gives."""
LONGEST = 120.0
"""Seconds after which a crawl that its own limit did not end is killed."""
ICD = """\
id: liveweb
contact: benchmark@example.org
seeds: [{seed}]
topic: {{keywords: [{keyword}]}}
politeness: {{delay: 0, retries: 1, timeout: 3 s}}
limits: {{pages: 60, time: 60 s}}
output: {output}
"""
NETWORK = "network: {allow_private: true}\n"


class CrawlError(Exception):
    """A crawl left no summary; the message is its output."""


def measure(name: str) -> Row:
    """Crawl a site."""
    site = CASES[name]
    with (
        tempfile.TemporaryDirectory() as place,
        serving(site, Path(place)) as (seed, asked),
        proxying_for(site, Path(place)) as proxy,
    ):
        write_cookies(Path(place, "cookies.txt"))
        definition, output = Path(place, "icd.yaml"), Path(place, "crawl")
        text = ICD.format(seed=json.dumps(seed), keyword=KEYWORD, output=json.dumps(str(output)))
        more = site.icd.replace("{folder}", place).replace("{proxy}", proxy).replace("{seed}", seed)
        definition.write_text(text + ("" if "network:" in site.icd else NETWORK) + more, "utf-8")
        ended = run(
            [sys.executable, "-m", "aahcrawler.cli", "crawl", str(definition)],
            {**os.environ, VARIABLE: PASSWORD},
            LONGEST,
        )
        try:
            summary = json.loads((output / "crawl.json").read_text("utf-8"))
        except FileNotFoundError:
            raise CrawlError(f"{name}: {ended.output}") from None
        said = {"output": ended.output, "definition": definition.read_text("utf-8")}
        leaking = leaks(output, said, [PASSWORD, PROXY_PASSWORD, *_key(Path(place))], [SESSION])
    return {
        "case": name,
        "reachable": len(site.reachable),
        "reached": len(site.reachable & set(asked)),
        "verdict": summary["seeds"][0]["verdict"],
        "expected": site.verdict.value,
        "leaks": ", ".join(leaking),
        "exit_code": ended.code,
        "seconds": round(ended.seconds, 1),
    }


def _key(folder: Path) -> list[str]:
    """Return a line of the private key with which a site or a crawl shows who it is."""
    file = folder / "server.pem"
    return file.read_text("ascii").splitlines()[1:2] if file.exists() else []


def chosen(names: Iterable[str]) -> Iterator[str]:
    """Yield the cases that can be run here; of the others it is said why they cannot."""
    for name in names:
        if (program := not_installed(name)) is None:
            yield name
        else:
            print(f"{name}: left out, since {program} is not installed", file=sys.stderr)


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the benchmark; the exit code is 1 where anything was not reached, a verdict is wrong or a secret is told."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.liveweb", description=__doc__)
    parser.add_argument("--case", choices=sorted(CASES), action="append", help="only this one; may be given again")
    parser.add_argument("--sessions", action="store_true", help="sites with logins and the like, and proxies")
    parser.add_argument("--all", action="store_true", help="everything, further walls and lookalikes as well")
    parser.add_argument("--json", type=Path, help="write the rows to this file as well")
    given = parser.parse_args(arguments)
    names = [*chosen(given.case or (CASES if given.all else SESSIONS if given.sessions else SITES))]
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        rows: list[Row] = []
        try:
            rows.extend(pool.map(measure, names))
        finally:  # Interrupted, what was measured is kept.
            pool.shutdown(wait=False, cancel_futures=True)
            report(rows, given.json)
    right = sum(
        row["verdict"] == row["expected"] and row["reached"] == row["reachable"] and not row["leaks"] for row in rows
    )
    print(f"{right} of {len(rows)} cases right")
    sys.exit(right < len(rows))


if __name__ == "__main__":
    main()
