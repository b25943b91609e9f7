"""Who is asked where an action fails."""

from typing import Protocol

from aahcrawler.adaptation.lessons import Lesson
from aahcrawler.helper.adapter import Question


class Teacher(Protocol):
    """Finds the objects of an action by other means than its expressions. Deterministic; never fetches anything."""

    def teach(self, question: Question) -> Lesson | None:
        """Return all objects of the action on the page; None where this teacher cannot say.

        A lesson without examples says that there are none.
        """
        ...
