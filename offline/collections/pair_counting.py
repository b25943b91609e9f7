"""Count the pairs of words in the pages of archives."""

from collections.abc import Callable, Iterable, Iterator
from hashlib import blake2b
from itertools import islice
from pathlib import Path

from aahcrawler.captures import ArchivedCaptures
from online_analysis.document import Document
from online_analysis.pair_frequencies import PairCounter, PairFrequencies
from online_analysis.term_arrays import Counting
from online_analysis.terms import Lexicon


def count_pairs(
    archives: Iterable[Path], pages: int, seen: Callable[[], object] = lambda: None
) -> tuple[PairFrequencies, int]:
    """Count pairs in at most ``pages`` pages with a text, the first capture of each URL; return the number of pages.

    ``seen`` is called for each page. Raises ``SegmentError``.
    """
    counting, counter, counted = Counting(Lexicon()), PairCounter(), 0
    for document in islice(_documents(archives), pages):
        read = counting.of(document)
        counter.add(read.language.code, read.units, read.pieces[-2])
        counted += 1
        seen()
    return counter.frequencies(), counted


def _documents(archives: Iterable[Path]) -> Iterator[Document]:
    met: set[bytes] = set()
    for archive in archives:
        with ArchivedCaptures(archive) as captures:
            for capture in captures.captures():
                key = blake2b(capture.target_uri.encode("utf-8", "replace"), digest_size=8).digest()
                if capture.status != 200 or not capture.shows_target or key in met:
                    continue
                page = capture.page
                if page is None or not page.is_html:
                    continue
                met.add(key)
                document = capture.document
                if document is not None and document.text.strip():
                    yield document
