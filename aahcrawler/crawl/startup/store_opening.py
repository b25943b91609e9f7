"""The stores of a crawl, opened one by one."""

import json
import os
from collections.abc import Mapping
from contextlib import ExitStack
from datetime import UTC, datetime

from aahcrawler import __version__
from aahcrawler.archive.delivery import Delivery
from aahcrawler.archive.history import History, HistoryRecord, Writers
from aahcrawler.archive.records import CrawlInfo
from aahcrawler.archive.writer import WarcWriter
from aahcrawler.crawl.directory.folder import CrawlFolder
from aahcrawler.crawl.peers.peer_export import TOKEN, PeerExport
from aahcrawler.crawl.peers.score_push import PushPolicy, ScorePusher
from aahcrawler.exchange import Exchange
from aahcrawler.refusals import RefusalLog
from aahcrawler.scores import ScoreLog, Terms
from aahcrawler.wire.ip_policy import IpPolicy
from online_analysis.icd import Icd


def open_history(folder: CrawlFolder, *, is_shared: bool) -> History:
    """Open what was captured by the crawls of a folder; with ``is_shared`` others may have it open as well."""
    if not is_shared:
        return History(folder.archive, folder.indexes)
    return History(folder.archive, folder.indexes, writers=Writers.FIRST if folder.is_first else Writers.JOINED)


def open_score_log(icd: Icd, folder: CrawlFolder, named: str) -> ScoreLog:
    """Open the log of scores; its files are ``named`` so."""
    terms = Terms(folder.run.number, icd.scoring)
    return ScoreLog(folder.scores, named, terms, lambda: datetime.now(UTC), size=icd.archive.size)


def open_refusal_log(icd: Icd, folder: CrawlFolder, named: str) -> RefusalLog:
    """Open the log of refused links; its files are ``named`` so."""
    number = folder.run.number
    return RefusalLog(folder.refused, named, number, lambda: datetime.now(UTC), size=icd.archive.size)


def begin_delivery(icd: Icd, folder: CrawlFolder, opening: ExitStack) -> Delivery | None:
    """Begin to copy closed files to the ICD's target; ends after the writers, whose last files it still takes."""
    address = icd.archive.target
    return opening.enter_context(Delivery(folder.root, icd.id, address)) if address else None


def peer_export(icd: Icd, policy: IpPolicy) -> PeerExport | None:
    """Return what pushes links to another instance, None where the definition does not ask for that."""
    wanted = icd.scoring.post_to
    if wanted is None:
        return None
    target = f"{wanted.url.rstrip('/')}/v1/crawls/{wanted.crawl}/urls"
    poster = ScorePusher(target, os.environ.get(TOKEN, ""), PushPolicy(timeout=10.0))
    return PeerExport(poster, wanted.at_least, policy)


_NOBODYS_BUSINESS: Mapping[str, bool | set[str]] = {
    "archive": True,
    "output": True,
    "network": {"cookies_file", "accounts", "headers", "logins", "proxy", "hosts"},
}
"""What of a definition an archive does not tell: where this machine keeps things, as whom sites know it,
and through what it reaches them."""


def crawl_info(icd: Icd, number: int) -> CrawlInfo:
    """Return what the first record of each WARC file says of a crawl."""
    return CrawlInfo(
        crawl=icd.id,
        software=f"AAHCrawler/{__version__}",
        operator=icd.operator,
        contact=icd.contact,
        user_agent=icd.user_agent(),
        robots=icd.politeness.robots,
        description=icd.metadata.description or icd.title,
        described=tuple(each for each in described(icd) if each[0] != "description"),
        definition=json.dumps(icd.model_dump(mode="json", exclude=_NOBODYS_BUSINESS, exclude_none=True)),
        crawl_number=number,
    )


def described(icd: Icd) -> tuple[tuple[str, str], ...]:
    """Return what a crawl is described by, its title first; nothing where its definition has a title at most."""
    terms = tuple(icd.metadata.terms())
    return (("title", icd.title), *terms) if terms else ()


def archive_exchange(archive: WarcWriter, history: History, number: int, exchange: Exchange) -> None:
    """Archive an exchange, and add it to the history."""
    history.add(HistoryRecord.of(archive.write(exchange), exchange, number))
