"""Adaptation as crawls use it: all repair strategies in their order, and the learner."""

from collections.abc import Callable

from aahcrawler.adaptation.adapter import Adaptation
from aahcrawler.adaptation.detection.sign_learning import SignLearning
from aahcrawler.adaptation.repair.link_repair import LinkRepair
from aahcrawler.adaptation.repair.memory import MemoryStrategy
from aahcrawler.adaptation.repair.page_structure import Structures
from aahcrawler.adaptation.repair.relaxation import RelaxationStrategy
from aahcrawler.adaptation.repair.strategy import RepairStrategy
from aahcrawler.adaptation.repair.structure_induction import StructureStrategy
from aahcrawler.adaptation.store.decisions import Rejected
from aahcrawler.adaptation.store.learned import LearnedAction, LearnedLinks, LearnedSign
from aahcrawler.wrapper_induction.induce import induce
from knowledge_base.model import KnowledgeBase


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
