"""Connections to a Redis-protocol server, and its errors in words."""

from collections.abc import Iterator
from contextlib import contextmanager

from redis import Redis, exceptions
from redis.backoff import NoBackoff
from redis.retry import Retry

from aahcrawler.frontier.protocol import FrontierFullError, FrontierUnavailableError

_CONNECT_SECONDS = 5.0
_ANSWER_SECONDS = 60.0

_MEMORY = "the frontier's server has used up its memory (maxmemory); give it more and go on, nothing was lost"
_REPLICA = "the frontier's server is a read-only replica; connect to its primary"
_FULL = "the frontier's server cannot write to its disk; make room or correct its permissions and go on"
_REFUSALS: tuple[tuple[type[exceptions.RedisError], str], ...] = (
    (
        exceptions.AuthenticationError,
        "the frontier's server accepts no user name and password like those in its address",
    ),
    (exceptions.BusyLoadingError, "the frontier's server is still loading; try again in a moment"),
    (exceptions.TimeoutError, "the frontier's server does not answer; see its log"),
    (exceptions.ConnectionError, "the frontier's server cannot be reached; start it, then start the crawl again"),
    (exceptions.OutOfMemoryError, _MEMORY),
    (exceptions.ReadOnlyError, _REPLICA),
    (exceptions.NoPermissionError, "the frontier's server does not allow this user scripts, hashes and sorted sets"),
)
_CODES = {
    "OOM": _MEMORY,
    "READONLY": _REPLICA,
    "MISCONF": _FULL,
    "BUSY": "the frontier's server is held up by a script; try again in a moment",
}


def connect(url: str) -> Redis:
    """Return a client for ``unix://``, ``redis://`` or ``rediss://``; the connection is made with the first call.

    Nothing is sent twice by the client: a call that was cut off raises, and its caller decides. Raise
    ``FrontierUnavailableError`` for an address that cannot be one.
    """
    try:
        return Redis.from_url(
            url,
            protocol=2,
            socket_connect_timeout=_CONNECT_SECONDS,
            socket_timeout=_ANSWER_SECONDS,
            retry=Retry(NoBackoff(), 0),
        )
    except ValueError as error:
        raise FrontierUnavailableError(
            f"{url!r} is no address of a frontier's server; write redis://HOST:PORT/0 or unix:///PATH"
        ) from error


@contextmanager
def unavailable() -> Iterator[None]:
    """Turn a server that cannot be reached, or refuses to serve, into ``FrontierUnavailableError``.

    One that cannot write to its disk gives ``FrontierFullError``.
    Other errors of the server are defects of the caller and pass through.
    """
    try:
        yield
    except exceptions.RedisError as error:
        advice = _advice(error)
        if advice is None:
            raise
        raised = FrontierFullError if advice is _FULL else FrontierUnavailableError
        raise raised(f"{advice} ({error})") from error


def _advice(error: exceptions.RedisError) -> str | None:
    for kind, advice in _REFUSALS:
        if isinstance(error, kind):
            return advice
    words = {word.strip("-:,.'") for word in str(error).split()}
    return next((advice for code, advice in _CODES.items() if code in words), None)
