"""Acts on a crawl, a site or a URL: buttons of many pages, each of which leads back to where it was pressed."""

from collections.abc import Callable, Mapping

from fastapi import APIRouter, Response

from aahcrawler.frontier.blocking_rules import RuleKind
from aahcrawler.service.catalog.crawl_catalog import Crawl
from aahcrawler.service.cockpit.sign_in import Said
from aahcrawler.service.cockpit.site import Form, Operating, Sent, Site, address, then
from aahcrawler.service.steering import pausing, starting_crawls, url_scores
from aahcrawler.service.steering.exclusion_rules import exclude, rule_of
from aahcrawler.service.steering.helm import Helm
from aahcrawler.service.web.problems import BAD_SEARCH, ProblemError

_Act = Callable[[Crawl, str, Form], Said]
"""Does something to a crawl on behalf of somebody, and says what came of it."""


def routes(site: Site) -> APIRouter:
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
    """What can be done with a button."""

    def __init__(self, helm: Helm) -> None:
        self._helm, self._reach = helm, helm.reach

    def by_name(self) -> Mapping[str, _Act]:
        return {
            "pause": self._on_crawl(pausing.pause),
            "resume": self._on_crawl(pausing.resume),
            "stop": self._stop,
            "start": self._start,
            "pause-site": self._on_site(pausing.pause_site),
            "resume-site": self._on_site(pausing.resume_site),
            "fetch": self._on_url(url_scores.fetch_now),
            "revisit": self._on_url(url_scores.revisit),
            "unblock": self._on_url(url_scores.unblock),
            "block": self._block,
            "rescore": self._rescore,
        }

    def _on_crawl(self, act: Callable[..., pausing.Paused]) -> _Act:
        return lambda crawl, by, _form: Said(act(self._reach, crawl, by).detail)

    def _on_site(self, act: Callable[..., pausing.Paused]) -> _Act:
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
