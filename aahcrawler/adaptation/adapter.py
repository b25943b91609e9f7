"""Replace actions that fail: detect failures, ask repair strategies, use their examples at once, and learn from them.

An action on a site can be done in several ways: the action of the file, and learned ones. One is in force and runs
first, at the cost of any other action. If it fails, the others are tried, then the repair strategies are asked; a valid
example gives the objects of its page, and as soon as examples of several pages agree, a new way is in force. A way that
fails later is replaced in turn, so that any number of redesigns is survived (ARCOMEM, section 4.1).
"""

from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import replace
from typing import Protocol

from aahcrawler.adaptation.detection.failure_detection import (
    Trouble,
    body_of,
    body_text,
    compared,
    contradicts,
    differs,
    evident,
    of_action,
    settled,
    since,
    trouble,
)
from aahcrawler.adaptation.detection.level_fallback import LevelFallback, is_telling
from aahcrawler.adaptation.detection.sign_learning import SignLearning
from aahcrawler.adaptation.learned import Learned, LearnedAction, LearnedLinks, LearnedSign, LruMapping, Rejected
from aahcrawler.adaptation.repair.action_learning import (
    MIN_PAGES,
    Attempted,
    Case,
    Cases,
    KeptExample,
    Learner,
    Learning,
    Name,
    PageObjects,
    Way,
    learned_name,
    misbehaving,
    run,
    way_of,
)
from aahcrawler.adaptation.repair.link_repair import LinkRepair
from aahcrawler.adaptation.repair.memory import MemoryStrategy, recall
from aahcrawler.adaptation.repair.relaxation import RelaxationStrategy
from aahcrawler.adaptation.repair.structure_induction import Structures, StructureStrategy
from aahcrawler.adaptation.repair.validation import (
    adds_to,
    doubt,
    encloses,
    loses_nothing,
    reproduces,
    sketches,
    supplemented,
)
from aahcrawler.helper.adaptation_protocol import Followed, Question, Taken
from aahcrawler.helper.adaptation_protocol import Kept as KeptApplication
from aahcrawler.helper.assistance import Failure
from aahcrawler.helper.detection import FAILING
from aahcrawler.helper.extraction.extraction import BODY, Extracted, ExtractionOutcome, Runner
from aahcrawler.helper.links.navigation import ChosenLink, Links
from aahcrawler.helper.site_memory import site_of
from aahcrawler.induction.field_labels import is_byline_word, name_in
from aahcrawler.metadata import Metadata
from aahcrawler.page import Page
from aahcrawler.webobject import Person, Value
from aahcrawler.wrapper_induction.examples import LabelledExample, Method
from aahcrawler.wrapper_induction.induce import induce
from knowledge_base.model import Application, Extract, KnowledgeBase, PageLevel
from knowledge_base.url_rules import ParsedUrl


class RepairStrategy(Protocol):
    """Finds the objects of an action by other means than its expressions. Deterministic; never fetches anything."""

    def label(self, question: Question) -> LabelledExample | None:
        """Return all objects of the action on the page; None if they cannot be determined.

        An example without objects means that there are none.
        """
        ...


MAX_NAMES = 1_000
MAX_LISTS = 10_000
"""Lists whose first pages are remembered."""
MAX_ELSEWHERE = 6
"""Learned ways of an action that are remembered for other sites."""

MAX_PAGE_BYTES = 2_000_000
"""The most bytes of a page that repair strategies are given."""

VETOED = "what could be learned here was rejected"

_EMPTY = frozenset({"url", "parent"})
"""Properties that every object has, or that say nothing of it."""
_TROUBLED = frozenset({None, Failure.NOTHING_FOUND, Failure.INCOMPLETE})


class Adaptation:
    """The adapter of a crawl (`aahcrawler.helper.adaptation_protocol.Adapter`).

    ``strategies`` are asked in their order, ``learner`` makes an action of examples, ``told`` is called with each
    action that is put in force. Deterministic for given pages in a given order; the state is bounded.
    """

    def __init__(
        self,
        strategies: Sequence[RepairStrategy],
        learner: Learner,
        told: Callable[[LearnedAction], None] | None = None,
        sign_learning: SignLearning | None = None,
        link_repair: LinkRepair | None = None,
    ) -> None:
        self._strategies = tuple(strategies)
        self._learning = Learning(learner)
        self._told = told
        self._cases = Cases()
        self._learned: LruMapping[Name, list[Way]] = LruMapping(MAX_NAMES)
        self._sign_learning = sign_learning or SignLearning(KnowledgeBase(()))
        self._level_fallback = LevelFallback(self._sign_learning)
        self._link_repair = link_repair or LinkRepair()
        self._redesigned: LruMapping[tuple[str, str], None] = LruMapping(MAX_NAMES)
        self._rejected = Rejected()
        self._structures = Structures()
        self._lists: LruMapping[str, None] = LruMapping(MAX_LISTS)

    def heed(self, rejected: Rejected) -> None:
        """Put nothing in force from now on that people rejected."""
        self._rejected = rejected

    def ask(self, strategies: Sequence[RepairStrategy], knowledge_base: KnowledgeBase) -> None:
        """Ask others from now on, as after a change of the knowledge base; nothing that was learned is lost."""
        self._strategies = tuple(strategies)
        self._sign_learning.renew(knowledge_base)

    # Calls from the helper

    def application(self, page: Page, known: Application | None, former: Metadata | None) -> KeptApplication | None:
        """See `aahcrawler.helper.adaptation_protocol.Adapter.application`."""
        return self._level_fallback.application(page, known, former)

    def level(
        self, page: Page, application: Application, shown: PageLevel | None, former: Metadata | None
    ) -> Taken | None:
        """See `aahcrawler.helper.adaptation_protocol.Adapter.level`."""
        return self._level_fallback.level(page, application, shown, former)

    def preferred(self, question: Question) -> Extract:
        """See `aahcrawler.helper.adaptation_protocol.Adapter.preferred`."""
        return self._case(question).current.extract

    def followed(
        self,
        links: Links,
        application: Application,
        level: PageLevel,
        chosen: Sequence[ChosenLink],
        former: Metadata | None,
    ) -> Followed:
        """See `aahcrawler.helper.adaptation_protocol.Adapter.followed`."""
        found = self._link_repair.followed(links, application, level, chosen, former)
        if found.chosen:
            self._level_fallback.confirm(links.page, application, level)
        return found

    def check_outcome(self, question: Question, outcome: ExtractionOutcome, runner: Runner) -> ExtractionOutcome:
        """See `aahcrawler.helper.adaptation_protocol.Adapter.check_outcome`."""
        case = self._case(question)
        outcome = replace(outcome, learned=case.current.name)
        if self._is_list(question):
            self._level_fallback.refute(question.page, question.application, question.level)
            return ExtractionOutcome(learned=case.current.name)
        if not question.page.complete or outcome.failure not in _TROUBLED:
            return outcome
        if case.current.learned is not None:
            outcome = _of_substance(outcome)
        outcome = _named(outcome)
        case.current.note(outcome)
        wrong = self._trouble(question, case.current, outcome)
        if wrong is None:
            outcome = self._looked_after(question, case, outcome, runner)
        else:
            outcome = self._mended(question, case, outcome, runner, wrong)
        if case.current.learned is not None:
            outcome = _of_substance(_as_remembered(question, outcome))
        if outcome.extracted:
            self._level_fallback.confirm(question.page, question.application, question.level)
        return replace(outcome, verified=_is_verified(question, outcome))

    def adopt(self, learned: Learned) -> None:
        """Add an action learned elsewhere: it is tried on any site where that of the file fails.

        An action that is known already changes nothing. Raises the exceptions of ``Learned.extract`` for expressions
        that cannot be compiled.
        """
        match learned:
            case LearnedSign():
                self._sign_learning.adopt(learned)
            case LearnedLinks():
                self._link_repair.adopt(learned)
            case LearnedAction():
                self._adopt(learned)

    def _adopt(self, learned: LearnedAction) -> None:
        name = (learned.application, learned.level, learned.action)
        if all(way.learned != learned for way in self._learned.get(name, list)):
            self._remember(name, Way(learned.wrapper.action, learned))

    # Ways

    def _case(self, question: Question) -> Case:
        action = question.action
        return self._cases.of(site_of(question.page.url), action, lambda: Case([Way(action)]))

    def _remember(self, name: Name, way: Way) -> None:
        known = self._learned.get(name, list)
        known[:] = [way, *(each for each in known if each is not way)][:MAX_ELSEWHERE]

    def _others(self, question: Question, case: Case) -> Iterator[Way]:
        """Yield the other ways to do an action: those of the site, then fresh copies of those of other sites."""
        known = {id(way.extract) for way in case.ways}
        yield from case.ways[1:]
        name = (question.application.name, question.level.name, question.action.name)
        for way in tuple(self._learned.get(name, list)):
            if id(way.extract) not in known:
                yield Way(way.extract, way.learned)

    def _trouble(self, question: Question, way: Way, outcome: ExtractionOutcome) -> Trouble | None:
        former = question.former
        if former is not None and former.objects:
            changed = since(question.action, outcome, question.page, former.objects)
            changed = changed or compared(question.action, outcome.extracted, former.objects)
            if changed is not None:
                return changed
        wrong = trouble(question.action, outcome, way.record)
        return replace(wrong, certain=False) if wrong is not None and not question.shown else wrong

    def _is_list(self, question: Question) -> bool:
        """Return whether a page, which nothing but a URL like all others says to hold an object, lists other pages.

        So do the further pages of a list, of which the last one may have a single entry.
        """
        page, level = question.page, question.level
        if question.shown or question.former is not None or not page.is_html or is_telling(level, page.url):
            return False
        if all(action.many for action in level.actions if isinstance(action, Extract)):
            return False
        first = level.first_page(question.application.canonical(ParsedUrl.parse(page.url))).url
        if first in self._lists or self._structures.of(page, question.application).is_list:
            self._lists.get(first, lambda: None)
            return True
        return False

    # Reactions to failures

    def _looked_after(
        self, question: Question, case: Case, outcome: ExtractionOutcome, runner: Runner
    ) -> ExtractionOutcome:
        """Compare an action that works with an example now and then: it may leave something out.

        A redesign may leave the signs of some of a page's posts as they were: where other actions had to be repaired,
        that of the file is looked at as well. Where a level has posts of several kinds, those beside the ones that it
        finds are likely of another kind, so that it is let be.
        """
        former = question.former
        if former is not None and of_action(question.action, former.objects):
            # All that was there before is found: no repair strategy knows more about this page.
            return outcome
        is_doubtful = len(case.ways) == 1 and _site_of(question) in self._redesigned and _is_only_list(question)
        if case.current.learned is None and not is_doubtful:
            return outcome
        if not outcome.extracted or len(question.page.body) > MAX_PAGE_BYTES or not case.current.is_due():
            return outcome
        wrong = Trouble(Failure.CHANGED_SHAPE, "the action leaves objects out", certain=False)
        example = self._example(question, wrong, outcome, runner)
        if example is None:
            return outcome
        case.current.look_again()
        return self._used(question, case, example, outcome, runner, wrong)

    def _mended(
        self, question: Question, case: Case, outcome: ExtractionOutcome, runner: Runner, wrong: Trouble
    ) -> ExtractionOutcome:
        if wrong.remembered:
            return self._corrected(question, case, outcome, runner, wrong)
        better = self._done_otherwise(question, case, outcome, runner, wrong)
        if better is not None:
            return better
        reported = replace(outcome, failure=wrong.failure, detail=wrong.detail) if wrong.certain else outcome
        if len(question.page.body) > MAX_PAGE_BYTES:
            return reported if question.shown else outcome
        if not case.backoff.allows():
            return replace(reported if question.shown else outcome, spared=True)
        example = self._example(question, wrong, outcome, runner)
        if example is None:
            case.backoff.failed()
            gone = self._is_gone(question, outcome)
            return ExtractionOutcome() if gone else reported
        used = self._used(question, case, example, _of_use(outcome, wrong), runner, wrong)
        known = {wanted.name for wanted in case.current.extract.fields}
        if case.current.learned is None or wrong.fields <= known:
            case.backoff.succeeded()
        else:
            # The learned action leaves out fields that examples have: asking on every page costs more than it gains.
            case.backoff.failed()
        return used

    def _corrected(
        self, question: Question, case: Case, outcome: ExtractionOutcome, runner: Runner, wrong: Trouble
    ) -> ExtractionOutcome:
        """Replace values that differ from the former ones, unless that has failed before: they may have been edited."""
        if len(question.page.body) > MAX_PAGE_BYTES or not case.corrections.allows():
            return outcome
        better = self._done_otherwise(question, case, outcome, runner, wrong)
        if better is None:
            example = self._example(question, wrong, outcome, runner)
            better = (
                self._learn(question, case, KeptExample(example, runner, outcome), wrong)
                if example is not None
                else None
            )
            if better is None:
                case.corrections.failed()
                extracted = evident(outcome.extracted, example, wrong.fields) if example is not None else None
                return (
                    ExtractionOutcome(extracted, wrong.failure, wrong.detail, outcome.learned) if extracted else outcome
                )
        case.corrections.succeeded()
        return better

    def _done_otherwise(
        self, question: Question, case: Case, outcome: ExtractionOutcome, runner: Runner, wrong: Trouble
    ) -> ExtractionOutcome | None:
        """Return the better outcome of another way, which is put in force; None if none is better."""
        for way in self._others(question, case):
            other = run(runner, way.extract)
            if self._is_better(question, way, other, outcome, wrong):
                way.note(other)
                case.put_in_force(way)
                self._redesigned.get(_site_of(question), lambda: None)
                return replace(other, learned=way.name)
        return None

    def _is_better(
        self, question: Question, way: Way, other: ExtractionOutcome, outcome: ExtractionOutcome, wrong: Trouble
    ) -> bool:
        """Return whether another way succeeds on a page where the one in force fails."""
        if wrong.another and _values(other, (BODY,)) == _values(outcome, (BODY,)):
            return False
        outcome = _of_use(outcome, wrong)
        if not other.extracted or other.failure is not None or not loses_nothing(outcome.extracted, other.extracted):
            return False
        shown = {name for each in other.extracted for name in each.object.properties}
        if not wrong.fields <= shown or (not wrong.fields and _yield(other) <= _yield(outcome)):
            return False
        if wrong.fields and _values(other, wrong.fields) == _values(outcome, wrong.fields):
            return False
        return self._trouble(question, Way(way.extract), other) is None

    def _is_gone(self, question: Question, outcome: ExtractionOutcome) -> bool:
        """Return whether a page that once had objects has none now, and shows none of their texts."""
        former = question.former
        if former is None or outcome.extracted or not of_action(question.action, former.objects):
            return False
        return since(question.action, outcome, question.page, former.objects) is None

    def _example(
        self, question: Question, wrong: Trouble, outcome: ExtractionOutcome, runner: Runner
    ) -> LabelledExample | None:
        """Return the example from memory if it is valid and more than was found, else the surest valid example."""
        cautious = not wrong.certain or not question.shown
        best: LabelledExample | None = None
        for strategy in self._strategies:
            try:
                example = _plausible(question, strategy.label(question))
            except FAILING as error:
                question.page.failed.add("repair", error)
                continue
            if example is None or doubt(example, question, cautious=cautious) is not None:
                continue
            remembered = example.method is Method.MEMORY
            if not remembered and self._is_retold(question, example):
                continue
            recovers = remembered and wrong.certain and _recovers(question, example, runner)
            if not recovers and not _knows_more(example, outcome, wrong):
                continue
            if remembered:
                return example
            if best is None or example.confidence > best.confidence:
                best = example
        return best

    def _is_retold(self, question: Question, example: LabelledExample) -> bool:
        """Return whether other pages show an example's texts too; then no other example about them is kept."""
        case, texts = self._case(question), _texts(example)
        if not case.retells(question.page.url, texts):
            return False
        self._cases.drop(case, [kept for kept in case.examples if set(_texts(kept.example)) <= set(texts)])
        return True

    # Uses of an example

    def _used(
        self,
        question: Question,
        case: Case,
        example: LabelledExample,
        outcome: ExtractionOutcome,
        runner: Runner,
        wrong: Trouble,
    ) -> ExtractionOutcome:
        """Return the objects of an example, by the action that is learned of it if that finds the same."""
        kept = KeptExample(example, runner, outcome)
        spared = not case.learning.allows()
        found = self._read_alone(question, case, kept, wrong) if spared else self._taught(question, case, kept, wrong)
        if found is not None:
            return replace(found, spared=spared)
        more = supplemented(outcome.extracted, example, wrong.fields) if wrong.fields else None
        extracted = more or runner.make(question.action, sketches(example))
        detail = f"{wrong.detail}: " if wrong.detail else ""
        found_how = f"{detail}{len(extracted)} objects {_how(example.method)}"
        return ExtractionOutcome(extracted, wrong.failure, found_how, spared=spared)

    def _taught(self, question: Question, case: Case, kept: KeptExample, wrong: Trouble) -> ExtractionOutcome | None:
        """Learn of an example and those before it, and note whether that was in vain."""
        found = self._learn(question, case, kept, wrong)
        if found is not None and found.learned:
            case.learning.succeeded()
        elif case.is_vetoed:
            # Were it spared on the next pages, the rejected objects would be found by their examples alone.
            case.learning.succeeded()
        elif len(case.examples) >= MIN_PAGES:
            case.learning.failed()
            case.teaches_alone = found is not None
        return found

    def _read_alone(
        self, question: Question, case: Case, kept: KeptExample, wrong: Trouble
    ) -> ExtractionOutcome | None:
        """Keep an example of which nothing is learned yet; return the objects of an action for its page alone."""
        self._cases.keep(case, kept)
        attempted = self._learning.best(question, (kept,)) if case.teaches_alone and not wrong.fields else None
        outcome = attempted.outcome(kept) if attempted is not None else None
        return _of_page(outcome, kept, wrong) if outcome is not None else None

    def _learn(self, question: Question, case: Case, kept: KeptExample, wrong: Trouble) -> ExtractionOutcome | None:
        case.is_vetoed = False
        examples = [*(each for each in case.examples if each.example.page.url != kept.example.page.url), kept]
        attempted = self._learning.best(question, examples)
        if not self._cures(question, attempted, kept, wrong) and len(examples) > MIN_PAGES:
            # A page of another shape may be the reason: the last ones alone agree.
            attempted = self._learning.best(question, examples[-MIN_PAGES:])
        outcome = attempted.outcome(kept) if attempted is not None else None
        cures = self._cures(question, attempted, kept, wrong)
        if attempted is None or outcome is None or not cures or len(attempted.agreeing) < MIN_PAGES:
            self._cases.keep(case, kept)
            return _of_page(outcome, kept, wrong) if outcome is not None and not wrong.fields else None
        way = way_of(question, attempted, wrong.failure.value, self._number(question, case))
        case.is_vetoed = way.learned is not None and self._rejected.covers(way.learned)
        if case.is_vetoed:
            self._cases.keep(case, kept)
            return replace(kept.before, failure=wrong.failure, detail=f"{wrong.detail}: {VETOED}".lstrip(": "))
        case.put_in_force(way)
        self._redesigned.get(_site_of(question), lambda: None)
        self._cases.drop(case, [each for each, _ in attempted.agreeing])
        self._remember((question.application.name, question.level.name, question.action.name), way)
        if self._told is not None and way.learned is not None:
            self._told(way.learned)
        return replace(outcome, learned=way.name)

    def _cures(self, question: Question, attempted: Attempted | None, kept: KeptExample, wrong: Trouble) -> bool:
        """Return whether values that differed from the former ones agree again; True for trouble of another sort."""
        outcome = attempted.outcome(kept) if attempted is not None else None
        if not wrong.remembered or attempted is None or outcome is None:
            return not wrong.remembered
        return self._trouble(question, Way(attempted.wrapper.action), outcome) is None

    def _number(self, question: Question, case: Case) -> int:
        """Return a number that no learned action of the same site and name has."""
        name = (question.application.name, question.level.name, question.action.name)
        ways = (*case.ways, *self._learned.get(name, list))
        site = site_of(question.page.url)
        known = {way.name for way in ways if way.learned is not None and way.learned.site == site}
        return next(number for number in range(1, len(known) + 2) if learned_name(question, number) not in known)


def _of_page(outcome: ExtractionOutcome, kept: KeptExample, wrong: Trouble) -> ExtractionOutcome:
    """Return the outcome of an action that is in force for its page alone, which says so."""
    detail = f"{len(outcome.extracted)} objects {_how(kept.example.method)}"
    return replace(outcome, failure=wrong.failure, detail=f"{wrong.detail}: {detail}" if wrong.detail else detail)


def _site_of(question: Question) -> tuple[str, str]:
    return site_of(question.page.url), question.application.name


def _is_only_list(question: Question) -> bool:
    """Return whether an action finds the objects of a page of which it may have many, and no other action does."""
    others = (each for each in question.level.actions if isinstance(each, Extract) and each.many)
    return question.action.many and question.action.run is None and sum(1 for _ in others) == 1


def _is_verified(question: Question, outcome: ExtractionOutcome) -> bool:
    """Return whether nothing that a former crawl knew, and that the page still shows, is missing after a failure."""
    if outcome.failure is None or not outcome.extracted or question.former is None:
        return True
    return since(question.action, outcome, question.page, question.former.objects) is None


def _as_remembered(question: Question, outcome: ExtractionOutcome) -> ExtractionOutcome:
    """Return what a learned action found on a page, as memory finds it there again."""
    former = of_action(question.action, question.former.objects) if question.former is not None else ()
    if len(question.page.body) > MAX_PAGE_BYTES or not former or not differs(outcome.extracted, former):
        return outcome
    try:
        example = recall(question.page, question.action, former)
    except FAILING as error:
        question.page.failed.add("repair from memory", error)
        return outcome
    extracted = settled(outcome.extracted, former, example) if example is not None else None
    return replace(outcome, extracted=extracted) if extracted is not None else outcome


def _plausible(question: Question, example: LabelledExample | None) -> LabelledExample | None:
    """Return an example without the values that are not those of its objects; memory knows that its own are."""
    if example is None or example.method is Method.MEMORY:
        return example
    told = [{name: label.value for name, label in each.labels.items()} for each in example.objects]
    wrong = misbehaving([PageObjects.of(question.page, told)], many=question.action.many)
    return example.without(wrong) if wrong else example


def _named(outcome: ExtractionOutcome) -> ExtractionOutcome:
    """Return objects whose authors are named without the verb behind them: ``Ann says:``.

    Where a redesign took the name of a name's own element away, that of the whole line is still found.
    """
    return replace(outcome, extracted=tuple(map(_with_name_alone, outcome.extracted)))


def _with_name_alone(extracted: Extracted) -> Extracted:
    author = extracted.object.first("author")
    if not isinstance(author, Person) or not author.name.endswith(":") or not is_byline_word(author.name.split()[-1]):
        return extracted
    name = name_in(author.name)
    properties = {**extracted.object.properties, "author": (replace(author, name=name),)}
    return replace(extracted, object=replace(extracted.object, properties=properties)) if name else extracted


def _of_substance(outcome: ExtractionOutcome) -> ExtractionOutcome:
    """Return the objects that hold anything: what has a number alone was taken for one by a learned action."""
    extracted = tuple(each for each in outcome.extracted if not each.object.properties.keys() <= _EMPTY)
    return outcome if len(extracted) == len(outcome.extracted) else replace(outcome, extracted=extracted)


def _yield(outcome: ExtractionOutcome) -> tuple[int, int]:
    """Return the numbers of objects with a body and of all objects."""
    return sum(bool(body_of(each.object)) for each in outcome.extracted), len(outcome.extracted)


def _values(outcome: ExtractionOutcome, fields: Collection[str]) -> list[list[Value | None]]:
    return [[each.object.first(name) for name in sorted(fields)] for each in outcome.extracted]


def _of_use(outcome: ExtractionOutcome, wrong: Trouble) -> ExtractionOutcome:
    """Return the objects found, except those of another thing than the wanted one."""
    return replace(outcome, extracted=()) if wrong.another else outcome


def _knows_more(example: LabelledExample, outcome: ExtractionOutcome, wrong: Trouble) -> bool:
    if wrong.another:
        return not reproduces(outcome.extracted, example)
    if wrong.remembered:
        return example.method is Method.MEMORY and contradicts(outcome.extracted, example, wrong.fields)
    if wrong.fields:
        if encloses(example, outcome.extracted, wrong.fields):
            return True
        return supplemented(outcome.extracted, example, wrong.fields) is not None
    if len(example.objects) == 1 < len(outcome.extracted):
        # One object found in place of several is their container.
        return False
    return not outcome.extracted or adds_to(example, outcome.extracted)


def _recovers(question: Question, example: LabelledExample, runner: Runner) -> bool:
    """Return whether an example has all of the objects that a former crawl found."""
    if question.former is None:
        return False
    outcome = ExtractionOutcome(runner.make(question.action, sketches(example)))
    return since(question.action, outcome, question.page, question.former.objects) is None


def _how(method: Method) -> str:
    """Return how the objects of an example were found, for people."""
    match method:
        case Method.MEMORY:
            return "found again by their former words"
        case Method.RELAXED:
            return "found by relaxed expressions"
        case Method.INDUCED:
            return "found by the structure that the page repeats"


def _texts(example: LabelledExample) -> list[str]:
    return [text for labelled in example.objects if (text := body_text(labelled))]


def strategies(knowledge_base: KnowledgeBase) -> tuple[RepairStrategy, ...]:
    """Return the strategies for failing actions of a knowledge base, in their order."""
    structures = Structures()
    return (MemoryStrategy(), RelaxationStrategy(knowledge_base, structures), StructureStrategy(structures))


def adaptation(
    knowledge_base: KnowledgeBase,
    told: Callable[[LearnedAction], None] | None = None,
    beside: Callable[[LearnedLinks | LearnedSign], None] | None = None,
    rejected: Rejected | None = None,
) -> Adaptation:
    """Return an adapter for a knowledge base.

    ``told`` is called with each extraction action that is learned, ``beside`` with each navigation action and sign.
    Nothing that is ``rejected`` is used.
    """
    signs, links = SignLearning(knowledge_base, beside, rejected), LinkRepair(beside, rejected)
    made = Adaptation(strategies(knowledge_base), induce, told, signs, links)
    if rejected is not None:
        made.heed(rejected)
    return made
