"""What crawlers are given to crawl when their throughput is measured: made-up forums, or a mix of recorded sites."""

import json
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from tempfile import TemporaryDirectory

from benchmarks.forum import Forum
from benchmarks.forum_server import boards, serving
from benchmarks.page_server import Served
from benchmarks.site_mix import KNOWN, UNKNOWN, lacking, mix_serving
from benchmarks.sites import KNOWLEDGE_BASE

FORUM_HOSTS = 32
CONCURRENCY = (64, 2)
"""Requests at once, in all and to each host."""
FORUM_PAGES = r"^http://[^/]+/(index\.php|viewforum\.php\?f=\d+(&start=\d+)?|viewtopic\.php\?t=\d+)$"


@dataclass(frozen=True, slots=True)
class Load:
    """Pages that are being served, and what each crawler is told of them.

    ``definition`` are fields of ours. Another crawler begins at ``seeds``, and follows links to URLs that match
    ``allow`` or are among ``pages``; ``pages`` are None where only a crawl of ours tells which they are.
    """

    name: str
    served: Served
    seeds: tuple[str, ...]
    definition: Mapping[str, object]
    pages: tuple[str, ...] | None = None
    allow: str = ""
    environment: Mapping[str, str] = field(default_factory=dict)

    def after(self, crawled: Sequence[str]) -> "Load":
        """Return the load for crawlers that are to fetch what ours fetched, in the order in which it did."""
        return self if self.allow else replace(self, pages=tuple(crawled))

    def described(self, folder: Path, scoring: Mapping[str, object]) -> Path:
        """Write a definition for our crawler into a folder; return the file."""
        fields: dict[str, object] = {
            "id": "throughput",
            "contact": "benchmark@example.org",
            "politeness": {"delay": "0", "connections": CONCURRENCY[1]},
            "network": {"allow_private": ["127.0.0.0/8"]},
            "output": str(folder / "crawl"),
            "scoring": scoring,
            **self.definition,
        }
        path = folder / "icd.yaml"
        path.write_text("".join(f"{name}: {json.dumps(value)}\n" for name, value in fields.items()), "utf-8")
        return path

    def peer_work(self, folder: Path, redis: Path) -> Path:
        """Write the input of another crawler into a folder; return the file."""
        work = {
            "seeds": self.seeds,
            "allow": self.allow,
            "pages": () if self.allow else self.pages,
            "concurrency": CONCURRENCY,
            "folder": str(folder),
            "redis": str(redis),
        }
        path = folder / "work.json"
        path.write_text(json.dumps(work), "utf-8")
        return path


Loads = tuple[Load, Load]


@contextmanager
def forums(sizes: Sequence[int]) -> Iterator[Loads]:
    """Serve forums of about so many pages until the block ends."""
    small, large = map(threads_of, sizes)
    with serving(small, FORUM_HOSTS) as few, serving(large, FORUM_HOSTS) as many:
        yield forum_load(few, boards(small, FORUM_HOSTS)), forum_load(many, boards(large, FORUM_HOSTS))


def forum_load(served: Served, listed: Mapping[str, Forum]) -> Load:
    """Return the load of forums that are served."""
    pages = (
        url + address for url, board in zip(served.urls, listed.values(), strict=True) for address in board.addresses()
    )
    definition = {
        "seeds": list(served.urls),  # That is what the knowledge base makes of index.php.
        "topic": {"keywords": ["harbour", "boat", "water", "storm"]},
    }
    seeds = tuple(f"{url}index.php" for url in served.urls)
    return Load("forum", served, seeds, definition, tuple(pages), FORUM_PAGES)


def threads_of(pages: int) -> int:
    """Return the number of threads of each board at which all boards together have about so many pages.

    >>> threads_of(2500)
    74
    """
    return max(1, int((pages / FORUM_HOSTS - 2) / 1.04))


@contextmanager
def mix(sizes: Sequence[int]) -> Iterator[Loads]:
    """Serve a mix of recorded sites until the block ends; of each of them the same number of pages is to be fetched.

    The knowledge base knows two thirds of them. Of a site that is too small for its number all is fetched.
    """
    sites = (*KNOWN, *UNKNOWN)
    with ExitStack() as stack:
        served = stack.enter_context(mix_serving(sites))
        folder = Path(stack.enter_context(TemporaryDirectory(prefix="aah-knowledge-")))
        known = lacking(UNKNOWN, folder / "knowledge_base")
        small, large = (mix_load(served, known, max(1, pages // len(sites))) for pages in sizes)
        yield small, large


def mix_load(served: Served, known: Path, pages: int) -> Load:
    """Return the load of recorded sites that are served, so many pages of each."""
    definition = {
        "seeds": list(served.urls),
        "topic": {"keywords": ["linux", "installation", "network", "security"]},
        "limits": {"pages_per_domain": pages},
    }
    return Load("mix", served, served.urls, definition, environment={KNOWLEDGE_BASE: str(known)})
