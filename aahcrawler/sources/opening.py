"""Open the sources that a definition names."""

from datetime import UTC, datetime
from pathlib import Path
from urllib.parse import urlsplit

from aahcrawler.layout import SOURCES, TIME_MAPS
from aahcrawler.sources.archive_client import ArchiveClient
from aahcrawler.sources.cdx_server import CdxSource
from aahcrawler.sources.local_archives import open_archives
from aahcrawler.sources.memento_source import MementoSource, TimeMapCache
from aahcrawler.sources.remote_captures import RemoteCaptures
from aahcrawler.sources.source import SnapshotChoice, Source
from online_analysis.icd import CaptureSource


def open_source(given: CaptureSource, folder: Path, choice: SnapshotChoice, client: ArchiveClient | None) -> Source:
    """Open a source other than the live web.

    Its files are kept in ``folder``; ``client`` makes its requests over the network. Raise ``ArchiveFolderError``.
    """
    if client is not None and given.memento is not None:
        name = given.name or urlsplit(given.memento.timegate or given.memento.timemap or "").netloc
        cache = TimeMapCache(folder / SOURCES / TIME_MAPS)
        return MementoSource(name, given.memento, choice, RemoteCaptures(client, name, _now), cache)
    if client is not None and given.cdx is not None:
        name = given.name or urlsplit(given.cdx.server).netloc
        return CdxSource(name, given.cdx, choice, RemoteCaptures(client, name, _now))
    return open_archives(given.name, given.archive, folder, choice, _now)


def _now() -> datetime:
    return datetime.now(UTC)
