"""Adaptation as crawls use it: all teachers in the order in which they are asked, and the learner."""

from collections.abc import Callable

from aahcrawler.adaptation.adapter import Adaptation
from aahcrawler.adaptation.cases import LearnedAction
from aahcrawler.adaptation.learner.wrappers import learn
from aahcrawler.adaptation.teachers.induced import InducedTeacher
from aahcrawler.adaptation.teachers.memory import MemoryTeacher
from aahcrawler.adaptation.teachers.relaxing import RelaxingTeacher
from aahcrawler.adaptation.teaching import Teacher
from knowledge_base.model import KnowledgeBase


def teachers(knowledge_base: KnowledgeBase) -> tuple[Teacher, ...]:
    """Return who is asked where an action of a knowledge base fails."""
    return (MemoryTeacher(), RelaxingTeacher(knowledge_base), InducedTeacher())


def adaptation(knowledge_base: KnowledgeBase, told: Callable[[LearnedAction], None] | None = None) -> Adaptation:
    """Return an adapter for a knowledge base; ``told`` hears of each action that is learned."""
    return Adaptation(teachers(knowledge_base), learn, told)
