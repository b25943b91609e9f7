"""Assigns the processor time of a crawling process to subsystems, by the modules of the stacks in which it was used."""

from collections.abc import Mapping, Sequence
from typing import Final

from benchmarks.results import Cell

NAMED = 4
"""The number of modules that are named for each subsystem, those with the most time."""

CALLER = "its caller"
"""The mark of modules that serve several subsystems: their time counts for their caller."""
OTHER = "other"
START = "start and end"
EVENTS = "Scrapy, Twisted, asyncio"
OUTSIDE = "nothing that runs in a crawl"

SUBSYSTEMS: Final[Mapping[str, str]] = {
    # The helper
    "aahcrawler.helper": "helper: the rest",
    "aahcrawler.helper.application.application_reading": "helper: completion",
    "aahcrawler.helper.detection": "helper: recognition",
    "aahcrawler.helper.extraction": "helper: actions, extraction",
    "aahcrawler.helper.generic_reading": "helper: generic reading, induction",
    "aahcrawler.helper.links": "helper: navigation, links",
    "aahcrawler.helper.parts": "helper: parts",
    "aahcrawler.helper.site_memory": "helper: recognition",
    "aahcrawler.induction": CALLER,
    "aahcrawler.adaptation": "helper: adaptation",
    "aahcrawler.wrapper_induction": "helper: adaptation",
    "aahcrawler.webobject": "helper: actions, extraction",
    "py3langid": "helper: language",
    "py3langid.modelio": START,
    # Knowledge
    "knowledge_base.behaviours": "browser",
    "knowledge_base.file_selection": START,
    "knowledge_base.loader": START,
    "knowledge_base.parsing": START,
    "knowledge_base.xml_reader": START,
    "knowledge_base.xpath_limits": CALLER,
    "knowledge_base.xpath_syntax": START,
    "knowledge_base.element_index": "helper: index of elements",
    "knowledge_base.url_rules": CALLER,
    "knowledge_base.matching": "helper: recognition",
    "knowledge_base.literals": CALLER,
    "knowledge_base.model": CALLER,
    "knowledge_base.selectors": CALLER,
    # The page
    "aahcrawler.page": CALLER,
    "aahcrawler.page.markup": "parse",
    "aahcrawler.page.decoding": "parse",
    "aahcrawler.page.jsontree": "parse",
    "aahcrawler.page.page": "parse",
    "aahcrawler.page.sniffing": "parse",
    "aahcrawler.page.requisites": "requisites",
    "aahcrawler.documents": "documents",
    "aahcrawler.streams": "documents",
    # Scores
    "online_analysis": "scoring",
    "online_analysis.icd": START,
    "online_analysis.icd.scoping": "scope",
    "online_analysis.media_types": CALLER,
    "online_analysis.plugins": START,
    "online_analysis.ranking": "ranker",
    "online_analysis.refinement": OUTSIDE,
    "online_analysis.url_patterns": "scope",
    "aahcrawler.crawl.response.link_ranking": "ranker",
    "aahcrawler.pipeline": "handling of answers",
    "aahcrawler.pipeline.analysis": "scoring",
    "aahcrawler.scores": "score log",
    # Links
    "aahcrawler.frontier": "frontier client",
    "aahcrawler.frontiers": "frontier client",
    "aahcrawler.crawl.lease": "frontier client",
    "redis": "frontier client",
    "aahcrawler.scope": "scope",
    "aahcrawler.traps": "traps",
    "aahcrawler.pipeline.trap_evidence": "traps",
    "aahcrawler.crawl.response.trap_detection": "traps",
    "aahcrawler.pipeline.links": "links",
    "aahcrawler.refusals": "links",
    "aahcrawler.revisits": "change log",
    "aahcrawler.revisits.rate_priors": OUTSIDE,
    "aahcrawler.revisits.revisit_policies": OUTSIDE,
    "aahcrawler.revisits.visit_budget": OUTSIDE,
    # What is kept
    "aahcrawler.archive": "archive: WARC, index, history",
    "aahcrawler.crawl.capture": "archive: WARC, index, history",
    "aahcrawler.exchange": "archive: WARC, index, history",
    "aahcrawler.request_queries": "archive: WARC, index, history",
    "aahcrawler.fingerprint": CALLER,
    "aahcrawler.metadata": "archive: WARC, index, history",
    "aahcrawler.exclusions": "scope",
    "aahcrawler.tombstones": "archive: WARC, index, history",
    "aahcrawler.objects": "triples",
    "aahcrawler.segments": CALLER,
    # Fetching
    "aahcrawler.wire": "wire, downloader",
    "aahcrawler.browser": "browser",
    "aahcrawler.data_templates": "browser",
    "aahcrawler.crawl.browsing": "browser",
    "aahcrawler.crawl.fetch": "wire, downloader",
    "aahcrawler.sources": "wire, downloader",
    "aahcrawler.credentials": "wire, downloader",
    "aahcrawler.urls": CALLER,
    "aahcrawler.query_encoding": CALLER,
    # The crawl
    "aahcrawler.crawl": "handling of answers",
    "aahcrawler.crawl.cluster": START,
    "aahcrawler.crawl.directory": START,
    "aahcrawler.crawl.core.page_reading": CALLER,
    "aahcrawler.crawl.health": "statistics, log, display",
    "aahcrawler.crawl.reload": "statistics, log, display",
    "aahcrawler.crawl.reporting": "statistics, log, display",
    "aahcrawler.crawl.scrapy": EVENTS,
    "aahcrawler.crawl.scrapy.robots_middleware": "wire, downloader",
    "aahcrawler.crawl.scrapy.run": START,
    "aahcrawler.crawl.scrapy.session_middleware": "wire, downloader",
    "aahcrawler.crawl.startup": START,
    "aahcrawler.crawl.stats": "statistics, log, display",
    "aahcrawler.derived_index": OUTSIDE,
    "aahcrawler.event_index": "statistics, log, display",
    "aahcrawler.seeds": "seeds",
    "aahcrawler.crawl.response.seed_trail": "seeds",
    "aahcrawler.cli": START,
    "aahcrawler.crawls": START,
    "aahcrawler.definition_bundle": START,
    "aahcrawler.definitions": START,
    "aahcrawler.exits": START,
    "aahcrawler.layout": START,
    "aahcrawler.report": START,
    "aahcrawler.crawl_collections": OUTSIDE,
    "aahcrawler.editor": OUTSIDE,
    "aahcrawler.imports": OUTSIDE,
    "aahcrawler.operating": OUTSIDE,
    "aahcrawler.overview": OUTSIDE,
    "aahcrawler.lending": START,
    "aahcrawler.listening": OUTSIDE,
    "aahcrawler.replay": OUTSIDE,
    "aahcrawler.schedule": OUTSIDE,
    "aahcrawler.page_index": OUTSIDE,
    "aahcrawler.annotations": OUTSIDE,
    "aahcrawler.search": OUTSIDE,
    "aahcrawler.captures": OUTSIDE,
    "aahcrawler.jobs": OUTSIDE,
    "aahcrawler.service": OUTSIDE,
    "aahcrawler.service_client": OUTSIDE,
    "aahcrawler.takedown": OUTSIDE,
    "aahcrawler.tallies": "statistics, log, display",
    # What the process is made of
    "asyncio": EVENTS,
    "concurrent": EVENTS,
    "scrapy": EVENTS,
    "selectors": EVENTS,
    "threading": EVENTS,
    "twisted": EVENTS,
    "gc": "garbage collection",
    "importlib": START,
    "interpreter": START,
}
"""The subsystem of each module or package; the longest name that fits counts."""

KEEPERS = frozenset({"aahcrawler.page.page"})
"""Modules that cache results of other modules: only their own time counts as theirs, that of what they call as their
caller's.
"""

_LOOP = "asyncio.base_events"
_PROGRAM = "runpy"
_OPENING = "aahcrawler.crawl.startup"


def subsystem(stack: Sequence[str]) -> str:
    """Return the subsystem of a stack, whose modules are named innermost first: that of the first module with one.

    Whatever runs outside of the event loop belongs to start and end.

    >>> subsystem(["lxml", "knowledge_base.selectors", "aahcrawler.helper.extraction.runs", "asyncio.base_events"])
    'helper: actions, extraction'
    """
    if _PROGRAM in stack and _LOOP not in stack:
        return START
    if any(module.startswith(_OPENING) for module in stack):
        return START
    is_called = False
    for module in stack:
        name = of_module(module)
        if name == CALLER:
            is_called = True
        elif name is not None and not (is_called and module in KEEPERS):
            return name
    return OTHER


def of_module(module: str) -> str | None:
    """Return the subsystem of a module, None where the table has none.

    >>> of_module("knowledge_base.parsing.levels"), of_module("json.decoder")
    ('start and end', None)
    """
    name = module
    while name and name not in SUBSYSTEMS:
        name = name.rpartition(".")[0]
    return SUBSYSTEMS.get(name)


def share_rows(seconds: Mapping[tuple[str, ...], float], pages: int) -> list[dict[str, Cell]]:
    """Return a row for each subsystem, the largest first, from the seconds of stacks.

    For time of no subsystem, all modules are named.
    """
    total = sum(seconds.values())
    found: dict[str, dict[str, float]] = {OTHER: {}}
    for stack, spent in seconds.items():
        modules = found.setdefault(subsystem(stack), {})
        modules[_module(stack)] = modules.get(_module(stack), 0.0) + spent
    rows: list[dict[str, Cell]] = [
        {
            "subsystem": name,
            "share": sum(modules.values()) / total,
            "cpu_ms_per_page": 1000 * sum(modules.values()) / pages,
            "modules": _most(modules, total, len(modules) if name == OTHER else NAMED),
        }
        for name, modules in found.items()
    ]
    return sorted(rows, key=lambda row: -float(row["share"] or 0))


def _most(modules: Mapping[str, float], total: float, number: int) -> str:
    largest = sorted(modules.items(), key=lambda each: -each[1])[:number]
    return ", ".join(f"{module} {spent / total:.1%}" for module, spent in largest)


def _module(stack: Sequence[str]) -> str:
    """Return the innermost module with a subsystem; without any, the innermost module."""
    return next(filter(of_module, stack), stack[0])
