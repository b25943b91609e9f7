"""Crawls of a small forum with texts to annotate, written by hand into segments."""

import json
from collections.abc import Sequence
from pathlib import Path

from aahcrawler.layout import DEFINITION
from online_analysis.icd import Icd
from tests.offline.crawls import capture, post, writer

LONG = "Nothing else was said of the water in the old town that night, and people went home late."


def define(crawl: Path, entities: Sequence[str] = (), name: str = "demo") -> None:
    """Write the definition of a crawl that wants some entities."""
    crawl.mkdir(exist_ok=True)
    topic = f"topic:\n  entities: [{', '.join(entities)}]\n" if entities else ""
    icd = Icd.parse(f"id: {name}\ncontact: archive@example.org\nseeds: [http://forum.test/]\n{topic}".encode())
    (crawl / DEFINITION).write_text(json.dumps(icd.meaning()), "utf-8")


def write_posts(crawl: Path, threads: Sequence[Sequence[tuple[str, str]]], *, first: int = 1) -> None:
    """Write a capture for each thread, with its posts: author and text."""
    with writer(crawl) as objects:
        for number, posts in enumerate(threads, first):
            objects.write(
                capture(number), [post(number, place, author, body) for place, (author, body) in enumerate(posts, 1)]
            )
