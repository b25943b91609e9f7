"""The errors of works, in words for the person who changes them."""

from datetime import datetime


class WorkError(Exception):
    """A work cannot be opened, changed or saved as wanted; the message says why and what to do."""


class StaleError(WorkError):
    """The work or its entry was changed meanwhile: by whom, when, and what in plain words."""

    def __init__(self, who: str, when: datetime, what: str) -> None:
        self.who, self.when, self.what = who, when, what
        super().__init__(
            f"{who or 'somebody'} changed this on {when:%Y-%m-%d at %H:%M} UTC ({what}); look at it, then make your "
            "change anew"
        )


class NotSavedError(WorkError):
    """An entry was not saved: ``reasons`` are errors, or warnings that the person may overrule (``can_force``)."""

    def __init__(self, reasons: tuple[str, ...], *, can_force: bool) -> None:
        self.reasons, self.can_force = reasons, can_force
        super().__init__("not saved: " + "; ".join(reasons))
