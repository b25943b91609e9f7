"""What each site knows a crawl by: read before a request to it, taken from its answers, kept with the frontier."""

import re
from collections import OrderedDict
from collections.abc import Awaitable, Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from time import time
from typing import Final, Protocol
from urllib.parse import unquote, urlsplit

from pydantic import TypeAdapter, ValidationError

from aahcrawler.credentials.given import REDACTED, Credentials, Masks, is_among, tokens_among
from aahcrawler.credentials.http_authentication import HostAuthentication
from aahcrawler.credentials.site_cookies import SiteCookies
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
        """Return the fields by which a request lets the site know the crawl."""
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
    """Return the Set-Cookie fields of an answer."""
    return [value for name, value in fields if name.lower() == "set-cookie"]
