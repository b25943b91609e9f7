"""What is done through the cockpit is in the log of the service: who, what, and whether it was refused."""

import re
from collections.abc import Mapping
from typing import Any

import pytest
from fastapi.dependencies.models import Dependant
from fastapi.routing import APIRoute

from aahcrawler.service.cockpit.site import COOKIE, sent_form
from aahcrawler.service.web import noted_acts
from aahcrawler.service.web.noted_acts import Damage, read_entries
from tests.cockpit.cockpit_browser import EDITOR, OPERATOR, READER, Cockpit
from tests.cockpit.shown_crawl import CRAWL, HOSTILE
from tests.crawl.crawling import until

HERE = f"/crawls/{CRAWL}"
MADE = "id: noted\ncontact: a@example.org\nseeds: [http://a.test/]\ntopic: {keywords: [flood]}\n"


@pytest.fixture(autouse=True)
def every_refusal_is_noted(monkeypatch: pytest.MonkeyPatch) -> None:
    """Note each refusal by itself: other tests of the same cockpit may have used up what a minute has."""
    monkeypatch.setattr(noted_acts, "MAX_REFUSALS", 1_000_000)


class Since:
    """The entries that were added to the log of a cockpit since then."""

    def __init__(self, cockpit: Cockpit) -> None:
        self._cockpit, self._before = cockpit, 0
        self._before = len(self._all())

    def found(self, *outcomes: str) -> list[Mapping[str, Any]]:
        """Return entries with these outcomes."""
        return [each for each in self._all()[self._before :] if each["outcome"] in outcomes]

    def _all(self) -> list[Mapping[str, Any]]:
        return [each for each in read_entries(self._cockpit.place) if not isinstance(each, Damage)]


def depends(dependant: Dependant) -> bool:
    return dependant.call is sent_form or any(depends(each) for each in dependant.dependencies)


def test_every_form_is_noted_as_asked_for_before_it_is_taken(shown: Cockpit) -> None:
    posted = [route for route in shown.routes if isinstance(route, APIRoute) and "POST" in (route.methods or ())]
    assert len(posted) > 20
    assert [route.path for route in posted if not depends(route.dependant)] == ["/sign-in"]
    assert not [route.path for route in shown.routes if (route.methods or set()) - {"GET", "HEAD", "POST"}]


def test_signing_in_and_out_is_noted_and_so_is_who_was_refused(shown: Cockpit) -> None:
    noted = Since(shown)
    assert shown.post("/sign-in", {"code": "a wrong code"}).status == 403
    cookie = shown.entered(READER)
    shown.post("/sign-out", {"secret": shown.form_secret(cookie)}, cookie)
    refused, entered, asked, left = noted.found("refused", "asked", "done")
    assert ("by" in refused, refused["object"], refused["outcome"]) == (False, "/sign-in", "refused")
    assert (entered["by"], entered["object"], entered["through"]) == ("reader", "/sign-in", "cockpit")
    assert (asked["outcome"], left["by"], left["object"]) == ("asked", "reader", "/sign-out")
    assert READER not in str(noted.found("refused", "asked", "done"))
    assert cookie not in str(noted.found("refused", "asked", "done"))


def test_acts_are_noted_with_what_was_done(shown: Cockpit) -> None:
    cookie = shown.entered(OPERATOR)
    own = {"secret": shown.form_secret(cookie), "site": HOSTILE}
    noted = Since(shown)
    assert shown.post(f"{HERE}/acts/pause-site", own, cookie).status == 303
    assert shown.post(f"{HERE}/acts/resume-site", own, cookie).status == 303
    done = noted.found("done")
    assert [each["did"] for each in done] == [[f"pause_site {CRAWL}"], [f"resume_site {CRAWL}"]]
    assert {each["by"] for each in noted.found("asked", "done")} == {"operator"}
    assert HOSTILE in done[0]["detail"]


def test_what_was_refused_on_a_page_that_says_so_is_refused(shown: Cockpit) -> None:
    cookie, reader = shown.entered(OPERATOR), shown.entered(READER)
    own = {"secret": shown.form_secret(cookie), "base": MADE, "action": "save"}
    noted = Since(shown)
    widened = f"{MADE}archive: {{redact: false}}\n"
    assert shown.post("/draft", {**own, "yaml": widened, "base": widened}, cookie).status == 200
    assert shown.post(f"{HERE}/acts/pause", {"secret": shown.form_secret(reader)}, reader).status == 403
    assert shown.post(f"{HERE}/acts/no-such", own, cookie).status == 400
    assert shown.post(f"{HERE}/acts/pause", {**own, "secret": "wrong"}, cookie).status == 403
    found = noted.found("refused", "done")
    assert [(each["by"], each["outcome"]) for each in found] == [
        ("operator", "refused"),
        ("reader", "refused"),
        ("operator", "refused"),
        ("operator", "refused"),
    ]
    for each, why in zip(found, ("`widen`", "`operate`", "no such act", "earlier sign-in"), strict=True):
        assert why in each["detail"]


def test_a_draft_is_noted_where_it_makes_something_of_itself_and_not_while_it_is_typed(shown: Cockpit) -> None:
    cookie = shown.entered(OPERATOR)
    own = {"secret": shown.form_secret(cookie), "yaml": MADE, "base": MADE}
    noted = Since(shown)
    for _ in range(3):
        assert shown.post("/draft/check", own, cookie).status == 200
    assert not noted.found("asked", "done", "refused")
    assert shown.post("/draft", {**own, "action": "save"}, cookie).status == 303
    (done,) = noted.found("done")
    assert (done["did"], done["by"]) == (["create noted"], "operator")


def test_what_the_studio_does_beside_is_noted_when_it_ends(shown: Cockpit) -> None:
    cookie, here = shown.entered(EDITOR), f"{HERE}/studio"
    sent = {"secret": shown.form_secret(cookie)}
    opened = shown.post(f"{here}/entries/open", {**sent, "name": "phpbb"}, cookie)
    assert opened.headers["location"] == f"{here}/works/phpbb"
    page = shown.ask("GET", f"{here}/works/phpbb", Cookie=f"{COOKIE}={cookie}").body.decode()
    seen = re.search(r'name="seen" value="([\w-]+)"', page)
    assert seen is not None
    sent |= {"seen": seen[1]}
    noted = Since(shown)
    shown.post(f"{here}/works/phpbb/fetch", {**sent, "url": "http://169.254.169.254/"}, cookie)
    until(lambda: bool(noted.found("ended")))
    (ended,) = noted.found("ended")
    assert (ended["by"], ended["object"]) == ("editor", f"{here}/works/phpbb/fetch")
    assert ended["detail"].startswith("fetching a page: http://169.254.169.254/: ")
    assert ended["id"] in [each["id"] for each in noted.found("asked")]
    shown.post(f"{here}/works/phpbb/discard", sent, cookie)
    assert "discarded" in noted.found("done")[-1]["detail"]
