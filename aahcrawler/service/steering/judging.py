"""Sample and judge pages, and decide on their membership; the archive is not changed."""

from dataclasses import dataclass

from aahcrawler.annotations.judgements import (
    MAX_COMMENT,
    Grade,
    MemberAnswer,
    Said,
    Sample,
    Seen,
    Wanted,
    decide_membership,
    draw,
    judge,
    keep,
)
from aahcrawler.service.catalog.crawl_catalog import Crawl
from aahcrawler.service.views.judged_pages import OF_PAGE, as_problems, folder_to_judge, framed_pages, judging
from aahcrawler.service.views.page_indexes import PageIndexes
from aahcrawler.service.web.noted_acts import note_did
from aahcrawler.service.web.problems import BAD_URL, CONFLICT, NO_URL, ProblemError
from aahcrawler.urls import canonicalize


@dataclass(frozen=True, slots=True)
class Opinion:
    """A judgement of a page: a grade and a comment; None as the grade withdraws the former judgement.

    ``sample`` is the number of the sample in which the page is judged, None for none.
    """

    url: str
    grade: Grade | None
    comment: str = ""
    sample: int | None = None


def draw_sample(indexes: PageIndexes, crawl: Crawl, wanted: Wanted, by: str) -> int:
    """Sample pages of a crawl and store the sample, unless an equal one exists; return its number.

    Raise ``ProblemError``.
    """
    known = judging(crawl)
    with indexes.asked(crawl) as asked:
        if not asked.progress.complete:
            raise ProblemError(
                CONFLICT, "not all pages are indexed yet, and none is to be left out of the lot; ask again"
            )
        frame, number = framed_pages(asked, known.membership)
    made = draw(frame, wanted, number, by)
    if not made.drawn:
        raise ProblemError(CONFLICT, f"there is no page to judge{' among the members' if wanted.members else ''}")
    before = next((number for number, each in enumerate(known.samples, 1) if each.is_same_draw(made)), None)
    if before is not None:
        return before
    with as_problems():
        keep(known.folder, made)
    note_did(crawl.id, f"draw {len(made.drawn)} pages of")
    return len(known.samples) + 1


def judge_page(indexes: PageIndexes, crawl: Crawl, opinion: Opinion, by: str) -> None:
    """Store a judgement of a page; it is on disk on return. Raise ``ProblemError``."""
    known, url = judging(crawl), _canonical(opinion.url)
    sample = None if opinion.sample is None else known.sample(opinion.sample)
    seen = _drawn(sample, url) if sample is not None else _captured(indexes, crawl, url)
    said = Said(seen, opinion.grade, opinion.comment[:MAX_COMMENT], "" if sample is None else sample.id)
    with as_problems():
        judge(known.folder, by, said)
    note_did(crawl.id, "judge a page of" if opinion.grade is not None else "withdraw a judgement of")


def change_membership(indexes: PageIndexes, crawl: Crawl, url: str, answer: MemberAnswer, reason: str, by: str) -> None:
    """Store a decision on the membership of a page. Raise ``ProblemError``."""
    folder, seen = folder_to_judge(crawl), _captured(indexes, crawl, _canonical(url))
    with as_problems():
        decide_membership(folder, [seen.url], answer, by, reason[:MAX_COMMENT])
    note_did(crawl.id, f"{answer} a page of")


def _canonical(text: str) -> str:
    url = canonicalize(text)
    if url is None:
        raise ProblemError(BAD_URL, f"{text[:200]!r} is no http(s) URL")
    return url


def _drawn(sample: Sample, url: str) -> Seen:
    found = next((each for each in sample.drawn if each.url == url), None)
    if found is None:
        raise ProblemError(NO_URL, "this page is not of the sample")
    return Seen(url, found.record, found.captured)


def _captured(indexes: PageIndexes, crawl: Crawl, url: str) -> Seen:
    with indexes.asked(crawl) as asked:
        row = asked.base.execute(OF_PAGE, (url,)).fetchone()
    if row is None:
        raise ProblemError(NO_URL, "the crawl has captured no page at this URL")
    return Seen(url, row["record"], row["fetched_at"])
