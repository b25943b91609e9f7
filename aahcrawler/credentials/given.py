"""The credentials that an ICD gives a crawl, with secrets read from this machine."""

import hashlib
import re
from base64 import b64encode
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from html import escape
from http.cookiejar import Cookie
from typing import Final
from urllib.parse import quote, quote_plus, urlsplit

from aahcrawler.credentials.site_cookies import CookiesFileError, cookies_of_file
from aahcrawler.urls import queue_of
from online_analysis.icd import Icd, IcdError, Mistake, SessionNetwork, Value
from online_analysis.icd.connections import ProxySection
from online_analysis.icd.secrets import MAX_SECRET, PrivateFileError, SecretError, private_content

_MAX_COOKIES: Final = 10 * MAX_SECRET
"""The most bytes that a file of cookies may have."""
_MIN_MASKED: Final = 4
"""The fewest characters a secret must have to be masked in texts: shorter ones occur in many words."""
_MIN_OF_A_COOKIE: Final = 12
"""The fewest characters of a cookie's value that may identify somebody: the values of mere settings are shorter."""


_Path = tuple[str | int, ...]
"""The path of a field, relative to ``network``."""


@dataclass(frozen=True, slots=True)
class Password:
    """A user name and password; messages never show the password."""

    user: str
    word: str = field(repr=False)


@dataclass(frozen=True, slots=True)
class GivenLogin:
    """A form login with its secrets. ``secret_fields`` are the names of the fields that hold them."""

    url: str
    fields: Mapping[str, str] = field(repr=False)
    secret_fields: frozenset[str] = frozenset()
    logged_in: str = ""
    page: str = ""
    tries: int = 1


@dataclass(frozen=True, slots=True)
class GivenHeader:
    """A header sent to one host; a secret header is sent only over encrypted connections."""

    name: str
    value: str = field(repr=False)
    is_secret: bool = False


@dataclass(frozen=True, slots=True)
class Credentials:
    """All credentials of a crawl. By default it has none, and keeps the cookies that sites set.

    ``logins`` and ``cookies`` (see ``cookies_of``) are by site (``urls.queue_of``), ``passwords`` and ``headers`` by
    host. ``cookies_version`` changes when the file of cookies does. ``secrets`` has every text that must not be shown,
    including the secrets of proxies and client certificates.
    """

    keeps_cookies: bool = True
    logins: Mapping[str, GivenLogin] = field(default_factory=dict, repr=False)
    passwords: Mapping[str, Password] = field(default_factory=dict, repr=False)
    headers: Mapping[str, Sequence[GivenHeader]] = field(default_factory=dict, repr=False)
    cookies: Mapping[str, Sequence[Cookie]] = field(default_factory=dict, repr=False)
    cookies_version: str = ""
    unencrypted: frozenset[str] = frozenset()
    secrets: frozenset[str] = field(default=frozenset(), repr=False)

    @property
    def sites(self) -> frozenset[str]:
        """The sites and hosts for which the crawl has credentials; on loopback each port is a site."""
        hosts = {
            *self.passwords,
            *(host for host, headers in self.headers.items() if any(header.is_secret for header in headers)),
        }
        return frozenset({*self.logins, *self.cookies, *hosts, *(queue_of(f"http://{host}/") for host in hosts)})

    def cookies_of(self, site: str) -> Sequence[Cookie]:
        """Return the cookies for a site. On loopback, where each port is a site, return those of its host."""
        return self.cookies.get(site) or self.cookies.get(site.rpartition(":")[0], ())

    def may_go(self, url: str) -> bool:
        """Return whether secrets may be sent to a URL: it is encrypted, or the definition allows it unencrypted."""
        return url.startswith("https:") or (urlsplit(url).hostname or "") in self.unencrypted


def is_among(sites: frozenset[str], url: str) -> bool:
    """Return whether a URL belongs to one of ``Credentials.sites``."""
    return bool(sites) and (queue_of(url) in sites or (urlsplit(url).hostname or "") in sites)


NONE: Final = Credentials()


def read_credentials(icd: Icd) -> Credentials:
    """Read the secrets that an ICD refers to on this machine. Raises ``IcdError`` listing all that cannot be read."""
    reading = _Reading()
    network = icd.network
    logins = {
        queue_of(login.url): GivenLogin(
            login.url,
            reading.texts(("logins", place, "fields"), login.fields),
            frozenset(name for name, value in login.fields.items() if value.is_secret),
            login.logged_in,
            login.page or "",
            login.tries,
        )
        for place, login in enumerate(network.logins)
    }
    passwords = {
        host: Password(account.user, reading.text(("accounts", host, "password"), account.password))
        for host, account in network.accounts.items()
    }
    reading.secrets.update(f"{known.user}:{known.word}" for known in passwords.values())
    headers = {host: reading.headers(host, given) for host, given in network.headers.items()}
    cookies, version = reading.cookies(network.cookies_file)
    reading.connections(network)
    if reading.problems:
        raise IcdError(icd.network_mistake(*problem) for problem in reading.problems)
    return Credentials(
        network.cookies == "keep",
        logins,
        passwords,
        headers,
        cookies,
        version,
        frozenset(network.secrets_over_http),
        frozenset(reading.secrets),
    )


def credential_mistakes(icd: Icd) -> tuple[Mistake, ...]:
    """Return a mistake for each secret that an ICD refers to and that cannot be read on this machine."""
    try:
        read_credentials(icd)
    except IcdError as error:
        return error.mistakes
    return ()


def spellings(secret: str) -> frozenset[str]:
    """Return the secret in every spelling that it may have in URLs, forms, markup and JSON; none if it is too short."""
    if len(secret) < _MIN_MASKED:
        return frozenset()
    escaped = secret.encode("unicode_escape").decode("ascii").replace('"', '\\"')
    written = {secret, quote(secret, safe=""), quote(secret), quote_plus(secret), escape(secret), escaped}
    return frozenset({*written, quote(secret, safe="").lower(), b64encode(secret.encode()).decode()})


class _Reading:
    """Read secrets, recording a mistake for each that cannot be read."""

    def __init__(self) -> None:
        self.problems: list[tuple[_Path, str, str]] = []
        self.secrets: set[str] = set()

    def text(self, path: _Path, value: Value) -> str:
        """Return the value; if it cannot be read, record a mistake and return an empty string."""
        try:
            found = value.reveal()
        except SecretError as error:
            self._note(path, error.problem, error.advice)
            return ""
        if value.is_secret:
            self.secrets.add(found)
        return found

    def texts(self, path: _Path, values: Mapping[str, Value]) -> Mapping[str, str]:
        return {field: self.text((*path, field), value) for field, value in values.items()}

    def headers(self, host: str, given: Mapping[str, Value]) -> Sequence[GivenHeader]:
        found = []
        for name, value in given.items():
            text = self.text(("headers", host, name), value)
            if any(character in text for character in "\r\n\x00") or not _is_latin(text):
                self._note(("headers", host, name), "is no value for a header", "keep one line of Latin-1")
            found.append(GivenHeader(name, text, value.is_secret))
        return tuple(found)

    def cookies(self, name: str | None) -> tuple[Mapping[str, Sequence[Cookie]], str]:
        if name is None:
            return {}, ""
        try:
            content = private_content(name, _MAX_COOKIES)
            found = cookies_of_file(content.decode("utf-8", "replace"))
        except (PrivateFileError, CookiesFileError) as error:
            self._note(("cookies_file",), f"{name} {error}", "export the cookies anew, and `chmod 600` the file")
            return {}, ""
        values = (cookie.value or "" for each in found.values() for cookie in each)
        self.secrets.update(value for value in values if len(value) >= _MIN_OF_A_COOKIE)
        return found, hashlib.sha256(content).hexdigest()[:32]

    def connections(self, network: SessionNetwork) -> None:
        """Read the secrets of proxies and client certificates, which are passed to the wire client separately."""
        for path, proxy in _proxies(network):
            if proxy is not None and proxy.password is not None:
                self.secrets.add(f"{proxy.user}:{self.text((*path, 'password'), proxy.password)}")
        for host, own in network.hosts.items():
            if own.client_passphrase is not None:
                self.text(("hosts", host, "client_passphrase"), own.client_passphrase)

    def _note(self, path: _Path, problem: str, advice: str) -> None:
        self.problems.append((path, problem, advice))


def _proxies(network: SessionNetwork) -> Iterator[tuple[_Path, ProxySection | None]]:
    yield ("proxy",), network.proxy
    yield from ((("hosts", host, "proxy"), own.proxy) for host, own in network.hosts.items())


def _is_latin(text: str) -> bool:
    return all(ord(character) < 256 for character in text)


REDACTED: Final = "REDACTED"
"""What replaces masked text."""
MIN_OF_A_TOKEN: Final = 16
"""The fewest characters of a cookie's value that is masked in pages and URLs: values of mere settings are shorter."""

_TOKEN: Final = re.compile(
    rb"(?i)((?:[?&;]|&amp;|%26)(?:access_?token|auth_?token|id_?token|refresh_?token|session_?token|session_?key|jwt"
    rb"|api_?key|access_?key|client_?secret|password|passwd|phpsessid|jsessionid|sid)=)[^&#;\s\"'<>\\]{6,}"
)


def tokens_among(values: Iterable[str]) -> Iterator[str]:
    """Yield the cookie values that are long enough to identify a session."""
    return (value for value in values if len(value) >= MIN_OF_A_TOKEN)


class Masks:
    """Mask given words in all their spellings and, with ``tokens``, the values of URL parameters that grant access."""

    def __init__(self, words: Iterable[str], *, tokens: bool = False) -> None:
        self._words = _pattern(frozenset(words))
        self._tokens = tokens

    def masked(self, data: bytes) -> bytes:
        """Return bytes of a message or page with the secrets masked."""
        if self._words is not None:
            data = self._words.sub(REDACTED.encode(), data)
        if self._tokens and b"=" in data:
            data = _TOKEN.sub(rb"\1" + REDACTED.encode(), data)
        return data

    def masked_text(self, text: str) -> str:
        """Return a text, such as an event or a URL, with the secrets masked."""
        raw = text.encode("utf-8", "surrogateescape")
        masked = self.masked(raw)
        return text if masked == raw else masked.decode("utf-8", "surrogateescape")


@lru_cache(maxsize=256)
def _pattern(words: frozenset[str]) -> re.Pattern[bytes] | None:
    written = {spelling for word in words for spelling in spellings(word)}
    found = {word.encode("utf-8", "surrogateescape") for word in written}
    found |= {word.encode("latin-1") for word in written if all(ord(character) < 256 for character in word)}
    longest_first = sorted(found, key=lambda word: (-len(word), word))
    return re.compile(b"|".join(map(re.escape, longest_first))) if found else None
