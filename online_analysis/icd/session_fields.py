"""The fields of an ICD's network section by which sites recognise the crawl: cookies, passwords, headers."""

import re
from collections.abc import Mapping
from typing import Annotated, Literal
from urllib.parse import urlsplit

from cssselect.xpath import HTMLTranslator
from lxml import etree
from pydantic import AfterValidator, Field, model_validator

from online_analysis.icd.secrets import HOW_TO_GIVE_ONE, Secret, Value, WholePath
from online_analysis.icd.section import Section, refuse
from online_analysis.icd.sections import Host, Line, Network, WebUrl

_NAMES_A_SECRET = re.compile(
    r"pass|pwd|kennwort|mot.?de.?passe|contrase|senha|wachtwoord|lösenord|secret|token|api.?key|credential|auth|cookie"
    r"|(?:^|[^a-z])(?:key|pin|pw)(?:$|[^a-z])",
    re.IGNORECASE,
)
_HEADER = re.compile(r"[!#$%&'*+\-.^_`|~0-9A-Za-z]{1,200}")
_FIELD_TEXT = re.compile(r"[\x20-\x7e\x80-\xff]*")
_OWN_HEADERS = frozenset(
    {"host", "connection", "content-length", "transfer-encoding", "user-agent", "accept-encoding", "te", "upgrade"}
)
"""Headers that are the client's own, or that say who crawls."""


def names_a_secret(name: str) -> bool:
    """Return whether a form's field or a header is one for a secret, by its name.

    >>> names_a_secret("user_password"), names_a_secret("username"), names_a_secret("X-Api-Key")
    (True, False, True)
    """
    return _NAMES_A_SECRET.search(name) is not None


def _field_values(values: Mapping[str, Value]) -> Mapping[str, Value]:
    for name, value in values.items():
        if not value.is_secret and names_a_secret(name):
            raise refuse(f"has a secret in plain text, under `{name[:60]}`", HOW_TO_GIVE_ONE)
    return values


def _header_values(values: Mapping[str, Value]) -> Mapping[str, Value]:
    for name, value in values.items():
        if not _HEADER.fullmatch(name) or name.lower() in _OWN_HEADERS:
            raise refuse(f"has a header that cannot be given, `{name[:60]}`", "remove it")
        if value.text is not None and not _FIELD_TEXT.fullmatch(value.text):
            raise refuse(f"has a value that no header can have, for `{name[:60]}`", "write it in one line of Latin-1")
    return _field_values(values)


def _sign(text: str) -> str:
    """Validate a sign of a page: ``css=...``, ``xpath=...``, or a piece of its text."""
    try:
        if text.startswith("css="):
            etree.XPath(HTMLTranslator().css_to_xpath(text.removeprefix("css=")))
        elif text.startswith("xpath="):
            etree.XPath(text.removeprefix("xpath="))
    except (etree.XPathSyntaxError, SyntaxError, ValueError) as error:
        raise refuse(
            f"cannot be understood ({error})", "write css=SELECTOR, xpath=PATH, or words of the page"
        ) from None
    return text


class Account(Section):
    """The user of a host that asks by HTTP authentication, basic or digest as the host demands."""

    user: str = Field(max_length=1000, examples=["archivist"])
    password: Secret = Field(examples=["{env: HOST_PASSWORD}"])


class Login(Section):
    """A form to log in by, once for its whole site.

    ``fields`` are what is filled in, by the names of the form's fields; all others keep what the page gives them.
    ``logged_in`` tells a page that is shown to those who are logged in. ``page`` is one on which it can be looked
    for, where the login does not lead to one.
    """

    url: WebUrl = Field(examples=["https://forum.example.org/login"])
    fields: Annotated[Mapping[str, Value], Field(min_length=1, max_length=50), AfterValidator(_field_values)] = Field(
        examples=["{username: archivist, password: {env: FORUM_PASSWORD}}"]
    )
    logged_in: Annotated[Line, AfterValidator(_sign)] = Field(examples=["css=a.logout"])
    page: WebUrl | None = Field(default=None, examples=["https://forum.example.org/profile"])
    tries: int = Field(default=2, ge=1, le=10, examples=["2"])


class SessionNetwork(Network):
    """The network section, including everything by which sites can recognise a crawl.

    ``secrets_over_http`` names hosts that may be sent secrets without encryption.
    """

    cookies: Literal["keep", "off"] = Field(default="keep", examples=["off"])
    cookies_file: WholePath | None = Field(default=None, examples=["~/cookies.txt"])
    accounts: Mapping[Host, Account] = Field(
        default={}, examples=["{example.org: {user: archivist, password: {env: HOST_PASSWORD}}}"]
    )
    headers: Mapping[Host, Annotated[Mapping[str, Value], AfterValidator(_header_values)]] = Field(
        default={}, examples=["{example.org: {X-Api-Key: {env: API_KEY}}}"]
    )
    logins: tuple[Login, ...] = Field(default=(), max_length=100)
    secrets_over_http: tuple[Host, ...] = Field(default=(), examples=["[intranet.example]"])

    @model_validator(mode="after")
    def _consistent(self) -> "SessionNetwork":
        needs_cookies = self.logins or self.cookies_file is not None
        if self.cookies == "off" and needs_cookies:
            raise refuse("keeps no cookies, and a login or a file of cookies needs them", "remove `cookies: off`")
        hosts = [urlsplit(login.url).hostname or "" for login in self.logins]
        for host, login in zip(hosts, self.logins, strict=True):
            if login.url.startswith("http:") and host not in self.secrets_over_http:
                raise refuse(
                    f"would send a password to {host} without encryption",
                    f"give an https URL under logins, or allow it with `secrets_over_http: [{host}]`",
                )
        return self
