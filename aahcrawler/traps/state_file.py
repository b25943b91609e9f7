"""Converts the state of the traps to bytes for a file, and back."""

import zlib
from io import BytesIO
from zipfile import BadZipFile

import numpy as np

from aahcrawler.traps.bloom_filters import Arrays

FORMAT = 4
"""The version of the bytes; others are refused."""


def packed(crawl: int, state: Arrays) -> bytes:
    """Return the state of a crawl's traps (``Traps.state``) as bytes, compressed."""
    file = BytesIO()
    arrays = {**state, "crawl": np.array([FORMAT, crawl], np.int64)}
    np.savez_compressed(file, **arrays)  # type: ignore[arg-type]  # none is called allow_pickle
    return file.getvalue()


def unpacked(content: bytes) -> tuple[int, Arrays]:
    """Return the number of the crawl and the state stored in bytes. Raises ``ValueError`` where they are invalid."""
    try:
        with np.load(BytesIO(content), allow_pickle=False) as file:
            arrays = {name: file[name] for name in file.files}
        version, crawl = map(int, arrays.pop("crawl"))
    except (ValueError, KeyError, TypeError, AttributeError, OSError, EOFError, BadZipFile, zlib.error) as error:
        raise ValueError(f"it cannot be read ({error})") from error
    if version != FORMAT:
        raise ValueError("it was written by another version")
    return crawl, arrays
