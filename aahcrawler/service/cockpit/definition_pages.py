"""Pages on which a definition is begun, edited as a form and as text, tried, saved and started."""

from collections.abc import Iterator, Mapping
from contextlib import closing
from dataclasses import dataclass
from difflib import unified_diff
from typing import Annotated, Final

from fastapi import APIRouter, Path, Response
from starlette.responses import JSONResponse

from aahcrawler.documents.reader import DocumentReader, given_text
from aahcrawler.imports.imported_crawl import asks_for_nothing
from aahcrawler.service.catalog.crawl_catalog import Crawl
from aahcrawler.service.cockpit.sign_in import Said, Session
from aahcrawler.service.cockpit.site import Form, Operating, Reading, Sent, Site, address, said_of, then
from aahcrawler.service.steering import redefining, starting_crawls
from aahcrawler.service.steering.held_definitions import refused
from aahcrawler.service.steering.long_jobs import JobView, Progress, Task
from aahcrawler.service.views.reference_suggestions import MAX_PAGES, ReferenceSuggestions, reference_suggestions
from aahcrawler.service.web.problems import BAD_DEFINITION, BAD_SEARCH, ProblemError
from aahcrawler.service.web.roles import Role, checked
from online_analysis.icd import Icd, IcdError
from online_analysis.icd.editing import edited
from online_analysis.icd.form_view import FormView, form_changes, form_view
from online_analysis.icd.seed_list import SeedList
from online_analysis.icd.yaml_source import Value, read_source
from online_analysis.suggestions import Suggestions, suggest

ADD: Final = "add:"
"""How fields begin that add something to a list of a definition: the list's name follows, then the value."""
_LISTS: Final = {
    "keywords": "topic.keywords",
    "entities": "topic.entities",
    "seeds": "seeds",
    "languages": "scope.languages",
}
"""The lists of a definition that suggestions are added to."""


@dataclass(frozen=True, slots=True)
class Draft:
    """A definition's text as somebody sees it, and ``base``, the text from which the form's fields were filled.

    So a changed field is recognised: it differs from ``base``.
    """

    text: str
    base: str

    @classmethod
    def sent(cls, form: Form) -> "Draft":
        """Return the draft in a form that was sent, with changed fields applied to its text.

        A text that cannot be parsed as a definition stays as it is; its form is empty.
        """
        text, base = form.raw("yaml"), form.raw("base")
        try:
            changes = form_changes(base, form.fields)
            text = edited(text, changes) if changes else text
        except IcdError:
            pass  # The mistake is told by the view of the text.
        return cls(text, text)

    def view(self) -> FormView:
        """Return the form of the text, with its mistakes."""
        return form_view(self.text)

    def values(self) -> Mapping[str, str]:
        """Return the value of each field of the form."""
        return dict(_values(self.view()))

    def with_suggestions(self, form: Form) -> "Draft":
        """Return the draft with the chosen suggestions added. Raise ``ProblemError`` if the text has mistakes."""
        chosen: dict[str, list[str]] = {}
        for name in form.fields:
            kind, _, value = name.removeprefix(ADD).partition(":")
            if name.startswith(ADD) and kind in _LISTS and value:
                chosen.setdefault(_LISTS[kind], []).append(value)
        try:
            data = read_source(self.text.encode("utf-8", "surrogatepass"), "icd.yaml").data
            changes = {path: [*_listed(data, path), *values] for path, values in chosen.items()}
            text = edited(self.text, changes) if changes else self.text
        except IcdError as error:
            raise refused(error, "the text has to be mended first") from None
        return Draft(text, text)


def _listed(data: Value, path: str) -> list[Value]:
    for step in path.split("."):
        data = data.get(step) if isinstance(data, dict) else None
    return list(data) if isinstance(data, list) else []


def _values(view: FormView) -> Iterator[tuple[str, str]]:
    for section in view.sections:
        for each in section.fields:
            yield each.field.path, each.value
            for row in each.rows:
                yield row.name, row.value


_IMPORTED: Final = "it is what archives were imported by, and no crawl goes by it."
CHECKS: Final = frozenset({"/draft/check"})
"""Where drafts are checked while they are written, which changes nothing."""


def routes(site: Site) -> APIRouter:
    """Return the routes of definitions."""
    router = APIRouter()
    desk = DefinitionHandlers(site)

    @router.post("/draft")
    def write_draft(session: Operating, form: Sent) -> Response:
        return desk.draft(session, form, None)

    @router.post("/draft/check")
    def check(session: Operating, form: Sent) -> Response:
        draft = Draft.sent(form)
        told = {"session": session, "view": draft.view(), "by_line": True, "unanswered": False}
        html = site.pages.text("mistakes.html", told)
        return JSONResponse({"html": html, "yaml": draft.text, "fields": dict(draft.values())})

    @router.get("/draft/trial/{trial}")
    def follow_trial(session: Operating, trial: Annotated[str, Path(max_length=100)]) -> Response:
        return site.part(session, "seed_trial.html", trial=site.instruments.helm.trials.trial(trial))

    @router.get("/draft/reference/{crawl}/{job}")
    def follow_reference(
        session: Operating, _reader: Reading, crawl: str, job: Annotated[str, Path(max_length=100)]
    ) -> Response:
        shown = site.instruments.helm.jobs.wait(crawl, job, _PATIENCE)
        return site.part(session, "reference_job.html", job=shown, argument=site.crawl(crawl).argument)

    @router.get("/crawls/{crawl}/definition")
    def show(session: Reading, crawl: str) -> Response:
        return desk.of_crawl(session, site.crawl(crawl))

    @router.post("/crawls/{crawl}/definition")
    def change(session: Operating, _reader: Reading, crawl: str, form: Sent) -> Response:
        return desk.draft(session, form, site.crawl(crawl))

    return router


class DefinitionHandlers:
    """Handlers of drafts, for new crawls and for existing ones."""

    def __init__(self, site: Site) -> None:
        self._site = site
        self._helm = site.instruments.helm

    def first_draft(self, session: Session, text: str, seeds: SeedList) -> Response:
        """Return the page of a new draft that begins with a list of seeds."""
        return self._shown(session, Draft(text, text), None, seeds=seeds)

    def of_crawl(self, session: Session, crawl: Crawl) -> Response:
        """Return the page of a crawl's definition."""
        try:
            held = self._helm.definitions.read(crawl)
        except ProblemError as problem:
            nobody = {"contact", "seeds"} if asks_for_nothing(crawl.icd) else None
            known = crawl.icd.model_dump_json(indent=1, exclude_defaults=True, exclude=nobody)
            why = _IMPORTED if crawl.is_import else problem.detail
            return self._site.crawl_page(session, crawl, "definition", "definition_unknown.html", why=why, known=known)
        return self._shown(session, Draft(held.text, held.text), crawl, digest=held.digest)

    def with_added(self, session: Session, crawl: Crawl, form: Form) -> Response:
        """Return the page of a crawl's definition with the additions in a form; nothing is saved."""
        held = self._helm.definitions.read(crawl)
        draft = Draft(held.text, held.text).with_suggestions(form)
        return self._shown(session, draft, crawl, digest=held.digest)

    def draft(self, session: Session, form: Form, crawl: Crawl | None) -> Response:
        """Return the response to a draft that was sent, of an existing crawl or a new one."""
        draft, digest = Draft.sent(form), form.get("digest")
        try:
            match form.get("action"):
                case "try":
                    icd = draft.view().checked.icd
                    if icd is None:
                        raise ProblemError(BAD_DEFINITION, "the mistakes have to be mended before the seeds are tried")
                    trials = self._helm.trials
                    trial = trials.trial(trials.begin(session.caller, icd, draft.text))
                    return self._shown(session, draft, crawl, digest=digest, trial=trial)
                case "suggest" if form.get("reference"):
                    job = self._reference(session, draft, form.get("reference"))
                    argument = self._site.crawl(job.crawl).argument
                    return self._shown(session, draft, crawl, digest=digest, job=job, argument=argument)
                case "suggest":
                    found = suggested(form, draft.view().checked.icd)
                    return self._shown(session, draft, crawl, digest=digest, suggestions=found)
                case "add":
                    return self._shown(session, draft.with_suggestions(form), crawl, digest=digest)
                case "save" | "start" as action:
                    return self._saved(session, draft, crawl, digest, begin=action == "start")
        except ProblemError as problem:
            # The mistakes of the text are on the page.
            session.tell(Said(said_of(problem).text, "bad") if draft.view().checked.mistakes else said_of(problem))
        return self._shown(session, draft, crawl, **self._present(draft, crawl, digest))

    def _present(self, draft: Draft, crawl: Crawl | None, digest: str) -> dict[str, object]:
        """Return the digest of a crawl's present definition, and its differences to the one that the draft began with.

        So whoever saves again overwrites those changes knowingly.
        """
        if crawl is None:
            return {"digest": digest}
        now = self._helm.definitions.read(crawl)
        before, after = now.text.splitlines(), draft.text.splitlines()
        differences = unified_diff(before, after, "as it is", "as you have it", lineterm="", n=1)
        return {"digest": now.digest, "differences": tuple(differences) if now.digest != digest else ()}

    def _references(self) -> list[str]:
        """Return the crawls from which suggestions can be made."""
        return [crawl.id for crawl in self._helm.reach.crawls() if crawl.folder is not None]

    def _reference(self, session: Session, draft: Draft, name: str) -> JobView:
        """Begin a job that makes suggestions for a draft from a reference crawl, if the caller may see that crawl."""
        checked(session.caller, Role.READ, "to have suggestions from a crawl")
        icd, reference = draft.view().checked.icd, self._site.crawl(name)
        if icd is None:
            raise ProblemError(BAD_DEFINITION, "the mistakes have to be mended before a crawl is read for suggestions")

        def work(progress: Progress) -> ReferenceSuggestions:
            progress.total = MAX_PAGES
            return reference_suggestions(reference, icd, self._helm.reach.knowledge.folders, progress.advance)

        return self._helm.jobs.begin(Task("reference-suggestions", reference.id, session.caller.name), work)

    def _saved(self, session: Session, draft: Draft, crawl: Crawl | None, digest: str, *, begin: bool) -> Response:
        helm, caller = self._helm, session.caller
        if crawl is not None:
            done = redefining.replace(helm.reach, helm.definitions, crawl, caller, draft.text, digest)
            changed = tuple(f"{each.field}: {each.before} → {each.after}" for each in done.fields)
            said = Said(done.detail if done.applied else "Nothing was changed.", "good", changed)
            return then(session, address("crawls", crawl.id, "definition"), said)
        made = starting_crawls.create(helm.reach, helm.definitions, helm.processes, caller, draft.text, begin=begin)
        return then(session, address("crawls", made.id), Said(f"{made.title or made.id}: {made.detail}"))

    def _shown(self, session: Session, draft: Draft, crawl: Crawl | None, **values: object) -> Response:
        shown = {
            "digest": "",
            "trial": None,
            "suggestions": None,
            "seeds": None,
            "job": None,
            "differences": (),
            "by_line": True,
            "unanswered": False,
            **values,
        }
        shown |= {"draft": draft, "view": draft.view(), "references": self._references()}
        if crawl is not None:
            return self._site.crawl_page(session, crawl, "definition", "definition.html", **shown)
        return self._site.page(session, "definition.html", crawl=None, **shown)


_PATIENCE = 0.2
"""Seconds that a part of a page waits for a job."""


_SECONDS = 30.0
"""Seconds that a document is read for."""


def suggested(form: Form, icd: Icd | None) -> Suggestions:
    """Return suggestions from a pasted text or a document that a definition does not have yet.

    Raise ``ProblemError`` if there is neither.
    """
    texts = [form.raw("pasted").strip()]
    links: tuple[str, ...] = ()
    if form.document:
        with closing(DocumentReader(_SECONDS)) as reader:
            given = given_text(form.document, "", reader)
        if given.problem and not given.text.strip():
            raise ProblemError(BAD_SEARCH, given.problem)
        texts.append(given.text)
        links = given.links
    text = "\n\n".join(part for part in texts if part)
    if not text:
        raise ProblemError(BAD_SEARCH, "paste a text, choose a document, or name a crawl")
    return suggest(text, links, given=_given(icd))


def _given(icd: Icd | None) -> Iterator[str]:
    """Yield the values that a definition has already."""
    if icd is not None:
        yield from icd.topic.keywords
        yield from icd.topic.entities
        yield from icd.seeds
