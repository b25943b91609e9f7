"""Learns a way to do an action from examples, and puts it to the proof on every page that is kept."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

from aahcrawler.adaptation.detection.failure_detection import Shape
from aahcrawler.adaptation.learned import LearnedAction
from aahcrawler.adaptation.repair.cases import KeptExample, Way
from aahcrawler.adaptation.repair.plausibility import PageObjects, misbehaving
from aahcrawler.adaptation.repair.validation import denies, loses_nothing, reproduces
from aahcrawler.helper.adaptation_protocol import Question
from aahcrawler.helper.detection import FAILING
from aahcrawler.helper.extraction.extraction import Extracted, ExtractionOutcome, Runner
from aahcrawler.helper.site_memory import site_of
from aahcrawler.webobject import Value
from aahcrawler.wrapper_induction.examples import LabelledExample, Method
from aahcrawler.wrapper_induction.wrapper import Wrapper
from knowledge_base.model import Extract

Learner = Callable[[Sequence[LabelledExample], Extract], Wrapper | None]
"""Makes an action of examples in place of one that failed; None if they have nothing in common."""

MIN_PAGES = 2
"""Pages that must agree before an action is in force."""

LISTED_BY_DATE = frozenset({"web-forum", "blog"})
"""The kinds of applications whose posts and comments stand below one another by date."""

MAX_LEFT_OUT = 2
"""The most examples that are left aside, one at a time, if no action fits all of them."""


@dataclass(frozen=True, slots=True)
class Attempted:
    """A learned action, and its outcomes on the pages of the examples that it agrees with."""

    wrapper: Wrapper
    agreeing: tuple[tuple[KeptExample, ExtractionOutcome], ...]

    def outcome(self, kept: KeptExample) -> ExtractionOutcome | None:
        """Return its outcome on a page, None if it does not agree with the page's example."""
        return next((outcome for each, outcome in self.agreeing if each is kept), None)


@dataclass(frozen=True, slots=True)
class Learning:
    """Makes ways of examples."""

    learner: Learner

    def attempt(
        self, question: Question, examples: Sequence[KeptExample], proof: Sequence[KeptExample]
    ) -> Attempted | None:
        """Learn an action from some examples, and find the pages of ``proof`` on which it agrees.

        None if nothing can be learned, or the action finds something else on any of those pages.
        """
        try:
            wrapper = self.learner([kept.example for kept in examples], question.action)
        except FAILING as error:
            question.page.failed.add("learning of an action", error)
            return None
        if wrapper is None:
            return None
        wrapper = _plausible(question, wrapper, proof)
        agreeing: list[tuple[KeptExample, ExtractionOutcome]] = []
        for kept in proof:
            outcome = run(kept.runner, wrapper.action)
            if outcome.extracted and reproduces(outcome.extracted, kept.example):
                if not loses_nothing(kept.before.extracted, outcome.extracted) or denies(
                    outcome.extracted, kept.example
                ):
                    return None
                agreeing.append((kept, outcome))
            elif outcome.extracted:
                return None
        return Attempted(wrapper, tuple(agreeing))

    def best(self, question: Question, examples: Sequence[KeptExample]) -> Attempted | None:
        """Return the action learned from the last example and those that agree with it; None if it is not reliable.

        Pages of another shape do not contradict it as long as it finds nothing there.
        """
        latest = examples[-1]
        group: Sequence[KeptExample] = examples
        attempted = self.attempt(question, examples, examples)
        if attempted is None or attempted.outcome(latest) is None:
            alone = self.attempt(question, (latest,), (latest,))
            if alone is None:
                return None
            group = [kept for kept in examples if _agrees(kept, alone.wrapper.action)]
            attempted = self._together(question, group, examples) if len(group) > 1 else alone
        return attempted if attempted is not None and attempted.outcome(latest) is not None else None

    def _together(
        self, question: Question, group: Sequence[KeptExample], proof: Sequence[KeptExample]
    ) -> Attempted | None:
        """Learn from all examples of a group, else from all but one: one wrong value spoils what others agree on."""
        attempted = self.attempt(question, group, proof)
        if attempted is None and len(group) > MIN_PAGES:
            for doubtful in sorted(group[:-1], key=lambda kept: kept.example.confidence)[:MAX_LEFT_OUT]:
                attempted = self.attempt(question, [kept for kept in group if kept is not doubtful], proof)
                if attempted is not None:
                    break
        return attempted


def _plausible(question: Question, wrapper: Wrapper, proof: Sequence[KeptExample]) -> Wrapper:
    """Return a way without the fields whose values are not those of the objects, unless memory confirms some of them.

    What cannot be shown to be right stays absent.
    """
    if any(kept.example.method is Method.MEMORY for kept in proof):
        return wrapper
    pages = [_told(question, kept, run(kept.runner, wrapper.action).extracted) for kept in proof]
    wrong = misbehaving(pages, many=wrapper.action.many)
    fields = tuple(field for field in wrapper.action.fields if field.name not in wrong)
    if len(fields) == len(wrapper.action.fields):
        return wrapper
    notes = tuple(f"{name}: its values are not those of the objects" for name in sorted(wrong))
    return replace(wrapper, action=replace(wrapper.action, fields=fields), notes=(*wrapper.notes, *notes))


def _told(question: Question, kept: KeptExample, extracted: Sequence[Extracted]) -> PageObjects:
    by_date = question.application.kind in LISTED_BY_DATE and not _is_nested(extracted)
    return PageObjects.of(kept.example.page, [_values(each) for each in extracted], by_date=by_date)


def _is_nested(extracted: Sequence[Extracted]) -> bool:
    """Return whether objects lie at different depths: answers are listed below what they answer, at any date."""
    return len({sum(1 for _ in each.body[0].iterancestors()) for each in extracted if each.body}) > 1


def _values(extracted: Extracted) -> Mapping[str, Value]:
    return {name: values[0] for name, values in extracted.object.properties.items() if values}


def _agrees(kept: KeptExample, extract: Extract) -> bool:
    outcome = run(kept.runner, extract)
    return bool(outcome.extracted) and reproduces(outcome.extracted, kept.example)


def run(runner: Runner, extract: Extract) -> ExtractionOutcome:
    """Run an action on a page without cached values; nothing is found if an expression fails."""
    try:
        return runner.again().run(extract)
    except FAILING:
        return ExtractionOutcome()


def way_of(question: Question, attempted: Attempted, failure: str, number: int) -> Way:
    """Put a learned action in words, with its evidence; its record begins with the pages it was learned of."""
    kept = [each for each, _ in attempted.agreeing]
    event = LearnedAction(
        site=site_of(question.page.url),
        application=question.application.name,
        level=question.level.name,
        action=question.action.name,
        name=learned_name(question, number),
        wrapper=attempted.wrapper,
        method=kept[-1].example.method,
        failure=failure,
        pages=tuple(each.example.page.url for each in kept),
        before=sum(len(each.before.extracted) for each in kept),
        after=sum(len(outcome.extracted) for _, outcome in attempted.agreeing),
        confidence=min(each.example.confidence for each in kept),
        date=max(each.example.page.fetched_at for each in kept),
    )
    way = Way(attempted.wrapper.action, event)
    for _, outcome in attempted.agreeing:
        way.record.note(Shape.of(outcome.extracted))
    return way


def learned_name(question: Question, number: int) -> str:
    """Name a learned action after the one that failed."""
    return f"learned-{question.action.name}-{number}"
