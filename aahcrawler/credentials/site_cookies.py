"""The cookies of one site (RFC 6265): read from responses, sent with requests, stored as text.

A site is a pay-level domain. No cookie reaches another site, whatever domain the cookie names, so the check against the
public suffix list (section 5.3, step 5) is not needed.
"""

import re
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from email.message import Message
from http.client import HTTPResponse
from http.cookiejar import Cookie, CookieJar, DefaultCookiePolicy
from typing import Final, cast
from urllib.request import Request

from pydantic import TypeAdapter, ValidationError

from aahcrawler.urls import queue_of

MAX_COOKIES: Final = 100
"""The most cookies kept for a site; browsers keep 50 to 180 for a domain."""
MAX_BYTES: Final = 4096
"""The most bytes of a cookie's name and value (RFC 6265, section 6.1)."""
MAX_SENT: Final = 16_384
"""The most bytes of a Cookie header; servers refuse longer ones."""
MAX_TAKEN: Final = 50
"""The most Set-Cookie headers that are read from one response."""

HTTP_ONLY: Final = "HttpOnly"
SAME_SITE: Final = "SameSite"
_ATTRIBUTE: Final = re.compile(r"(?<=;)(\s*)(httponly|samesite)(?=\s*(?:[=;]|$))", re.IGNORECASE)

_CONTROL: Final = re.compile(r"[\x00-\x08\x0a-\x1f\x7f]")
"""Control characters; a Set-Cookie header that contains one is ignored (RFC 6265bis, section 5.6)."""
_MAX_AGE: Final = re.compile(r";\s*max-age\s*=\s*([^;]*)", re.IGNORECASE)
_MAX_COOKIE_AGE: Final = 400 * 86_400
"""The most seconds for which a cookie is kept, whatever its Max-Age (RFC 6265bis, section 5.5)."""


@dataclass(frozen=True, slots=True)
class _Kept:
    """A stored cookie; ``port`` is None for all ports."""

    name: str
    value: str | None
    domain: str
    is_domain_named: bool
    path: str
    is_path_named: bool
    secure: bool
    expires: int | None
    port: str | None = None
    http_only: bool = False
    same_site: str = ""

    @classmethod
    def of(cls, cookie: Cookie) -> "_Kept":
        expires = None if cookie.expires is None else int(cookie.expires)
        place = cookie.domain, cookie.domain_specified, cookie.path, cookie.path_specified
        shown = is_http_only(cookie), same_site(cookie)
        return cls(cookie.name, cookie.value, *place, cookie.secure, expires, cookie.port, *shown)

    def cookie(self) -> Cookie:
        return Cookie(
            version=0,
            name=self.name,
            value=self.value,
            port=self.port,
            port_specified=self.port is not None,
            domain=self.domain,
            domain_specified=self.is_domain_named,
            domain_initial_dot=self.domain.startswith("."),
            path=self.path,
            path_specified=self.is_path_named,
            secure=self.secure,
            expires=self.expires,
            discard=self.expires is None,
            comment=None,
            comment_url=None,
            rest=shown_to(http_only=self.http_only, same_site=self.same_site),
        )


_ALL: TypeAdapter[list[_Kept]] = TypeAdapter(list[_Kept])


class SiteCookies:
    """The cookies of one site; ``text`` stores them so that they outlive the process."""

    def __init__(self, site: str, kept: str = "") -> None:
        self._jar = CookieJar(_Policy(site))
        self._text = kept
        for cookie in _read(kept):
            self._jar.set_cookie(cookie)

    @property
    def text(self) -> str:
        """All cookies as text; empty if there are none."""
        return self._text

    def header(self, url: str) -> str:
        """Return the value of a request's Cookie header; empty if no cookie is to be sent."""
        if not self._text:
            return ""
        request = Request(url)  # noqa: S310 - nothing is opened
        self._jar.add_cookie_header(request)
        pieces, left = [], MAX_SENT
        for piece in (request.get_header("Cookie") or "").split("; "):
            left -= len(piece) + 2
            if left >= 0:
                pieces.append(piece)
        return "; ".join(pieces)

    def take(self, url: str, fields: Sequence[str]) -> bool:
        """Store the cookies of a response's Set-Cookie headers; return whether anything but an expiry changed."""
        before, request = self._values(), Request(url)  # noqa: S310 - nothing is opened
        for field in fields[:MAX_TAKEN]:
            if not _CONTROL.search(field):
                # One by one, so that a later one takes the place of an earlier one, or ends it.
                message = Message()
                message["Set-Cookie"] = _MAX_AGE.sub(_bounded, _ATTRIBUTE.sub(_as_registered, field))
                self._jar.extract_cookies(cast("HTTPResponse", _Answer(message)), request)
        self._text = _written(self._jar)
        return self._values() != before

    def add(self, cookies: Iterable[Cookie]) -> None:
        """Add given cookies, replacing those of the same name."""
        for cookie in cookies:
            if not _CONTROL.search(f"{cookie.name}{cookie.value or ''}"):
                self._jar.set_cookie(cookie)
        self._text = _written(self._jar)

    def all(self) -> tuple[Cookie, ...]:
        """Return the cookies that have not expired."""
        now = int(time.time())
        return tuple(cookie for cookie in self._jar if not cookie.is_expired(now))

    def values(self) -> frozenset[str]:
        """Return the values of the cookies."""
        return frozenset(filter(None, self._values().values()))

    def _values(self) -> Mapping[tuple[str, str, str], str | None]:
        return {(cookie.domain, cookie.path, cookie.name): cookie.value for cookie in self._jar}


class _Policy(DefaultCookiePolicy):
    """Accepts the cookies of one site, within the usual limits of number and length."""

    def __init__(self, site: str) -> None:
        super().__init__()
        self._site = site

    def set_ok(self, cookie: Cookie, request: Request) -> bool:
        """Return whether a cookie may be kept."""
        return (
            super().set_ok(cookie, request)
            and len(cookie.name) + len(cookie.value or "") <= MAX_BYTES
            and (not cookie.domain_specified or site_of_domain(cookie.domain) == self._site)
            and _is_as_prefixed(cookie, request)
        )


class _Answer:
    """The part of a response from which the standard library reads cookies."""

    def __init__(self, message: Message) -> None:
        self._message = message

    def info(self) -> Message:
        return self._message


class CookiesFileError(Exception):
    """Raised when a file of cookies cannot be read; the message gives the reason without showing any content."""


def cookies_of_file(text: str) -> Mapping[str, Sequence[Cookie]]:
    """Return the cookies in the text of a file in Netscape's format, by site, without expired ones.

    Raises ``CookiesFileError``. The standard library's reader is not used, because its warnings show parts of lines
    that it cannot read.
    """
    found: dict[str, list[Cookie]] = {}
    for number, line in enumerate(text.splitlines(), 1):
        columns = line.removeprefix(_HTTP_ONLY_LINE).split("\t")
        if not line.strip() or (line.startswith("#") and not line.startswith(_HTTP_ONLY_LINE)):
            continue
        if len(columns) != len(_COLUMNS):
            raise CookiesFileError(f"is no cookies.txt: line {number} has not {len(_COLUMNS)} columns with tabs")
        http_only = line.startswith(_HTTP_ONLY_LINE)
        cookie = _of_columns(dict(zip(_COLUMNS, columns, strict=True)), http_only=http_only)
        if not cookie.is_expired():
            found.setdefault(site_of_domain(cookie.domain), []).append(cookie)
    return found


_HTTP_ONLY_LINE: Final = "#HttpOnly_"
_COLUMNS: Final = ("domain", "subdomains", "path", "secure", "expires", "name", "value")


def _of_columns(column: Mapping[str, str], *, http_only: bool) -> Cookie:
    end = column["expires"].partition(".")[0]
    expires = int(end) if end.isascii() and end.isdigit() and int(end) else None
    is_wide, secure = column["subdomains"].upper() == "TRUE", column["secure"].upper() == "TRUE"
    domain = f".{column['domain'].lstrip('.')}" if is_wide else column["domain"].lstrip(".")
    place = domain, is_wide, column["path"], True
    return _Kept(column["name"], column["value"], *place, secure, expires, http_only=http_only).cookie()


def is_http_only(cookie: Cookie) -> bool:
    """Return whether a cookie is hidden from scripts (RFC 6265, section 5.2.6)."""
    return cookie.has_nonstandard_attr(HTTP_ONLY)


def same_site(cookie: Cookie) -> str:
    """Return the SameSite attribute of a cookie: Strict, Lax or None; empty if it has none of these."""
    said = (cookie.get_nonstandard_attr(SAME_SITE) or "").strip().capitalize()
    return said if said in ("Strict", "Lax", "None") else ""


def shown_to(*, http_only: bool, same_site: str) -> dict[str, str]:
    """Return the attributes HttpOnly and SameSite in the form in which ``http.cookiejar`` stores them (``rest``)."""
    return {**({HTTP_ONLY: ""} if http_only else {}), **({SAME_SITE: same_site} if same_site else {})}


def site_of_domain(domain: str) -> str:
    """Return the site of a cookie's domain; on loopback the host, because cookies apply to all of its ports."""
    host = domain.lstrip(".").lower()
    site = queue_of(f"http://{host}/")
    return host if site == f"{host}:80" else site


def _as_registered(attribute: re.Match[str]) -> str:
    """Return the attribute's name in the spelling under which it is looked up later."""
    return attribute[1] + (HTTP_ONLY if attribute[2].lower() == "httponly" else SAME_SITE)


def _bounded(attribute: re.Match[str]) -> str:
    """Return Max-Age limited to a number that can be stored; empty if it is not a number."""
    value = attribute[1].strip()
    digits = value.removeprefix("-").lstrip("0") or value[-1:]
    if not (digits.isascii() and digits.isdigit()):
        return ""
    shown = 0 if value.startswith("-") else min(int(digits[:12]), _MAX_COOKIE_AGE)
    return f"; Max-Age={shown}"


def _is_as_prefixed(cookie: Cookie, request: Request) -> bool:
    """Return whether a cookie meets the requirements of its name's prefix (RFC 6265bis, section 4.1.3)."""
    is_safe = cookie.secure and request.type == "https"
    if cookie.name.startswith("__Host-"):
        return is_safe and not cookie.domain_specified and cookie.path == "/"
    return is_safe or not cookie.name.startswith("__Secure-")


def _read(text: str) -> Iterator[Cookie]:
    """Yield the stored cookies; none if the text is damaged, in which case the site sets new ones."""
    try:
        kept = _ALL.validate_json(text) if text else []
    except ValidationError:
        kept = []
    return (each.cookie() for each in kept if not _CONTROL.search(f"{each.name}{each.value or ''}"))


def _written(jar: CookieJar) -> str:
    """Return the cookies of a jar as text, dropping the oldest ones beyond ``MAX_COOKIES``."""
    now = time.time()
    cookies = [cookie for cookie in jar if not cookie.is_expired(int(now))]
    for cookie in cookies[:-MAX_COOKIES]:
        jar.clear(cookie.domain, cookie.path, cookie.name)
    kept = [_Kept.of(cookie) for cookie in cookies[-MAX_COOKIES:]]
    return _ALL.dump_json(kept).decode() if kept else ""
