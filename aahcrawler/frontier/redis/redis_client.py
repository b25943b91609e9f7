"""Connect to a Redis-protocol server, and translate its errors into those of the frontier, with messages for people."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import NamedTuple, cast

from redis import Redis, RedisCluster, exceptions
from redis.backoff import NoBackoff
from redis.retry import Retry

from aahcrawler.frontier.protocol import FrontierAwayError, FrontierFullError, FrontierUnavailableError

_CLUSTER_SCHEME = "+cluster"
_CONNECT_SECONDS = 5.0
_ANSWER_SECONDS = 20.0
"""How long to wait for a response. A script takes some ten milliseconds; a slow disk may hold the server for seconds.
"""


class _Refusal(NamedTuple):
    """The exception to raise for an error of the server, and the remedy."""

    error: type[FrontierUnavailableError]
    advice: str


_LOADING = _Refusal(FrontierAwayError, "the frontier's server is still loading; wait a moment")
_MEMORY = _Refusal(
    FrontierUnavailableError,
    "the frontier's server has used up its memory (maxmemory); give it more and go on, nothing was lost",
)
_REPLICA = _Refusal(
    FrontierAwayError,
    "the frontier's server is a read-only replica; make it the primary, or give its primary this URL",
)
_FULL = _Refusal(
    FrontierFullError, "the frontier's server cannot write to its disk; make room or correct its permissions and go on"
)
_PASSWORD = _Refusal(
    FrontierUnavailableError, "the frontier's server accepts no user name and password like those in its URL"
)
_CLUSTER = _Refusal(FrontierAwayError, "the frontier's cluster does not serve all of its keys; see its nodes")
_REPLICAS = _Refusal(FrontierAwayError, "the frontier's server misses its replicas; see that they run")
_REFUSALS: tuple[tuple[type[exceptions.RedisError], _Refusal], ...] = (
    (exceptions.AuthenticationError, _PASSWORD),
    (exceptions.BusyLoadingError, _LOADING),
    (exceptions.TimeoutError, _Refusal(FrontierAwayError, "the frontier's server does not answer; see its log")),
    (
        exceptions.ConnectionError,
        _Refusal(FrontierAwayError, "the frontier's server cannot be reached; see that it runs at this URL"),
    ),
    (
        exceptions.MovedError,
        _Refusal(
            FrontierUnavailableError, "the frontier's server is a node of a cluster; write redis+cluster://HOST:PORT"
        ),
    ),
    (exceptions.OutOfMemoryError, _MEMORY),
    (exceptions.ReadOnlyError, _REPLICA),
    (
        exceptions.NoPermissionError,
        _Refusal(
            FrontierUnavailableError, "the frontier's server does not allow this user scripts, hashes and sorted sets"
        ),
    ),
)
_CODES = {
    "OOM": _MEMORY,
    "READONLY": _REPLICA,
    "MISCONF": _FULL,
    "BUSY": _Refusal(FrontierAwayError, "the frontier's server is held up by a script; wait a moment"),
    "CLUSTERDOWN": _CLUSTER,
    "TRYAGAIN": _CLUSTER,
    "MASTERDOWN": _REPLICA,
    "NOREPLICAS": _REPLICAS,
    # What servers reply, before authentication, to calls with many or long arguments.
    "unauthenticated": _PASSWORD,
}


def connect(url: str) -> Redis:
    """Return a client for ``unix://``, ``redis://`` or ``rediss://``; it connects at the first call.

    ``redis+cluster://`` and ``rediss+cluster://`` name any node of a Redis Cluster, from which the client learns the
    others at once; a node may redirect a call to another. Apart from that, the client sends nothing twice: an
    interrupted call raises, and its caller decides. Raises ``FrontierUnavailableError`` for an invalid URL.
    """
    scheme, _, rest = url.partition("://")
    timeouts = {"socket_connect_timeout": _CONNECT_SECONDS, "socket_timeout": _ANSWER_SECONDS}
    try:
        if scheme.endswith(_CLUSTER_SCHEME):
            return _connect_cluster(f"{scheme.removesuffix(_CLUSTER_SCHEME)}://{rest}", timeouts)
        return Redis.from_url(url, protocol=2, retry=Retry(NoBackoff(), 0), **timeouts)
    except ValueError as error:
        raise FrontierUnavailableError(
            f"{url!r} is no URL of a frontier's server; write redis://HOST:PORT/0, redis+cluster://HOST:PORT or unix:///PATH"
        ) from error


def _connect_cluster(url: str, timeouts: Mapping[str, float]) -> Redis:
    # One retry follows a slot that has moved to another node; such a call was not carried out before.
    try:
        cluster = RedisCluster.from_url(url, protocol=2, retry=Retry(NoBackoff(), 1), **timeouts)
    except exceptions.RedisClusterException as error:
        raise FrontierAwayError(f"{_CLUSTER.advice} ({error})") from error
    return cast("Redis", cluster)  # The commands that a frontier uses are those of a single server.


@contextmanager
def unavailable() -> Iterator[None]:
    """Raise ``FrontierUnavailableError`` for an error of a server that cannot be reached, or refuses to serve.

    Raises ``FrontierAwayError`` if the server may serve later, for example while a primary is replaced, and
    ``FrontierFullError`` if it cannot write to its disk. Other errors of the server are bugs of the caller and pass
    through.
    """
    try:
        yield
    except exceptions.RedisError as error:
        refusal = _refusal(error)
        if refusal is None:
            raise
        raise refusal.error(f"{refusal.advice} ({error})") from error


def _refusal(error: exceptions.RedisError) -> _Refusal | None:
    for kind, refusal in _REFUSALS:
        if isinstance(error, kind):
            return refusal
    words = {word.strip("-:,.'") for word in str(error).split()}
    return next((refusal for code, refusal in _CODES.items() if code in words), None)
