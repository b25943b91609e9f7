"""What each site knows a crawl by: its session as read, kept and shared, and the login by its form."""

import asyncio
import logging
import re
from collections import OrderedDict, defaultdict
from collections.abc import Awaitable, Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from time import time
from typing import Final, Protocol
from urllib.parse import unquote, urlsplit

from cssselect.xpath import HTMLTranslator
from lxml import etree
from lxml.html import HtmlElement
from pydantic import TypeAdapter, ValidationError

from aahcrawler import urls
from aahcrawler.credentials.given import REDACTED, Credentials, GivenLogin, Masks, is_among, tokens_among
from aahcrawler.credentials.http_authentication import HostAuthentication
from aahcrawler.credentials.site_cookies import SiteCookies
from aahcrawler.helper.links.requests import PasswordForm, password_form
from aahcrawler.page import Page
from aahcrawler.page.onward import MAX_REDIRECTS, location, refresh
from aahcrawler.page.text import excerpt
from aahcrawler.urls import origin, queue_of

MAX_SITES: Final = 10_000
"""How many sites' sessions are held in memory; the others are read again."""
FORGIVEN_AFTER: Final = 3600.0
"""Seconds after which a login that was refused is tried again by workers that share a crawl."""

_LOG_OUT: Final = (
    r"log[-_ ]?(?:out|off)|sign[-_ ]?(?:out|off)|end[-_]?session|abmelden|ausloggen|d[ée]connexion|se d[ée]connecter"
    r"|cerrar[-_ ]sesi[óo]n|salir|sair|terminar[-_ ]sess[ãa]o|esci|disconnetti|uitloggen|afmelden"
    r"|logga?[-_ ]ut|log[-_ ]ud|kirjaudu[-_ ]ulos|wyloguj|odhl[áa]sit|выйти|выход|çıkış|ログアウト|登出|退出"
)
_LOG_OUT_URL: Final = re.compile(rf"(?:^|[/?&=._;:-])(?:{_LOG_OUT})(?=$|[/?&=._;:-])", re.IGNORECASE)
_LOG_OUT_WORDS: Final = re.compile(rf"\W*(?:{_LOG_OUT})\b.{{0,60}}", re.IGNORECASE | re.DOTALL)


class Linked(Protocol):
    """A link: where it leads, and what it says."""

    @property
    def url(self) -> str:
        """The URL that it leads to."""
        ...

    @property
    def anchor(self) -> str:
        """The text that it says."""
        ...


@dataclass(frozen=True, slots=True)
class _Kept:
    """What is kept of a site: its cookies, which file of cookies they began with, and how its login went.

    ``refused`` counts the logins in a row that failed, the last of them at ``refused_at`` (seconds since 1970).
    """

    cookies: str = ""
    begun_with: str = ""
    is_logged_in: bool = False
    refused: int = 0
    refused_at: float = 0.0
    proof: str = ""
    """The URL of a page that showed that the login succeeded."""


_KEPT: TypeAdapter[_Kept] = TypeAdapter(_Kept)
_NOTHING: Final = _Kept()


class SiteSession:
    """What one site knows the crawl by."""

    def __init__(self, site: str, kept: _Kept) -> None:
        self.site = site
        self.cookies = SiteCookies(site, kept.cookies)
        self._kept = kept

    @property
    def is_logged_in(self) -> bool:
        """Whether the login of the site succeeded, and nothing has spoken against it since."""
        return self._kept.is_logged_in

    @property
    def proof(self) -> str:
        """The URL of a page that is known to show whether somebody is logged in."""
        return self._kept.proof

    @property
    def refused(self) -> int:
        """How many logins in a row failed of late."""
        return self._kept.refused if time() - self._kept.refused_at < FORGIVEN_AFTER else 0

    def logged_in(self, proof: str) -> None:
        """Note that a login succeeded."""
        self._kept = replace(self._kept, is_logged_in=True, refused=0, proof=proof)

    def lost(self) -> None:
        """Note that the site does not know the crawl any more."""
        self._kept = replace(self._kept, is_logged_in=False)

    def was_refused(self) -> None:
        """Note that a login failed."""
        self._kept = replace(self._kept, is_logged_in=False, refused=self.refused + 1, refused_at=time())

    def forgive(self) -> None:
        """Forget that logins failed: somebody may have mended what was wrong."""
        self._kept = replace(self._kept, refused=0)

    def begin_with(self, given: Credentials) -> None:
        """Add the cookies of the given file, unless it is the one that the session began with."""
        if given.cookies_version != self._kept.begun_with:
            self._kept = replace(self._kept, begun_with=given.cookies_version)
            self.cookies.add(given.cookies_of(self.site))

    @property
    def text(self) -> str:
        """The session as it is kept, empty where there is nothing to keep."""
        kept = replace(self._kept, cookies=self.cookies.text)
        return "" if kept == _NOTHING else _KEPT.dump_json(kept).decode()


class SiteSessions:
    """The sessions of a crawl's sites.

    ``read`` and ``keep`` ask the store that all workers share. Where others work on the crawl as well (``is_shared``),
    a session is read before each request: another worker may have had the site meanwhile. Else it is read once.
    """

    def __init__(
        self,
        given: Credentials,
        read: Callable[[str], Awaitable[str]],
        keep: Callable[[str, str], Awaitable[None]],
        *,
        is_shared: bool,
    ) -> None:
        self.given = given
        self._read, self._keep, self._is_shared = read, keep, is_shared
        self._known: OrderedDict[str, tuple[str, SiteSession]] = OrderedDict()
        self._authentications: dict[str, HostAuthentication] = {}
        self.sites = given.sites

    @property
    def are_wanted(self) -> bool:
        """Whether anything is to be kept or sent."""
        return self.given.keeps_cookies or bool(self.sites) or bool(self.given.headers)

    async def of(self, url: str) -> SiteSession:
        """Return the session of a URL's site."""
        site = queue_of(url)
        known = self._known.get(site)
        if known is not None and not self._is_shared:
            return known[1]
        text = await self._read(site)
        newer = self._known.get(site)
        if newer is not None and (newer is not known or newer[0] == text):
            return newer[1]
        session = SiteSession(site, _read(text))
        if self.given.cookies_of(site):
            session.begin_with(self.given)
        if not self._is_shared:
            session.forgive()
        self._known[site] = text, session
        while len(self._known) > MAX_SITES:
            self._known.popitem(last=False)
        return session

    async def keep(self, session: SiteSession) -> None:
        """Keep what has changed of a session."""
        text = session.text
        if self._known.get(session.site, ("", None)) != (text, session):
            self._known[session.site] = text, session
            await self._keep(session.site, text)

    def headers(self, session: SiteSession, method: str, url: str) -> dict[str, str]:
        """Return the header fields that identify the crawl to a site: cookies, given headers and an authorization.

        Secret headers and passwords are left out for URLs to which they may not go (``given.may_go``).
        """
        fields = {}
        if self.given.keeps_cookies and (cookie := session.cookies.header(url)):
            fields["Cookie"] = cookie
        if not self.sites and not self.given.headers:
            return fields
        host, is_safe = urlsplit(url).hostname or "", self.given.may_go(url)
        for header in self.given.headers.get(host, ()):
            if is_safe or not header.is_secret:
                fields[header.name] = header.value
        authentication = self.authentication(url)
        if authentication is not None and (answer := authentication.header(method, url)):
            fields["Authorization"] = answer
        return fields

    def masks(self, session: SiteSession, url: str, *, tokens: bool) -> Masks | None:
        """Return what masks in a page of a site what no page is to tell again, or others; None where there is nothing.

        That is what the crawl was given for the site, the cookies by which it is known there, and with ``tokens`` the
        parameters of URLs that let in.
        """
        if not is_among(self.sites, url):
            return None
        return Masks({*self.given.secrets, *tokens_among(session.cookies.values())}, tokens=tokens)

    def authentication(self, url: str) -> HostAuthentication | None:
        """Return how the crawl answers where a URL's origin asks who is there; None where it does not."""
        if not self.given.passwords or not self.given.may_go(url):
            return None
        known = self.given.passwords.get(urlsplit(url).hostname or "")
        if known is None:
            return None
        return self._authentications.setdefault(origin(url), HostAuthentication(known.user, known.word))

    def ends_session(self, url: str) -> bool:
        """Return whether a URL is one that would end a login, by its words."""
        if not self.given.logins or queue_of(url) not in self.given.logins:
            return False
        parts = urlsplit(url)
        return _LOG_OUT_URL.search(unquote(f"{parts.path}?{parts.query}")) is not None

    def ending(self, url: str, links: Iterable[Linked]) -> frozenset[str]:
        """Return the links of a page that would end a login, or whose URL held what is masked."""
        if not self.given.logins or queue_of(url) not in self.given.logins:
            return frozenset()
        return frozenset(
            link.url
            for link in links
            if _LOG_OUT_WORDS.fullmatch(link.anchor) or self.ends_session(link.url) or REDACTED in link.url
        )


def _read(text: str) -> _Kept:
    """Return what was kept; nothing of what is damaged, so that the site is met anew."""
    try:
        return _KEPT.validate_json(text) if text else _NOTHING
    except ValidationError:
        return _NOTHING


def set_cookies(fields: Iterable[tuple[str, str]]) -> Sequence[str]:
    """Return the Set-Cookie fields of a response."""
    return [value for name, value in fields if name.lower() == "set-cookie"]


logger = logging.getLogger(__name__)

MAX_FORMS: Final = 50
MAX_SEARCHED_LENGTH: Final = 1_000_000
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
    """Asks for a step of a login under the site's cookies, archives it, and returns the response.

    Errors are those of the crawl's requests.
    """

    def __call__(self, step: LoginStep) -> Awaitable[Page]:
        """Return the response, whatever its status."""
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
        """Return the response to a step after its redirects, which stay on the site. Raise ``LoginFailedError``."""
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
            return self._words in " ".join(excerpt(page.tree, MAX_SEARCHED_LENGTH).split()).casefold()
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
