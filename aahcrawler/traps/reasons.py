"""Why a link is taken for a part of a trap."""

from enum import StrEnum


class Trap(StrEnum):
    """Why a link is not followed, or a queued page not fetched. Whoever is refused counts it by this reason."""

    REPEATING = "repeating"
    """Parts of its path repeat: ``/a/b/a/b/a/b/``."""
    SEGMENTS = "segments"
    """Its path has more segments than ``traps.segments``."""
    PARAMETERS = "parameters"
    """Its query has more parameters than ``traps.parameters``."""
    NOVELTY = "novelty"
    """Pages with addresses like this one have brought nothing new for too long."""
    SESSION = "session"
    """The same page is known under another id of a session, one of a kind that was found out."""
    NEAR_DUPLICATE = "near_duplicate"
    """It stands on a page that shows the same as another page of the site."""
    SOFT_404 = "soft_404"
    """It stands on a page that says, with status 200, that there is no such page."""
