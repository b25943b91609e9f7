"""What a reference crawl proposes, as suggestions like those of a text."""

from collections.abc import Sequence

from offline.refinement.proposals import Proposal, Proposals
from online_analysis.suggestions import Suggested, Suggestions


def suggestions_of(found: Proposals) -> Suggestions:
    """Return proposals as suggestions: their counts are relevant pages, their snippets the URL of the best page."""
    return Suggestions(
        keywords=_suggested(found.keywords, found),
        entities=_suggested(found.entities, found),
        seeds=_suggested(found.seeds, found),
    )


def _suggested(proposals: Sequence[Proposal], found: Proposals) -> tuple[Suggested, ...]:
    most = max((each.relevant for each in proposals), default=0) or 1
    return tuple(
        Suggested(
            each.value, each.relevant, max(0.0001, round(each.relevant / most, 4)), each.example, _note(each, found)
        )
        for each in proposals
    )


def _note(each: Proposal, found: Proposals) -> str:
    others = f"{each.others:,} of {found.pages - found.relevant:,} others"
    pages = f"on {each.relevant:,} of {found.relevant:,} relevant pages, {others}"
    return f"{each.about}; {pages}" if each.about else pages
