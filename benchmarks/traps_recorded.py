"""Checks trap detection on recorded sites without traps: no page that is needed should be refused."""

from collections import deque
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from json import loads

from aahcrawler import urls
from aahcrawler.helper import ApplicationAwareHelper, Assistance
from aahcrawler.page import Page
from aahcrawler.pipeline.trap_evidence import seen
from aahcrawler.scope.canonical import Spelling
from aahcrawler.traps.traps import Traps, Verdict
from benchmarks.recorded import RecordedSite
from benchmarks.results import Row
from benchmarks.site_pages import recorded_files
from knowledge_base.file_selection import SHIPPED
from knowledge_base.loader import load
from knowledge_base.model import KnowledgeBase
from online_analysis.icd.scoping import Canonical
from online_analysis.icd.sections import Traps as Section


@dataclass(frozen=True, slots=True)
class Answer:
    """The links of a recorded URL, and whether navigation chose each; ``assistance`` None for no page."""

    links: Sequence[tuple[str, bool]]
    assistance: Assistance | None = None


@dataclass(frozen=True, slots=True)
class Reached:
    """The URLs that a crawl of a recorded site asked for, and how many links it refused."""

    urls: frozenset[str]
    refused: int


def rows(site: RecordedSite) -> Sequence[Row]:
    """Return a row with the knowledge base that ships, and one without any."""
    return [_row(site, "shipped", load(SHIPPED)), _row(site, "none", KnowledgeBase(()))]


def _row(site: RecordedSite, name: str, knowledge_base: KnowledgeBase) -> Row:
    answers = understood(site, ApplicationAwareHelper(knowledge_base))
    needed = needed_pages(site)
    free, judged = crawl(answers, None), crawl(answers, Traps(Section()))
    missed = (needed & free.urls) - judged.urls
    return {
        "site": site.name,
        "knowledge_base": name,
        "needed": len(needed & free.urls),
        "wrongly_refused": len(missed),
        "fetched_without": len(free.urls),
        "fetched": len(judged.urls),
        "links_refused": judged.refused,
        "missed": " ".join(sorted(missed)[:3]),
    }


def needed_pages(site: RecordedSite) -> frozenset[str]:
    """Return the canonical URLs of pages that hold objects which no other URL before them holds."""
    with (site.folder / "pages.jsonl").open(encoding="utf-8") as lines:
        told = list(map(loads, lines))
    canonical = (urls.canonicalize(row["url"]) for row in told if row["objects"] and not row.get("dup_of"))
    return frozenset(filter(None, canonical))


def understood(site: RecordedSite, helper: ApplicationAwareHelper) -> Mapping[str, Answer]:
    """Return the links of each recorded URL, in the order of the recording."""
    found: dict[str, Answer] = {}
    for _, page in recorded_files(site):
        url = urls.canonicalize(page.url)
        if url is not None and url not in found:
            found[url] = _answer(url, page, helper)
    return found


def _answer(url: str, page: Page, helper: ApplicationAwareHelper) -> Answer:
    if 300 <= page.status < 400:
        target = urls.resolve(url, page.headers.get("Location"))
        return Answer(((target, False),) if target else ())
    if page.status != 200 or not (page.is_html or page.is_json):
        return Answer(())
    assistance = helper.assist(page)
    return Answer([(each.url, each.action is not None) for each in assistance.document.outlinks], assistance)


def crawl(answers: Mapping[str, Answer], traps: Traps | None) -> Reached:
    """Follow links from the first URL, the first found first; URLs that were not recorded are no pages."""
    spelling, front = Spelling(Canonical()), next(iter(answers))
    queue, queued, fetched, refused = deque([(front, True)]), {front}, set[str](), 0
    while queue:
        url, chosen = queue.popleft()
        if traps is not None and url != front and traps.admit(url, trusted=chosen) is not None:
            refused += 1
            continue
        answer = answers.get(url, Answer(()))
        fetched.add(url)
        links: Sequence[tuple[str, bool]] = [
            (spelling(to), action) for to, action in answer.links if urls.queue_of(to) == urls.queue_of(front)
        ]
        if traps is not None:
            followed = _judged(traps, url, answer, links)
            refused += len(links) - len(followed)
            links = followed
        for to, action in links:
            if to not in queued:
                queued.add(to)
                queue.append((to, action))
    return Reached(frozenset(fetched), refused)


def _judged(traps: Traps, url: str, answer: Answer, links: Sequence[tuple[str, bool]]) -> Sequence[tuple[str, bool]]:
    """Return the links that are followed, as in a crawl."""
    verdict = Verdict()
    if answer.assistance is not None:
        verdict = traps.judge(seen(url, urls.queue_of(url), answer.assistance), "0")
    if verdict.probe:
        traps.probed(verdict.probe, None)
    open_to = [link for link in links if verdict.trap is None or link[1]]
    followed = [(to, action) for to, action in open_to if traps.admit(to, trusted=action) is None]
    traps.fetched(url, verdict, [to for to, _ in followed])
    return followed
