"""The Intelligent Crawl Definition (ICD): the subject, purpose, seeds and limits of a crawl."""

from online_analysis.icd.capture_sources import Captures, CaptureSource, CdxServer, MementoArchive
from online_analysis.icd.definition import (
    PRODUCT,
    Icd,
    Part,
    Redefinition,
    ReferenceUrl,
    changes,
    parts,
    redefined,
    user_agent,
)
from online_analysis.icd.mistakes import IcdError, Mistake
from online_analysis.icd.reference_files import PLUGINS, Post, plain_text
from online_analysis.icd.scoping import Scope
from online_analysis.icd.scoring import ANALYSERS, DEFAULT_WEIGHTS, PostTo, Relevance, Scoring
from online_analysis.icd.secrets import Value
from online_analysis.icd.sections import (
    WHERE_SECRETS_ARE,
    Account,
    Archive,
    BrowserSection,
    DomainPoliteness,
    Endpoint,
    Event,
    Limits,
    Login,
    Network,
    Politeness,
    SessionNetwork,
    TopicWords,
    Traps,
    names_a_secret,
    secret_in,
)
from online_analysis.icd.source_fields import Sources, SparqlSource

__all__ = [
    "ANALYSERS",
    "DEFAULT_WEIGHTS",
    "PLUGINS",
    "PRODUCT",
    "WHERE_SECRETS_ARE",
    "Account",
    "Archive",
    "BrowserSection",
    "CaptureSource",
    "Captures",
    "CdxServer",
    "DomainPoliteness",
    "Endpoint",
    "Event",
    "Icd",
    "IcdError",
    "Limits",
    "Login",
    "MementoArchive",
    "Mistake",
    "Network",
    "Part",
    "Politeness",
    "Post",
    "PostTo",
    "Redefinition",
    "ReferenceUrl",
    "Relevance",
    "Scope",
    "Scoring",
    "SessionNetwork",
    "Sources",
    "SparqlSource",
    "TopicWords",
    "Traps",
    "Value",
    "changes",
    "names_a_secret",
    "parts",
    "plain_text",
    "redefined",
    "secret_in",
    "user_agent",
]
