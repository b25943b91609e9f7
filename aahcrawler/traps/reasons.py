"""Reasons to take a link for a part of a trap."""

from enum import StrEnum


class Trap(StrEnum):
    """The reasons for which a link is not followed, or a queued page not fetched. Refusals are counted by them."""

    REPEATING = "repeating"
    """Parts of its path repeat: ``/a/b/a/b/a/b/``."""
    SEGMENTS = "segments"
    """Its path has more segments than ``traps.segments``."""
    PARAMETERS = "parameters"
    """Its query has more parameters than ``traps.parameters``."""
    NOVELTY = "novelty"
    """Pages with URLs like this one have brought nothing new for too long."""
    BARREN = "barren"
    """Pages with URLs like this one have led to no object and to no link: to logins, copies, errors, forms."""
    REPEATED = "repeated"
    """Pages with URLs like this one have shown nothing but objects that other pages show."""
    COPY = "copy"
    """The same page is known without a part of this URL that was found to change nothing."""
    SESSION = "session"
    """The same page is known under another id of a session, one of a kind that was found out."""
    NEAR_DUPLICATE = "near_duplicate"
    """The link is on a page with the same content as another page of the site."""
    SOFT_404 = "soft_404"
    """The link is on a page that reports, with status 200, that there is no such page."""
