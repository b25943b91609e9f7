"""Run the cockpit's server process: its host names, the code shown in the terminal, and its sockets."""

import asyncio
import errno
import secrets
import socket
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final
from urllib.parse import urlsplit

from starlette.types import ASGIApp

from aahcrawler.listening import is_loopback, listener
from aahcrawler.replay.page_marks import MarkedPages
from aahcrawler.replay.replay_app import ReplayAccess, replay_app
from aahcrawler.search.snippets import words_in
from aahcrawler.service.api.app import ServiceSettings, create_app
from aahcrawler.service.catalog.crawl_registry import CrawlRegistry
from aahcrawler.service.cockpit.app import cockpit_app
from aahcrawler.service.cockpit.origins import Names, host_name
from aahcrawler.service.cockpit.replay_marks import RegistryFolders, ReplayMarks
from aahcrawler.service.cockpit.sign_in import SignIn
from aahcrawler.service.cockpit.site import Site
from aahcrawler.service.instruments import Instruments
from aahcrawler.service.server import (
    HOST,
    Listening,
    RefusedToServeError,
    Server,
    log_to_terminal,
    prepare,
    server_config,
)
from aahcrawler.service.steering.unfound_searches import UNFOUND, UnfoundSearches
from aahcrawler.service.views.page_pictures import PagePictures
from aahcrawler.service.web.entrance import UnfinishedHeads
from aahcrawler.service.web.roles import LOCAL, Tokens

PORT: Final = 8390
REPLAY_HOST: Final = "localhost"
"""The name of this machine that archived pages have to themselves, where the cockpit is at ``127.0.0.1``."""


@dataclass(frozen=True, slots=True)
class Published:
    """The origins under which a proxy publishes cockpit and archived pages; empty without a proxy."""

    cockpit: str = ""
    replay: str = ""


def serve_cockpit(
    places: Sequence[Path],
    listening: Listening,
    published: Published,
    say: Callable[[str], None],
    *,
    counts_unfound: bool = False,
    schedule: Path | None = None,
) -> None:
    """Serve the cockpit until the process is told to end. ``say`` is called with its address and each one-time code.

    With ``counts_unfound``, searches without results that several readers make are counted anonymously. ``schedule`` is
    the file of a schedule to show. Raise ``RefusedToServeError`` if it cannot listen, or would not be safe.
    """
    settings = prepare(places, listening, makes_folder=True)
    unfound = _unfound(settings.catalog.place_for_new()) if counts_unfound else None
    with _bound(listening) as sockets:
        port = sockets[0].getsockname()[1]
        names = names_of(replace(listening, port=port), published)
        is_local = is_loopback(listening.host)

        def tell(code: str) -> None:
            say(f"Sign in with the code {code} (good for one sign-in)")

        sign_in = SignIn(settings.tokens.caller, tell, LOCAL if is_local else None, has_tokens=bool(settings.tokens))
        say(f"The cockpit is at {names.cockpit}/ until Ctrl-C")
        if is_local:
            tell(sign_in.code)
        log_to_terminal()
        instruments = Instruments.of(
            CrawlRegistry.of(settings.catalog, settings.shared), PagePictures(), unfound, schedule
        )
        app = assembled(settings, instruments, names, sign_in)
        server = Server(server_config(app, listening, UnfinishedHeads()), instruments.live)
        asyncio.run(server.serve(sockets=list(sockets)))


def _unfound(place: Path | None) -> UnfoundSearches:
    if place is None:
        raise RefusedToServeError("--count-unfound: name a folder that holds crawls, in which they are counted")
    return UnfoundSearches(place / UNFOUND)


def assembled(settings: ServiceSettings, instruments: Instruments, names: Names, sign_in: SignIn) -> ASGIApp:
    """Return the cockpit with JSON interface and replay, which share the crawls.

    Without tokens, the JSON interface admits nobody, since it would bypass the code.
    """
    door = ReplayAccess.new(names.cockpit, is_open=sign_in.is_open)
    tokens = settings.tokens or Tokens.bare(secrets.token_urlsafe(32))
    api = create_app(replace(settings, tokens=tokens), instruments)
    marked = MarkedPages()
    replay = replay_app(
        RegistryFolders(instruments.reach),
        [host_name(names.replay)],
        door=door,
        annotate=ReplayMarks(instruments),
        find_words=words_in,
        marked=marked,
    )
    site = Site.of(instruments, sign_in, names, door.tickets.issue, marked, settings.rates)
    return cockpit_app(site, api, replay, settings.log)


def names_of(listening: Listening, published: Published) -> Names:
    """Return the origins of cockpit and replay. Raise ``RefusedToServeError`` if they would share cookies."""
    if published.cockpit or published.replay:
        origins = [_origin(text) for text in (published.cockpit, published.replay)]
    elif is_loopback(listening.host) and listening.host != REPLAY_HOST:
        host = f"[{listening.host}]" if ":" in listening.host.strip("[]") else listening.host
        origins = [_with_port(host, listening.port), _with_port(REPLAY_HOST, listening.port)]
    else:
        raise RefusedToServeError(
            f"{listening.host}: say with --name and --replay-name by which two host names browsers reach this machine, "
            f"such as https://cockpit.example.org and https://replay.example.org; or listen on {HOST}"
        )
    try:
        return Names(*origins)
    except ValueError as error:
        raise RefusedToServeError(f"--name and --replay-name: {error}") from None


def _with_port(host: str, port: int) -> str:
    return f"http://{host}" if port == 80 else f"http://{host}:{port}"


def _origin(text: str) -> str:
    parts = urlsplit(text)
    is_safe = parts.scheme == "https" or (parts.scheme == "http" and is_loopback(parts.hostname or ""))
    if not is_safe or not parts.hostname or parts.path.strip("/") or parts.query or parts.username:
        raise RefusedToServeError(
            f"{text!r}: --name and --replay-name are origins such as https://cockpit.example.org; without https, "
            "whoever listens in could sign in as well"
        )
    return f"{parts.scheme}://{parts.netloc.lower()}"


@contextmanager
def _bound(listening: Listening) -> Iterator[Sequence[socket.socket]]:
    """Lend the listening sockets; on loopback both address families, as browsers use either for ``localhost``."""
    host = listening.host.strip("[]")
    opened: list[socket.socket] = []
    try:
        opened.append(_listening(host, listening.port))
        if is_loopback(host):
            port = opened[0].getsockname()[1]
            for other in {"127.0.0.1", "::1"} - {host}:
                with suppress(_NoFamilyError):
                    opened.append(_listening(other, port))
        yield opened
    finally:
        for each in opened:
            each.close()


class _NoFamilyError(Exception):
    """The machine has no addresses of a protocol family."""


def _listening(host: str, port: int) -> socket.socket:
    try:
        return listener(host, port)
    except OSError as error:
        if ":" in host and error.errno in (errno.EADDRNOTAVAIL, errno.EAFNOSUPPORT):
            raise _NoFamilyError from None
        raise RefusedToServeError(
            f"{host}:{port} cannot be listened on ({error.strerror}); choose another --port"
        ) from None
