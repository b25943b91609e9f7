"""Compares what a crawl asked for, read and said of a case's site with what is right."""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from aahcrawler.objects.capture_statements import ObjectRow
from aahcrawler.seeds import Verdict
from aahcrawler.seeds.verdicts import GIVING
from benchmarks.wildweb.case import Case, WantedObject

_OWN = re.compile(r"http://[^/]+/(robots\.txt|(.*/)?aah-no-such-page-.*)")
"""What a crawler asks for by itself."""
_SHOWN = 4
"""Targets that are named of those that are wrong."""
_UNREADABLE = "\N{REPLACEMENT CHARACTER}"


@dataclass(frozen=True, slots=True)
class SeenPage:
    """What was read of a page."""

    title: str = ""
    objects: Sequence[ObjectRow] = ()


@dataclass(frozen=True, slots=True)
class Seen:
    """What was seen of a crawl of a case: URLs asked for, pages by URL, the verdicts on its seeds, the exit code."""

    asked: Sequence[str] = ()
    pages: Mapping[str, SeenPage] = field(default_factory=dict)
    verdicts: Sequence[str] = ()
    exit_code: int = 0


@dataclass(frozen=True, slots=True)
class Judgement:
    """What is missing, and what nobody wrote, in words."""

    lost: Sequence[str] = ()
    invented: Sequence[str] = ()

    @property
    def right(self) -> bool:
        """Whether all of what is right is there, and nothing else."""
        return not self.lost and not self.invented


def judge(case: Case, seen: Seen) -> Judgement:
    """Return what is wrong with what was seen of a case."""
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
    """Return the shortest object of a page that says what is wanted."""
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
