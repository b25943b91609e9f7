"""Runs ``aah replay``: serves the captures of crawls on this machine only."""

import asyncio
import logging
import socket
import sys
from collections.abc import Callable, Sequence
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any, Final

import uvicorn
from starlette.types import ASGIApp

from aahcrawler.archive.folders import ArchiveError, ArchiveFolder
from aahcrawler.definitions import DefinitionError, read_definition
from aahcrawler.layout import DEFINITION, DELETED
from aahcrawler.listening import is_loopback, listener
from aahcrawler.replay.replay_app import FixedFolders, replay_app

HOST: Final = "127.0.0.1"
PORT: Final = 8381
_MAX_AT_ONCE: Final = 64
_GRACE: Final = 2
_LOOPBACK_NAMES: Final = ("localhost", "127.0.0.1", "[::1]")
_LOG: Final = "%(asctime)s %(levelname)s %(name)s: %(message)s"


class RefusedToReplayError(Exception):
    """Raised where the replay does not start; the message tells cause and remedy."""


def folders_of(places: Sequence[Path], tell: Callable[[str], object] = lambda _: None) -> dict[str, Path]:
    """Return the folders of crawls by id. Each place is the folder of a crawl, or one that contains some.

    Contained folders without a readable archive are left out and reported through ``tell``. Raises
    ``RefusedToReplayError`` for a place without any folder that can be shown, and where two have the same id.
    """
    found: dict[str, Path] = {}
    for place in places:
        folders = [place] if (place / DEFINITION).is_file() else sorted(_within(place))
        if not folders:
            raise RefusedToReplayError(f"{place}: holds no crawl; name the output folder of one")
        shown, problem = 0, ""
        for folder in folders:
            try:
                name = _id_of(folder)
            except RefusedToReplayError as error:
                if folder == place:
                    raise
                problem = str(error)
                tell(f"left out: {problem}")
                continue
            shown += 1
            if found.setdefault(name, folder) != folder:
                raise RefusedToReplayError(f"{folder}: {found[name]} has the id {name}, too; name one of them")
        if not shown:
            raise RefusedToReplayError(problem)
    return found


def serve(places: Sequence[Path], host: str, port: int, tell: Callable[[str], None]) -> None:
    """Serve the captures of the crawls in ``places`` until the process is told to end; ``tell`` gets the address.

    Crawls that are left out because they have no archive yet are listed on standard error. Raises
    ``RefusedToReplayError`` where nothing can be served.
    """
    name = host.removeprefix("[").removesuffix("]")
    if not is_loopback(name):
        raise RefusedToReplayError(
            f"{host} can be reached by others, and the replay asks nobody who they are: use {HOST}"
        )
    app = replay_app(
        FixedFolders(folders_of(places, lambda line: sys.stderr.write(f"{line}\n"))), (*_LOOPBACK_NAMES, host)
    )
    logging.basicConfig(stream=sys.stderr, level=logging.WARNING, format=_LOG, force=True)
    with closing(_listener(name, port)) as listener:
        written = f"[{name}]" if ":" in name else name
        tell(f"http://{written}:{listener.getsockname()[1]}/")
        asyncio.run(QuietServer(server_config(app)).serve([listener]))


def server_config(app: ASGIApp) -> uvicorn.Config:
    """Return the HTTP server's configuration."""
    return uvicorn.Config(
        app,
        ws="none",
        lifespan="off",
        proxy_headers=False,
        log_config=None,
        access_log=False,
        server_header=False,
        limit_concurrency=_MAX_AT_ONCE,
        timeout_graceful_shutdown=_GRACE,
    )


class QuietServer(uvicorn.Server):
    """A server for which being told to end is no error of the process."""

    @contextmanager
    def capture_signals(self) -> Any:
        """Shut down in order on SIGINT and SIGTERM, without raising them again afterwards."""
        with super().capture_signals():
            yield
            self._captured_signals.clear()


def _listener(name: str, port: int) -> socket.socket:
    try:
        address = socket.getaddrinfo(name, port, type=socket.SOCK_STREAM)[0][4]
        return listener(str(address[0]), port)
    except OSError as error:
        raise RefusedToReplayError(
            f"{name}:{port} cannot be listened on ({error.strerror}); choose another --host or --port"
        ) from None


def _within(place: Path) -> list[Path]:
    inner = [path for path in place.iterdir() if not path.name.startswith(DELETED)] if place.is_dir() else []
    return [path for path in inner if (path / DEFINITION).is_file()]


def _id_of(folder: Path) -> str:
    try:
        ArchiveFolder.at(folder)
        return read_definition(folder / DEFINITION).id
    except (ArchiveError, DefinitionError, OSError) as error:
        raise RefusedToReplayError(str(error)) from None
