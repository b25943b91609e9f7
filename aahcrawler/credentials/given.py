"""What an ICD gives a crawl to be known by, its secrets read from where they are kept on this machine."""

import hashlib
import os
import stat
from base64 import b64encode
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from html import escape
from http.cookiejar import Cookie
from pathlib import Path
from typing import Final
from urllib.parse import quote, quote_plus, urlsplit

from aahcrawler.credentials.site_cookies import CookiesFileError, cookies_of_file
from aahcrawler.urls import queue_of
from online_analysis.icd import Icd, IcdError, Mistake, Value

LARGEST_SECRET: Final = 100_000
"""Bytes of a file that are taken for a secret; one of cookies may be ten times as long."""
_LEAST_MASKED: Final = 4
"""Characters that a secret has at least to be looked for in texts: shorter ones are in every word."""
_LEAST_OF_A_COOKIE: Final = 12
"""Characters of a cookie's value from which on somebody may be known by it: settings are shorter."""


@dataclass(frozen=True, slots=True)
class Password:
    """A user and a password, which no message ever shows."""

    user: str
    word: str = field(repr=False)


@dataclass(frozen=True, slots=True)
class GivenLogin:
    """A form login, its secrets read. ``secret_fields`` are the names of the fields that hold them."""

    url: str
    fields: Mapping[str, str] = field(repr=False)
    secret_fields: frozenset[str] = frozenset()
    logged_in: str = ""
    page: str = ""
    tries: int = 1


@dataclass(frozen=True, slots=True)
class GivenHeader:
    """A header for a host; a secret one is sent encrypted."""

    name: str
    value: str = field(repr=False)
    is_secret: bool = False


@dataclass(frozen=True, slots=True)
class Credentials:
    """All that a crawl is given to be known by; by default nothing, and cookies are kept.

    ``logins`` and ``cookies`` are by site (``urls.queue_of``), passwords and headers by host. ``cookies_version``
    tells one file of cookies from another.
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
        """The sites that the crawl has credentials for, and the hosts: on loopback each port is a site."""
        hosts = {*self.passwords, *(host for host, headers in self.headers.items() if _are_secret(headers))}
        return frozenset({*self.logins, *self.cookies, *hosts, *(queue_of(f"http://{host}/") for host in hosts)})

    def may_go(self, url: str) -> bool:
        """Return whether secrets may be sent with a request for a URL: encrypted, or where that was allowed."""
        return url.startswith("https:") or (urlsplit(url).hostname or "") in self.unencrypted


def is_among(sites: frozenset[str], url: str) -> bool:
    """Return whether a URL belongs to one of ``Credentials.sites``."""
    return bool(sites) and (queue_of(url) in sites or (urlsplit(url).hostname or "") in sites)


NONE: Final = Credentials()


def read_credentials(icd: Icd) -> Credentials:
    """Read the secrets that an ICD names on this machine; raise ``IcdError`` with all that cannot be read."""
    reading = _Reading()
    network = icd.network
    logins = {
        queue_of(login.url): GivenLogin(
            login.url,
            reading.texts(f"network.logins[{place}].fields", login.fields),
            frozenset(name for name, value in login.fields.items() if value.is_secret),
            login.logged_in,
            login.page or "",
            login.tries,
        )
        for place, login in enumerate(network.logins)
    }
    passwords = {
        host: Password(account.user, reading.text(f"network.accounts.{host}.password", account.password))
        for host, account in network.accounts.items()
    }
    reading.secrets.update(f"{known.user}:{known.word}" for known in passwords.values())
    headers = {host: reading.headers(host, given) for host, given in network.headers.items()}
    cookies, version = reading.cookies(network.cookies_file)
    if reading.problems:
        raise IcdError(Mistake(icd.id, 1, name, problem, advice) for name, problem, advice in reading.problems)
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


def spellings(secret: str) -> frozenset[str]:
    """Return how a secret may be written in texts that pass by: in URLs, forms, markup, JSON."""
    if len(secret) < _LEAST_MASKED:
        return frozenset()
    escaped = secret.encode("unicode_escape").decode("ascii").replace('"', '\\"')
    written = {secret, quote(secret, safe=""), quote(secret), quote_plus(secret), escape(secret), escaped}
    return frozenset({*written, quote(secret, safe="").lower(), b64encode(secret.encode()).decode()})


class _Reading:
    """Reads secrets, and notes which cannot be read."""

    def __init__(self) -> None:
        self.problems: list[tuple[str, str, str]] = []
        self.secrets: set[str] = set()

    def text(self, name: str, value: Value) -> str:
        """Return a value; empty, with a note, where it cannot be had."""
        if value.text is not None:
            return value.text
        found = self._variable(name, value.env) if value.env is not None else self._file(name, value.file or "")
        if found:
            self.secrets.add(found)
        return found

    def texts(self, name: str, values: Mapping[str, Value]) -> Mapping[str, str]:
        return {field: self.text(f"{name}.{field}", value) for field, value in values.items()}

    def headers(self, host: str, given: Mapping[str, Value]) -> Sequence[GivenHeader]:
        found = []
        for name, value in given.items():
            text = self.text(f"network.headers.{host}.{name}", value)
            if any(character in text for character in "\r\n\x00") or not _is_latin(text):
                self._note(f"network.headers.{host}.{name}", "is no value for a header", "keep one line of Latin-1")
            found.append(GivenHeader(name, text, value.is_secret))
        return tuple(found)

    def cookies(self, name: str | None) -> tuple[Mapping[str, Sequence[Cookie]], str]:
        if name is None:
            return {}, ""
        path = Path(name).expanduser()
        try:
            content = _private(path, 10 * LARGEST_SECRET)
            found = cookies_of_file(content.decode("utf-8", "replace"))
        except (_SecretError, CookiesFileError) as error:
            self._note("network.cookies_file", f"{name} {error}", "export the cookies anew, and `chmod 600` the file")
            return {}, ""
        values = (cookie.value or "" for each in found.values() for cookie in each)
        self.secrets.update(value for value in values if len(value) >= _LEAST_OF_A_COOKIE)
        return found, hashlib.sha256(content).hexdigest()[:32]

    def _variable(self, name: str, variable: str) -> str:
        found = os.environ.get(variable, "")
        if not found:
            advice = f"set {variable} for the process that crawls, on each machine with a worker"
            self._note(name, f"is in the variable {variable}, which is not set here", advice)
        return found

    def _file(self, name: str, file: str) -> str:
        try:
            found = _private(Path(file).expanduser(), LARGEST_SECRET).decode("utf-8").rstrip("\r\n")
        except (_SecretError, UnicodeDecodeError) as error:
            problem = str(error) if isinstance(error, _SecretError) else "is no text in UTF-8"
            advice = "make the file on each machine with a worker, and keep it to yourself: chmod 600"
            self._note(name, f"is in the file {file}, which {problem}", advice)
            return ""
        if not found:
            self._note(name, f"is in the file {file}, which is empty", "write the secret into it")
        return found

    def _note(self, name: str, problem: str, advice: str) -> None:
        self.problems.append((name, problem, advice))


class _SecretError(Exception):
    """A file is not fit for a secret; the message completes "the file ..."."""


def _private(path: Path, most: int) -> bytes:
    """Return what a file holds that nobody else may read."""
    try:
        with path.open("rb") as file:
            status = os.fstat(file.fileno())
            if not stat.S_ISREG(status.st_mode):
                raise _SecretError("is no file")
            if status.st_mode & 0o077:
                raise _SecretError(f"others may read (its mode is {stat.S_IMODE(status.st_mode):04o}, not 0600)")
            found = file.read(most + 1)
    except OSError as error:
        raise _SecretError(f"cannot be read here ({error.strerror})") from None
    if len(found) > most:
        raise _SecretError("is too large for a secret")
    return found


def _is_latin(text: str) -> bool:
    return all(ord(character) < 256 for character in text)


def _are_secret(headers: Sequence[GivenHeader]) -> bool:
    return any(header.is_secret for header in headers)
