"""Changes of works that forms ask for, and what is told of them."""

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

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

_SEEN: Final = re.compile("([0-9]{1,9})-([0-9a-f]{12})")


@dataclass(frozen=True, slots=True)
class WorkChanges:
    """Changes works on behalf of somebody."""

    desk: StudioDesk

    def changed(self, session: Session, work: str, form: Form, make: Callable[[EntryText], Made]) -> Said:
        """Change a work as somebody saw it; return what is told of it.

        ``make`` gives the changes of the text that it had then. Where the work was changed since, nothing is done, and
        what was wanted is told.
        """
        revision, mark = seen_by(form)
        wanted = ""
        try:
            found = self.desk.works.work(work, mark)
            then = found.now().text_at(revision)
            if then is None:
                return Said("too much was done since this page was loaded; look at it again", "bad")
            made = make(then)
            wanted = made.said
            found.change(made.edits, session.caller.name, wanted, revision)
        except StaleError as error:
            return Said(str(error), "bad", (f"What you wanted, which was not done: {wanted}",))
        except (EditError, WorkError) as error:
            return Said(str(error), "bad")
        return Said(_sentence(wanted))

    def stepped(self, work: str, form: Form, act: Callable[[Work, int], WorkState | None], said: str = "") -> Said:
        """Do something to a work as somebody saw it; return what is told of it: ``said``, else what its history says.

        ``act`` is given the work, and the number of the last step that was seen.
        """
        revision, mark = seen_by(form)
        try:
            state = act(self.desk.works.work(work, mark), revision)
        except (WorkError, EditError) as error:
            return Said(str(error), "bad")
        return Said(said or (_sentence(state.steps[-1].said) if state is not None else ""))


def _sentence(words: str) -> str:
    return f"{words[:1].upper()}{words[1:]}"


def seen_by(form: Form) -> tuple[int, str]:
    """Return the revision that a form was made for, and the mark of its work.

    Raise ``ProblemError`` where it names none.
    """
    found = _SEEN.fullmatch(form.get("seen"))
    if found is None:
        raise ProblemError(BAD_SEARCH, "the form is of no state of this work; load the page again")
    return int(found[1]), found[2]
