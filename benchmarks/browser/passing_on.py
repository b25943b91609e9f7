"""Answers requests by passing them on to software that listens on another port of loopback."""

import http.client
from collections.abc import Callable
from typing import Final

from benchmarks.browser.replies import Reply, Request, page

_HOPS: Final = frozenset(
    {"connection", "keep-alive", "transfer-encoding", "te", "trailer", "upgrade", "proxy-connection", "content-length"}
)
_LONGEST: Final = 60.0


def passed_on(port: int) -> Callable[[Request], Reply]:
    """Return what answers requests as the software on a port does: its fields and its body, with a length."""

    def answer(request: Request) -> Reply:
        connection = http.client.HTTPConnection("127.0.0.1", port, timeout=_LONGEST)
        try:
            connection.putrequest(request.method, request.target, skip_host=True, skip_accept_encoding=True)
            for name, value in request.fields:
                if name.lower() not in _HOPS:
                    connection.putheader(name, value)
            if request.body:
                connection.putheader("Content-Length", str(len(request.body)))
            connection.endheaders(request.body or None)
            answered = connection.getresponse()
            body = answered.read()
        except (OSError, http.client.HTTPException):
            return page("<!doctype html><title>Bad gateway</title>", status=502)
        finally:
            connection.close()
        fields = tuple((name, value) for name, value in answered.getheaders() if name.lower() not in _HOPS)
        return Reply((body,), answered.status, fields)

    return answer
