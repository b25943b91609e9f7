"""Serves cases on loopback, crawls them by ``aah crawl``, and reads what it left."""

import json
import os
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from itertools import groupby
from pathlib import Path
from typing import Final

from aahcrawler.archive.record_access import appended
from aahcrawler.layout import WARC
from aahcrawler.metadata import read
from aahcrawler.objects.reader import objects_of, page_rows
from aahcrawler.segments import segments
from benchmarks.exact_server import Answering, ExactServer, Reply, Request, not_found
from benchmarks.process_memory import run
from benchmarks.wildweb.case import KEYWORD, Case
from benchmarks.wildweb.judging import Seen, SeenPage

_LONGEST: Final = 660.0
"""Seconds after which a crawl that its own limit did not end is killed."""
_ICD: Final = {
    "id": "wildweb",
    "contact": "benchmark@example.org",
    "topic": {"keywords": [KEYWORD]},
    "browser": {"use": "never"},
    "politeness": {"delay": 0, "delay_factor": 0, "max_delay": 0, "retries": 1, "timeout": "20 s"},
    "limits": {"pages": 3000, "time": "10 min"},
}


class CrawlError(Exception):
    """A crawl left no summary; the message is its output."""


def together(cases: Sequence[Case]) -> Sequence[Sequence[Case]]:
    """Return the cases by crawls: those of a kind that have the same definition, or one that is alone."""
    keyed = [((case.kind, case.icd, case.name if case.alone else ""), case) for case in cases]
    keyed.sort(key=lambda pair: pair[0])
    return [[case for _, case in pairs] for _, pairs in groupby(keyed, key=lambda pair: pair[0])]


def crawl(cases: Sequence[Case], keep: Path | None = None) -> Mapping[str, Seen]:
    """Crawl cases of one definition together; return by their names what was seen. Raises ``CrawlError``."""
    with _folder(keep, cases[0]) as place, ExactServer().running() as server:
        server.answering = answering(cases)
        output = place / "crawl"
        definition = place / "icd.yaml"
        definition.write_text(_definition(cases, server.port, output), "utf-8")
        ended = run([sys.executable, "-m", "aahcrawler.cli", "crawl", str(definition)], os.environ, _LONGEST)
        try:
            summary = json.loads((output / "crawl.json").read_text("utf-8"))
        except FileNotFoundError:
            raise CrawlError(f"{cases[0].kind}: {ended.output}") from None
        asked = [_url(sent.request) for sent in server.taken()]
        verdicts = {seed["url"]: seed["verdict"] for seed in summary["seeds"]}
        pages = dict(_pages(output))
        return {case.name: _of(case, asked, pages, verdicts, ended.code) for case in cases}


@contextmanager
def _folder(keep: Path | None, case: Case) -> Iterator[Path]:
    """Yield a new folder, which is kept where asked for."""
    if keep is not None:
        folder = Path(tempfile.mkdtemp(prefix=f"{case.kind.replace(' ', '-')}-", dir=keep))
        yield folder
    else:
        with tempfile.TemporaryDirectory(prefix="aah-wildweb-") as name:
            yield Path(name)


def _definition(cases: Sequence[Case], port: int, output: Path) -> str:
    """Return a definition in YAML; all but what cases add is JSON, which YAML contains."""
    hosts = {host: f"127.0.0.1:{port}" for case in cases for host in case.hosts}
    fields = {
        **_ICD,
        "seeds": [case.url(seed) for case in cases for seed in case.seeds],
        "network": {"allow_private": True, "resolve": hosts},
        "output": str(output),
    }
    return "".join(f"{name}: {json.dumps(value)}\n" for name, value in fields.items()) + cases[0].icd


def answering(cases: Sequence[Case]) -> Answering:
    """Return what answers requests for the hosts of cases."""
    by_host = {host: case for case in cases for host in case.hosts}

    def answer(request: Request) -> Reply:
        case = by_host.get(_host(request))
        return (case.answer(request) if case else None) or not_found()

    return answer


def _host(request: Request) -> str:
    return request.field("Host").rpartition(":")[0].lower() or request.field("Host").lower()


def _url(request: Request) -> str:
    return f"http://{_host(request)}{request.target}"


def _pages(crawl_folder: Path) -> Iterator[tuple[str, SeenPage]]:
    """Yield the pages of a crawl by their URLs."""
    titles = dict(_titles(crawl_folder / "archive"))
    for row in page_rows(crawl_folder):
        yield row.url, SeenPage(titles.get(row.capture, ""), tuple(objects_of(crawl_folder, frozenset({row.capture}))))


def _titles(archive: Path) -> Iterator[tuple[str, str]]:
    """Yield the title of each capture that has one."""
    for path in segments(archive, WARC):
        with path.open("rb") as file:
            for capture in appended(file):
                if capture.metadata is not None:
                    yield capture.header.record_id, read(capture.metadata).title


def _of(
    case: Case, asked: Sequence[str], pages: Mapping[str, SeenPage], verdicts: Mapping[str, str], exit_code: int
) -> Seen:
    roots = tuple(f"http://{host}/" for host in case.hosts)
    return Seen(
        [url for url in asked if url.startswith(roots)],
        {url: page for url, page in pages.items() if url.startswith(roots)},
        [verdicts[url] for url in map(case.url, case.seeds) if url in verdicts],
        exit_code,
    )
