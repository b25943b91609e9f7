"""The store of a crawl on disk: Oxigraph in a folder, owned by one process at a time."""

import os
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import Self

import pyoxigraph as ox
from filelock import FileLock, Timeout

from aahcrawler.layout import STORE
from aahcrawler.objects.vocabulary import XSD_INTEGER
from aahcrawler.segments import Members
from offline.store.endpoint import replacements
from offline.store.loading import LOADED_BYTES, SEGMENT, LoadError

FOLDER = STORE
"""The name of the folder, within that of a crawl, for its store unless another is named."""

_DATABASE = "oxigraph"
_LOCK = "store.lock"
_OWNER = "store.owner"
_BULK = 1 << 20
"""From this many compressed bytes on, sorted files are worth making; below, one transaction is faster."""
_ROUND = 256 << 20
"""The bytes of text between two records of a segment's progress. Smaller rounds make more files to merge."""
_LOADED_BYTES = ox.NamedNode(LOADED_BYTES)
_INTEGER = ox.NamedNode(XSD_INTEGER)


class StoreError(Exception):
    """Raised when a store cannot be used; the message gives the cause and the remedy."""


class LocalStore:
    """An Oxigraph store in a folder; use it in a ``with`` statement.

    Captures are its named graphs. The progress of loading is recorded in its default graph, which no pattern ``GRAPH
    ?g`` matches. ``rdf`` is the store itself; do not write to its default graph. Opening waits up to ``patience``
    seconds for another process to end, and raises ``StoreError``.
    """

    rdf: ox.Store

    def __init__(self, folder: Path, patience: float = 0) -> None:
        self._folder = folder
        self._lock = FileLock(folder / _LOCK, timeout=patience)

    def __enter__(self) -> Self:
        try:
            self._folder.mkdir(parents=True, exist_ok=True)
            self._lock.acquire()
        except Timeout:
            raise StoreError(f"{self._folder}: {self._owner()}; wait for it to end, or name another --store") from None
        except OSError as error:
            raise StoreError(f"{self._folder}: {error.strerror}; name another folder with --store") from error
        try:
            (self._folder / _OWNER).write_text(f"{os.getpid()}\n", "ascii")
            self.rdf = ox.Store(self._folder / _DATABASE)
        except (OSError, RuntimeError) as error:
            self._lock.release()
            raise StoreError(_refused(self._folder / _DATABASE, error)) from error
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        try:
            self.rdf.flush()
        except (OSError, RuntimeError) as error:
            if kind is None:  # What went wrong before says more.
                raise StoreError(_not_written(self._folder, error)) from error
        finally:
            del self.rdf
            with suppress(OSError):
                (self._folder / _OWNER).unlink()
            self._lock.release()

    def loaded(self) -> Mapping[str, int]:
        """Return up to which byte each segment was loaded, by its identity."""
        known: dict[str, int] = {}
        for subject, _, value, _ in self.rdf.quads_for_pattern(None, _LOADED_BYTES, None, ox.DefaultGraph()):
            if isinstance(subject, ox.NamedNode) and isinstance(value, ox.Literal):
                name = subject.value.removeprefix(SEGMENT)
                known[name] = max(int(value.value), known.get(name, 0))
        return known

    def add(self, segment: str, members: Members) -> None:
        """Add statements, then record them, as specified by ``Destination``.

        A crash may leave statements that are not yet recorded, never the reverse, because Oxigraph keeps the order of
        writes.
        """
        put = self.rdf.bulk_load if members.size - members.end >= _BULK else self.rdf.load
        with self._writing(), members.stream(_ROUND) as text:
            put(text, ox.RdfFormat.N_QUADS)
            self._remember(ox.NamedNode(SEGMENT + segment), members.end)

    def replace(self, segment: str, members: Members) -> None:
        """Replace the statements of a capture by a later reading in one transaction, then record it."""
        text = members.member()
        self.put(segment, text, members.end)

    def put(self, segment: str, text: bytes, mark: int) -> None:
        """Replace the content of a graph by statements, as specified by ``Destination``."""
        with self._writing():
            for update in replacements(text, text.count(b"\n")) if text else ():
                self.rdf.update(update)
            self._remember(ox.NamedNode(SEGMENT + segment), mark)

    @contextmanager
    def _writing(self) -> Iterator[None]:
        """Raise ``LoadError`` with the cause if writing fails."""
        try:
            yield
        except (OSError, RuntimeError) as error:
            raise LoadError(_not_written(self._folder, error)) from error

    def _remember(self, segment: ox.NamedNode, end: int) -> None:
        earlier = list(self.rdf.quads_for_pattern(segment, _LOADED_BYTES, None, ox.DefaultGraph()))
        reached = ox.Quad(segment, _LOADED_BYTES, ox.Literal(str(end), datatype=_INTEGER))
        self.rdf.add(reached)
        for quad in earlier:
            if quad != reached:
                self.rdf.remove(quad)

    def _owner(self) -> str:
        try:
            return f"process {int((self._folder / _OWNER).read_text('ascii'))} is using this store"
        except (OSError, ValueError):
            return "another process is using this store"


@contextmanager
def reading(folder: Path, patience: float = 2.0) -> Iterator[ox.Store]:
    """Open the store in a folder read-only, while nobody loads into it; a missing store is not created.

    Nobody can be loading into a read-only folder. Raises ``StoreError``, also if another process does not end within
    ``patience`` seconds.
    """
    with ExitStack() as stack:
        try:
            stack.enter_context(FileLock(folder / _LOCK, timeout=patience))
        except Timeout:
            raise StoreError("the store is being loaded, or others are asking; ask again in a moment") from None
        except OSError:
            pass
        try:
            store = ox.Store.read_only(str(folder / _DATABASE))
        except (OSError, RuntimeError) as error:
            raise StoreError(_refused(folder / _DATABASE, error)) from error
        yield store
        del store


def _not_written(folder: Path, error: Exception) -> str:
    return f"{folder}: cannot be written ({error}). Make room, check its permissions."


def _refused(database: Path, error: Exception) -> str:
    if "lock hold" in str(error).lower() or "LOCK:" in str(error):
        return f"{database}: a program other than aah has this store open ({error}); end it, or name another --store"
    return f"{database}: cannot be opened ({error}). Remove it to have it made again, or name another --store"
