"""Log in to a site by its form: fill it in as a person would, and look whether the site knows the crawl then."""

import asyncio
import logging
from collections import defaultdict
from collections.abc import Awaitable, Callable, Iterator
from dataclasses import dataclass
from typing import Final, Protocol

from cssselect.xpath import HTMLTranslator
from lxml import etree
from lxml.html import HtmlElement

from aahcrawler import urls
from aahcrawler.crawl.core.site_sessions import SiteSession, SiteSessions
from aahcrawler.credentials.given import GivenLogin
from aahcrawler.helper.links.requests import PasswordForm, password_form
from aahcrawler.page import Page
from aahcrawler.page.onward import MAX_REDIRECTS, location, refresh
from aahcrawler.page.text import excerpt

logger = logging.getLogger(__name__)

MAX_FORMS: Final = 50
LONGEST: Final = 1_000_000
"""Characters of a page's text that are searched for the words that tell a login."""
PATIENCE: Final = 64
"""Pages without the sign of a login, at most, after which it is looked up again whether the login still holds."""


class LoginFailedError(Exception):
    """A site that is to be logged in to does not let the crawl in; the message says why, and holds no secret.

    ``may_pass`` says that it may do so later.
    """

    def __init__(self, message: str, *, may_pass: bool = False) -> None:
        super().__init__(message)
        self.may_pass = may_pass


class _RefusedError(Exception):
    """A login did not succeed; the message says why."""


@dataclass(frozen=True, slots=True)
class LoginStep:
    """A request of a login: ``body`` is that of a form that is sent by POST, None for a plain request."""

    url: str
    body: bytes | None = None


class Fetch(Protocol):
    """Asks for a step of a login under the site's cookies, archives it, and returns the answer.

    Errors are those of the crawl's requests.
    """

    def __call__(self, step: LoginStep) -> Awaitable[Page]:
        """Return the answer, whatever its status."""
        ...


class FormLogins:
    """Logs in to sites, each once at a time: whoever comes meanwhile waits.

    Of several workers the one that has the site's queue does it; the others find the session where all keep it.
    """

    def __init__(self, sessions: SiteSessions, fetch: Fetch, count: Callable[[str], Awaitable[None]]) -> None:
        self._sessions, self._fetch, self._count = sessions, fetch, count
        self._locks: defaultdict[str, asyncio.Lock] = defaultdict(asyncio.Lock)
        self._signs: dict[str, _Sign] = {}
        self._missing: dict[str, tuple[int, int]] = {}

    async def ensure(self, session: SiteSession) -> None:
        """Log in to a site, unless that is done or there is nothing to log in to. Raise ``LoginFailedError``."""
        given = self._sessions.given.logins.get(session.site)
        if given is None or session.is_logged_in:
            return
        async with self._locks[session.site]:
            if not session.is_logged_in:
                await self._until_known(session, given)

    async def is_lost(self, session: SiteSession, page: Page, *, is_current: bool = True) -> bool:
        """Return whether a page is not what those see who are logged in; unless they are, the session says so now.

        One that was asked for with other cookies than those of now (not ``is_current``) says nothing of these. Else a
        page that does not show it is no proof: whether the login holds is then looked up on one that did, ever more
        rarely where pages of the site do not show it at all.
        """
        given = self._sessions.given.logins.get(session.site)
        if given is None or not session.is_logged_in:
            return given is not None and not session.is_logged_in
        if 300 <= page.status < 400:
            lost = _leads_to(page, given.url)
        elif page.status in (401, 403) or (page.status < 300 and page.is_html):
            if self._shows(given, page):
                return False
            if not is_current:
                return True
            lost = await self._holds_no_more(session, given)
        else:
            lost = False
        if lost and session.is_logged_in:
            logger.warning("%s: the login is lost (seen at %s)", session.site, page.url)
            session.lost()
            await self._sessions.keep(session)
        return lost

    async def _holds_no_more(self, session: SiteSession, given: GivenLogin) -> bool:
        waited, enough = self._missing.get(session.site, (0, 1))
        if waited + 1 < enough:
            self._missing[session.site] = waited + 1, enough
            return False
        async with self._locks[session.site]:
            if not session.is_logged_in:
                return True
            page = await self._followed(LoginStep(session.proof or given.page or given.url))
        holds = self._shows(given, page)
        self._missing[session.site] = 0, min(2 * enough, PATIENCE) if holds else 1
        return not holds

    async def _until_known(self, session: SiteSession, given: GivenLogin) -> None:
        why = "it was refused before"
        while session.refused < given.tries:
            try:
                proof = await self._log_in(given)
            except _RefusedError as error:
                why = str(error)
                session.was_refused()
                await self._sessions.keep(session)
                await self._count("login_failed")
                logger.error("%s: login %d of %d failed: %s", session.site, session.refused, given.tries, why)
                continue
            session.logged_in(proof)
            await self._sessions.keep(session)
            await self._count("login")
            logger.info("%s: logged in", session.site)
            return
        raise LoginFailedError(f"{session.site}: {why}")

    async def _log_in(self, given: GivenLogin) -> str:
        """Log in; return the URL of a page that shows it. Raise ``_RefusedError``."""
        page = await self._followed(LoginStep(given.url))
        if self._shows(given, page):
            return page.url
        form = _form(page, given)
        target = self._safe(form.target, given)
        if form.method != "post":
            raise _RefusedError("the form would put the password into a URL (its method is get)")
        page = await self._followed(LoginStep(target, form.filled(given.fields)))
        others = [*_next(page), given.page, f"{urls.origin(given.url)}/"]
        while not self._shows(given, page) and others:
            if url := others.pop(0):
                page = await self._followed(LoginStep(url))
        if self._shows(given, page):
            return page.url
        raise _RefusedError("what network.logins calls logged_in is not on the pages behind the form")

    async def _followed(self, step: LoginStep) -> Page:
        """Return the answer to a step after its redirects, which stay on the site. Raise ``LoginFailedError``."""
        site = urls.queue_of(step.url)
        page = await self._fetch(step)
        for _ in range(MAX_REDIRECTS):
            target = _location(page)
            if target is None or urls.queue_of(target) != site:
                break
            page = await self._fetch(LoginStep(target))
        if page.status >= 500 or page.status == 429:
            raise LoginFailedError(f"{page.url} answered {page.status}", may_pass=True)
        return page

    def _safe(self, target: str, given: GivenLogin) -> str:
        """Return where a form is sent, if it may be. Raise ``_RefusedError``."""
        if urls.queue_of(target) != urls.queue_of(given.url):
            raise _RefusedError(f"the form is sent to another site, {urls.queue_of(target)}")
        if given.secret_fields and not self._sessions.given.may_go(target):
            raise _RefusedError("the form is sent without encryption; allow it with network.secrets_over_http")
        return target

    def _shows(self, given: GivenLogin, page: Page) -> bool:
        sign = self._signs.setdefault(given.logged_in, _Sign(given.logged_in))
        return page.status < 300 and page.is_html and sign.is_on(page)


class _Sign:
    """What tells a page that is shown to those who are logged in."""

    def __init__(self, text: str) -> None:
        self._words = ""
        if text.startswith("css="):
            # Not lxml's own translator: what it makes of ":contains" reads memory that is freed.
            path = HTMLTranslator().css_to_xpath(text.removeprefix("css="))
            self._path: etree.XPath | None = etree.XPath(path)
        elif text.startswith("xpath="):
            self._path = etree.XPath(text.removeprefix("xpath="))
        else:
            self._path, self._words = None, " ".join(text.split()).casefold()

    def is_on(self, page: Page) -> bool:
        """Return whether a page has it."""
        if self._path is None:
            return self._words in " ".join(excerpt(page.tree, LONGEST).split()).casefold()
        try:
            return bool(self._path(page.tree))
        except etree.XPathEvalError:
            return False


def _form(page: Page, given: GivenLogin) -> PasswordForm:
    """Return the form of a page that has the fields to be filled in, and the fewest others."""
    forms = [password_form(form, page.url, page.base_url) for form in _forms(page)]
    fit = [form for form in forms if given.fields.keys() <= form.names]
    if fit:
        return min(fit, key=lambda form: len(form.names))
    if page.status >= 400:
        raise _RefusedError(f"{given.url} answered {page.status}")
    near = next((sorted(form.names) for form in forms if form.asks_password), [])
    hint = f"; one that asks for a password has {', '.join(near)[:300]}" if near else ""
    raise _RefusedError(f"no form at {page.url} has the fields {', '.join(given.fields)}{hint}")


def _forms(page: Page) -> Iterator[HtmlElement]:
    if page.is_html:
        for place, form in enumerate(page.tree.iter("form")):
            if place == MAX_FORMS:
                break
            yield form


def _location(page: Page) -> str | None:
    return location(page.url, page.status, page.headers)


def _next(page: Page) -> Iterator[str]:
    """Yield what a page loads next by itself, as boards do after a login."""
    onward = refresh(page)
    if onward is not None and urls.queue_of(onward.url) == urls.queue_of(page.url):
        yield onward.url


def _leads_to(page: Page, login: str) -> bool:
    target = _location(page)
    return target is not None and target.partition("?")[0] == login.partition("?")[0]
