"""Adaptation as crawls use it: all teachers in the order in which they are asked, and the learner."""

from collections.abc import Callable

from aahcrawler.adaptation.adapter import Adaptation
from aahcrawler.adaptation.cases import LearnedAction
from aahcrawler.adaptation.detecting import Detecting
from aahcrawler.adaptation.following import Following
from aahcrawler.adaptation.learner.wrappers import learn
from aahcrawler.adaptation.linking import LearnedLinks
from aahcrawler.adaptation.signs import LearnedSign
from aahcrawler.adaptation.teachers.induced import InducedTeacher
from aahcrawler.adaptation.teachers.memory import MemoryTeacher
from aahcrawler.adaptation.teachers.relaxing import RelaxingTeacher
from aahcrawler.adaptation.teachers.structure import Structures
from aahcrawler.adaptation.teaching import Teacher
from knowledge_base.model import KnowledgeBase


def teachers(knowledge_base: KnowledgeBase) -> tuple[Teacher, ...]:
    """Return who is asked where an action of a knowledge base fails."""
    structures = Structures()
    return (MemoryTeacher(), RelaxingTeacher(knowledge_base, structures), InducedTeacher(structures))


def adaptation(
    knowledge_base: KnowledgeBase,
    told: Callable[[LearnedAction], None] | None = None,
    beside: Callable[[LearnedLinks | LearnedSign], None] | None = None,
) -> Adaptation:
    """Return an adapter for a knowledge base.

    ``told`` hears of each extraction action that is learned, ``beside`` of each navigation action and sign.
    """
    return Adaptation(teachers(knowledge_base), learn, told, Detecting(knowledge_base, beside), Following(beside))
