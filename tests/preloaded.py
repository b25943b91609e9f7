"""What each process of ``aah`` that tests fork finds imported, and read of the files that come with the program.

A page is understood here, so that what is computed once a process is there: models of languages, classes of characters.
The knowledge base that ships is loaded here, and not again by any of them (``tests.shipped``). What finds the signs
of its applications is made of it here, too, and the commands of the command line.
"""

import gc
from collections.abc import Callable, Iterable
from datetime import UTC, datetime
from importlib import import_module

from typer.main import get_command

from aahcrawler import cli
from aahcrawler.adaptation.detection.sign_relaxation import Similarity
from aahcrawler.crawl.reload.self_repair import SelfRepair
from aahcrawler.documents.formats import added_formats
from aahcrawler.helper import ApplicationAwareHelper
from aahcrawler.page import Headers, Page
from aahcrawler.traps.sketch import sketch
from knowledge_base import matching
from knowledge_base.matching import Candidates
from knowledge_base.model import Application
from online_analysis.terms import listed_idf
from tests.shipped import load_once, shipped
from tests.validators import validate_alike

WORDS = "The harbour was full of ships, and everybody who had a house at the quay looked at what came ashore there."
PAGE = f"<html><head><title>The harbour</title></head><body><h1>The harbour</h1><p>{WORDS}</p></body></html>"
load_once()
validate_alike()
_LOADED = shipped()
for module in (
    "pytest",  # Each process runs the script of its parent once more, as its main module.
    "aahcrawler.archive.checking",
    "aahcrawler.crawl.cluster.supervisor",
    "aahcrawler.crawl.cluster.worker",
    "aahcrawler.crawl.scrapy.robots_middleware",
    "aahcrawler.crawl.scrapy.run",
    "aahcrawler.crawl.scrapy.scheduler",
    "aahcrawler.crawl.scrapy.session_middleware",
    "aahcrawler.crawl.scrapy.settings",
    "aahcrawler.overview.overview_report",
    "aahcrawler.report",
    "aahcrawler.service.server",
    "numpy.ma",
    "offline.tables",
    "online_analysis.icd.seed_list",
    "rich._emoji_codes",
    "scrapy.logformatter",
):
    import_module(module)
_similar_to: Callable[[Similarity], matching.Detector] = vars(Similarity)["_detector"].func
_CANDIDATES, _SIMILAR = Candidates(_LOADED.applications), _similar_to(Similarity(_LOADED))


def _candidates(applications: Iterable[Application]) -> Candidates:
    return _CANDIDATES if applications is _LOADED.applications else Candidates(applications)


def _similar(similarity: Similarity) -> matching.Detector:
    return _SIMILAR if similarity.knowledge_base is _LOADED else _similar_to(similarity)


vars(matching)["Candidates"] = _candidates
Similarity._detector = property(_similar)  # type: ignore[assignment]
cli.app = get_command(cli.app)  # type: ignore[assignment]
for language in ("en", None):
    listed_idf(language)
added_formats()
headers = Headers((("Content-Type", "text/html; charset=utf-8"),))
page = Page("http://harbour.test/", 200, headers, PAGE.encode(), datetime(2026, 1, 1, tzinfo=UTC))
ApplicationAwareHelper(_LOADED, adapter=SelfRepair(_LOADED).adapter).assist(page)
sketch(WORDS)
# What is here stays: no process looks for garbage among it, and none copies it by looking.
gc.collect()
gc.freeze()
