"""A crawled site of floods, of which pages are removed."""

import gzip
from collections.abc import Iterator
from pathlib import Path

from aahcrawler.archive.index import index_lines
from tests.crawl.crawling import EndedRun, aah
from tests.crawl.site import Reply

WORD = "Wertheimstein"
"""Stands on the page that is removed, and nowhere else."""
ARTICLE = f"""<script type="application/ld+json">{{"@context": "https://schema.org", "@type": "Article",
"headline": "Flood 2", "author": {{"@type": "Person", "name": "{WORD}"}}, "datePublished": "2019-11-02",
"articleBody": "The dike broke in the flood, and the storm surge took the harbour of {WORD}."}}</script>"""


def picture(name: str) -> Reply:
    return Reply(b"GIF89a" + name.encode(), headers={"Content-Type": "image/gif"})


def url(path: str) -> str:
    return f"http://flood.test{path}"


def removed(folder: Path, *options: str) -> EndedRun:
    return aah("remove", folder, *options, "--reason", "the author asked for it", "--by", "Ida")


def contents(folder: Path) -> Iterator[bytes]:
    """Yield the content of every file that holds what pages say, archives decompressed."""
    for path in sorted(folder.rglob("*")):
        if path.is_file() and "frontier" not in path.parts:
            yield gzip.decompress(path.read_bytes()) if path.name.endswith(".gz") else path.read_bytes()


def holds(folder: Path, text: str) -> bool:
    return any(text.encode() in content for content in contents(folder))


def indexed(folder: Path) -> set[str]:
    lines = index_lines(folder / "indexes" / "index.cdxj")
    return {line.partition(b'"url": "')[2].partition(b'"')[0].decode() for line in lines}
