"""A network in between: connections to a server that can be cut."""

import asyncio
from contextlib import suppress
from pathlib import Path


class Cable:
    """Connects one unix socket to another, until it is cut. Everything runs in one event loop."""

    def __init__(self, here: Path, there: Path) -> None:
        self._here = here
        self._there = there
        self._is_cut = False
        self._writers: set[asyncio.StreamWriter] = set()

    async def serve(self) -> None:
        """Listen at this end."""
        await asyncio.start_unix_server(self._connected, self._here)

    def cut(self) -> None:
        """End all connections, whatever is on its way; new ones are not answered until ``mend``."""
        self._is_cut = True
        for writer in self._writers:
            writer.transport.abort()

    def mend(self) -> None:
        """Pass on again."""
        self._is_cut = False

    async def _connected(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        if self._is_cut:
            writer.transport.abort()
            return
        self._writers.add(writer)
        try:
            far_reader, far_writer = await asyncio.open_unix_connection(self._there)
        except OSError:
            self._writers.discard(writer)
            writer.transport.abort()
            return
        self._writers.add(far_writer)
        await asyncio.gather(self._pass_on(reader, far_writer), self._pass_on(far_reader, writer))
        self._writers -= {writer, far_writer}

    async def _pass_on(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with suppress(OSError):
            while data := await reader.read(1 << 16):
                writer.write(data)
                await writer.drain()
        writer.close()
