"""Changes of works that forms ask for, and what is told of them."""

from collections.abc import Callable
from dataclasses import dataclass

from aahcrawler.authoring.editing.edit_error import EditError
from aahcrawler.authoring.editing.entry_text import EntryText
from aahcrawler.service.cockpit.sign_in import Said, Session
from aahcrawler.service.cockpit.site import Form
from aahcrawler.service.cockpit.studio.studio_desk import StudioDesk
from aahcrawler.service.web.problems import BAD_SEARCH, ProblemError
from aahcrawler.studio.works.made_edits import Made
from aahcrawler.studio.works.work import Work
from aahcrawler.studio.works.work_errors import StaleError, WorkError
from aahcrawler.studio.works.work_state import WorkState


@dataclass(frozen=True, slots=True)
class WorkChanges:
    """Changes works on behalf of somebody."""

    desk: StudioDesk

    def changed(self, session: Session, work: str, form: Form, make: Callable[[EntryText], Made]) -> Said:
        """Change a work from the state that somebody saw; return what is told of it.

        ``make`` gives the changes of the text that it had then.
        """
        found, revision, wanted = self.desk.works.work(work), revision_of(form), ""
        try:
            then = found.now().text_at(revision)
            if then is None:
                return Said("too much was done since this page was loaded; look at it again", "bad")
            made = make(then)
            wanted = made.said
            found.change(made.edits, session.caller.name, made.said, revision)
        except StaleError as error:
            return Said(str(error), "bad", (f"What you wanted, which was not done: {wanted}",))
        except (EditError, WorkError) as error:
            return Said(str(error), "bad")
        return Said(_sentence(made.said))

    def stepped(self, work: str, act: Callable[[Work], WorkState | None], said: str = "") -> Said:
        """Do something to a work; return what is told of it: ``said``, else what its history says."""
        try:
            state = act(self.desk.works.work(work))
        except (WorkError, EditError) as error:
            return Said(str(error), "bad")
        return Said(said or (_sentence(state.steps[-1].said) if state is not None else ""))


def _sentence(words: str) -> str:
    return f"{words[:1].upper()}{words[1:]}"


def revision_of(form: Form) -> int:
    """Return the revision that a form was made for. Raise ``ProblemError`` where it names none."""
    text = form.get("revision")
    if not text.isdecimal() or len(text) > 9:
        raise ProblemError(BAD_SEARCH, "the form is of no state of this work; load the page again")
    return int(text)
