"""The Intelligent Crawl Definition (ICD): what to collect, why, from where, and within which limits."""

from online_analysis.icd.definition import Icd, ReferenceUrl, changes
from online_analysis.icd.mistakes import IcdError, Mistake
from online_analysis.icd.references import plain_text
from online_analysis.icd.sections import (
    ANALYSERS,
    WHERE_SECRETS_ARE,
    Archive,
    Endpoint,
    Event,
    Limits,
    Network,
    Politeness,
    Scope,
    Scoring,
    TopicWords,
    secret_in,
)

__all__ = [
    "ANALYSERS",
    "WHERE_SECRETS_ARE",
    "Archive",
    "Endpoint",
    "Event",
    "Icd",
    "IcdError",
    "Limits",
    "Mistake",
    "Network",
    "Politeness",
    "ReferenceUrl",
    "Scope",
    "Scoring",
    "TopicWords",
    "changes",
    "plain_text",
    "secret_in",
]
