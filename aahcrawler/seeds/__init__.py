"""What became of each seed: a verdict, its reason, and what a person can do about it."""

from aahcrawler.seeds.verdicts import (
    SeedResult,
    Verdict,
    counted_in_words,
    forbidden_on_site,
    in_words,
    nothing_followed,
    of_attempt,
    of_cut,
    of_failure,
    of_page,
    of_reason,
    of_redirect,
    of_refused_links,
    on_site,
    seed_results,
)
from aahcrawler.seeds.walls import redirect_wall, wall

__all__ = [
    "SeedResult",
    "Verdict",
    "counted_in_words",
    "forbidden_on_site",
    "in_words",
    "nothing_followed",
    "of_attempt",
    "of_cut",
    "of_failure",
    "of_page",
    "of_reason",
    "of_redirect",
    "of_refused_links",
    "on_site",
    "redirect_wall",
    "seed_results",
    "wall",
]
