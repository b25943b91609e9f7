"""Speak the DevTools protocol with a browser over the two pipes of ``--remote-debugging-pipe``.

Messages are JSON. Sessions are flat: a message names the session to which it belongs; only the browser's own session
has no name (https://chromedevtools.github.io/devtools-protocol/tot/Target/#method-attachToTarget).
"""

import asyncio
import json
import os
import re
from collections.abc import Callable, Mapping
from typing import Any, Self


class DevToolsError(Exception):
    """Raised when a command failed: the browser refused it, or its target is gone."""


class BrowserCrashedError(DevToolsError):
    """Raised when the browser, or the process of a page, has ended while it was needed."""


class PageCrashedError(BrowserCrashedError):
    """Raised when the process of a page has ended; the browser and other pages continue."""


MESSAGE_BYTES = 64 * 2**20
"""The longest message that is accepted. A page can make long ones by its logs, its data URLs and its DOM."""
PENDING_CALLS = 10_000
WAITING_BYTES = 64 * 2**20

_ID = re.compile(rb'\{"id":(\d+)[,}]')
_EVENT = re.compile(rb'\{"method":"([^"]+)"')
_DETACHED = "Target.detachedFromTarget"

Listener = Callable[[dict[str, Any]], None]


class DevTools:
    """A connection to one browser; created by ``over``.

    Listeners are called with events in the order of their arrival, while they are read, so they must be quick. They may
    send commands by ``post``. If one raises, the loop's exception handler is called.
    """

    def __init__(self) -> None:
        self._calls: dict[int, tuple[str, asyncio.Future[dict[str, Any]]]] = {}
        self._listeners: dict[str, dict[str, Listener]] = {_DETACHED: {}}
        self._last_id = 0
        self._has_ended = asyncio.Event()
        self._pipe = MessagePipe(self._take, self._end, MESSAGE_BYTES)

    @classmethod
    async def over(cls, pipe: tuple[int, int]) -> Self:
        """Connect to a browser, given the file descriptors to write to and to read from; both are closed at the end."""
        devtools = cls()
        await devtools._pipe.open(*pipe)
        return devtools

    @property
    def closed(self) -> bool:
        """Whether either side has ended the connection."""
        return self._has_ended.is_set()

    async def ended(self) -> None:
        """Wait until either side ends the connection."""
        await self._has_ended.wait()

    def close(self) -> None:
        """End the connection, which ends the browser."""
        self._pipe.close()

    async def call(self, method: str, params: Mapping[str, Any] | None = None, session: str = "") -> dict[str, Any]:
        """Send a command and return its result.

        There is no timeout: a page whose script never ends does not respond. Raises ``DevToolsError`` if the browser
        refuses the command, its target is gone, or the result is longer than ``MESSAGE_BYTES``; and
        ``BrowserCrashedError`` if the browser has ended or ends.
        """
        return await self.post(method, params, session)

    def post(
        self, method: str, params: Mapping[str, Any] | None = None, session: str = ""
    ) -> asyncio.Future[dict[str, Any]]:
        """Send a command now and return a future with what ``call`` would return or raise.

        The future may be ignored.
        """
        answer: asyncio.Future[dict[str, Any]] = asyncio.get_running_loop().create_future()
        answer.add_done_callback(_look_at)
        if self.closed:
            answer.set_exception(BrowserCrashedError(f"{method}: the browser has ended"))
        elif len(self._calls) >= PENDING_CALLS or self._pipe.waiting_bytes > WAITING_BYTES:
            answer.set_exception(DevToolsError(f"{method}: the browser has too many commands to answer already"))
        else:
            self._last_id += 1
            number = self._last_id
            self._calls[number] = session, answer
            answer.add_done_callback(lambda _: self._calls.pop(number, None))
            message = {"id": number, "method": method, "params": params or {}}
            self._pipe.send(json.dumps(message | ({"sessionId": session} if session else {})).encode())
        return answer

    def listen(self, session: str, method: str, callback: Listener) -> None:
        """Call ``callback`` with the parameters of each event ``method`` in a session; it replaces an earlier one."""
        self._listeners.setdefault(method, {})[session] = callback

    def forget(self, session: str) -> None:
        """Stop listening to a session, and let its pending commands fail."""
        for listeners in self._listeners.values():
            listeners.pop(session, None)
        for of, answer in list(self._calls.values()):
            if of == session:
                _fail(answer, DevToolsError("The target has gone"))

    def _take(self, text: bytes, whole: bool) -> None:
        event = _EVENT.match(text)
        if event is not None and event[1].decode(errors="replace") not in self._listeners:
            return
        if not whole:
            self._take_overlong(text)
            return
        try:
            message = json.loads(text)
        except ValueError:
            self.close()  # Nothing that follows can be relied on.
            return
        if "id" in message:
            self._answer(message)
        else:
            self._tell(message.get("sessionId", ""), message.get("method", ""), message.get("params", {}))

    def _take_overlong(self, head: bytes) -> None:
        number = _ID.match(head)
        if number is not None:
            _, answer = self._calls.get(int(number[1]), ("", None))
            if answer is not None:
                _fail(answer, DevToolsError(f"The browser's answer is longer than {MESSAGE_BYTES} bytes"))

    def _answer(self, message: dict[str, Any]) -> None:
        _, answer = self._calls.get(message["id"], ("", None))
        if answer is None or answer.done():
            return
        error = message.get("error")
        if error is None:
            answer.set_result(message.get("result", {}))
        else:
            answer.set_exception(DevToolsError(str(error.get("message", error))[:500]))

    def _tell(self, session: str, method: str, params: dict[str, Any]) -> None:
        callback = self._listeners.get(method, {}).get(session)
        if callback is not None:
            try:
                callback(params)
            except Exception as error:  # One event less must not cost the connection.
                context = {"message": f"A listener to {method} failed", "exception": error}
                asyncio.get_running_loop().call_exception_handler(context)
        if method == _DETACHED:
            self.forget(params.get("sessionId", ""))

    def _end(self) -> None:
        self._has_ended.set()
        for _, answer in list(self._calls.values()):
            _fail(answer, BrowserCrashedError("The browser has ended"))
        self._listeners = {}


def _fail(answer: asyncio.Future[dict[str, Any]], error: DevToolsError) -> None:
    if not answer.done():
        answer.set_exception(error)


def _look_at(answer: asyncio.Future[dict[str, Any]]) -> None:
    if not answer.cancelled():
        answer.exception()  # Else asyncio complains of an error that nobody waits for any more.


_END = b"\0"
HEAD_BYTES = 1_000


class MessagePipe(asyncio.Protocol):
    """Two pipes on the running loop; opened by ``open``.

    ``take`` is called with each message and whether it is whole: one longer than ``most_bytes`` is cut after
    ``HEAD_BYTES``. ``end`` is called once, when either side has closed or broken one of the pipes.
    """

    def __init__(self, take: Callable[[bytes, bool], None], end: Callable[[], None], most_bytes: int) -> None:
        self._take = take
        self._end = end
        self._most = most_bytes
        self._pieces: list[bytes] = []
        self._length = 0
        self._transports: list[asyncio.BaseTransport] = []
        self._sink: asyncio.WriteTransport | None = None
        self._ended = False

    async def open(self, write_to: int, read_from: int) -> None:
        """Open the pipes, given their file descriptors, which are closed at the end."""
        loop = asyncio.get_running_loop()
        sink, source = os.fdopen(write_to, "wb", 0), os.fdopen(read_from, "rb", 0)
        writing, _ = await loop.connect_write_pipe(lambda: _Writing(self.close), sink)
        self._sink = writing
        self._transports.append(writing)
        reading, _ = await loop.connect_read_pipe(lambda: self, source)
        self._transports.append(reading)

    @property
    def waiting_bytes(self) -> int:
        """Return how many sent bytes the other side has not read yet."""
        return 0 if self._sink is None else self._sink.get_write_buffer_size()

    def send(self, message: bytes) -> None:
        """Send a message; what the pipe does not take at once is queued."""
        if self._sink is not None and not self._ended:
            self._sink.write(message + _END)

    def data_received(self, data: bytes) -> None:
        """Split received bytes into messages."""
        *whole, rest = data.split(_END)
        for piece in whole:
            self._keep(piece)
            message, self._pieces = b"".join(self._pieces), []
            fits, self._length = self._length <= self._most, 0
            self._take(message if fits else message[:HEAD_BYTES], fits)
        self._keep(rest)

    def _keep(self, piece: bytes) -> None:
        self._length += len(piece)
        if self._length <= self._most:
            self._pieces.append(piece)
        elif len(self._pieces) > 1:
            # What is too long is not held any more: but for its beginning, which says what it was.
            self._pieces = [b"".join(self._pieces)[:HEAD_BYTES]]

    def connection_lost(self, exc: Exception | None) -> None:  # noqa: ARG002
        """End when the pipe for reading ends."""
        self.close()

    def close(self) -> None:
        """Close both pipes; messages that the other side has not read are lost."""
        if self._ended:
            return
        self._ended = True
        for transport in self._transports:
            if isinstance(transport, asyncio.ReadTransport):
                transport.close()
            elif isinstance(transport, asyncio.WriteTransport) and not transport.is_closing():
                transport.abort()
        self._end()


class _Writing(asyncio.BaseProtocol):
    def __init__(self, lost: Callable[[], None]) -> None:
        self._lost = lost

    def connection_lost(self, exc: Exception | None) -> None:  # noqa: ARG002
        self._lost()
