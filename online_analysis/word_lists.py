"""The word lists of ``wordfreq``: words of a language in groups, by how frequent they are.

The files are read by themselves: to import the package takes a tenth of a second, for tokenizers that are not used.
"""

import gzip
from collections.abc import Iterator
from functools import cache
from importlib.util import find_spec
from itertools import chain
from pathlib import Path
from runpy import run_path

import msgpack

_KIND = "small"


@cache
def listed_languages() -> frozenset[str]:
    """Return the codes of the languages that have a list."""
    return frozenset(file.name.split(".")[0].removeprefix(f"{_KIND}_") for file in _folder().glob(f"{_KIND}_*"))


def list_file(code: str) -> Path:
    """Return the file of a language's list."""
    return _folder() / f"{_KIND}_{code}.msgpack.gz"


def word_groups(code: str) -> Iterator[list[str]]:
    """Yield the words of each hundredth of a power of ten, most frequent ones first; read as far as they are asked for.

    The group at place n has the words that make up ``10 ** (-n / 100)`` of a text.
    """
    with gzip.open(list_file(code)) as opened:
        unpacker = msgpack.Unpacker(opened)
        count = unpacker.read_array_header()
        header = unpacker.unpack()
        if header != {"format": "cB", "version": 1}:
            raise ValueError(f"{list_file(code)}: another format than that of word lists: {header}")
        for _ in range(count - 1):
            yield unpacker.unpack()


def function_words(codes: tuple[str, ...]) -> Iterator[str]:
    """Yield the stop words that spaCy lists of languages, none where it has no list.

    The files are read by themselves: to import spaCy takes half a second.
    """
    found = find_spec("spacy")
    folder = Path(found.origin).parent / "lang" if found is not None and found.origin is not None else None
    files = [folder / code / "stop_words.py" for code in codes] if folder is not None else []
    return chain.from_iterable(run_path(str(file))["STOP_WORDS"] for file in files if file.is_file())


@cache
def _folder() -> Path:
    found = find_spec("wordfreq")
    if found is None or found.origin is None:
        raise ModuleNotFoundError("wordfreq is not installed; it has the lists of words", name="wordfreq")
    return Path(found.origin).parent / "data"
