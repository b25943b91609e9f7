"""What every page of the cockpit has at hand: the crawls, the templates, and who asks."""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Annotated, Final
from urllib.parse import quote, urlencode

from fastapi import Depends, Request
from markupsafe import Markup
from starlette.datastructures import UploadFile
from starlette.responses import HTMLResponse, RedirectResponse, Response

from aahcrawler.imports.imported_crawl import asks_for_nothing
from aahcrawler.overview.event_table import is_collection
from aahcrawler.replay.numbered_pages import MarkedPages
from aahcrawler.service.catalog.crawl_catalog import Crawl
from aahcrawler.service.cockpit.origins import MAX_BODY_SIZE, Names
from aahcrawler.service.cockpit.rendering import Pages
from aahcrawler.service.cockpit.sign_in import Said, Session, SignIn
from aahcrawler.service.instruments import Instruments
from aahcrawler.service.web.entrance import Buckets, Rates, begin_act
from aahcrawler.service.web.problems import STALE_FORM, ProblemError
from aahcrawler.service.web.roles import Role, checked

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
    """Raised for a page that only those see who are signed in."""


@dataclass(frozen=True, slots=True)
class Form:
    """The fields of a form that a signed-in browser sent, and the content of the documents that came with it."""

    fields: Mapping[str, str]
    documents: Mapping[str, bytes] = field(default_factory=dict)

    @property
    def document(self) -> bytes:
        """The content of the first document, empty where there is none."""
        return next(iter(self.documents.values()), b"")

    def get(self, name: str) -> str:
        """Return a field without white space around it, empty where it was not sent."""
        return self.fields.get(name, "").strip()

    def raw(self, name: str) -> str:
        """Return a field with the line breaks of a file."""
        return self.fields.get(name, "").replace("\r\n", "\n")


@dataclass(frozen=True, slots=True)
class Site:
    """The cockpit as its pages see it. ``marked`` hands out the paths by which the replay shows pages with marks.

    ``sent`` counts the forms that each caller sends.
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
        """Return the site with its templates; ``ticket`` issues one to a path of the replay, for a session's key."""

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
        """Return a page for whoever is signed in, with what came of the last act."""
        return self.pages.answer(template, {"session": session, "said": session.told(), **values})

    def crawl_page(self, session: Session, crawl: Crawl, tab: str, template: str, **values: object) -> HTMLResponse:
        """Return a page of a crawl; ``tab`` is the last part of the address of the tab that it is on."""
        tabs = _tabs_of_import(crawl) if crawl.is_import else TABS
        if not is_collection(crawl.icd):
            tabs = tuple(each for each in tabs if each[0] != "collected")
        return self.page(session, template, crawl=crawl, tab=tab, tabs=tabs, **values)

    def part(self, session: Session, template: str, **values: object) -> HTMLResponse:
        """Return a part of a page, which a script puts into its place."""
        return self.pages.answer(template, {"session": session, **values})


def _tabs_of_import(crawl: Crawl) -> tuple[tuple[str, str], ...]:
    """Return the pages of imported archives, which have neither queue nor log; the first of them is another one."""
    shown = _OF_IMPORTS - ({"definition"} if asks_for_nothing(crawl.icd) else frozenset())
    return (("", "Import"), *(tab for tab in TABS if tab[0] in shown))


def visitor(request: Request) -> Session:
    """Return the session of a request. Raise ``NotSignedInError``."""
    site: Site = request.app.state.site
    return site.session(request)


def who_may(role: Role) -> Callable[[Request], Session]:
    """Return a dependency that gives the session of whoever has a role. Raise ``ProblemError`` for others."""

    def allowed(request: Request) -> Session:
        session = visitor(request)
        checked(session.caller, role)
        return session

    return allowed


async def sent_form(request: Request) -> Form:
    """Return the form of a request, which is noted as asked for.

    Raise ``ProblemError`` where it was not made for the session that sends it, is one too many, or cannot be noted.
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
    """Return the path of a page, its parts and its query escaped; what is empty or None is left out of the query.

    A list stands for a name with each of its values.

    >>> address("crawls", "a b/c", "queue", text="ö", cursor="")
    '/crawls/a%20b%2Fc/queue?text=%C3%B6'
    """
    path = "/" + "/".join(quote(part, safe="") for part in parts)
    said = ((name, value if isinstance(value, list) else [value]) for name, value in query.items())
    asked = urlencode([(name, str(each)) for name, values in said for each in values if each not in (None, "", False)])
    return f"{path}?{asked}" if asked else path


def said_of(problem: ProblemError) -> Said:
    """Return why something could not be done, or each mistake on a line where those say it."""
    mistakes = tuple(
        f"line {each.line}, {each.field or 'text'}: {each.problem}; {each.advice}" for each in problem.mistakes or ()
    )
    title = problem.kind.title
    return Said(title if mistakes else f"{title}: {problem.detail}", "bad", (*mistakes, *(problem.lines or ())))


def then(session: Session, path: str, said: Said | None = None) -> Response:
    """Return the way on after an act: to a page of the cockpit, which tells what came of it."""
    session.tell(said)
    return RedirectResponse(path if _TO_GO.fullmatch(path) else "/", 303)
