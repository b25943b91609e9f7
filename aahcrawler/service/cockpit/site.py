"""What all pages of the cockpit share: crawls, templates, sessions."""

import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Annotated, Final
from urllib.parse import quote, urlencode

from fastapi import Depends, Request
from jinja2 import Environment, PackageLoader, StrictUndefined, select_autoescape
from markupsafe import Markup, escape
from starlette.datastructures import UploadFile
from starlette.responses import HTMLResponse, RedirectResponse, Response

from aahcrawler import __version__
from aahcrawler.imports.imported_crawl import asks_for_nothing
from aahcrawler.overview.overview_sections import is_collection
from aahcrawler.overview.periods import worded as worded_period
from aahcrawler.replay.page_marks import MarkedPages
from aahcrawler.report.reason_words import ROLES, worded
from aahcrawler.service.catalog.crawl_catalog import Crawl
from aahcrawler.service.cockpit.origins import MAX_BODY_SIZE, Names
from aahcrawler.service.cockpit.sign_in import Said, Session, SignIn
from aahcrawler.service.instruments import Instruments
from aahcrawler.service.web.entrance import Buckets, Rates, begin_act
from aahcrawler.service.web.problems import STALE_FORM, ProblemError
from aahcrawler.service.web.roles import Role, checked
from aahcrawler.tallies import plural

_PACKAGE: Final = "aahcrawler.service.cockpit"
_UNSEEN = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200b\u200e\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb]"
)
_UNITS: Final = ("bytes", "kB", "MB", "GB", "TB")
_MINUTE, _HOUR, _DAY = 60, 3600, 86_400


def visible(text: str) -> str:
    r"""Return a text with control and direction characters made visible, so that none alters how the page reads.

    Characters that join letters or emoji stay.

    >>> visible("gpj.\u202eexe")
    'gpj.‹U+202E›exe'
    """
    return _UNSEEN.sub(lambda found: f"‹U+{ord(found[0]):04X}›", text)


def as_typed(text: str) -> Markup:
    """Escape a text for a form field that is sent back; all characters are kept."""
    return escape(text)


def number(value: float | None, digits: int = 0) -> str:
    """Return a number with its thousands apart, a dash for None."""
    return "–" if value is None else f"{value:,.{digits}f}"


def percent(value: float | None) -> str:
    """Return a share as a percentage, a dash for None.

    >>> percent(0.4037), percent(None)
    ('40 %', '–')
    """
    return "–" if value is None else f"{100 * value:.0f} %"


def score(value: float | None) -> str:
    """Return a score with three decimals; what has none is unscored."""
    return "unscored" if value is None or value < 0 else f"{value:.3f}"


def size(value: float | None) -> str:
    """Return a number of bytes in decimal units.

    >>> size(999), size(1_234_567)
    ('999 bytes', '1.2 MB')
    """
    if value is None:
        return "–"
    amount, unit = float(value), 0
    while amount >= 999.5 and unit < len(_UNITS) - 1:
        amount, unit = amount / 1000, unit + 1
    return f"{amount:.0f} {_UNITS[0]}" if unit == 0 else f"{amount:.1f} {_UNITS[unit]}"


def span(seconds: float | None) -> str:
    """Return a span of time in its two largest units.

    >>> span(42), span(3_725), span(200_000)
    ('42 s', '1 h 2 min', '2 d 7 h')
    """
    if seconds is None:
        return "–"
    whole = max(0, round(seconds))
    if whole < _MINUTE:
        return f"{whole} s"
    if whole < _HOUR:
        return f"{whole // _MINUTE} min {whole % _MINUTE} s"
    if whole < _DAY:
        return f"{whole // _HOUR} h {whole % _HOUR // _MINUTE} min"
    return f"{whole // _DAY} d {whole % _DAY // _HOUR} h"


def moment(value: datetime | str | float | None) -> Markup:
    """Return a time as a ``time`` element, to the second and in UTC; a text that is no time is returned as it is."""
    if value is None or value == "":
        return Markup("–")
    try:
        read = _moment(value)
    except (ValueError, OverflowError, OSError):
        return escape(visible(str(value)))
    shown = read.astimezone(UTC)
    return Markup('<time datetime="{0:%Y-%m-%dT%H:%M:%SZ}">{0:%Y-%m-%d %H:%M:%S}</time>').format(shown)


def _moment(value: datetime | str | float) -> datetime:
    if isinstance(value, str):
        value = datetime.fromisoformat(value)
    elif not isinstance(value, datetime):
        value = datetime.fromtimestamp(value, UTC)
    return value if value.tzinfo else value.replace(tzinfo=UTC)


def breakable(url: str) -> Markup:
    """Return a URL in which browsers may break lines at separators."""
    pieces = re.split(r"([/?&=._-]+)", visible(url))
    return Markup("").join(
        Markup("{}<wbr>").format(piece) if n % 2 else escape(piece) for n, piece in enumerate(pieces)
    )


def sentence(text: str) -> str:
    """Return a text as a sentence: with a capital, unless it begins with a name or a URL, and a full stop.

    >>> sentence("the crawl is over"), sentence("https://a.test/ is blocked"), sentence("Which?")
    ('The crawl is over.', 'https://a.test/ is blocked.', 'Which?')
    """
    first = text.partition(" ")[0]
    begun = text[:1].upper() + text[1:] if first.isalpha() and first.islower() else text
    return begun if begun.endswith((".", "!", "?", "…")) or not begun else f"{begun}."


def reason(name: str) -> str:
    """Return in words why a link was not followed."""
    return worded(name).words


def same(values: Iterable[str]) -> list[tuple[str, str]]:
    """Return the options of a select element whose labels are their values."""
    return [(value, value) for value in values]


class Pages:
    """Renders the cockpit's templates. Every text that a template writes is escaped and made visible."""

    def __init__(self, shared: Mapping[str, object]) -> None:
        """Load the templates; ``shared`` are values available to all of them."""
        self._templates = Environment(
            loader=PackageLoader(_PACKAGE, "templates"),
            autoescape=select_autoescape(default=True),
            undefined=StrictUndefined,
            trim_blocks=True,
            lstrip_blocks=True,
            finalize=_finalised,
        )
        self._templates.filters.update(
            as_typed=as_typed,
            breakable=breakable,
            moment=moment,
            number=number,
            percent=percent,
            period=worded_period,
            plural=plural,
            reason=reason,
            score=score,
            sentence=sentence,
            size=size,
            span=span,
        )
        self._templates.globals.update(shared, same=same, roles=ROLES, version=__version__)

    def text(self, name: str, values: Mapping[str, object]) -> str:
        """Render a template to a text."""
        return self._templates.get_template(name).render(values)

    def respond(self, name: str, values: Mapping[str, object], status: int = 200) -> HTMLResponse:
        """Render a template to a response."""
        return HTMLResponse(self.text(name, values), status)


def _finalised(value: object) -> object:
    """Make the value of a template's expression visible, unless it is markup."""
    if isinstance(value, str) and not isinstance(value, Markup):
        return visible(value)
    return value


COOKIE: Final = "aah_cockpit"
MAX_FIELD: Final = 1 << 20
"""Bytes of one field of a form: a definition or a pasted list."""
_MAX_FIELDS: Final = 400
_MAX_FILES: Final = 3
_TO_GO: Final = re.compile(r"/(?![/\\])[\x21-\x7e]*")


TABS: Final = (
    ("", "Live"),
    ("queue", "Queue"),
    ("sites", "Sites"),
    ("pages", "Pages"),
    ("objects", "Web objects"),
    ("archive", "Archive"),
    ("collected", "Collection"),
    ("seeds", "Seeds"),
    ("failures", "Not fetched"),
    ("changes", "Changes"),
    ("exclusions", "Exclusions"),
    ("studio", "Studio"),
    ("definition", "Definition"),
    ("manage", "Manage"),
    ("log", "Log"),
)
"""The pages of a crawl: the last part of their addresses, and their names."""


_OF_IMPORTS: Final = frozenset({"pages", "objects", "archive", "studio", "definition", "manage"})


class NotSignedInError(Exception):
    """The page requires a signed-in browser."""


@dataclass(frozen=True, slots=True)
class Form:
    """The fields and uploaded documents of a form from a signed-in browser."""

    fields: Mapping[str, str]
    documents: Mapping[str, bytes] = field(default_factory=dict)

    @property
    def document(self) -> bytes:
        """The content of the first document, empty where there is none."""
        return next(iter(self.documents.values()), b"")

    def get(self, name: str) -> str:
        """Return a field without surrounding white space, empty if it was not sent."""
        return self.fields.get(name, "").strip()

    def raw(self, name: str) -> str:
        """Return a field with all white space and Unix line breaks."""
        return self.fields.get(name, "").replace("\r\n", "\n")


@dataclass(frozen=True, slots=True)
class Site:
    """The services that the cockpit's pages use. ``marked`` issues the replay's paths for pages with marks.

    ``sent`` limits how many forms each caller sends.
    """

    instruments: Instruments
    pages: Pages
    sign_in: SignIn
    names: Names
    marked: MarkedPages
    sent: Buckets

    @classmethod
    def of(
        cls,
        instruments: Instruments,
        sign_in: SignIn,
        names: Names,
        ticket: Callable[[str, str], str],
        marked: MarkedPages | None = None,
        rates: Rates | None = None,
    ) -> "Site":
        """Build the site with its templates; ``ticket`` issues a ticket to a path of the replay for a session's key."""

        def ticket_of(session: Session, path: str) -> str:
            return ticket(path, session.key)

        return cls(
            instruments,
            Pages(
                {
                    "address": address,
                    "replay_origin": names.replay,
                    "secret": secret,
                    "ticket": ticket_of,
                    "has_schedule": instruments.schedule is not None,
                }
            ),
            sign_in,
            names,
            marked or MarkedPages(),
            Buckets((rates or Rates()).requests),
        )

    def crawl(self, name: str) -> Crawl:
        """Return the crawl of an id. Raise ``ProblemError`` where there is none."""
        return self.instruments.reach.crawl(name)

    def session(self, request: Request) -> Session:
        """Return the session of a request. Raise ``NotSignedInError``."""
        found = self.sign_in.session(request.cookies.get(COOKIE, ""))
        if found is None:
            raise NotSignedInError
        return found

    def page(self, session: Session, template: str, **values: object) -> HTMLResponse:
        """Render a page for a session, with the outcome of its last act."""
        return self.pages.respond(template, {"session": session, "said": session.told(), **values})

    def crawl_page(self, session: Session, crawl: Crawl, tab: str, template: str, **values: object) -> HTMLResponse:
        """Render a page of a crawl; ``tab`` is the last part of the address of its tab."""
        tabs = _tabs_of_import(crawl) if crawl.is_import else TABS
        if not is_collection(crawl.icd):
            tabs = tuple(each for each in tabs if each[0] != "collected")
        return self.page(session, template, crawl=crawl, tab=tab, tabs=tabs, **values)

    def part(self, session: Session, template: str, **values: object) -> HTMLResponse:
        """Render a part of a page, which a script inserts."""
        return self.pages.respond(template, {"session": session, **values})


def _tabs_of_import(crawl: Crawl) -> tuple[tuple[str, str], ...]:
    """Return the tabs of an import, which has neither queue nor log, and another first page."""
    shown = _OF_IMPORTS - ({"definition"} if asks_for_nothing(crawl.icd) else frozenset())
    return (("", "Import"), *(tab for tab in TABS if tab[0] in shown))


def visitor(request: Request) -> Session:
    """Return the session of a request. Raise ``NotSignedInError``."""
    site: Site = request.app.state.site
    return site.session(request)


def who_may(role: Role) -> Callable[[Request], Session]:
    """Return a dependency that returns the session if it has a role. It raises ``ProblemError`` otherwise."""

    def allowed(request: Request) -> Session:
        session = visitor(request)
        checked(session.caller, role)
        return session

    return allowed


async def sent_form(request: Request) -> Form:
    """Return the form in a request, after noting the request in the log.

    Raise ``ProblemError`` if the form was not made for this session, exceeds the rate limit, or cannot be noted.
    """
    session = visitor(request)
    async with request.form(max_files=_MAX_FILES, max_fields=_MAX_FIELDS, max_part_size=MAX_FIELD) as sent:
        fields = {name: value for name, value in sent.items() if isinstance(value, str)}
        files = {name: value for name, value in sent.items() if isinstance(value, UploadFile)}
        documents = {name: content for name, file in files.items() if (content := await file.read(MAX_BODY_SIZE))}
    if not session.accepts(fields.pop("secret", "")):
        raise ProblemError(STALE_FORM, "the form is of an earlier sign-in; load the page again, and send it once more")
    site: Site = request.app.state.site
    site.sent.take(session.caller.name)
    await begin_act()
    return Form(fields, documents)


Reading = Annotated[Session, Depends(who_may(Role.READ))]
Editing = Annotated[Session, Depends(who_may(Role.EDIT))]
Operating = Annotated[Session, Depends(who_may(Role.OPERATE))]
Judging = Annotated[Session, Depends(who_may(Role.JUDGE))]
Sent = Annotated[Form, Depends(sent_form)]


def secret(session: Session) -> Markup:
    """Return the hidden field that every form carries."""
    return Markup('<input type="hidden" name="secret" value="{}">').format(session.form_secret)


def address(*parts: str, **query: object) -> str:
    """Return the path of a page, escaped; parameters that are empty or None are left out.

    A list becomes several parameters with the same name.

    >>> address("crawls", "a b/c", "queue", text="ö", cursor="")
    '/crawls/a%20b%2Fc/queue?text=%C3%B6'
    """
    path = "/" + "/".join(quote(part, safe="") for part in parts)
    said = ((name, value if isinstance(value, list) else [value]) for name, value in query.items())
    asked = urlencode([(name, str(each)) for name, values in said for each in values if each not in (None, "", False)])
    return f"{path}?{asked}" if asked else path


def said_of(problem: ProblemError) -> Said:
    """Return a problem as a message, with a line for each mistake."""
    mistakes = tuple(
        f"line {each.line}, {each.field or 'text'}: {each.problem}; {each.advice}" for each in problem.mistakes or ()
    )
    title = problem.kind.title
    return Said(title if mistakes else f"{title}: {problem.detail}", "bad", (*mistakes, *(problem.lines or ())))


def then(session: Session, path: str, said: Said | None = None) -> Response:
    """Redirect to a page of the cockpit after an act, and show the act's outcome there."""
    session.tell(said)
    return RedirectResponse(path if _TO_GO.fullmatch(path) else "/", 303)
