"""Identifies the language of a text by ``py3langid``, reading only the parts of its model that are needed.

The model takes 74 MiB of memory and half a second to unpack, but all texts together need a tenth of it. So it is
unpacked into a file (``online_analysis.private_cache``), from which rows are read on first use: rows of the automaton
that finds features in a text, and of the weights of features by language.
"""

import json
import os
import weakref
from array import array
from collections import Counter
from collections.abc import Callable, Iterator
from functools import lru_cache
from hashlib import sha256
from struct import Struct
from sys import byteorder
from typing import Any, BinaryIO, Generic, TypeVar
from zlib import crc32

import numpy as np
from numpy.typing import NDArray
from py3langid.langid import MODEL_DIR, MODEL_FILE, LanguageIdentifier
from py3langid.modelio import load_model

from online_analysis.private_cache import cached

_HEAD = Struct("<8sI5Q")
_MARK = b"langid1" + byteorder[:1].encode()
_BYTES = 256
_MAX_HELD = 8192
"""Rows of each sort that are held, 9 MiB and 3 MiB; a thousand pages of a forum need two thirds of them."""

T = TypeVar("T")


class _Rows(dict[int, T], Generic[T]):
    """Rows of one length in a file, by number."""

    def __init__(self, descriptor: int, begin: int, size: int, make: Callable[[bytes], T]) -> None:
        super().__init__()
        self._descriptor = descriptor
        self._begin = begin
        self._size = size
        self._make = make

    def __missing__(self, number: int) -> T:
        if len(self) >= _MAX_HELD:
            self.clear()
        self[number] = row = self._make(os.pread(self._descriptor, self._size, self._begin + self._size * number))
        return row


class _Weights:
    """The weights of features, a row each, as an array of all that gives the rows it is asked for."""

    def __init__(self, rows: _Rows[bytes], width: int) -> None:
        self._rows = rows
        self._width = width

    def __getitem__(self, features: NDArray[np.intp]) -> NDArray[np.float16]:
        joined = b"".join(map(self._rows.__getitem__, features.tolist()))
        return np.frombuffer(joined, np.float16).reshape(-1, self._width)


class SparseIdentifier(LanguageIdentifier):  # type: ignore[misc]
    """Identifies languages as its base class does, reading rows of the model as needed."""

    def __init__(self, file: BinaryIO) -> None:
        """Take the open file written by ``_unpack``. Raises ``ValueError`` for any other."""
        head = file.read(_HEAD.size)
        if len(head) != _HEAD.size or not head.startswith(_MARK):
            raise ValueError("no model of languages")
        _, checksum, classes, width, states, rows, features = _HEAD.unpack(head)
        sizes = (classes, 4 * width, 4 * states, 4 * states)
        held = file.read(sum(sizes))
        begin = _HEAD.size + sum(sizes)
        automaton, weights = 4 * _BYTES * rows, 2 * width * features
        if crc32(held) != checksum or os.fstat(file.fileno()).st_size != begin + automaton + weights:
            raise ValueError("a model of languages that is not whole")
        names, biases, row_of_state, feature_of_state = _cut(held, sizes)
        descriptor = os.dup(file.fileno())
        weakref.finalize(self, os.close, descriptor)
        super().__init__(
            _Weights(_Rows(descriptor, begin + automaton, 2 * width, bytes), width),
            np.frombuffer(biases, np.float32),
            json.loads(names),
            None,
            array("i", feature_of_state),
            norm_probs=True,
            tk_row=(),
        )
        self._row_of_state = array("I", row_of_state)
        self._automaton = _Rows(descriptor, begin, 4 * _BYTES, lambda row: array("I", row))

    def _raw_score(self, text: bytes) -> Any:
        """Return the scores of a text, encoded, by language."""
        rows, row_of_state, feature_of_state = self._automaton, self._row_of_state, self.tk_output
        state, found = 0, []
        for byte in text:
            state = rows[row_of_state[state]][byte]
            if (feature := feature_of_state[state]) >= 0:
                found.append(feature)
        return self._sparse_score(Counter(found), self.nb_ptc) if found else super()._raw_score(b"")


def _cut(held: bytes, sizes: tuple[int, ...]) -> Iterator[bytes]:
    begin = 0
    for size in sizes:
        yield held[begin : begin + size]
        begin += size


def _unpack(file: BinaryIO) -> None:
    """Write the model as ``SparseIdentifier`` reads it."""
    weights, biases, classes, automaton, row_of_state, feature_of_state = load_model(MODEL_DIR / MODEL_FILE)
    names = json.dumps(classes).encode()
    held = b"".join(
        (
            names,
            np.asarray(biases, np.float32).tobytes(),
            array("I", row_of_state).tobytes(),
            array("i", feature_of_state).tobytes(),
        )
    )
    shape = (len(names), len(classes), len(row_of_state), len(automaton) // _BYTES, len(weights))
    file.write(_HEAD.pack(_MARK, crc32(held), *shape))
    file.write(held)
    file.write(automaton if automaton.typecode == "I" else array("I", automaton))
    file.flush()
    np.asarray(weights, np.float16).tofile(file)


@lru_cache(maxsize=1)
def identifier() -> LanguageIdentifier:
    """Return the process's identifier of languages; its ``classify`` returns a code and a confidence."""
    digest = sha256((MODEL_DIR / MODEL_FILE).read_bytes()).hexdigest()
    return cached("language-model", f"{_MARK.decode()}-{digest}", _unpack, _opened)


def _opened(file: BinaryIO) -> SparseIdentifier:
    with file:
        return SparseIdentifier(file)
