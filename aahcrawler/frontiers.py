"""Find the frontier of a crawl, whether or not the crawl runs."""

import os
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, nullcontext
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from filelock import FileLock

from aahcrawler.crawls import number
from aahcrawler.definitions import read_id
from aahcrawler.frontier.protocol import FrontierUnavailableError
from aahcrawler.frontier.server.binary import REDIS_URL
from aahcrawler.frontier.server.embedded import EmbeddedServer
from aahcrawler.frontier.server.server_process import lender_of, lent_at, served_at
from aahcrawler.layout import DEFINITION, FRONTIER, LOCK
from aahcrawler.lending import acquired, lending, taken_back


class NoCrawlError(Exception):
    """A folder is no crawl's; the message says so."""


@dataclass(frozen=True, slots=True)
class Crawl:
    """The crawl at hand in a folder: its id, and its number among the crawls of its definition."""

    folder: Path
    id: str
    number: int


def crawl_of(folder: Path) -> Crawl:
    """Return the crawl of a folder. Raise ``NoCrawlError`` where it holds none that has begun."""
    try:
        return Crawl(folder, read_id(folder / DEFINITION), number(folder))
    except (OSError, ValueError):
        raise NoCrawlError(f"{folder}: holds no crawl; name the folder that the definition calls output") from None


@contextmanager
def server_of(folder: Path, *, alone: bool = False) -> Iterator[str]:
    """Lend the URL of the server that keeps the frontier of a folder's crawl.

    It is the shared one, that of the crawl where it runs, and else its own, which is started for the time being and
    keeps the crawl from being started meanwhile. With ``alone`` the crawl is kept from being started in any case.
    Raise ``FrontierUnavailableError`` where there is none, or where the crawl runs that is to be kept from it; the
    message says why.
    """
    shared, own = os.environ.get(REDIS_URL), served_at(folder / FRONTIER)
    if alone and own:
        raise FrontierUnavailableError(f"{folder}: its crawl is running; stop it first")
    found = shared or own or (None if alone else lent_at(folder / FRONTIER))
    if found:
        with kept_out(folder, alone=True) if alone else nullcontext():
            yield found
        return
    with started_server(folder, alone=alone) as server:
        yield server.url


@contextmanager
def started_server(folder: Path, *, alone: bool = False) -> Iterator[EmbeddedServer]:
    """Run the server of a crawl that does not run, which is kept from being started meanwhile.

    With ``alone``, others who look at it let go of it first. It may be left by another thread than the one that
    entered. Raise ``FrontierUnavailableError`` where there is none, or where the crawl runs; the message says why.
    """
    if not (folder / FRONTIER).is_dir():
        raise FrontierUnavailableError(
            f"{folder / FRONTIER} is gone; if the crawl has a shared server, set {REDIS_URL}"
        )
    with kept_out(folder, alone=alone), ExitStack() as started:
        try:
            server = started.enter_context(EmbeddedServer(folder / FRONTIER, lent=True))
        except OSError as error:
            raise FrontierUnavailableError(
                f"its server cannot be started in {folder / FRONTIER}: {error.strerror}"
            ) from error
        yield server


@contextmanager
def kept_out(folder: Path, *, alone: bool) -> Iterator[None]:
    """Keep crawls out of a folder; with ``alone`` those who look at its crawl have to let go of it."""
    frontier, lock = folder / FRONTIER, FileLock(folder / LOCK, timeout=0, thread_local=False)
    lends, attempt = lending(frontier), partial(acquired, lock)
    with ExitStack() as held:
        held.callback(lends.release)
        held.callback(lock.release)
        try:
            is_had = taken_back(frontier, attempt) if alone else acquired(lends) and attempt()
        except OSError as error:
            raise FrontierUnavailableError(f"its server cannot be started in {frontier}: {error.strerror}") from error
        if not is_had:
            lender = lender_of(frontier)
            looked_at = f"process {lender} looks at it; end that one first" if lender else ""
            raise FrontierUnavailableError(looked_at or "the crawl is just starting or ending; ask again in a moment")
        yield
