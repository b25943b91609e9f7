"""Shows in the report the terms that the crawl learned for its topic."""

from html import escape
from pathlib import Path

from aahcrawler.layout import TOPIC
from online_analysis.topic_learning import KeptRefinement, Learned
from online_analysis.topic_state import TopicState


def read_learned(crawl: Path) -> Learned:
    """Return the learned terms of ``topic.json`` in a crawl's folder. Raise ``OSError`` or ``ValueError``."""
    return TopicState.read(crawl / TOPIC).learned


def learned_topic(learned: Learned) -> str:
    """Return the learned terms as HTML, empty where there are none."""
    section = _refinement(learned.refinement) if learned.refinement is not None else ""
    if learned.frequencies:
        languages = ", ".join(f"{escape(code)} ({kept.pages:,})" for code, kept in learned.frequencies.items())
        section += (
            f"<p>How much a term says was learned from the crawl's own pages in these languages: {languages}.</p>"
        )
    return section


def _refinement(refinement: KeptRefinement) -> str:
    pages = f"{refinement.relevant:,} of the {refinement.pages:,} pages of the reference crawl"
    if refinement.terms:
        weights = "".join(
            f"<tr><th>{escape(term)}</th><td>{weight:.2f}</td></tr>" for term, weight in refinement.terms.items()
        )
        return f"<p>The topic was refined by what {pages} have in common:</p><table>{weights}</table>"
    refused = ", ".join(map(escape, refinement.refused))
    would = f" It was: {refused}." if refused else ""
    return f"<p>The topic stayed as it was given, as {refinement.outcome}; {pages} were looked at closely.{would}</p>"
