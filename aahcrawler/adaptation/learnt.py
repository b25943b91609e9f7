"""All that a crawl can learn of an application."""

from aahcrawler.adaptation.cases import LearnedAction
from aahcrawler.adaptation.linking import LearnedLinks
from aahcrawler.adaptation.signs import LearnedSign

Learnt = LearnedAction | LearnedLinks | LearnedSign
"""An extraction action, a navigation action, or a sign of a level or of an application."""
