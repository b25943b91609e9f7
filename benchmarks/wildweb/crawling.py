"""Crawls the cases of a kind together, and judges what was requested and reported for each."""

import json
import os
import re
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import groupby
from pathlib import Path
from typing import Final

from aahcrawler.archive.record_access import appended
from aahcrawler.layout import WARC
from aahcrawler.metadata import read_metadata
from aahcrawler.objects.capture_statements import ObjectRow
from aahcrawler.objects.reader import objects_of, page_rows
from aahcrawler.seeds import Verdict
from aahcrawler.seeds.verdicts import GIVING
from aahcrawler.segments import segments
from benchmarks.exact_server import ExactServer, Reply, Request, Responder, not_found
from benchmarks.process_memory import run
from benchmarks.wildweb.case import KEYWORD, Case, WantedObject

_OWN = re.compile(r"http://[^/]+/(robots\.txt|(.*/)?aah-no-such-page-.*)")
"""URLs that a crawler requests by itself."""
_SHOWN = 4
"""The most wrong targets that are named."""
_UNREADABLE = "\N{REPLACEMENT CHARACTER}"


@dataclass(frozen=True, slots=True)
class SeenPage:
    """What a crawl read of a page."""

    title: str = ""
    objects: Sequence[ObjectRow] = ()


@dataclass(frozen=True, slots=True)
class Seen:
    """The result of a crawl of a case: requested URLs, pages by URL, the verdicts on its seeds, the exit code."""

    asked: Sequence[str] = ()
    pages: Mapping[str, SeenPage] = field(default_factory=dict)
    verdicts: Sequence[str] = ()
    exit_code: int = 0


@dataclass(frozen=True, slots=True)
class Judgement:
    """What is missing, and what was invented, in words."""

    lost: Sequence[str] = ()
    invented: Sequence[str] = ()

    @property
    def right(self) -> bool:
        """Whether everything that is right is there, and nothing else."""
        return not self.lost and not self.invented


def judge(case: Case, seen: Seen) -> Judgement:
    """Return the mistakes in the result of a case."""
    objects = [each for page in seen.pages.values() for each in page.objects]
    read_lost, read_invented = _read(case, seen, objects)
    lost = (*_not_asked(case, seen), *read_lost, *_wrongly_told(case, seen))
    return Judgement(lost, (*_never_written(case, seen), *read_invented))


def _plain(case: Case, url: str) -> str:
    """Return a URL without an id that is no part of its page."""
    if case.same_page is None or not url.startswith(root := f"http://{case.host}"):
        return url
    return root + case.same_page(url.removeprefix(root))


def _not_asked(case: Case, seen: Seen) -> Iterator[str]:
    asked = {_plain(case, url) for url in seen.asked}
    missing = [target for target in case.wanted if case.url(target) not in asked]
    if missing:
        yield f"{len(missing)} of {len(case.wanted)} not asked for: {' '.join(missing[:_SHOWN])}"
    for choice in case.one_of:
        if not asked & {case.url(target) for target in choice}:
            yield f"{' or '.join(choice)} not asked for"


def _never_written(case: Case, seen: Seen) -> Iterator[str]:
    named = (*case.seeds, *case.wanted, *(target for choice in case.one_of for target in choice))
    known = {case.url(target) for target in named}
    may = re.compile(case.may) if case.may else None
    plain = dict.fromkeys(_plain(case, url).removeprefix(f"http://{case.host}") for url in seen.asked)
    strange = [
        target
        for target in plain
        if case.url(target) not in known
        and not _OWN.fullmatch(case.url(target))
        and not (may is not None and may.fullmatch(target))
    ]
    if strange:
        yield f"{len(strange)} asked for: {' '.join(strange[:_SHOWN])}"
    with_ids = [url for url in dict.fromkeys(seen.asked) if url != _plain(case, url) and url not in known]
    if len(with_ids) > case.with_ids:
        yield f"{len(with_ids)} pages asked for with an id, such as {with_ids[0]}"


def _read(case: Case, seen: Seen, objects: Sequence[ObjectRow]) -> tuple[list[str], list[str]]:
    lost, invented = list[str](), list[str]()
    matched = set[int]()
    for wanted in case.objects:
        found = _found(case, wanted, seen)
        if found is None:
            lost.append(f"{wanted.page}: no object says {wanted.says!r}")
            continue
        matched.add(id(found))
        _compare(wanted, found, lost, invented)
    for each in objects:
        if id(each) not in matched and (each.date or _UNREADABLE in f"{each.title}{each.body}"):
            invented.append(f"{each.url}: {each.type} of {each.date}, {(each.title or '')[:30]!r}")
    for page in case.pages:
        read = seen.pages.get(case.url(page.page), SeenPage())
        if page.title not in " ".join(read.title.split()):
            lost.append(f"{page.page}: titled {read.title!r}, not {page.title!r}")
        if page.objects is not None and len(read.objects) != page.objects:
            (lost if len(read.objects) < page.objects else invented).append(
                f"{page.page}: {len(read.objects)} objects, not {page.objects}"
            )
    return lost, invented


def _found(case: Case, wanted: WantedObject, seen: Seen) -> ObjectRow | None:
    """Return the shortest object of a page that has the wanted words."""
    objects = seen.pages.get(case.url(wanted.page), SeenPage()).objects
    saying = [each for each in objects if wanted.says in " ".join((each.body or "").split())]
    return min(saying, key=lambda each: len(each.body or ""), default=None)


def _compare(wanted: WantedObject, found: ObjectRow, lost: list[str], invented: list[str]) -> None:
    where = f"{wanted.page} {wanted.says[:30]!r}"
    if found.date is None and None not in wanted.dates:
        lost.append(f"{where}: undated, not of {wanted.dates[0]}")
    if found.date is not None and not any(right and found.date.startswith(right) for right in wanted.dates):
        invented.append(f"{where}: of {found.date}, not {wanted.dates[0]}")
    if wanted.authors and found.author not in wanted.authors:
        (invented if found.author else lost).append(f"{where}: by {found.author!r}, not {wanted.authors[0]!r}")
    if wanted.title not in (found.title or ""):
        lost.append(f"{where}: titled {found.title!r}, not {wanted.title!r}")


def _wrongly_told(case: Case, seen: Seen) -> Iterator[str]:
    if len(seen.verdicts) != len(case.seeds):
        yield f"{len(seen.verdicts)} of {len(case.seeds)} seeds told of"
    for seed, verdict in zip(case.seeds, seen.verdicts, strict=False):
        if verdict == Verdict.PENDING or (Verdict(verdict) in GIVING) != case.gives:
            yield f"the verdict on {seed} is {verdict!r}"
    code = 0 if case.gives else 3
    if case.alone and seen.exit_code != code:
        yield f"the exit code is {seen.exit_code}, not {code}"


_MAX_SECONDS: Final = 660.0
"""The seconds after which a crawl is killed that its own limit did not end."""
_ICD: Final = {
    "id": "wildweb",
    "contact": "benchmark@example.org",
    "topic": {"keywords": [KEYWORD]},
    "browser": {"use": "never"},
    "politeness": {"delay": 0, "delay_factor": 0, "max_delay": 0, "retries": 1, "timeout": "20 s"},
    "limits": {"pages": 3000, "time": "10 min"},
}


class CrawlError(Exception):
    """A crawl wrote no summary; the message is its output."""


def together(cases: Sequence[Case]) -> Sequence[Sequence[Case]]:
    """Return the cases by crawl: cases of a kind with the same definition, or a single one that is ``alone``."""
    keyed = [((case.kind, case.icd, case.name if case.alone else ""), case) for case in cases]
    keyed.sort(key=lambda pair: pair[0])
    return [[case for _, case in pairs] for _, pairs in groupby(keyed, key=lambda pair: pair[0])]


def crawl(cases: Sequence[Case], keep: Path | None = None) -> Mapping[str, Seen]:
    """Crawl cases with the same definition together; return the results by case. Raises ``CrawlError``."""
    with _folder(keep, cases[0]) as place, ExactServer().running() as server:
        server.respond = responder(cases)
        output = place / "crawl"
        definition = place / "icd.yaml"
        definition.write_text(_definition(cases, server.port, output), "utf-8")
        ended = run([sys.executable, "-m", "aahcrawler.cli", "crawl", str(definition)], os.environ, _MAX_SECONDS)
        try:
            summary = json.loads((output / "crawl.json").read_text("utf-8"))
        except FileNotFoundError:
            raise CrawlError(f"{cases[0].kind}: {ended.output}") from None
        asked = [f"http://{_host(sent.request)}{sent.request.target}" for sent in server.taken()]
        verdicts = {seed["url"]: seed["verdict"] for seed in summary["seeds"]}
        pages = dict(_pages(output))
        return {case.name: _of(case, asked, pages, verdicts, ended.code) for case in cases}


@contextmanager
def _folder(keep: Path | None, case: Case) -> Iterator[Path]:
    """Yield a new folder, which is kept if requested."""
    if keep is not None:
        folder = Path(tempfile.mkdtemp(prefix=f"{case.kind.replace(' ', '-')}-", dir=keep))
        yield folder
    else:
        with tempfile.TemporaryDirectory(prefix="aah-wildweb-") as name:
            yield Path(name)


def _definition(cases: Sequence[Case], port: int, output: Path) -> str:
    """Return a definition in YAML; except for what cases add, it is JSON, which is YAML as well."""
    hosts = {host: f"127.0.0.1:{port}" for case in cases for host in case.hosts}
    fields = {
        **_ICD,
        "seeds": [case.url(seed) for case in cases for seed in case.seeds],
        "network": {"allow_private": True, "resolve": hosts},
        "output": str(output),
    }
    return "".join(f"{name}: {json.dumps(value)}\n" for name, value in fields.items()) + cases[0].icd


def responder(cases: Sequence[Case]) -> Responder:
    """Return the protocol that responds to requests for the hosts of cases."""
    by_host = {host: case for case in cases for host in case.hosts}

    def respond(request: Request) -> Reply:
        case = by_host.get(_host(request))
        return (case.respond(request) if case else None) or not_found()

    return respond


def _host(request: Request) -> str:
    return request.field("Host").rpartition(":")[0].lower() or request.field("Host").lower()


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
                    yield capture.header.record_id, read_metadata(capture.metadata).title


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
