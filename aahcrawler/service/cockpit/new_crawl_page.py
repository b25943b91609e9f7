"""The page on which a crawl is begun: four questions, a dry run beside them, and all else folded away."""

from typing import Final

from fastapi import APIRouter, Response

from aahcrawler.layout import CREATED, DEFINITION
from aahcrawler.service.catalog.crawl_catalog import Crawl
from aahcrawler.service.cockpit.definition_pages import DefinitionHandlers
from aahcrawler.service.cockpit.sign_in import Said, Session
from aahcrawler.service.cockpit.site import Form, Operating, Sent, Site, address, said_of, then
from aahcrawler.service.steering import starting_crawls
from aahcrawler.service.steering.held_definitions import refused
from aahcrawler.service.steering.seed_trials import TrialView
from aahcrawler.service.web.problems import BAD_DEFINITION, ProblemError
from aahcrawler.service.web.roles import Role
from online_analysis.icd import Icd, IcdError
from online_analysis.icd.editing import edited
from online_analysis.icd.form_view import FormView, form_changes, form_view
from online_analysis.icd.new_definition import Wish, first_text, suggested_id
from online_analysis.icd.seed_list import SeedList, read_seed_list

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
    """Takes the answers to the questions, tries what they make, and starts it."""

    def __init__(self, site: Site) -> None:
        self._site = site
        self._helm = site.instruments.helm
        self._definitions = DefinitionHandlers(site)

    def empty(self, session: Session) -> Response:
        """Return the page with nothing but what is known: who crawled last."""
        last = last_definition(self._site, session)
        who = {} if last is None else {"operator": last.operator, "contact": last.contact}
        return self._shown(session, Form(who), form_view(first_text(EXAMPLE)), is_new=True)

    def sent(self, session: Session, form: Form) -> Response:
        """Return what comes of the answers; where they have mistakes, the page with each of them at its field."""
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
        """Return the definition that the four questions and the names make, mistakes and all."""
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
    """Return the definition of the crawl that was begun last, for who may see it; None where there is none."""
    if Role.READ not in session.caller.roles:
        return None
    every = site.instruments.helm.reach.crawls()
    crawls = [crawl for crawl in every if crawl.folder is not None and not crawl.is_import]
    return max(crawls, key=_begun_at).icd if crawls else None


def _is_answered(form: Form) -> bool:
    """Return whether it is said what the crawl is about, where it is to be about something."""
    return form.get("extent") != "about" or bool(_keywords(form))


def _keywords(form: Form) -> tuple[str, ...]:
    if form.get("extent") == "whole":
        return ()
    lines = form.raw("topic.keywords").replace(",", "\n").splitlines()
    return tuple(line.strip() for line in lines if line.strip())


def _with_others(text: str, form: Form) -> str:
    """Return a first text with the other fields of the page. Raise ``IcdError`` where it cannot be changed so."""
    others = {
        name: value
        for name, value in form.fields.items()
        if name not in _WRITTEN and (name not in _SUGGESTED or value.strip())
    }
    changes = form_changes(text, others)
    return edited(text, changes) if changes else text


def _begun_at(crawl: Crawl) -> float:
    """Return when the definition of a crawl was written last."""
    paths = (crawl.folder / name for name in (DEFINITION, CREATED)) if crawl.folder is not None else ()
    return max((path.stat().st_mtime for path in paths if path.is_file()), default=0.0)
