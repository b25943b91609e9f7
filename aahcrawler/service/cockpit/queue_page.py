"""Pages on the queue, on single URLs and on exclusions, and the acts on crawl, site and URL.

Each act returns to the page on which its button was pressed.
"""

import re
from collections.abc import Callable, Mapping
from math import inf
from typing import Annotated

from fastapi import APIRouter, Path, Query, Response
from pydantic import AfterValidator
from starlette.responses import RedirectResponse

from aahcrawler.frontier.control import Rule, RuleKind
from aahcrawler.frontier.protocol import State
from aahcrawler.service.catalog.crawl_catalog import Crawl
from aahcrawler.service.catalog.gateway import AskingAgain
from aahcrawler.service.cockpit.sign_in import Said
from aahcrawler.service.cockpit.site import Form, Operating, Reading, Sent, Site, address, then
from aahcrawler.service.steering import starting_crawls, url_scores
from aahcrawler.service.steering.steering_service import SteeringService
from aahcrawler.service.steering.url_scores import RuleView, admission, exclude, exclusions, preview, readmit, rule_of
from aahcrawler.service.views.object_list import url_captures
from aahcrawler.service.views.queue_pages import QueueQuery, queue_page
from aahcrawler.service.views.site_pages import SiteOrder, SiteQuery, site_page, sites_page
from aahcrawler.service.views.url_story import ScoreHistories, url_story
from aahcrawler.service.web.problems import BAD_SEARCH, ProblemError

Text = Annotated[str, Query(max_length=2_000)]
Word = Annotated[str, Query(max_length=300)]
STATES = (
    (State.QUEUED, "queued"),
    (State.LEASED, "being fetched"),
    (State.BLOCKED, "blocked"),
    (State.DUE, "to be fetched again"),
    (State.FAILED, "failed"),
)
ORDERS = (("queued", "most queued"), ("best", "best score"), ("done", "most fetched"), ("name", "name"))


def _read_score(text: str) -> str:
    if not re.fullmatch(r"([0-9]{1,3}([.,][0-9]{0,6})?)?", text):
        raise ValueError("is no score; write a number such as 0.5")
    return text


Score = Annotated[str, AfterValidator(_read_score)]


def routes(site: Site) -> APIRouter:
    """Return the routes of the queue and its sites."""
    router = APIRouter(prefix="/crawls/{crawl}", route_class=AskingAgain)
    reach = site.instruments.reach

    @router.get("/queue")
    def show_queue(
        session: Reading,
        crawl: str,
        text: Text = "",
        state: State = State.QUEUED,
        of_site: Annotated[str, Query(max_length=255, alias="site")] = "",
        lowest: Score = "",
        highest: Score = "",
        after: Text = "",
    ) -> Response:
        found = site.crawl(crawl)
        bounds = _number(lowest, -inf), _number(highest, inf)
        listed = queue_page(reach, found, QueueQuery(state, of_site, text, *bounds, after))
        asked = {"text": text, "state": str(state), "site": of_site, "lowest": lowest, "highest": highest}
        more = address("crawls", crawl, "queue", **asked, after=listed.next) if listed.next else ""
        values = {"listed": listed, "asked": asked, "more": more, "states": STATES}
        return site.crawl_page(session, found, "queue", "queue.html", **values)

    @router.get("/sites")
    def show_sites(
        session: Reading,
        crawl: str,
        text: Word = "",
        order: SiteOrder = "queued",
        waiting: bool = False,
        after: Annotated[int, Query(ge=0, le=10_000_000)] = 0,
    ) -> Response:
        found = site.crawl(crawl)
        listed = sites_page(reach, found, SiteQuery(text, order, waiting, after))
        asked = {"text": text, "order": order, "waiting": waiting}
        more = address("crawls", crawl, "sites", **asked, after=listed.next) if listed.next else ""
        values = {"listed": listed, "asked": asked, "more": more, "orders": ORDERS}
        return site.crawl_page(session, found, "sites", "sites.html", **values)

    @router.get("/sites/{name}")
    def show_site(session: Reading, crawl: str, name: Annotated[str, Path(max_length=255)]) -> Response:
        found = site.crawl(crawl)
        shown = site_page(reach, found, name)
        rule = RuleView(kind=RuleKind.HOST, text=name.partition(":")[0], reason="")
        return site.crawl_page(session, found, "sites", "site.html", shown=shown, rule=rule)

    return router


def _number(typed: str, default: float) -> float:
    """Parse a number as people type it, with a point or a comma."""
    return float(typed.replace(",", ".")) if typed else default


_MAX_TEXT_LENGTH = 20_000


def url_routes(site: Site) -> APIRouter:
    """Return the routes of a URL."""
    router = APIRouter(prefix="/crawls/{crawl}/url")
    histories = ScoreHistories()

    @router.get("")
    def show(session: Reading, crawl: str, url: Annotated[str, Query(max_length=_MAX_TEXT_LENGTH)] = "") -> Response:
        found = site.crawl(crawl)
        if not url.strip():
            return RedirectResponse(address("crawls", crawl, "queue"), 303)
        story = url_story(site.instruments.reach, found, url.strip())
        admitted = admission(found, story.url) if story.scope is not None else None
        values = {"story": story, "history": histories.history(found, story.url), "admission": admitted}
        try:
            with site.instruments.indexes.asked(found) as index:
                captured = url_captures(index, story.url)
        except ProblemError:
            captured = None  # Nothing of it is on this machine.
        return site.crawl_page(session, found, "queue", "url.html", captured=captured, **values)

    @router.get("/scores")
    def go_on(session: Reading, crawl: str, url: Annotated[str, Query(max_length=_MAX_TEXT_LENGTH)]) -> Response:
        found = site.crawl(crawl)
        return site.part(session, "score_history.html", crawl=found, history=histories.history(found, url))

    return router


KINDS = (
    (RuleKind.PREFIX, "all URLs that begin with"),
    (RuleKind.HOST, "a host, and all below it"),
    (RuleKind.PATTERN, "a pattern with *, or a part of the URL"),
    (RuleKind.URL, "this URL alone"),
)
_PATIENCE = 0.2
"""Seconds that a page waits for a preview, so that a short one is there at once."""


def exclusion_routes(site: Site) -> APIRouter:
    """Return the routes of exclusions."""
    router = APIRouter(prefix="/crawls/{crawl}/exclusions", route_class=AskingAgain)
    reach, jobs = site.instruments.reach, site.instruments.helm.jobs

    @router.get("")
    def show(
        session: Reading,
        crawl: str,
        kind: RuleKind = RuleKind.PREFIX,
        text: Annotated[str, Query(max_length=4_200)] = "",
        job: Annotated[str, Query(max_length=100)] = "",
    ) -> Response:
        found = site.crawl(crawl)
        values = {"job": jobs.wait(crawl, job, _PATIENCE) if job else None, "kinds": KINDS, "kind": kind, "text": text}
        held = exclusions(reach, found)
        return site.crawl_page(session, found, "exclusions", "exclusions.html", held=held, **values)

    @router.get("/preview/{job}")
    def go_on(session: Reading, crawl: str, job: Annotated[str, Path(max_length=100)]) -> Response:
        found = site.crawl(crawl)
        return site.part(session, "exclusion_preview.html", crawl=found, job=jobs.wait(crawl, job, _PATIENCE))

    @router.post("/preview")
    def begin(session: Operating, crawl: str, form: Sent) -> Response:
        found = site.crawl(crawl)
        rule = _rule(site, crawl, form.get("kind"), form.get("text"))
        begun = preview(reach, jobs, found, session.caller.name, [rule])
        return then(session, address("crawls", crawl, "exclusions", kind=rule.kind, text=rule.text, job=begun.id))

    @router.post("/apply")
    def put_in_force(session: Operating, crawl: str, form: Sent) -> Response:
        rule = _rule(site, crawl, form.get("kind"), form.get("text"))
        done = exclude(reach, site.crawl(crawl), session.caller.name, [rule])
        return then(session, address("crawls", crawl, "exclusions"), Said(done.detail))

    @router.post("/take-back")
    def take_back(session: Operating, crawl: str, form: Sent) -> Response:
        rule = _rule(site, crawl, form.get("kind"), form.get("text"))
        done = readmit(reach, site.crawl(crawl), session.caller.name, [rule])
        return then(session, address("crawls", crawl, "exclusions"), Said(done.detail))

    return router


def _rule(site: Site, crawl: str, kind: str, text: str) -> Rule:
    known = next((each for each in RuleKind if each == kind), RuleKind.PREFIX)
    return rule_of(site.crawl(crawl), known, text)


_Act = Callable[[Crawl, str, Form], Said]
"""Does something to a crawl on behalf of somebody, and says what came of it."""


def act_routes(site: Site) -> APIRouter:
    """Return the route of acts."""
    router = APIRouter(prefix="/crawls/{crawl}")
    acts = _Acts(site.instruments.helm).by_name()

    @router.post("/acts/{act}")
    def operate(session: Operating, crawl: str, act: str, form: Sent) -> Response:
        if act not in acts:
            raise ProblemError(BAD_SEARCH, "there is no such act")
        said = acts[act](site.crawl(crawl), session.caller.name, form)
        return then(session, form.get("back") or address("crawls", crawl), said)

    return router


class _Acts:
    """The acts that buttons trigger."""

    def __init__(self, helm: SteeringService) -> None:
        self._helm, self._reach = helm, helm.reach

    def by_name(self) -> Mapping[str, _Act]:
        return {
            "pause": self._on_crawl(url_scores.pause),
            "resume": self._on_crawl(url_scores.resume),
            "stop": self._stop,
            "start": self._start,
            "pause-site": self._on_site(url_scores.pause_site),
            "resume-site": self._on_site(url_scores.resume_site),
            "fetch": self._on_url(url_scores.fetch_now),
            "revisit": self._on_url(url_scores.revisit),
            "unblock": self._on_url(url_scores.unblock),
            "block": self._block,
            "rescore": self._rescore,
        }

    def _on_crawl(self, act: Callable[..., url_scores.Paused]) -> _Act:
        return lambda crawl, by, _form: Said(act(self._reach, crawl, by).detail)

    def _on_site(self, act: Callable[..., url_scores.Paused]) -> _Act:
        return lambda crawl, by, form: Said(act(self._reach, crawl, by, form.get("site")).detail)

    def _on_url(self, act: Callable[..., url_scores.UrlDone]) -> _Act:
        return lambda crawl, by, form: _told(act(self._reach, crawl, by, form.get("url")))

    def _stop(self, crawl: Crawl, by: str, _form: Form) -> Said:
        return Said(starting_crawls.stop(self._reach, self._helm.processes, crawl, by).detail)

    def _start(self, crawl: Crawl, by: str, _form: Form) -> Said:
        helm = self._helm  # The definition is there to see, and what was changed in it was meant.
        begun = starting_crawls.start(self._reach, helm.definitions, helm.processes, crawl, by, accept_changes=True)
        return Said(begun.detail, "good", begun.lines)

    def _rescore(self, crawl: Crawl, by: str, form: Form) -> Said:
        return _told(url_scores.rescore(self._reach, crawl, by, form.get("url"), _score(form)))

    def _block(self, crawl: Crawl, by: str, form: Form) -> Said:
        rule = rule_of(crawl, RuleKind.URL, form.get("url"))
        return Said(exclude(self._reach, crawl, by, [rule]).detail)


def _score(form: Form) -> float:
    try:
        score = float(form.get("score").replace(",", "."))
    except ValueError:
        score = -1.0
    if not 0 <= score <= 1:
        raise ProblemError(BAD_SEARCH, "a score is a number from 0 to 1")
    return score


def _told(done: url_scores.UrlDone) -> Said:
    return Said(f"{done.url}: {done.detail}", "good" if done.changed else "warn")
