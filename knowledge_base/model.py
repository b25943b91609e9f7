"""The model of an application (ARCOMEM, section 4.1): patterns, page levels, crawling actions.

Values are immutable and expressions are compiled, so that one loaded knowledge base serves any number of pages.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from enum import IntEnum, StrEnum
from typing import Final, Literal

from knowledge_base.behaviours import Behaviour, behaviours_on
from knowledge_base.selectors import Selector
from knowledge_base.url_rules import AvoidRule, AvoidRules, DropRule, DropRules, Paging, ParsedUrl, UrlRule, first_page

PAGE_NUMBER: Final = "{page}"
"""What stands in the URL of a listing for the number of its page."""


class Strength(IntEnum):
    """The weight of a detection pattern: one proof is sufficient; two hints count as one strong sign."""

    HINT = 1
    STRONG = 2
    PROOF = 3


class Signal(StrEnum):
    """The part of a page to which a detection pattern applies."""

    SELECTOR = "selector"
    GENERATOR = "generator"
    SCRIPT = "script"
    LINK = "link"
    HEADER = "header"
    COOKIE = "cookie"
    URL = "url"
    TEXT = "text"
    HOST = "host"


@dataclass(frozen=True, slots=True, eq=False)
class Pattern:
    """A detection pattern: a sign of an application.

    ``value`` is the required content of the signal: the start of the generator's name, a part of a script's, style
    sheet's or header's text, a glob of a cookie's name, a host in lower case and without ``www.`` (``*.`` before it
    stands for its subdomains). ``literals`` are lower-case texts of which the URL, the header or the body contains at
    least one whenever the pattern matches; hosts are looked up instead.
    """

    signal: Signal
    strength: Strength
    cite: str
    value: str = ""
    name: str = ""
    selector: Selector | None = None
    rule: UrlRule | None = None
    literals: tuple[str, ...] = ()

    @property
    def key(self) -> tuple[str, str, str]:
        """A key that is the same for equal patterns."""
        source = self.selector.source if self.selector else repr(self.rule) if self.rule else ""
        return (self.signal, f"{self.name}\n{self.value.lower()}", source)


@dataclass(frozen=True, slots=True, eq=False)
class Condition:
    """A sign of a page level: all parts that are given must hold."""

    selector: Selector | None = None
    rule: UrlRule | None = None
    cite: str = ""


class FieldKind(StrEnum):
    """The type that the text of a field is read as."""

    TEXT = "text"
    HTML = "html"
    DATETIME = "datetime"
    URL = "url"
    PERSON = "person"
    NUMBER = "number"


@dataclass(frozen=True, slots=True)
class DateFormat:
    """The format of dates: order of day and month, the zone's name, and optionally an strptime format."""

    order: Literal["dmy", "mdy", "ymd"] | None = None
    zone: str = "UTC"
    format: str | None = None


@dataclass(frozen=True, slots=True, eq=False)
class Field:
    """One property of an object.

    The selectors are alternatives: the first that yields a value is used; likewise for several fields of one name.
    ``page`` fields search the whole page instead of the object's element; ``first_only`` fields belong to the first
    object of a first page. ``without`` selects parts to leave out of the value; ``strip`` are characters removed from
    both ends. ``join`` makes one value of all elements of the selector that is used. ``markup`` says that the text
    found is itself HTML, as in the responses of JSON endpoints. ``declared`` names schema.org properties of the page's
    main item (``datePublished``) that are used where no selector yields a value.
    """

    name: str
    kind: FieldKind
    selectors: tuple[Selector, ...]
    without: tuple[Selector, ...] = ()
    page: bool = False
    first_only: bool = False
    many: bool = False
    strip: str = ""
    join: bool = False
    markup: bool = False
    declared: tuple[str, ...] = ()
    date: DateFormat = DateFormat()


@dataclass(frozen=True, slots=True, eq=False)
class Identity:
    """Where to find an object's number, and how to make the fragment of its URL from it.

    Where no selector yields a number, the fragment is made from the values of ``fields``, for objects that their pages
    do not number.
    """

    selectors: tuple[Selector, ...]
    trims: tuple[str, ...] = ("",)
    prefix: str = ""
    fields: tuple[str, ...] = ()

    def fragment(self, value: str) -> str | None:
        """Return the fragment for the text found; None where the text is not of the expected form.

        >>> Identity((), trims=("post_",), prefix="pid").fragment("post_12")
        'pid12'
        """
        value = value.strip()
        trim = max((trim for trim in self.trims if value.startswith(trim)), key=len, default=None)
        if trim is None:
            return None
        rest = value.removeprefix(trim)
        return self.prefix + rest if rest and len(rest) < 100 and not any(sign.isspace() for sign in rest) else None


@dataclass(frozen=True, slots=True, eq=False)
class Run:
    """Objects without an element of their own: runs of blocks within a container, each up to its signature.

    ``blocks`` are the elements of a run, in document order; ``signature`` finds, within a block, the parts with which a
    run ends (author, date); ``stops`` are elements that end a run without a signature, such as headings: unsigned
    blocks before them belong to no object. ``headings`` are stops that head the runs behind them, whatever their tags.
    """

    blocks: tuple[Selector, ...]
    signature: tuple[Selector, ...]
    stops: tuple[Selector, ...] = ()
    headings: tuple[Selector, ...] = ()


@dataclass(frozen=True, slots=True, eq=False)
class Extract:
    """An extraction action: the elements that are objects, their type and their fields.

    ``items`` are alternatives; the first that finds anything is used, and without ``many`` only its first element
    counts. ``first_type`` is the type of the first object of a first page (the post that opens a thread); ``instead``
    gives the type on pages that meet a condition. Without ``identity`` the object is the subject of the page itself.
    With ``always``, a page of the level without such an object is a failure, not an absence. With ``run`` the items are
    containers, and each run within them is an object.
    """

    name: str
    type: str
    items: tuple[Selector, ...]
    fields: tuple[Field, ...]
    many: bool = False
    always: bool = False
    first_type: str = ""
    instead: tuple[tuple[str, Selector], ...] = ()
    identity: Identity | None = None
    parent: Identity | None = None
    run: Run | None = None


@dataclass(frozen=True, slots=True, eq=False)
class LinkSource:
    """Selects elements (or URL attributes) of links; with ``documented`` only those whose URL the level documents."""

    selector: Selector
    documented: bool = False


@dataclass(frozen=True, slots=True, eq=False)
class Filler:
    """A value for a URL or a form, inserted under ``name``; the first source that gives a value is used.

    ``selectors`` read the page, ``parameter`` a query parameter of its own URL, ``icd`` a list of the Intelligent Crawl
    Definition (``keywords``, ``entities``); ``text`` is a constant, used where the others find nothing. ``add`` is
    added to a number. With ``each``, every value found makes a request of its own.
    """

    name: str
    selectors: tuple[Selector, ...] = ()
    parameter: str = ""
    icd: str = ""
    text: str = ""
    add: int = 0
    each: bool = False


@dataclass(frozen=True, slots=True, eq=False)
class RequestTemplate:
    """A template of a URL: ``/wp-json/wp/v2/posts?page={next}``, with each ``{name}`` replaced by a filler's value.

    Values are percent-encoded, except one at the beginning, which is itself a URL. No request is made where none of the
    conditions ``when`` holds, if there are any, or where a value is missing.
    """

    address: str
    fillers: tuple[Filler, ...] = ()
    when: tuple[Condition, ...] = ()


@dataclass(frozen=True, slots=True, eq=False)
class Form:
    """A form of the page, sent with its own preset values and those of the fillers.

    A form with ``method="post"`` is sent only if marked ``safe``, by which the author says that sending it changes
    nothing.
    """

    selector: Selector
    fillers: tuple[Filler, ...] = ()
    safe: str = ""


@dataclass(frozen=True, slots=True, eq=False)
class Navigate:
    """A navigation action: links that lead to pages of the level ``to``.

    The links of all sources are followed. ``when_none`` names actions of the same level; this one runs only where they
    find nothing. ``pages`` follows the other pages of the same list or thread instead, according to the level's paging.
    ``requests`` and ``forms`` make URLs that the page does not contain.
    """

    name: str
    to: str
    sources: tuple[LinkSource, ...] = ()
    when_none: tuple[str, ...] = ()
    pages: bool = False
    requests: tuple[RequestTemplate, ...] = ()
    forms: tuple[Form, ...] = ()


Action = Navigate | Extract
Role = Literal["intermediate", "terminal"]


@dataclass(frozen=True, slots=True, eq=False)
class Variant:
    """A version or template of a level's pages, recognised by one of the conditions ``when``.

    ``actions`` is complete: the actions of the level, with the variant's replacements.
    """

    name: str
    when: tuple[Condition, ...]
    actions: tuple[Action, ...]


@dataclass(frozen=True, slots=True, eq=False)
class PageLevel:
    """A sort of pages of an application. Intermediate levels have navigation actions only.

    ``when`` are alternative conditions, ``unless`` excludes pages. ``addresses`` are the documented URLs of the level;
    ``start`` says that its pages are worth fetching from anywhere on the site. ``own`` finds the URL by which the page
    names itself; without it the page's URL is used. The actions are those of the first of ``variants`` that matches,
    else ``actions``. ``type`` is the type of the whole to which a page and its further pages belong, such as a thread,
    where that is not an object itself but the container of objects.
    """

    name: str
    role: Role
    when: tuple[Condition, ...]
    unless: tuple[Condition, ...] = ()
    actions: tuple[Action, ...] = ()
    addresses: tuple[UrlRule, ...] = ()
    paging: tuple[Paging, ...] = ()
    own: tuple[Selector, ...] = ()
    start: bool = False
    variants: tuple[Variant, ...] = ()
    type: str = ""

    def first_page(self, url: ParsedUrl) -> ParsedUrl:
        """Return the URL of the first page of the list or thread that a URL belongs to."""
        return first_page(url, self.paging)

    def documents(self, url: ParsedUrl) -> bool:
        """Return whether a URL, or the first page of its list or thread, is a documented URL of this level."""
        first = self.first_page(url)
        forms = (url,) if first is url else (url, first)
        return any(rule.matches(form) for rule in self.addresses for form in forms)


@dataclass(frozen=True, slots=True, eq=False)
class Kind:
    """A kind of application: the properties that its applications share."""

    name: str
    title: str
    types: frozenset[str]
    avoid: tuple[AvoidRule, ...] = ()
    drops: tuple[DropRule, ...] = ()
    behaviours: tuple[Behaviour, ...] = ()


@dataclass(frozen=True, slots=True)
class Listing:
    """A URL at which an application lists everything it holds, whatever its pages link to.

    ``address`` is relative to the application's root; ``{page}`` in it is ``start`` for the first page and increases by
    ``step`` for each further one. Sitemaps and feeds are read as such, a ``page`` according to its level. With
    ``oldest_first``, the first page of a listing tells whether anything was missed. The listing is not needed where an
    action named in ``when_none`` found links on the front page.
    """

    name: str
    kind: Literal["sitemap", "feed", "page"]
    address: str
    start: int = 1
    step: int = 1
    oldest_first: bool = False
    when_none: tuple[str, ...] = ()
    cite: str = ""

    @property
    def is_paged(self) -> bool:
        """Whether the listing has several pages, each with a URL of its own."""
        return PAGE_NUMBER in self.address

    def reference(self, page: int) -> str:
        """Return the URL of a page, counted from 1, relative to the root.

        >>> Listing("feed", "feed", "posts?start={page}", start=1, step=150).reference(3)
        'posts?start=301'
        """
        return self.address.replace(PAGE_NUMBER, str(self.start + (page - 1) * self.step))


@dataclass(frozen=True, slots=True, eq=False)
class Application:
    """A web application as documented by one file; rules of its kind are included.

    ``ignored`` selects elements whose links lead nowhere, such as those to pages that do not exist yet.
    ``needs_browser`` are signs of pages whose content only a script would load. With ``whole_host``, pages of a host on
    which the application was recognised belong to it even without a sign. ``listings`` are alternatives, the best
    first. ``has_lone_pages`` says that its kind has stand-alone pages with URLs chosen by people. ``draft`` says that
    nobody has confirmed the guesses of its file, or of one that it extends. ``behaviours`` are run on its pages in a
    browser, in this order.
    """

    name: str
    kind: str
    patterns: tuple[Pattern, ...]
    levels: tuple[PageLevel, ...]
    avoid: AvoidRules = field(default_factory=AvoidRules)
    drops: DropRules = field(default_factory=DropRules)
    ignored: tuple[Selector, ...] = ()
    needs_browser: tuple[Condition, ...] = ()
    whole_host: bool = False
    listings: tuple[Listing, ...] = ()
    has_lone_pages: bool = False
    draft: bool = False
    behaviours: tuple[Behaviour, ...] = ()
    _by_name: Mapping[str, PageLevel] = field(default_factory=dict, repr=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "_by_name", {level.name: level for level in self.levels})

    @property
    def hosts(self) -> tuple[str, ...]:
        """The hosts that this file describes; empty for software that runs on any."""
        return tuple(pattern.value for pattern in self.patterns if pattern.signal is Signal.HOST)

    def level(self, name: str) -> PageLevel:
        """Return a level by its name. Raises KeyError."""
        return self._by_name[name]

    def begins_at(self, address: ParsedUrl, level: str | None) -> bool:
        """Return whether listings are relative to a page of a level: the top of a host, or a first page with ``start``.

        >>> Application("X", "blog", (), ()).begins_at(ParsedUrl.parse("https://a.test/"), None)
        True
        """
        if address.path == "/" and not address.query:
            return True
        known = self._by_name.get(level or "")
        return known is not None and known.start and known.first_page(address) is address

    def canonical(self, address: ParsedUrl) -> ParsedUrl:
        """Return the one URL that stands for all URLs of the same page of this application."""
        return self.drops.apply(address)

    def refusal(self, url: ParsedUrl) -> AvoidRule | None:
        """Return the first rule by which a canonical URL is not to be fetched."""
        return self.avoid.first(url)

    def level_of(self, url: ParsedUrl) -> PageLevel | None:
        """Return the first level, in the order of the file, that documents a canonical URL."""
        return next((level for level in self.levels if level.documents(url)), None)


@dataclass(frozen=True, slots=True, eq=False)
class Match:
    """The application that a page was recognised as, and the level where one matches.

    ``variant`` names the variant of the level whose actions ran, empty where the level's own did.
    """

    application: Application
    level: PageLevel | None
    variant: str = ""


@dataclass(frozen=True, slots=True, eq=False)
class KnowledgeBase:
    """The applications, in the order of their names, and the ``behaviours`` for pages of no known application.

    ``needs_browser`` are signs, on pages of any application, that a part of the content would be loaded by a script.
    """

    applications: tuple[Application, ...]
    kinds: tuple[Kind, ...] = ()
    behaviours: tuple[Behaviour, ...] = ()
    needs_browser: tuple[Condition, ...] = ()

    def behaviours_on(self, match: Match | None) -> tuple[Behaviour, ...]:
        """Return the behaviours for a page, in this order; None stands for a page of no known application."""
        if match is None:
            return self.behaviours
        level = match.level.name if match.level is not None else None
        return behaviours_on(level, match.application.behaviours, self.behaviours)

    @property
    def confirmed(self) -> "KnowledgeBase":
        """The same applications with all drafts treated as confirmed, for tests against saved pages.

        Otherwise generic reading would supply what a draft misses, and so hide it.
        """
        if not any(application.draft for application in self.applications):
            return self
        return replace(self, applications=tuple(replace(each, draft=False) for each in self.applications))

    def application(self, name: str) -> Application:
        """Return an application by its name. Raises KeyError."""
        for application in self.applications:
            if application.name == name:
                return application
        raise KeyError(name)
