"""Exclusions: what a rule would hit is shown before it holds, and it can be taken back."""

from typing import Annotated

from fastapi import APIRouter, Path, Query, Response

from aahcrawler.frontier.blocking_rules import Rule, RuleKind
from aahcrawler.service.cockpit.sign_in import Said
from aahcrawler.service.cockpit.site import Operating, Reading, Sent, Site, address, then
from aahcrawler.service.steering.exclusion_rules import exclude, exclusions, preview, readmit, rule_of
from aahcrawler.service.web.asking_again import AskingAgain

KINDS = (
    (RuleKind.PREFIX, "all URLs that begin with"),
    (RuleKind.HOST, "a host, and all below it"),
    (RuleKind.PATTERN, "a pattern with *, or a part of the URL"),
    (RuleKind.URL, "this URL alone"),
)
_PATIENCE = 0.2
"""Seconds that a page waits for a preview, so that a short one is there at once."""


def routes(site: Site) -> APIRouter:
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
