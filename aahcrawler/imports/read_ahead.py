"""Reads the records of a file in a separate process, while the records before them are being written.

That process does the slow work: unpacking, digests and compression. What is kept, and in which order, is decided by the
writing process, so that the result is that of a single process.
"""

import pickle
from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass, replace
from io import BytesIO
from multiprocessing import get_context
from multiprocessing.connection import Connection
from pathlib import Path
from tempfile import SpooledTemporaryFile
from typing import IO, BinaryIO, Final, cast

from isal import isal_zlib

from aahcrawler.imports.foreign_records import ForeignRecord, ForeignRecords, Loss
from aahcrawler.imports.kept_records import KeptRecord, UnusableError, kept_record
from aahcrawler.segments import packed_member

RECORD_END: Final = b"\r\n\r\n"
_PIECE: Final = 1 << 20
_PACKED: Final = 1 << 20
"""Bytes of a block up to which it is packed there; larger ones are sent as they are, in pieces."""
_TOGETHER: Final = 1 << 18
"""Bytes that are sent together; the pipe holds no more than some of them, and the process waits."""
_IN_MEMORY: Final = 4 << 20


@dataclass(frozen=True, slots=True)
class Prepared:
    """A record with what is kept of it, or why nothing is; for bytes that are no whole record only a ``Loss``.

    ``member`` is the kept record as a gzip member, empty where it has not been compressed yet.
    """

    found: ForeignRecord | Loss
    kept: KeptRecord | UnusableError | None = None
    member: bytes = b""

    def unpacked(self) -> ForeignRecord:
        """Return the record with its block."""
        found = self.found
        assert isinstance(found, ForeignRecord)  # noqa: S101 (a loss has nothing to be kept)
        if not self.member or not isinstance(self.kept, KeptRecord):
            return found
        text = isal_zlib.decompress(self.member, wbits=31)
        return replace(found, block=BytesIO(text[len(self.kept.head()) : -len(RECORD_END)]))


def prepared(file: BinaryIO, size: int, folder: Path) -> Iterator[Prepared]:
    """Yield the prepared records of a file, in the order of ``ForeignRecords``."""
    for found in ForeignRecords(file, size, folder):
        yield Prepared(found, None if isinstance(found, Loss) else _kept(found))


def _kept(found: ForeignRecord) -> KeptRecord | UnusableError:
    try:
        return kept_record(found)
    except UnusableError as error:
        return error


def read_ahead(path: Path, size: int, folder: Path) -> Iterator[Prepared]:
    """Yield the same from another process, which ends with this iterator. Raises ``OSError``."""
    context = get_context("spawn")
    receiving, sending = context.Pipe(duplex=False)
    process = context.Process(target=_read, args=(path, size, folder, sending), daemon=True)
    process.start()
    sending.close()
    try:
        with closing(receiving):
            yield from _received(receiving, path, folder)
    finally:
        process.kill()
        process.join()


def _received(receiving: Connection, path: Path, folder: Path) -> Iterator[Prepared]:
    while True:
        try:
            some: list[Prepared] | OSError | None = pickle.loads(receiving.recv_bytes())  # noqa: S301 (of our own process)
        except EOFError:
            raise OSError(f"{path}: the process that read it has ended; import it again") from None
        if some is None:
            return
        if isinstance(some, OSError):
            raise some
        for each in some:
            if isinstance(each.found, Loss) or each.member or isinstance(each.kept, UnusableError):
                yield each
                continue
            with cast("IO[bytes]", SpooledTemporaryFile(_IN_MEMORY, dir=str(folder))) as block:
                while block.tell() < each.found.size:
                    block.write(receiving.recv_bytes())
                block.seek(0)
                yield replace(each, found=replace(each.found, block=block))


def _read(path: Path, size: int, folder: Path, sending: Connection) -> None:
    """Send the content of a file, several records at a time, and None at its end. Stops when there is no receiver."""
    waiting: list[Prepared] = []
    held = 0

    def send() -> None:
        nonlocal held
        sending.send_bytes(pickle.dumps(waiting))
        waiting.clear()
        held = 0

    try:
        with path.open("rb") as file:
            for each in prepared(file, size, folder):
                found = each.found
                is_large = isinstance(found, ForeignRecord) and found.size > _PACKED
                waiting.append(_to_send(each, is_packed=not is_large))
                held += len(waiting[-1].member) + 1_000
                if held >= _TOGETHER or is_large:
                    send()
                if is_large and isinstance(each.kept, KeptRecord) and isinstance(found, ForeignRecord):
                    found.block.seek(0)
                    while piece := found.block.read(_PIECE):
                        sending.send_bytes(piece)
        send()
        sending.send_bytes(pickle.dumps(None))
    except BrokenPipeError:
        return
    except OSError as error:
        sending.send_bytes(pickle.dumps(OSError(*error.args)))


def _to_send(each: Prepared, *, is_packed: bool) -> Prepared:
    """Return a record without its block if it is packed, as the member contains the block."""
    found, kept = each.found, each.kept
    if isinstance(found, Loss):
        return each
    member = b""
    if is_packed and isinstance(kept, KeptRecord):
        found.block.seek(0)
        member = packed_member((kept.head(), found.block.read(), RECORD_END))
    return Prepared(replace(found, block=BytesIO()), kept, member)
