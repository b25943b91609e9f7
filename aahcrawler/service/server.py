"""Run the service's process: listening, logging, ending."""

import asyncio
import logging
import os
import sys
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from socket import socket
from typing import cast

import uvicorn
from starlette.types import ASGIApp

from aahcrawler.frontier.server.binary import REDIS_URL
from aahcrawler.listening import is_loopback
from aahcrawler.replay.replay_server import QuietServer
from aahcrawler.service.api.app import ServiceSettings, create_app
from aahcrawler.service.catalog.crawl_catalog import Catalog
from aahcrawler.service.catalog.crawl_registry import CrawlRegistry
from aahcrawler.service.instruments import Instruments
from aahcrawler.service.steering.crawl_management import go_on_deleting
from aahcrawler.service.views.live_feed import LiveFeed
from aahcrawler.service.web.entrance import HEAD_BYTES, HttpProtocol, Rates, UnfinishedHeads
from aahcrawler.service.web.noted_acts import ServiceLog
from aahcrawler.service.web.roles import TokenError, read_tokens

TOKEN = "AAH_SERVICE_TOKEN"  # noqa: S105 (the name of a variable)
HOST, PORT, RATE = "127.0.0.1", 8380, 50.0
CRAWLS = Path("crawls")
_GRACE = 10
"""Seconds that requests under way are given at the end."""
_LOG = "%(asctime)s %(levelname)s %(name)s: %(message)s"


class RefusedToServeError(Exception):
    """The service does not start; the message tells cause and remedy."""


@dataclass(frozen=True, slots=True)
class Listening:
    """The address to listen on, the file with tokens, if any, and the rate limit of a caller.

    ``rate`` is in requests a second, 0 for no limit. ``log`` is the log file of acts, None for the one beside the
    crawls.
    """

    host: str = HOST
    port: int = PORT
    token_file: Path | None = None
    rate: float = RATE
    log: Path | None = None


def serve(places: Sequence[Path], listening: Listening, schedule: Path | None = None) -> None:
    """Serve the crawls in ``places`` until the process is told to end; requests in progress are then completed.

    ``schedule`` is the file of a schedule to show, which operators may change. Raise ``RefusedToServeError`` if a place
    holds no crawls, if other machines could connect without a token, or if it cannot listen.
    """
    settings = prepare(places, listening, makes_folder=schedule is not None)
    log_to_terminal()
    instruments = Instruments.of(CrawlRegistry.of(settings.catalog, settings.shared), schedule=schedule)
    app = create_app(settings, instruments)
    server = Server(server_config(app, listening, UnfinishedHeads()), instruments.live)
    try:
        asyncio.run(server.serve())
    except SystemExit:
        raise RefusedToServeError(
            f"{listening.host}:{listening.port} cannot be listened on, see above; choose another --host or --port"
        ) from None


def log_to_terminal() -> None:
    """Write what is logged to standard error."""
    logging.basicConfig(stream=sys.stderr, level=logging.INFO, format=_LOG, force=True)


def server_config(app: ASGIApp, listening: Listening, heads: UnfinishedHeads) -> uvicorn.Config:
    """Return the HTTP server's configuration. Forwarding header fields are ignored: the client is whoever connects."""
    return uvicorn.Config(
        app,
        host=listening.host.removeprefix("[").removesuffix("]"),
        port=listening.port,
        http=cast("type[asyncio.Protocol]", partial(HttpProtocol, heads)),
        ws="none",
        proxy_headers=False,
        log_config=None,
        access_log=False,
        server_header=False,
        h11_max_incomplete_event_size=HEAD_BYTES,
        limit_concurrency=2 * heads.most,
        timeout_graceful_shutdown=_GRACE,
    )


def prepare(places: Sequence[Path], listening: Listening, *, makes_folder: bool = False) -> ServiceSettings:
    """Check the settings and read the tokens. Raise ``RefusedToServeError``.

    Without places, the folder ``crawls`` is used. It is created with ``makes_folder``, and may be missing if a shared
    server knows the crawls.
    """
    shared = os.environ.get(REDIS_URL) or None
    if not places:
        if makes_folder and shared is None:
            with suppress(FileExistsError):  # Of a file of this name: it is refused below.
                CRAWLS.mkdir(exist_ok=True)
        places = [CRAWLS] if shared is None or CRAWLS.is_dir() else []
    for place in places:
        if not place.is_dir():
            raise RefusedToServeError(f"{place}: is no folder; name folders of crawls, or one that holds them")
    try:
        tokens = read_tokens(os.environ.get(TOKEN, ""), listening.token_file)
    except TokenError as error:
        raise RefusedToServeError(str(error)) from None
    if not tokens and not is_loopback(listening.host):
        raise RefusedToServeError(
            f"{listening.host} can be reached by others: set {TOKEN} or give --token-file, or listen on {HOST}"
        )
    catalog = Catalog(places)
    go_on_deleting(catalog.deleted())
    log = ServiceLog(listening.log.absolute() if listening.log is not None else catalog.service_log())
    return ServiceSettings(catalog, shared, tokens, rates=Rates.of(listening.rate), log=log)


class Server(QuietServer):
    """A server that ends event streams when it is told to end."""

    def __init__(self, config: uvicorn.Config, live: LiveFeed) -> None:
        super().__init__(config)
        self._live = live

    async def shutdown(self, sockets: list[socket] | None = None) -> None:
        """End event streams, which would not end by themselves, then complete requests in progress."""
        self._live.end()
        await super().shutdown(sockets)
