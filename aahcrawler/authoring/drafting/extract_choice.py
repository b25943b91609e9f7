"""Chooses how the objects of pages are found: the first way that reads no less than generic reading, else the best."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from aahcrawler.authoring.drafting.extract_action import Objects, Proposal, proposed
from aahcrawler.authoring.drafting.generic_comparison import GenericReadings
from aahcrawler.authoring.drafting.labelling import with_wider_bodies, without_template
from aahcrawler.authoring.drafting.template_parts import TemplateParts
from aahcrawler.page import Page
from aahcrawler.wrapper_induction.examples import LabelledExample

ENOUGH = 0.95
"""The share of what generic reading finds that an action has to read."""
LEAST_BESIDE = 0.5
"""The share below which answers to the page's own object are left out of the file."""
MOST_WIDER = 2

Ways = Callable[[Page], Iterator[LabelledExample]]


@dataclass(frozen=True, slots=True)
class Chosen:
    """The proposal that was chosen, how much of generic reading it reads (0 to 1), and the others that were tried."""

    proposal: Proposal
    worth: float
    others: tuple[tuple[Proposal, float], ...] = ()


def choose(
    pages: Sequence[Page], ways: Ways, objects: Objects, generic: GenericReadings, taken: Sequence[LabelledExample] = ()
) -> Chosen | None:
    """Return the proposal for the objects of pages; None if there is none, or only one that reads too little.

    Elements that are objects of ``taken`` are no objects of this action.
    """
    tried: list[tuple[Proposal, float]] = []
    template = TemplateParts.of(pages)
    for examples in _by_way(pages, ways, taken):
        for each in _widening(examples):
            proposal = proposed(objects, [without_template(example, template) for example in each])
            if proposal is None:
                continue
            worth = generic.worth(proposal.wrapper.action, pages, beside=objects.beside)
            if not any(known.written == proposal.written for known, _ in tried):
                tried.append((proposal, worth))
            if worth >= ENOUGH:
                break
    if not tried:
        return None
    best = next((each for each in tried if each[1] >= ENOUGH), None) or max(tried, key=lambda each: each[1])
    if objects.beside and best[1] < LEAST_BESIDE:
        return None
    return Chosen(best[0], best[1], tuple(each for each in tried if each is not best))


def _by_way(pages: Sequence[Page], ways: Ways, taken: Sequence[LabelledExample]) -> Iterator[Sequence[LabelledExample]]:
    """Yield the examples of all pages that were found in the same way, those of the fullest page first."""
    known = {each.elements for example in taken for each in example.objects}
    found: dict[tuple[str, ...], list[LabelledExample]] = {}
    for page in pages:
        for example in ways(page):
            if known.isdisjoint(each.elements for each in example.objects):
                found.setdefault(example.notes, []).append(example)
    for examples in found.values():
        yield sorted(examples, key=lambda example: -len(example.objects))


def _widening(examples: Sequence[LabelledExample]) -> Iterator[Sequence[LabelledExample]]:
    """Yield examples, then the same with wider and wider bodies."""
    yield examples
    for _ in range(MOST_WIDER):
        wider = [with_wider_bodies(example) for example in examples]
        if not any(wider):
            return
        examples = [new or old for new, old in zip(wider, examples, strict=True)]
        yield examples
