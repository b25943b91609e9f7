"""Tell what a page shows to be wrong with its application's file: each fault once, with its place and its remedy."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import groupby

from aahcrawler.authoring.file_lines import FileLines
from aahcrawler.helper import Assistance, FailedAction, Failure

_FAULTS = {
    Failure.NOTHING_FOUND: "finds no object, though each page of its level has one; mend its item and its identity",
    Failure.INCOMPLETE: "finds objects but the body of none; mend the select of its field body",
    Failure.ERROR: "cannot be evaluated on this page; mend its expression",
    Failure.TOO_MUCH: "finds more than one page can hold, and the rest was left out; name its elements more exactly",
    Failure.SLOW: "would take too long on this page and was left out; aah kb check says what to write instead",
    Failure.NEEDS_BROWSER: "the page holds nothing before a browser runs its scripts; save another page",
    Failure.RAISED: "met what it is not made for, and the page was read without it: report the page to the project",
    Failure.NOT_SENT: "sends no form, which would change something or lacks a value; give it the value or take it out",
}
_OTHERWISE = "did not do its work"


@dataclass(frozen=True, slots=True)
class _Fault:
    """An action that failed, in words."""

    application: str
    level: str
    action: str
    words: str
    detail: str

    @classmethod
    def of(cls, failed: FailedAction) -> "_Fault":
        """Return a failure in words; the program's own detail is told where it adds something."""
        is_told = failed.failure in (Failure.ERROR, Failure.SLOW, Failure.NOT_SENT, Failure.TOO_MUCH, Failure.RAISED)
        action = "" if failed.failure is Failure.NEEDS_BROWSER else failed.action
        words = _FAULTS.get(failed.failure, f"{_OTHERWISE}: {failed.failure}")
        return cls(failed.application, failed.level, action, words, failed.detail if is_told else "")

    def place(self, places: FileLines) -> str:
        """Return the line of the action, empty where there is none."""
        return str(places.action(self.application, self.level, self.action)) if self.level and self.action else ""


def problems(assistance: Assistance, places: FileLines) -> Iterator[str]:
    """Yield a line for each fault that reading a page met; actions of a level that failed alike are named together."""
    met = dict.fromkeys(_Fault.of(failed) for failed in assistance.failed_actions)
    ordered = sorted(met, key=lambda fault: (fault.words, fault.detail))
    for (words, detail), alike in groupby(ordered, key=lambda fault: (fault.words, fault.detail)):
        faults = list(alike)
        named = " and ".join(dict.fromkeys(filter(None, (fault.action for fault in faults))))
        where = ", ".join(dict.fromkeys(filter(None, (fault.place(places) for fault in faults))))
        reason = f" ({detail})" if detail else ""
        yield f"{named}{': ' if named else ''}{words}{reason}{f', {where}' if where else ''}"


def rivals(failures: Iterable[FailedAction]) -> str:
    """Return the applications that claim a page with equal strength, empty where none do."""
    return next((failed.application for failed in failures if failed.failure is Failure.CONFLICT), "")
