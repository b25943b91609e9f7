"""The protocol of repair strategies."""

from typing import Protocol

from aahcrawler.helper.adaptation_protocol import Question
from aahcrawler.wrapper_induction.examples import LabelledExample


class RepairStrategy(Protocol):
    """Finds the objects of an action by other means than its expressions. Deterministic; never fetches anything."""

    def label(self, question: Question) -> LabelledExample | None:
        """Return all objects of the action on the page; None if they cannot be determined.

        An example without objects means that there are none.
        """
        ...
