"""Pages for judging: pages are sampled and shown one by one, people grade them, and measures follow from that."""

from collections.abc import Mapping
from typing import Annotated, Final

from fastapi import APIRouter, Path, Query, Response

from aahcrawler.annotations.judgements import MAX_COMMENT, MAX_SAMPLE, USUAL, Grade, MemberAnswer, Order, Wanted
from aahcrawler.layout import JUDGEMENTS
from aahcrawler.replay.addresses import Modifier
from aahcrawler.report.judged_collection import figures
from aahcrawler.service.cockpit.captured_pages import replay_path
from aahcrawler.service.cockpit.sign_in import Said
from aahcrawler.service.cockpit.site import Judging, Operating, Reading, Sent, Site, address, then
from aahcrawler.service.cockpit.spoken_pages import as_csv
from aahcrawler.service.steering.judging import Opinion, change_membership, draw_sample, judge_page
from aahcrawler.service.views.judged_pages import evaluation, judgements_told, judging, page_to_judge
from aahcrawler.service.web.problems import BAD_SEARCH, ProblemError

MAX_SEED: Final = 2**31 - 1
Number = Annotated[int, Path(ge=1, le=1_000_000)]
Place = Annotated[int, Query(ge=0, le=MAX_SAMPLE)]
_WITHDRAWN: Final = "withdrawn"
_MEMBERSHIP: Final[Mapping[MemberAnswer, str]] = {
    MemberAnswer.MEMBER: "is a member of the collection now",
    MemberAnswer.NOT_MEMBER: "is no member of the collection now",
    MemberAnswer.UNDECIDED: "is a member or not by its relevance again",
}


def routes(site: Site) -> APIRouter:
    """Return the routes of judging."""
    router = APIRouter(prefix="/crawls/{crawl}/archive/judge")
    indexes = site.instruments.indexes

    @router.get("")
    def show(
        session: Reading, crawl: str, grade: Annotated[str, Query(pattern="^(highly-relevant|relevant)$")] = "relevant"
    ) -> Response:
        found = site.crawl(crawl)
        known, by = judging(found), session.caller.name
        with indexes.asked(found) as asked:
            measured = evaluation(asked, known, Grade(grade)) if known.judgements else None
        values = {
            "known": known,
            "samples": list(reversed(known.views())),
            "measured": measured,
            "figures": {} if measured is None else figures(measured),
            "grade": grade,
            "by": by,
            "most": MAX_SAMPLE,
            "usual": USUAL,
            "grades": list(Grade),
        }
        return site.crawl_page(session, found, "archive", "judge.html", **values)

    @router.get("/judgements.jsonl")
    def download(_: Reading, crawl: str) -> Response:
        content = b"".join(judgements_told(judging(site.crawl(crawl)).folder))
        named = {"Content-Disposition": f'attachment; filename="{crawl}-{JUDGEMENTS}"'}
        return Response(content, media_type="application/x-ndjson", headers=named)

    @router.get("/judgements.csv")
    def download_table(_: Reading, crawl: str) -> Response:
        names = ("url", "grade", "judge", "at", "comment", "captured", "record", "sample")
        made = judging(site.crawl(crawl)).judgement_views()
        rows = ((e.url, e.grade, e.by, e.at, e.comment, e.captured, e.record, max(e.samples, default="")) for e in made)
        return as_csv(f"{crawl}-judgements", (names, *rows))

    @router.get("/{number}")
    def show_page(session: Reading, crawl: str, number: Number, at: Place = 0, after: Place = 0) -> Response:
        found = site.crawl(crawl)
        known, by = judging(found), session.caller.name
        sample = known.sample(number)
        place = at or known.next_place(sample, by) or 1
        judged = known.judged_in(sample, by)
        with indexes.asked(found) as asked:
            shown = page_to_judge(asked, known, sample, place, by)
        values = {
            "shown": shown,
            "page": shown.page,
            "framed": replay_path(crawl, shown.page, Modifier.PAGE),
            "sample": sample,
            "number": number,
            "place": place,
            "judged": judged,
            "undo": sample.drawn[after - 1].url if 0 < after <= len(sample.drawn) else "",
            "after": after,
            "longest": MAX_COMMENT,
            "grades": list(enumerate(Grade, 1)),
        }
        return site.crawl_page(session, found, "archive", "judging.html", **values)

    _add_acts(router, site)
    return router


def _add_acts(router: APIRouter, site: Site) -> None:
    """Add the routes by which pages are sampled and judged."""
    indexes = site.instruments.indexes

    @router.post("/draw")
    def draw(session: Judging, crawl: str, form: Sent) -> Response:
        found = site.crawl(crawl)
        pages = _number(form.get("pages") or str(USUAL), 1, MAX_SAMPLE, "pages")
        seed = _number(form.get("seed") or "0", 0, MAX_SEED, "the seed")
        order = form.get("order") or Order.LOT
        if order not in list(Order):
            raise ProblemError(BAD_SEARCH, "say in which order: by lot, or as they were fetched")
        wanted = Wanted(Order(order), pages, seed, members=form.get("members") == "yes")
        number = draw_sample(indexes, found, wanted, session.caller.name)
        return then(session, address("crawls", crawl, "archive", "judge", str(number)))

    @router.post("/membership")
    def decide(session: Operating, crawl: str, form: Sent) -> Response:
        found, answer, url = site.crawl(crawl), form.get("answer"), form.get("url")
        if answer not in list(MemberAnswer):
            raise ProblemError(BAD_SEARCH, "say whether the page is a member")
        change_membership(indexes, found, url, MemberAnswer(answer), form.get("reason"), session.caller.name)
        back = form.get("back") or address("crawls", crawl, "archive", "judge")
        return then(session, back, Said(f"{url} {_MEMBERSHIP[MemberAnswer(answer)]}"))

    @router.post("/{number}/judge")
    def judge(session: Judging, crawl: str, number: Number, form: Sent) -> Response:
        found, said, url, by = site.crawl(crawl), form.get("grade"), form.get("url"), session.caller.name
        if said not in (*Grade, _WITHDRAWN):
            raise ProblemError(BAD_SEARCH, "say how relevant the page is")
        grade = None if said == _WITHDRAWN else Grade(said)
        judge_page(indexes, found, Opinion(url, grade, form.get("comment"), number), by)
        known = judging(found)
        sample = known.sample(number)
        place = next((at for at, each in enumerate(sample.drawn, 1) if each.url == url), 1)
        here = ("crawls", crawl, "archive", "judge")
        if grade is None:
            return then(session, address(*here, str(number), at=place), Said(f"Page {place}: not judged any more"))
        following = known.next_place(sample, by, place)
        if following is None:
            done = Said(f"Page {place}: {grade.words}. You have judged all {len(sample.drawn):,} pages of the sample")
            return then(session, address(*here), done)
        told = Said(f"Page {place}: {grade.words}")
        return then(session, address(*here, str(number), at=following, after=place), told)


def _number(text: str, least: int, most: int, what: str) -> int:
    if not text.isascii() or not text.isdigit() or not least <= int(text[:10]) <= most:
        raise ProblemError(BAD_SEARCH, f"write a number for {what} from {least:,} to {most:,}")
    return int(text)
