"""The sections of an ICD as pydantic models. docs/icd.md explains every field.

Values arrive as strings, lists and mappings. A validator that refuses one raises ``refuse(problem, advice)``.
"""

import re
from collections.abc import Mapping
from datetime import datetime, timedelta
from ipaddress import IPv4Network, IPv6Network, ip_address, ip_network
from typing import Annotated, Any, Final, Literal
from urllib.parse import urlsplit

import ada_url
from cssselect.xpath import HTMLTranslator
from lxml import etree
from pydantic import (
    AfterValidator,
    BeforeValidator,
    Field,
    PlainSerializer,
    ValidationInfo,
    WithJsonSchema,
    field_validator,
    model_validator,
)
from pydantic.json_schema import JsonSchemaValue

from online_analysis.icd.connections import HostConnection, ProxySection
from online_analysis.icd.mistakes import Section, refuse
from online_analysis.icd.secrets import HOW_TO_GIVE_ONE, Secret, Value, WholePath
from online_analysis.icd.units import format_duration, parse_duration, parse_moment, parse_size
from online_analysis.url_patterns import UrlPattern, UrlPatternError

IpNetwork = IPv4Network | IPv6Network
_EVERYWHERE = (ip_network("0.0.0.0/0"), ip_network("::/0"))


WHERE_SECRETS_ARE = "remove it: credentials are read from fsspec's configuration files and from the environment"
"""The advice for a URL that contains a secret."""


_PASSWORD = re.compile(r"://[^/@]*:(?!\d{1,5}(?:/|$))[^@]*@")
"""Keys of Amazon's stores may contain slashes; a port is no password."""


def secret_in(address: str) -> str:
    """Return which part of a delivery URL may be a secret; empty if none may.

    >>> secret_in("sftp://me:word@example.org/crawls"), secret_in("sftp://me@example.org/crawls")
    ('holds a password', '')
    """
    if any(_PASSWORD.search(link) for link in address.split("::")):
        return "holds a password"
    return "holds a question mark, after which secrets stand" if "://" in address and "?" in address else ""


def _duration(value: Any) -> Any:
    if not isinstance(value, str):
        return value
    try:
        return parse_duration(value)
    except ValueError as error:
        raise refuse(str(error), 'write a number and a unit: "30 days", "12 hours", "1.5 s"') from None


def _size(value: Any) -> Any:
    if not isinstance(value, str):
        return value
    try:
        return parse_size(value)
    except ValueError as error:
        raise refuse(str(error), 'write a number and a unit: "500 MB", "2 GB"') from None


def _moment(value: Any, info: ValidationInfo) -> Any:
    if not isinstance(value, str):
        return value
    try:
        return parse_moment(value, end=info.field_name == "end")
    except ValueError as error:
        raise refuse(str(error), "write a date such as 2024-05-01 or 2024-05-01T18:00:00Z") from None


def _pattern(text: str) -> str:
    try:
        return UrlPattern.parse(text).text
    except UrlPatternError as error:
        raise refuse(
            f"the pattern {error}", "write a glob `*://example.org/news/*`, `host:example.org`, or a part of the URL"
        ) from None


def _web_address(text: str) -> str:
    """Return the WHATWG spelling of an http(s) URL without its fragment."""
    try:
        url = ada_url.URL(text.strip())
    except ValueError:
        raise refuse("is no URL", "write the whole URL, with http:// or https://") from None
    if url.protocol not in {"http:", "https:"}:
        raise refuse(f"is a {url.protocol} URL, and only http and https are crawled", "write an http(s) URL")
    if url.username or url.password:
        raise refuse("holds a user name", "remove what stands before the @")
    if re.search(r"\s", text.strip()):
        raise refuse("holds a space", "write one URL an entry")
    url.hash = ""
    return str(url.href)


def _line(text: str) -> str:
    folded = " ".join(text.split())
    if not folded:
        raise refuse("is empty", "write some words, or leave the field out")
    return folded


def _language(code: str) -> str:
    if not re.fullmatch("[a-zA-Z]{2}", code.strip()):
        raise refuse("is no ISO 639-1 code", "write two letters, such as de, en, el")
    return code.strip().lower()


def _folder_name(name: str) -> str:
    if not re.fullmatch(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}", name) or name.endswith("."):
        raise refuse(
            "is no safe folder name", "write at most 64 letters, digits, `-`, `_` and dots, a letter or digit first"
        )
    return name


def as_host(name: str) -> str:
    """Return the WHATWG spelling of a host's name."""
    try:
        return UrlPattern.parse(f"host:{name.strip()}").host
    except UrlPatternError:
        raise refuse("is no host", "write a host name such as forum.test, without http:// and path") from None


def _delivery_address(text: str) -> str:
    """Return a valid delivery URL, path or empty text.

    Reject one that contains a secret, as it is written into logs.
    """
    address = text.strip()
    if (text and not address) or re.search(r"[\x00-\x1f\x7f]", address):
        raise refuse("is no URL", "write a folder, or a URL such as s3://bucket/crawls")
    if problem := secret_in(address):
        raise refuse(problem, WHERE_SECRETS_ARE)
    return address


def _network(value: Any) -> Any:
    try:
        return ip_network(value, strict=False) if isinstance(value, str) else value
    except ValueError:
        raise refuse("is no network", "write 127.0.0.0/8, 192.168.1.10, or fd00::/8") from None


DURATION_SCHEMA: Final[JsonSchemaValue] = {
    "anyOf": [
        {"type": "number", "minimum": 0},
        {"type": "string", "pattern": r"^\s*([0-9]{1,15}(\.[0-9]{1,9})?\s*[a-zA-Z]{0,20}\s*){1,6}$"},
    ]
}
"""Durations as written: a number of seconds, or numbers with units."""
SIZE_SCHEMA: Final[JsonSchemaValue] = {
    "anyOf": [
        {"type": "number", "minimum": 0},
        {"type": "string", "pattern": r"^\s*[0-9]{1,15}(\.[0-9]{1,9})?\s*([kKmMgGtT]?[iI]?[bB]|[bB]ytes?)?\s*$"},
    ]
}
"""Sizes as written: a number of bytes, or a number with a unit."""
MOMENT_SCHEMA: Final[JsonSchemaValue] = {
    "type": "string",
    "pattern": r"^\d{4}-\d{2}-\d{2}([T ]\d{2}:\d{2}(:\d{2}(\.\d{1,6})?)?(Z|[+-]\d{2}:\d{2})?)?$",
}
"""Dates as written, with or without a time."""

Duration = Annotated[
    timedelta,
    BeforeValidator(_duration),
    PlainSerializer(format_duration, when_used="json"),
    WithJsonSchema(DURATION_SCHEMA),
]
Size = Annotated[int, BeforeValidator(_size), Field(ge=0), WithJsonSchema(SIZE_SCHEMA)]
Moment = Annotated[datetime, BeforeValidator(_moment), WithJsonSchema(MOMENT_SCHEMA)]
Pattern = Annotated[str, AfterValidator(_pattern)]
WebUrl = Annotated[
    str, AfterValidator(_web_address), WithJsonSchema({"type": "string", "pattern": r"^\s*[hH][tT][tT][pP][sS]?:"})
]
Line = Annotated[str, Field(max_length=1000), AfterValidator(_line)]
Language = Annotated[
    str, AfterValidator(_language), WithJsonSchema({"type": "string", "pattern": r"^\s*[a-zA-Z]{2}\s*$"})
]
Host = Annotated[str, AfterValidator(as_host)]
FolderName = Annotated[
    str,
    AfterValidator(_folder_name),
    WithJsonSchema({"type": ["string", "integer"], "pattern": r"^[A-Za-z0-9]([A-Za-z0-9._-]{0,62}[A-Za-z0-9_-])?$"}),
]
FileName = Annotated[str, Field(max_length=1000), AfterValidator(str.strip)]
OneOrSeveral = BeforeValidator(lambda value: [value] if isinstance(value, str) else value)
"""Lets one text be written in place of a list."""
Score = Annotated[float, Field(ge=0, le=1, allow_inf_nan=False)]
Count = Annotated[int, Field(ge=0, le=10**15)]
DeliveryAddress = Annotated[str, Field(max_length=1000), AfterValidator(_delivery_address)]


class TopicWords(Section):
    """The words of the crawl's topic. Each keyword and entity may be several words, which also count as a phrase.

    Without words and documents the crawl has no topic, and collects whole sites. ``posts`` names a file of social
    postings, empty for none; ``reference_crawl`` is a number of pages, 0 for none.
    """

    keywords: tuple[Line, ...] = Field(default=(), examples=["[solar power, photovoltaics]"])
    entities: tuple[Line, ...] = Field(default=(), examples=["[Hermann Scheer, Freiburg]"])
    documents: tuple[Line, ...] = Field(default=(), examples=["[https://example.org/about-solar, texts/solar.html]"])
    posts: FileName = Field(default="", examples=["postings.jsonl"])
    reference_crawl: Annotated[Count, Field(le=100_000)] = Field(default=0, examples=["200"])

    @property
    def has_words(self) -> bool:
        """Whether keywords, entities or documents describe the subject."""
        return bool(self.keywords or self.entities or self.documents)


class Event(Section):
    """A span of time that the crawl is about, including both ends, in UTC.

    ``lead`` and ``cool_down`` are half-lives before and after it; during ``grace`` after its end nothing counts less
    than half.
    """

    start: Moment = Field(examples=["2024-05-01"])
    end: Moment = Field(examples=["2024-05-31"])
    lead: Duration = Field(default=timedelta(0), examples=["30 days"])
    cool_down: Duration = Field(default=timedelta(0), examples=["12 weeks"])
    grace: Duration = Field(default=timedelta(0), examples=["30 days"])

    @field_validator("end")
    @classmethod
    def _after_start(cls, end: datetime, info: ValidationInfo) -> datetime:
        start = info.data.get("start")
        if start is not None and end < start:
            raise refuse("is before the start", f"write {start.date()} or later")
        return end


class Traps(Section):
    """The limits beyond which a part of a site counts as endless; 0 means no limit."""

    pages: Annotated[Count, Field(le=10**6)] = Field(default=30, examples=["100"])
    repeats: Annotated[Count, Field(le=100)] = Field(default=2, examples=["2"])
    segments: Annotated[Count, Field(le=1000)] = Field(default=20, examples=["20"])
    parameters: Annotated[Count, Field(le=1000)] = Field(default=20, examples=["20"])
    barren: Annotated[Count, Field(le=10**6)] = Field(default=5, examples=["20"])
    duplicates: Literal["skip", "follow"] = Field(default="skip", examples=["follow"])
    soft_404: Literal["probe", "ignore"] = Field(default="probe", examples=["ignore"])


class Limits(Section):
    """The limits of the crawl; 0 means no limit, except for ``requisite_bytes``, where it allows none.

    ``stream_lines`` is the highest resolution chosen from a stream.
    """

    pages: Count = Field(default=0, examples=["10000"])
    bytes: Size = Field(default=0, examples=["20 GB"])
    time: Duration = Field(default=timedelta(0), examples=["3 hours"])
    pages_per_domain: Count = Field(default=0, examples=["2000"])
    requisite_bytes: Size = Field(default=10**9, examples=["500 MB"])
    requisite_file_bytes: Size = Field(default=5 * 10**7, examples=["200 MB"])
    requisites_per_page: Count = Field(default=200, examples=["500"])
    requisites_per_style_sheet: Count = Field(default=50, examples=["100"])
    parts_per_stream: Count = Field(default=2_000, examples=["5000"])
    stream_lines: Count = Field(default=1080, examples=["720"])
    page_bytes: Annotated[Size, Field(ge=1000)] = Field(default=10**7, examples=["10 MB"])
    browser_pages: Count = Field(default=0, examples=["1000"])
    browser_time: Duration = Field(default=timedelta(0), examples=["2 hours"])


class Archive(Section):
    """Settings of the archive files, which do not affect what is collected. ``reserve``: None is the default, 0 none.

    ``redact`` masks what would let others log in, in the records of sites for which the crawl has credentials.
    """

    target: DeliveryAddress = Field(default="", examples=["s3://bucket/crawls"])
    reserve: Size | None = Field(default=None, examples=["256 MB"])
    size: Annotated[Size, Field(ge=1000)] = Field(default=10**9, examples=["1 GB"])
    redact: bool = Field(default=True, examples=["false"])


class DomainPoliteness(Section):
    """The exceptions from ``Politeness`` for one domain or host; None keeps the general value.

    ``pages`` and ``bytes`` are its budgets, ``depth`` the most links from a seed to its pages; None means no limit.
    """

    delay: Duration | None = Field(default=None, examples=["5 s"])
    max_delay: Duration | None = Field(default=None, examples=["5 minutes"])
    connections: int | None = Field(default=None, ge=1, le=100, examples=["4"])
    pages: Annotated[Count, Field(ge=1)] | None = Field(default=None, examples=["500"])
    bytes: Annotated[Size, Field(ge=1)] | None = Field(default=None, examples=["2 GB"])
    depth: Annotated[int, Field(ge=0, le=10**6)] | None = Field(default=None, examples=["3"])


AS_ALL: Final = DomainPoliteness()
"""The exceptions of a domain without any."""


class Politeness(Section):
    """The politeness towards servers. If a site's Crawl-delay is longer than ``delay``, it is used instead.

    After a slow response the delay is its duration times ``delay_factor``; 0 disables this. ``domains`` are by host
    name and include all subdomains; the longest matching name is used.
    """

    delay: Duration = Field(default=timedelta(seconds=1), examples=["2 s"])
    connections: int = Field(default=1, ge=1, le=100, examples=["1"])
    timeout: Duration = Field(default=timedelta(seconds=60), examples=["60 s"])
    retries: int = Field(default=2, ge=0, le=100, examples=["2"])
    robots: Literal["obey", "ignore"] = Field(default="obey", examples=["obey"])
    nofollow: Literal["ignore", "obey"] = Field(default="ignore", examples=["obey"])
    max_delay: Duration = Field(default=timedelta(seconds=60), examples=["60 s"])
    delay_factor: Annotated[float, Field(ge=0, le=100, allow_inf_nan=False)] = Field(default=1.0, examples=["2"])
    domains: Mapping[Host, DomainPoliteness] = Field(default={}, examples=["{example.org: {delay: 5 s}}"])

    def of(self, host: str) -> tuple[str, DomainPoliteness]:
        """Return the name that matches a host, and its exceptions.

        Without a match, the name is empty and there are no exceptions.
        """
        name = host.rstrip(".") if self.domains else ""
        while name:
            if (found := self.domains.get(name)) is not None:
                return name, found
            name = name.partition(".")[2]
        return "", AS_ALL

    @field_validator("timeout")
    @classmethod
    def _some_time(cls, timeout: timedelta) -> timedelta:
        if not timeout:
            raise refuse("is zero, so nothing could be fetched", "write for example 60 s")
        return timeout


class Endpoint(Section):
    """The IP address to connect to for a host, and the port if it differs from the URL's."""

    address: str
    port: int | None = None

    @model_validator(mode="before")
    @classmethod
    def _read(cls, value: Any) -> Any:
        if not isinstance(value, str):
            return value
        found = re.fullmatch(r"(?:\[([0-9a-fA-F:.%]+)\]|([0-9.]+))(?::([0-9]{1,5}))?|([0-9a-fA-F:.]+)", value.strip())
        try:
            if not found:
                raise ValueError
            address = ip_address(found[1] or found[2] or found[4])
            port = int(found[3]) if found[3] else None
            if port is not None and not 0 < port < 65536:
                raise ValueError
        except ValueError:
            advice = "write 127.0.0.1, 127.0.0.1:8080, ::1 or [::1]:8080"
            raise refuse("is no IP address", advice) from None
        return {"address": str(address), "port": port}

    def __str__(self) -> str:
        """Write the endpoint as an ICD does."""
        host = f"[{self.address}]" if ":" in self.address and self.port else self.address
        return f"{host}:{self.port}" if self.port else host


class Network(Section):
    """How hosts are reached. Private, loopback and link-local IP addresses are refused by default.

    ``proxy`` is for all hosts. ``hosts`` are by host name and include all subdomains; the longest matching name is
    used.
    """

    resolve: Mapping[Host, Annotated[Endpoint, PlainSerializer(str, when_used="json")]] = Field(
        default={}, examples=['{forum.test: "127.0.0.1:8080"}']
    )
    allow_private: tuple[Annotated[IpNetwork, BeforeValidator(_network)], ...] = Field(
        default=(), examples=["[127.0.0.0/8], or true"]
    )
    proxy: ProxySection | None = Field(default=None, examples=["http://proxy.example.org:3128"])
    hosts: Mapping[Host, HostConnection] = Field(default={}, examples=["{example.org: {certificates: accept}}"])

    @field_validator("allow_private", mode="before")
    @classmethod
    def _networks(cls, value: Any) -> Any:
        if isinstance(value, str):
            switch = {"true": _EVERYWHERE, "yes": _EVERYWHERE, "on": _EVERYWHERE, "false": (), "no": (), "off": ()}
            if value.lower() not in switch:
                raise refuse("is neither true nor false nor a list", "write true, false, or a list like [127.0.0.0/8]")
            return switch[value.lower()]
        return value

    @property
    def resolving_proxies(self) -> tuple[str, ...]:
        """The proxies that resolve names, so that the IP addresses of hosts behind them are not checked."""
        sections = (self.proxy, *(own.proxy for own in self.hosts.values()))
        urls = (section.url for section in sections if section is not None and not section.is_direct)
        return tuple(dict.fromkeys(url for url in urls if not url.startswith("socks5://")))


class BrowserSection(Section):
    """Which pages are rendered in a browser after they were fetched: those that scripts make.

    ``pages`` are always rendered and ``never`` are not, whatever ``use`` says; ``never`` takes precedence.
    ``page_time`` limits one rendering, ``at_once`` the number of renderings of one worker at a time. ``under_login``
    says whether behaviours may send anything on sites for which the crawl has credentials.
    """

    use: Literal["auto", "always", "never"] = Field(default="auto", examples=["always"])
    pages: tuple[Pattern, ...] = Field(default=(), examples=['["*://app.example.org/*"]'])
    never: tuple[Pattern, ...] = Field(default=(), examples=["[/print/]"])
    page_time: Duration = Field(default=timedelta(seconds=30), examples=["30 s"])
    at_once: Annotated[int, Field(ge=1, le=16)] = Field(default=4, examples=["2"])
    under_login: bool = Field(default=False, examples=["true"])
    screenshots: bool = Field(default=True, examples=["false"])

    @field_validator("page_time")
    @classmethod
    def _some_time(cls, page_time: timedelta) -> timedelta:
        if not page_time:
            raise refuse("is zero, so no page could be looked at", "write for example 30 s, or `use: never`")
        return page_time


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
"""Headers that the client sets itself, or that identify the crawler."""


def names_a_secret(name: str) -> bool:
    """Return whether the name of a form's field or a header is one for a secret.

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
    """The user of a host that requires HTTP authentication, basic or digest as the host demands."""

    user: str = Field(max_length=1000, examples=["archivist"])
    password: Secret = Field(examples=["{env: HOST_PASSWORD}"])


class Login(Section):
    """A form for logging in, once for its whole site.

    ``fields`` are what is filled in, by the names of the form's fields; all others keep the values on the page.
    ``logged_in`` identifies a page that is shown to users who are logged in. ``page`` is a page on which to look for
    it, if the login does not lead to one.
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

    ``secrets_over_http`` names hosts to which secrets may be sent without encryption.
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
