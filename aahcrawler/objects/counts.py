"""Counts the web objects of a crawl as its tables show them: each once, on however many pages it is."""

from array import array
from collections import Counter
from collections.abc import Mapping
from pathlib import Path

import numpy as np

from aahcrawler.objects.reader import typed_objects


def object_counts(crawl: Path, number: int | None = None) -> Mapping[str, int]:
    """Return how many objects of each type a crawl's folder holds; with ``number``, those that this crawl found.

    Of an object that pages show as different types, the last one counts. Memory use is nine bytes for each time that
    a page shows an object. Raises ``ReadError``.
    """
    names, codes, types = array("q"), array("H"), dict[str, int]()
    for name, object_type in typed_objects(crawl, number):
        names.append(hash(name))
        codes.append(types.setdefault(object_type, len(types)))
    _, last = np.unique(np.frombuffer(names, dtype=np.int64)[::-1], return_index=True)
    found = Counter(np.frombuffer(codes, dtype=np.uint16)[::-1][last].tolist())
    return {object_type: found[code] for object_type, code in types.items() if found[code]}
