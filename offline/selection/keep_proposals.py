"""Propose which pages to keep, with reasons, in a file in which an archivist decides (ARCOMEM, section 3.3).

A page is worth more the more relevant it is, and the fewer pages with its topics, its voices and its time are already
proposed. The page worth most is proposed, then the others are weighed again: the same archive gives the same proposals.
"""

import heapq
import json
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from itertools import chain
from pathlib import Path
from sys import intern
from typing import Final

import yaml

from aahcrawler import urls
from aahcrawler.annotations import Kind, annotations_of
from aahcrawler.annotations.judgements import membership_of
from aahcrawler.annotations.keep_decisions import KeepAnswer, KeepDecision, read_decisions
from aahcrawler.annotations.web_annotations import AnnotationFileError
from aahcrawler.layout import DECISIONS
from aahcrawler.objects.capture_statements import read_statements
from aahcrawler.objects.reader import Statements
from offline.selection.criteria import Criteria, CriteriaError

_TOPICS, _VOICES, _TIME = 0.5, 0.25, 0.25
"""What the novelty of topics, voices and time is worth, relative to a relevance of 1."""
_REPEATED = 0.1
"""The factor for the worth of a page if one that says nearly the same is already proposed."""
_MAX_BYTES: Final = 50_000_000
_ANSWERS: Final = {"yes": True, "no": False}


@dataclass(frozen=True, slots=True)
class KeepProposal:
    """A proposed page: its URL, the group with which it is decided on, and the reasons.

    ``month`` is that of the first object published on it, else of its capture; ``relevance`` is from 0 to 1, None if no
    capture of the page has any, because nobody said what is relevant.
    """

    url: str
    group: str
    reasons: tuple[str, ...]
    month: str = ""
    relevance: float | None = None


@dataclass(slots=True)
class _Page:
    """What is known about the page at a URL, from all of its captures; texts that many pages share are stored once."""

    score: float | None = None
    site: str = ""
    month: str = ""
    topics: dict[str, tuple[float, str]] = field(default_factory=dict)
    clusters: set[str] = field(default_factory=set)
    voices: set[str] = field(default_factory=set)


@dataclass(slots=True)
class _Proposed:
    """The topics, voices, months and clusters of the pages proposed so far."""

    topics: Counter[str] = field(default_factory=Counter)
    voices: Counter[str] = field(default_factory=Counter)
    months: Counter[str] = field(default_factory=Counter)
    clusters: set[str] = field(default_factory=set)

    def worth(self, page: _Page) -> float:
        """Return what a page is worth beside these; it never grows as more are proposed."""
        found = (page.score or 0.0) + _TIME * (1 / (1 + self.months[page.month]) if page.month else 0.0)
        found += _TOPICS * max((1 / (1 + self.topics[each]) for each in page.topics), default=0.0)
        found += _VOICES * max((1 / (1 + self.voices[each]) for each in page.voices), default=0.0)
        return found * (_REPEATED if page.clusters & self.clusters else 1.0)

    def reasons(self, page: _Page) -> Iterator[str]:
        """Yield what a page adds to these, without naming people."""
        yield from [*_relevance(page), *self._new(page)] or ["nothing new beside those before it"]

    def _new(self, page: _Page) -> Iterator[str]:
        for each, (_, label) in sorted(page.topics.items()):
            number = self.topics[each] + 1
            yield f"the first on {label}" if number == 1 else f"number {number} on {label}"
        new = sum(not self.voices[each] for each in page.voices)
        yield from (f"{new} voices not heard yet" if new > 1 else "a voice not heard yet",) if new else ()
        if page.month and not self.months[page.month]:
            yield f"the first of {page.month}"
        if page.clusters & self.clusters:
            yield "says nearly the same as another one that is proposed"

    def take(self, page: _Page) -> None:
        """Add a page."""
        self.topics.update(page.topics.keys())
        self.voices.update(page.voices)
        self.months.update([page.month])
        self.clusters |= page.clusters


def keep_proposals(crawl: Path, most: int, decided: Mapping[str, KeepDecision] = {}) -> list[KeepProposal]:
    """Return up to ``most`` pages to keep, those worth most first; none that was found not relevant.

    Pages that somebody has decided on come first: the kept ones, beside which others are weighed, and then the rejected
    ones, beside which nothing is. Topics and near duplicates come from ``aah enrich``; without it relevance, voices and
    time remain. Raises ``AnnotationFileError``, ``ReadError``, ``OSError`` and ``sqlite3.Error``.
    """
    pages, proposed = _pages(crawl), _Proposed()
    kept = [url for url in pages if url in decided and decided[url].answer is KeepAnswer.KEEP]
    rejected = [url for url in pages if url in decided and decided[url].answer is KeepAnswer.REJECT]
    found = [*_best(pages, kept, proposed, len(kept))]
    found += [_proposal(url, pages[url], tuple(_relevance(pages[url]))) for url in sorted(rejected)]
    return [*found, *_best(pages, [url for url in pages if url not in decided], proposed, most)]


def _relevance(page: _Page) -> Iterator[str]:
    if page.score is not None:
        yield f"relevance {page.score:.2f}"


def _best(pages: Mapping[str, _Page], urls: Iterable[str], proposed: _Proposed, most: int) -> Iterator[KeepProposal]:
    """Yield pages; the one that is worth most beside those proposed before it comes first."""
    waiting = [(-proposed.worth(pages[url]), url) for url in urls]
    heapq.heapify(waiting)
    while waiting and most:
        _, url = heapq.heappop(waiting)
        page = pages[url]
        worth = -proposed.worth(page), url
        if waiting and worth > waiting[0]:  # What it was worth before has gone down meanwhile.
            heapq.heappush(waiting, worth)
            continue
        yield _proposal(url, page, tuple(proposed.reasons(page)))
        proposed.take(page)
        most -= 1


def _proposal(url: str, page: _Page, reasons: tuple[str, ...]) -> KeepProposal:
    label = max(page.topics.values(), default=(0.0, ""))[1]
    return KeepProposal(url, f"topic: {label}" if label else f"site: {page.site}", reasons, page.month, page.score)


def _pages(crawl: Path) -> Mapping[str, _Page]:
    found: dict[str, _Page] = defaultdict(_Page)
    of_capture: dict[str, str] = {}
    unwanted = set[str]()
    decided = membership_of(crawl)
    for stated in Statements.of(crawl).each(read_statements):
        row = stated.row
        if stated.is_requisite or not row.is_page:
            continue
        is_member = decided[row.url].is_member if row.url in decided else row.relevant
        if is_member is False:
            unwanted.add(row.url)
            continue
        page = found[row.url]
        of_capture[row.capture] = row.url
        page.score = max((each for each in (page.score, row.score) if each is not None), default=None)
        page.site = urls.queue_of(row.url)
        for each in stated.objects:
            page.voices |= {intern(f"{page.site} {each.author}")} if each.author else set()
            page.month = intern(min(filter(None, (page.month, (each.date or "")[:7])), default=""))
        page.month = page.month or row.fetched_at[:7]
    with annotations_of(crawl) as annotations:
        for said in chain(annotations.of_kind(Kind.TOPIC), annotations.of_kind(Kind.CLUSTER)):
            if said.capture not in of_capture:
                continue
            page, meant = found[of_capture[said.capture]], intern(said.iri or said.label)
            if said.kind is Kind.CLUSTER:
                page.clusters.add(meant)
            else:
                page.topics[meant] = max(page.topics.get(meant, (0.0, "")), (said.confidence, intern(said.label)))
    return {url: page for url, page in found.items() if url not in unwanted}


def review_file(found: Sequence[KeepProposal], crawl: Path, review: Path) -> str:
    """Return the content of a review file: groups in the order of their best pages."""
    groups: dict[str, list[KeepProposal]] = defaultdict(list)
    for each in found:
        groups[_line(each.group)].append(each)
    lines = [
        f"# {len(found):,} pages of {crawl} to keep. Say `keep: no` for a group, or delete the lines of single pages.",
        "# Nothing is changed in the archive: to take a decision back, change it here, and write the pages again:",
        f"#     aah select {crawl} --review {review} --to FILE.warc.gz",
        f"#     aah export {crawl} --review {review} --wacz FILE.wacz",
        "groups:" if groups else "groups: []",
    ]
    for name, pages in groups.items():
        lines += [f"  - name: {json.dumps(name, ensure_ascii=False)}", "    keep: yes", "    pages:"]
        lines += [f"      - {json.dumps(each.url)}{_remark(each.reasons)}" for each in pages]
    return "\n".join(lines) + "\n"


def _remark(reasons: Sequence[str]) -> str:
    return f"  # {_line('; '.join(reasons))}" if reasons else ""


def _line(text: str) -> str:
    """Return a text as one line that YAML can contain."""
    return " ".join("".join(each if each.isprintable() else " " for each in text).split())


def as_lines(found: Sequence[KeepProposal]) -> str:
    """Return proposals as lines of JSON, for programs."""
    return "".join(f"{json.dumps(asdict(each), ensure_ascii=False)}\n" for each in found)


def kept_urls(path: Path) -> frozenset[str]:
    """Return the URLs that are kept according to a review file, or to the file of decisions made in the cockpit.

    Raises ``CriteriaError``, which says where the mistake is.
    """
    if path.name == DECISIONS:
        try:
            decided = read_decisions(path)
        except AnnotationFileError as error:
            raise CriteriaError(str(error)) from error
        return frozenset(url for url, each in decided.items() if each.answer is KeepAnswer.KEEP)
    try:
        content = path.read_bytes()
        if len(content) > _MAX_BYTES:
            raise CriteriaError(f"{path}: is larger than {_MAX_BYTES:,} bytes; it is no review file")
        data = yaml.load(content, Loader=yaml.BaseLoader)  # noqa: S506  All scalars are strings, and no objects are made.
    except OSError as error:
        raise CriteriaError(f"{path}: cannot be read ({error.strerror})") from error
    except (yaml.YAMLError, ValueError, RecursionError) as error:
        raise CriteriaError(f"{path}: is no YAML: {error}") from error
    groups = data.get("groups") if isinstance(data, dict) else None
    if not isinstance(groups, list):
        raise CriteriaError(f"{path}: holds no groups; write it with `aah select CRAWL --propose {path}`")
    return frozenset(url for number, group in enumerate(groups, 1) for url in _kept(path, number, group))


def reviewed(criteria: Criteria, path: Path | None) -> Criteria:
    """Return criteria that also require a page to be kept in a review file; without one the same criteria.

    Raises ``CriteriaError``, also where nobody has kept a page.
    """
    if path is None:
        return criteria
    kept = kept_urls(path)
    if not kept:
        way = "keep some in the cockpit, at What to keep" if path.name == DECISIONS else "write `keep: yes` at a group"
        raise CriteriaError(f"{path}: nobody has kept a page; {way}")
    return replace(criteria, urls=kept if criteria.urls is None else kept & criteria.urls)


def _kept(path: Path, number: int, group: object) -> Iterator[str]:
    said = group if isinstance(group, dict) else {}
    answer, pages = _ANSWERS.get(str(said.get("keep")).casefold()), said.get("pages") or []
    if answer is None:
        raise CriteriaError(f"{path}: group {number} says neither `keep: yes` nor `keep: no`")
    if not isinstance(pages, list):
        raise CriteriaError(f"{path}: the pages of group {number} are no list; write a URL a line, after `- `")
    for each in pages:
        url = urls.canonicalize(each) if isinstance(each, str) else None
        if url is None:
            raise CriteriaError(f"{path}: {str(each)[:200]!r} in group {number} is no http(s) URL")
        if answer:
            yield url
