"""Connect to the frontier of a crawl, whether or not the crawl runs."""

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
from aahcrawler.lending import lending, take_back, try_acquire


class NoCrawlError(Exception):
    """The folder holds no crawl that has begun; the message says so."""


@dataclass(frozen=True, slots=True)
class Crawl:
    """The current crawl of a folder: the id of its definition, and its number among the crawls of that definition."""

    folder: Path
    id: str
    number: int


def crawl_of(folder: Path) -> Crawl:
    """Return the current crawl of a folder. Raise ``NoCrawlError`` if none has begun there."""
    try:
        return Crawl(folder, read_id(folder / DEFINITION), number(folder))
    except (OSError, ValueError):
        raise NoCrawlError(f"{folder}: holds no crawl; name the folder that the definition calls output") from None


@contextmanager
def server_of(folder: Path, *, alone: bool = False) -> Iterator[str]:
    """Lend the URL of the server that keeps the frontier of a folder's crawl.

    That is the shared server if the environment names one, else the server of the running crawl, else one that another
    process runs to look at the crawl. If there is none of them, the crawl's own server runs until the context ends, and
    the crawl cannot be started meanwhile. With ``alone``, the crawl cannot be started in any case.

    Raise ``FrontierUnavailableError``, whose message says why, if there is no frontier, or with ``alone`` if the crawl
    runs.
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
    """Run the frontier server of a crawl that is not running. The crawl cannot be started until the context ends.

    With ``alone``, first make other processes that run this server give it up. Another thread than the one that entered
    may leave the context. Raise ``FrontierUnavailableError``, whose message says why, if there is no frontier or the
    crawl runs.
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
    """Hold the folder's lock, so that no crawl can be started in it.

    With ``alone``, first make processes that look at the crawl let go. Raise ``FrontierUnavailableError`` if the lock
    cannot be had.
    """
    frontier, lock = folder / FRONTIER, FileLock(folder / LOCK, timeout=0, thread_local=False)
    lends, attempt = lending(frontier), partial(try_acquire, lock)
    with ExitStack() as held:
        held.callback(lends.release)
        held.callback(lock.release)
        try:
            is_had = take_back(frontier, attempt) if alone else try_acquire(lends) and attempt()
        except OSError as error:
            raise FrontierUnavailableError(f"its server cannot be started in {frontier}: {error.strerror}") from error
        if not is_had:
            lender = lender_of(frontier)
            looked_at = f"process {lender} looks at it; end that one first" if lender else ""
            raise FrontierUnavailableError(looked_at or "the crawl is just starting or ending; ask again in a moment")
        yield
