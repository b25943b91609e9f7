"""Makes ready what a dry run looks at pages with, as the crawl of a definition would begin."""

import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from aahcrawler.crawl.core.context import CrawlContext
from aahcrawler.crawl.fetch.client_settings import notes
from aahcrawler.crawl.reload.knowledge_reload import LiveKnowledgeBase
from aahcrawler.crawl.startup.factory import checked
from aahcrawler.crawl.startup.reference_documents import Fetched, fetch_documents, reader
from aahcrawler.crawl.startup.store_opening import browser_notes
from aahcrawler.exclusions import Exclusions
from aahcrawler.scope import Scope
from aahcrawler.tombstones import TakenDown
from aahcrawler.traps.traps import Traps
from knowledge_base.file_selection import folders_for
from online_analysis.analysers import analysers
from online_analysis.icd import Icd
from online_analysis.topic import build_topic


@dataclass(frozen=True, slots=True)
class OpenedDryRun:
    """The context of a dry run, and what a person has to know of it."""

    context: CrawlContext
    notes: tuple[str, ...]


def open_dry_run(path: Path, folders: tuple[Path, ...] = ()) -> OpenedDryRun:
    """Read a definition, its knowledge base and its reference documents, those on the web as well.

    Without ``folders`` the knowledge base is that which the crawl would have.

    A document that cannot be had is left out, and said to be. Raise ``IcdError``, ``LoadError``, and ``DamageError``
    where the takedowns of a crawl of the definition cannot be read.
    """
    icd = checked(Icd.load(path))
    values = {"keywords": icd.topic.keywords, "entities": icd.topic.entities}
    helper = LiveKnowledgeBase(folders or folders_for(icd.output), values, adapt=False).helper
    with tempfile.TemporaryDirectory(prefix="aah-") as spool:
        fetched = fetch_documents(icd, Path(spool), lambda _: None, reader(helper.knowledge_base))
    texts = {document.url: fetched.texts.get(document.url, "") for document in icd.document_urls()}
    topic = build_topic(icd, texts)
    scope = Scope(icd, taken_down=TakenDown.of(icd.output), exclusions=Exclusions.of(icd.output))
    context = CrawlContext(icd, lambda: helper, analysers(icd, topic), scope, topic=topic, traps=Traps(icd.traps))
    return OpenedDryRun(context, tuple(_notes(icd, fetched)))


def _notes(icd: Icd, fetched: Fetched) -> Iterator[str]:
    yield from notes(icd)
    yield from browser_notes(icd)
    yield from (f"{mistake}; scores are without it" for mistake in fetched.mistakes)
    network = icd.network
    if network.accounts or network.logins or network.headers or network.cookies_file:
        yield "sites are asked without logins, accounts, headers and cookies of the ICD; the crawl uses them"
    if icd.politeness.robots == "ignore":
        yield "robots.txt is ignored, as politeness.robots says"
