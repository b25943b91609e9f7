"""Pages on which a crawl, or a collection made from archives, is begun, with a dry run beside the form."""

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from functools import partial
from typing import Annotated, Final, NamedTuple

import yaml
from fastapi import APIRouter, Path, Query, Response
from pydantic import JsonValue

from aahcrawler.layout import CREATED, DEFINITION
from aahcrawler.service.catalog.crawl_catalog import Crawl
from aahcrawler.service.cockpit.collection_pages import PATIENCE
from aahcrawler.service.cockpit.definition_pages import DefinitionHandlers
from aahcrawler.service.cockpit.other_archives import KINDS as OTHER_KINDS
from aahcrawler.service.cockpit.other_archives import OtherArchive, archives_listed, others_in, with_others
from aahcrawler.service.cockpit.sign_in import Said, Session
from aahcrawler.service.cockpit.site import Form, Operating, Reading, Sent, Site, address, said_of, then
from aahcrawler.service.steering import starting_crawls
from aahcrawler.service.steering.collection_specifications import MAX_SAMPLE, USUAL_LIMITS, Specification, job_key
from aahcrawler.service.steering.held_definitions import refused
from aahcrawler.service.steering.long_jobs import UNDER_WAY, JobView
from aahcrawler.service.steering.seed_trials import TrialView
from aahcrawler.service.views.reference_suggestions import article_read, linked_addresses
from aahcrawler.service.web.noted_acts import note_did
from aahcrawler.service.web.problems import BAD_DEFINITION, BAD_SEARCH, ProblemError
from aahcrawler.service.web.roles import Role
from aahcrawler.tallies import plural
from online_analysis.icd import Icd, IcdError, Mistake
from online_analysis.icd.editing import edited
from online_analysis.icd.field_words import EVENT_KINDS, FIELD_WORDS
from online_analysis.icd.form_view import FormView, form_changes, form_view
from online_analysis.icd.new_definition import Wish, first_text, suggested_id
from online_analysis.icd.seed_list import SeedList, read_seed_list
from online_analysis.icd.text_check import field_of

ASKED: Final = frozenset({"seeds", "topic.keywords", "limits.pages", "limits.time", "operator", "contact"})
"""The fields that the four questions are about."""
EXPERT: Final = frozenset({"scoring", "traps", "archive"})
"""The groups of fields that are left to the definition, which can be opened from here."""
_WRITTEN: Final = frozenset({"seeds", "topic.keywords", "operator", "contact", "title", "id"})
"""The fields that a first text has by itself; others are changes of it."""
_SUGGESTED: Final = frozenset({"limits.pages", "limits.time"})
"""The fields that stay as they are suggested where nothing is written; without any limit a crawl might never end."""
EXAMPLE: Final = Wish(("https://forum.example.org/",), "archive@example.org")
"""What has no mistakes: by it a form is laid out in which nothing is written yet."""


def routes(site: Site) -> APIRouter:
    """Return the routes of the page."""
    router = APIRouter()
    desk = _NewCrawlHandlers(site)

    @router.get("/new")
    def begin(session: Operating) -> Response:
        return desk.empty(session)

    @router.post("/new")
    def go_on(session: Operating, form: Sent) -> Response:
        return desk.sent(session, form)

    return router


class _NewCrawlHandlers:
    """Handlers of the form: they turn answers into a definition, try it, and start it."""

    def __init__(self, site: Site) -> None:
        self._site = site
        self._helm = site.instruments.helm
        self._definitions = DefinitionHandlers(site)

    def empty(self, session: Session) -> Response:
        """Return the empty form; operator and contact are those of the last crawl."""
        last = last_definition(self._site, session)
        who = {} if last is None else {"operator": last.operator, "contact": last.contact}
        return self._shown(session, Form(who), form_view(first_text(EXAMPLE)), is_new=True)

    def sent(self, session: Session, form: Form) -> Response:
        """Return the response to a form; if it has mistakes, the form with each mistake at its field."""
        seeds = read_seed_list(form.raw("seeds"))
        first = self._first_text(form, seeds)
        view, trial = form_view(first), None
        try:
            text = _with_others(first, form)
            view = form_view(text)
            icd = view.checked.icd
            match form.get("action"):
                case "write":
                    return self._definitions.first_draft(session, text, seeds)
                case "try" | "start" if icd is None or not _is_answered(form):
                    raise ProblemError(BAD_DEFINITION, "some answers have to be mended first")
                case "start":
                    return self._started(session, text)
                case "try" if icd is not None:
                    trials = self._helm.trials
                    trial = trials.trial(trials.begin(session.caller, icd, text))
        except IcdError as error:
            session.tell(said_of(refused(error, "this cannot be written as a definition")))
        except ProblemError as problem:
            session.tell(Said(said_of(problem).text, "bad") if view.checked.mistakes else said_of(problem))
        return self._shown(session, form, view, seeds, trial)

    def _started(self, session: Session, text: str) -> Response:
        helm = self._helm
        made = starting_crawls.create(helm.reach, helm.definitions, helm.processes, session.caller, text, begin=True)
        return then(session, address("crawls", made.id), Said(f"{made.title or made.id}: {made.detail}"))

    def _first_text(self, form: Form, seeds: SeedList) -> str:
        """Return the definition from the four questions and the names, possibly with mistakes."""
        title = form.get("title")
        wish = Wish(
            seeds=seeds.seeds,
            contact=form.get("contact"),
            keywords=_keywords(form),
            title=title,
            operator=form.get("operator"),
            id=form.get("id") or starting_crawls.free_id(self._helm.reach, suggested_id(title, seeds.seeds)),
        )
        return first_text(wish)

    def _shown(
        self,
        session: Session,
        form: Form,
        view: FormView,
        seeds: SeedList | None = None,
        trial: TrialView | None = None,
        *,
        is_new: bool = False,
    ) -> Response:
        fields = {each.field.path: each for section in view.sections for each in section.fields}
        is_about = form.get("extent") == "about" or (not form.get("extent") and bool(form.get("topic.keywords")))
        written = {**dict.fromkeys(_WRITTEN, ""), **form.fields}
        shown: dict[str, object] = {"fields": fields, "asked_for": ASKED, "expert": EXPERT, "written": written}
        shown |= {"is_new": is_new, "is_about": is_about, "unanswered": not is_new and not _is_answered(form)}
        mistaken = (path for path, each in fields.items() if each.mistakes and path not in ASKED)
        shown["is_more_open"] = not is_new and any(path.partition(".")[0] not in EXPERT for path in mistaken)
        values = {"form": form, "view": view, "seeds": seeds or SeedList(), "trial": trial}
        return self._site.page(session, "new.html", **values, **shown)


def last_definition(site: Site, session: Session) -> Icd | None:
    """Return the definition of the crawl begun last, if the session may see it; else None."""
    if Role.READ not in session.caller.roles:
        return None
    every = site.instruments.helm.reach.crawls()
    crawls = [crawl for crawl in every if crawl.folder is not None and not crawl.is_import]
    return max(crawls, key=_begun_at).icd if crawls else None


def _is_answered(form: Form) -> bool:
    """Return whether the form says what the crawl is about, if it has to."""
    return form.get("extent") != "about" or bool(_keywords(form))


def _keywords(form: Form) -> tuple[str, ...]:
    if form.get("extent") == "whole":
        return ()
    lines = form.raw("topic.keywords").replace(",", "\n").splitlines()
    return tuple(line.strip() for line in lines if line.strip())


def _with_others(text: str, form: Form) -> str:
    """Add the other fields of the page to a definition. Raise ``IcdError`` if that is not possible."""
    others = {
        name: value
        for name, value in form.fields.items()
        if name not in _WRITTEN and (name not in _SUGGESTED or value.strip())
    }
    changes = form_changes(text, others)
    return edited(text, changes) if changes else text


def _begun_at(crawl: Crawl) -> float:
    """Return when a crawl's definition was last written."""
    paths = (crawl.folder / name for name in (DEFINITION, CREATED)) if crawl.folder is not None else ()
    return max((path.stat().st_mtime for path in paths if path.is_file()), default=0.0)


BETWEEN: Final = "---"
"""A line of its own that parts pasted texts from one another."""
_HERE: Final = ("new", "collection")
_ARCHIVE: Final = "archive:"
_SAMPLE: Final = 100
_LEAVE_OUT: Final = "leave_out"
"""The tick that is only for the list as it is sent with it: no page has it set."""
_PROPOSED: Final = "proposed"
"""The short name as it came of the title: while the field holds it, it follows the title."""
_MAX_TOLD: Final = 12
_ACTS: Final = frozenset({"sample", "make"})
_FIRST: Final[Mapping[str, str]] = {
    "scoring.relevant": "0.5",
    "scoring.follow": "0.5",
    "scoring.relevance.combination": "gated",
    "scope.depth": "5",
    "limits.pages": str(USUAL_LIMITS["pages"]),
    "limits.time": str(USUAL_LIMITS["time"]),
}
"""What stands on the page at first."""
LABELS: Final[Mapping[str, tuple[str, str]]] = {
    "title": ("Title", "What the collection is called."),
    "topic.documents": ("Pages about it", "Addresses, one a line; they are taken from the archives."),
    "topic.keywords": ("Words that matter most", "One or several words a line; they count twice."),
    "event.start": ("First day", "Such as 2013-05-30."),
    "event.end": ("Last day", "Such as 2013-06-25."),
    "event.lead": ("Lead", "How long before it is talked about; 0 or nothing where nobody expects it."),
    "event.cool_down": ("Cool-down", "How long after it is talked about, such as 8 weeks."),
    "event.grace": ("Grace", "For so long after the end nothing counts less than half."),
    "captures.snapshot": ("", "Which capture is taken where an archive has several of a page."),
    "captures.nearest_to": ("", "The date for “the one nearest to a date”."),
    "scoring.relevant": ("Member from", "The score, from 0 to 1, from which on a page belongs to the collection."),
    "scoring.follow": ("", "The score, from 0 to 1, below which links of a page are not followed."),
    "scoring.relevance.combination": ("", "How nearness to subject and time are combined."),
    "scoring.relevance.dates": ("", "In which order it is looked for; by itself: publication, else the capture."),
    "limits.pages": ("Pages at most", "The collection ends there. 0: no limit."),
    "limits.time": ("Time at most", "Such as 12 hours. 0: no limit."),
    "scope.depth": ("Links from a seed at most", "How far from the seeds pages are looked for."),
    "scope.deny": ("No addresses like", "URL patterns, one a line; what the institution excludes is left out anyway."),
    "operator": ("Institution", "Who collects."),
    "contact": ("Contact", "An e-mail address or web page; archives that are asked are told it."),
}
"""What fields of a definition are called on the page, empty for as anywhere, and what they mean there."""
_OWN_LABELS: Final = {"id": "Short name", "seeds": "Addresses", "captures.sources": "Archives"}
_OF_SOURCE: Final = re.compile(r"captures\.sources\[(\d+)\]")
_OF_DOCUMENT: Final = re.compile(r"topic\.documents\[(\d+)\]")
_EMPTY: Final = "id: collection\n"
JobName = Annotated[str, Path(max_length=100)]


def new_collection_routes(site: Site) -> APIRouter:
    """Return the routes of the page."""
    router = APIRouter(prefix="/new/collection")
    desk = _NewCollectionHandlers(site)

    @router.get("")
    def begin(session: Operating, _: Reading) -> Response:
        return desk.empty(session)

    @router.post("")
    def go_on(session: Operating, _: Reading, form: Sent) -> Response:
        return desk.sent(session, form)

    @router.get("/sample/{name}/{job}")
    def follow(
        session: Operating,
        name: Annotated[str, Path(max_length=100)],
        job: JobName,
        whole: Annotated[bool, Query(description="As a page, for browsers without scripts.")] = False,
    ) -> Response:
        shown = _sample(name, site.instruments.helm.jobs.wait(job_key(name), job, PATIENCE))
        if whole:
            return site.page(session, "sample_page.html", in_form=False, **shown)
        return site.part(session, "sample.html", in_form=True, **shown)

    return router


class _NewCollectionHandlers:
    """Handlers of the form for collections: they try a specification on archives, and begin the collection."""

    def __init__(self, site: Site) -> None:
        self._site = site
        self._helm = site.instruments.helm

    def empty(self, session: Session) -> Response:
        """Return the form with its defaults, and the contact of the last crawl."""
        last = last_definition(self._site, session)
        who = {} if last is None else {"operator": last.operator, "contact": last.contact}
        return self._shown(session, Form({**_FIRST, **who}), is_new=True)

    def sent(self, session: Session, form: Form) -> Response:
        """Return the response to a form; if it has mistakes, the form with each mistake at its field."""
        job: JobView | None = None
        if form.get("id") == form.get(_PROPOSED):
            form = Form({**form.fields, "id": ""}, form.documents)
        try:
            match form.get("action"):
                case "article":
                    form = self._with_article(session, form)
                case "another":
                    form = with_others(form, [OtherArchive(0)])
                case "list":
                    form = _with_list(session, form)
                case "propose":
                    form = self._with_proposed(session, form)
                case "sample":
                    job = self._begun(session, form)
                case "cancel":
                    self._helm.jobs.cancel(job_key(form.get("id") or form.get(_PROPOSED)), form.get("job"))
                    session.tell(Said("The dry run is given up.", "good"))
                case "make":
                    self._check_addresses(form)
                    name, asked = self._asked(form)
                    _, started = self._helm.specifications.put(session.caller, name, asked, begin=True)
                    detail = started.detail if started is not None else "it was made before"
                    return then(session, address("crawls", name), Said(f"{name}: {detail}"))
        except ProblemError as problem:
            session.tell(_plainly(problem, form))
        return self._shown(session, form, job=job)

    @staticmethod
    def _check_addresses(form: Form) -> None:
        """Raise an error if the list of seeds has lines that would be dropped, unless the form says to drop them."""
        left_out = read_seed_list(form.raw("seeds")).left_out
        if left_out and not form.get(_LEAVE_OUT):
            lines = [f"Addresses, line {each.line}, {each.text[:120]}: {each.reason}" for each in left_out]
            if len(lines) > _MAX_TOLD:
                lines[_MAX_TOLD:] = [f"and {len(lines) - _MAX_TOLD} more"]
            raise ProblemError(
                BAD_SEARCH,
                "correct what is no address, or tick under the list that it is to be left out",
                lines=tuple(lines),
            )

    def _begun(self, session: Session, form: Form) -> JobView:
        name, asked = self._asked(form)
        wanted = form.get("captures") or str(_SAMPLE)
        if not wanted.isascii() or not wanted.isdigit() or not 1 <= int(wanted[:6]) <= MAX_SAMPLE:
            raise ProblemError(BAD_SEARCH, f"write a number of captures from 1 to {MAX_SAMPLE:,}")
        begun = self._helm.specifications.sample(session.caller, name, asked, int(wanted))
        note_did(name, "sample")
        return self._helm.jobs.wait(job_key(name), begun.id, PATIENCE)

    def _with_article(self, session: Session, form: Form) -> Form:
        """Return a form with empty fields filled from a saved article."""
        document = form.documents.get("document")
        if not document:
            raise ProblemError(BAD_SEARCH, "choose the saved article first")
        read = article_read(document, form.documents.get("history", b""))
        fields = dict(form.fields)
        told = {
            "title": read.title,
            "event.start": read.start,
            "event.end": read.end,
            "event.cool_down": read.cool_down,
        }
        fields |= {name: value for name, value in told.items() if value and not form.get(name)}
        fields["text"] = f"\n{BETWEEN}\n".join(filter(None, (form.raw("text").strip(), read.text)))
        fields["seeds"] = _joined(form.raw("seeds"), read.references)
        when = f"from {read.start} to {read.end}" if read.start else "of which no infobox tells the date"
        session.tell(
            Said(
                f"The article is on an event {when}, and has {plural(len(read.references), 'reference')}.",
                "good",
                read.notes,
            )
        )
        return Form(fields, form.documents)

    def _with_proposed(self, session: Session, form: Form) -> Form:
        """Return a form with the links of reference documents added to the seeds."""
        crawls = {crawl.id: crawl for crawl in self._archives()}
        chosen = [crawls[name] for name in _chosen(form) if name in crawls]
        found = [*read_seed_list(form.raw("text")).seeds]
        found += linked_addresses(chosen, form.raw("topic.documents").split())
        if not found:
            raise ProblemError(BAD_SEARCH, "neither the texts nor the archived documents have links to other sites")
        seeds = _joined(form.raw("seeds"), found)
        session.tell(Said(f"{plural(len(seeds.splitlines()), 'seed')}; a dry run looks them up.", "good"))
        return Form({**form.fields, "seeds": seeds})

    def _asked(self, form: Form) -> tuple[str, Specification]:
        """Return the name and the specification that a form describes."""
        if form.get("action") in _ACTS and (wrong := _wrong_archives(form)):
            raise ProblemError(
                BAD_SEARCH,
                "what is said of archives elsewhere is not complete",
                lines=tuple(f"{each.label}: {each.told}" for each in wrong),
            )
        seeds = read_seed_list(form.raw("seeds")).seeds
        name = form.get("id") or starting_crawls.free_id(self._helm.reach, suggested_id(form.get("title"), seeds))
        return name, Specification(definition=_definition(form), texts=_texts(form))

    def _archives(self) -> Sequence[Crawl]:
        return [crawl for crawl in self._helm.reach.crawls() if crawl.folder is not None and crawl.has_begun]

    def _shown(self, session: Session, form: Form, *, job: JobView | None = None, is_new: bool = False) -> Response:
        name, asked = self._asked(Form({**form.fields, "action": ""}))
        view = form_view(first_text(EXAMPLE)) if is_new else _view(name, asked)
        fields = {each.field.path: each for section in view.sections for each in section.fields}
        others = others_in(form) or [OtherArchive(1)]
        archives = self._archives()
        proposed = "" if is_new or form.get("id") or not asked.definition.get("title") else name
        values: dict[str, object] = {
            "form": form,
            "view": view,
            "fields": fields,
            "seeds": read_seed_list(form.raw("seeds")) if form.raw("seeds").strip() else SeedList(),
            "archives": [(each, f"{_ARCHIVE}{each.id}") for each in archives],
            "same_titles": {
                title for title, times in Counter(each.icd.title for each in archives).items() if times > 1
            },
            "may_read": Role.READ in session.caller.roles,
            "others": others,
            "other_kinds": OTHER_KINDS,
            "has_others": not all(each.is_empty for each in others) or len(others) > 1 or bool(form.get("live")),
            "labels": LABELS,
            "mistakes": []
            if is_new
            else [*_wrong_archives(form), *map(partial(_at_its_field, view, form), view.checked.mistakes)],
            "kinds": EVENT_KINDS,
            "is_new": is_new,
            "name": form.get("id") or proposed,
            "proposed": proposed,
            "number": form.get("captures") or str(_SAMPLE),
            "between": BETWEEN,
            "in_form": True,
        }
        shown = {"job": None} if job is None else _sample(name, job)
        return self._site.page(session, "new_collection.html", **{**values, **shown})


def _sample(name: str, job: JobView) -> dict[str, object]:
    at = address(*_HERE, "sample", name, job.id)
    return {"job": job, "name": name, "job_at": at, "page_at": f"{at}?whole=1", "is_under_way": job.state in UNDER_WAY}


def _view(name: str, asked: Specification) -> FormView:
    """Return the form of a specification with its mistakes, without checking archives and texts."""
    fields = {"id": name, "limits": dict(USUAL_LIMITS), **asked.definition}
    return form_view(yaml.safe_dump(fields, sort_keys=False, allow_unicode=True, width=110))


def _definition(form: Form) -> dict[str, JsonValue]:
    """Return the fields of a definition from a form."""
    texts = list(_texts(form))
    wanted = {name: value for name, value in form.fields.items() if name not in ("id", "seeds", "output")}
    definition: dict[str, JsonValue] = {}
    for path, value in form_changes(_EMPTY, wanted).items():
        _put(definition, path.split("."), value)
    definition["seeds"] = list(read_seed_list(form.raw("seeds")).seeds)
    _put(definition, ["scope", "sites"], "anywhere")
    written = form.raw("topic.documents").split()
    if texts or written:
        _put(definition, ["topic", "documents"], [*texts, *written])
    if sources := _sources(form):
        _put(definition, ["captures", "sources"], sources)
    return definition


def _put(fields: dict[str, JsonValue], path: Sequence[str], value: object) -> None:
    for step in path[:-1]:
        inner = fields.setdefault(step, {})
        assert isinstance(inner, dict)  # noqa: S101 - the paths are those of fields
        fields = inner
    fields[path[-1]] = value  # type: ignore[assignment]


def _sources(form: Form) -> list[JsonValue]:
    """Return the sources in the order in which they are asked: local archives, then others, the live web last."""
    sources: list[JsonValue] = []
    if chosen := _chosen(form):
        sources.append({"archive": list[JsonValue](chosen)})
    sources += [each.source for each in _complete(form)]
    return [*sources, "live"] if sources and form.get("live") else sources


def _complete(form: Form) -> Sequence[OtherArchive]:
    """Return the outside archives without mistakes; mistakes of others are shown at their fields."""
    return [each for each in others_in(form) if not each.is_empty and not any(each.problems())]


class _Wrong(NamedTuple):
    """A mistake on the page: the id and label of its field, and what is wrong."""

    anchor: str
    label: str
    told: str


def _called(archive: OtherArchive) -> str:
    return archive.name or f"Archive {archive.number} elsewhere"


def _wrong_archives(form: Form) -> Sequence[_Wrong]:
    return [
        _Wrong(f"f-{each.field(part).replace('.', '-')}", _called(each), told)
        for each in others_in(form)
        if not each.is_empty
        for part, told in each.problems()
    ]


def _label(field: str, form: Form) -> str:
    """Return the label of a definition's field on this page, with its position in a list."""
    source, document = _OF_SOURCE.match(field), _OF_DOCUMENT.match(field)
    if source is not None:
        named = ["Crawls and imports here"] if _chosen(form) else []
        named += map(_called, _complete(form))
        at = int(source[1])
        return named[at] if at < len(named) else _OWN_LABELS["captures.sources"]
    if document is not None:
        at = int(document[1]) - len(_texts(form))
        return LABELS["topic.documents"][0] if at >= 0 else "Texts about it"
    path = field_of(field)
    label = LABELS.get(path, ("", ""))[0] or _OWN_LABELS.get(path, "")
    return label or (FIELD_WORDS[path].label if path in FIELD_WORDS else field or "The form")


def _at_its_field(view: FormView, form: Form, mistake: Mistake) -> _Wrong:
    anchor = view.anchor(mistake)
    if field_of(mistake.field).startswith("captures.sources"):
        anchor = "archives-head"
    return _Wrong(anchor, _label(mistake.field, form), f"{mistake.problem}; {mistake.advice}")


def _plainly(problem: ProblemError, form: Form) -> Said:
    """Return a problem as a message, with its mistakes named by the page's fields instead of the definition's."""
    if problem.lines:
        return Said(f"{problem.detail}; nothing is made yet", "bad", problem.lines)
    if not problem.mistakes:
        return said_of(problem)
    lines = dict.fromkeys(f"{_label(each.field, form)}: {each.problem}; {each.advice}" for each in problem.mistakes)
    return Said(f"{plural(len(lines), 'mistake')}; nothing is made yet", "bad", tuple(lines))


def _with_list(session: Session, form: Form) -> Form:
    """Return a form with the archives in an uploaded list added."""
    document = form.documents.get("list")
    if not document:
        raise ProblemError(BAD_SEARCH, "choose the list of archives first")
    found = archives_listed(document)
    more = with_others(form, found)
    session.tell(
        Said(f"The list names {plural(len(found), 'archive')}; remove those that are not to be asked.", "good")
    )
    return more


def _chosen(form: Form) -> list[str]:
    return [name.removeprefix(_ARCHIVE) for name in form.fields if name.startswith(_ARCHIVE)]


def _texts(form: Form) -> dict[str, str]:
    """Return the pasted texts by file name."""
    parts: list[list[str]] = [[]]
    for line in form.raw("text").splitlines():
        if line.strip() == BETWEEN:
            parts.append([])
        else:
            parts[-1].append(line)
    texts = [text for part in parts if (text := "\n".join(part).strip())]
    return {f"text-{number:03}.txt": text for number, text in enumerate(texts, 1)}


def _joined(written: str, more: Sequence[str]) -> str:
    """Add those seeds to a list that it does not have yet."""
    known = read_seed_list(written).seeds if written.strip() else ()
    return "\n".join(dict.fromkeys((*known, *more)))
