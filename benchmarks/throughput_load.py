"""What crawlers crawl when their throughput is measured: generated forums, or a mix of recorded sites."""

import argparse
import asyncio
import json
import shutil
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field, replace
from http import HTTPStatus
from pathlib import Path
from tempfile import TemporaryDirectory
from urllib.parse import quote, unquote, urlsplit

import knowledge_base
from benchmarks.forum import Forum, boards, serving
from benchmarks.page_server import Pages, Served, message, serve, started
from benchmarks.recorded import RecordedSite, recorded_site
from benchmarks.sites import KNOWLEDGE_BASE

KNOWN = (
    "wordpress/twentytwentyone",
    "wordpress/twentytwentytwo",
    "mediawiki/vector",
    "mediawiki/monobook",
    "mybb/default",
    "smf/default",
    "phpbb/prosilver",
    "hexo/next",
)
UNKNOWN = ("serendipity/2k11", "pelican/notmyidea", "pelican/bootstrap2", "backdrop/stark")
_NOT_SENT = frozenset({"content-length", "transfer-encoding", "connection", "date", "server", "content-encoding"})
_PICTURES = ("image/", "application/octet-stream")


@dataclass(frozen=True, slots=True)
class Recording:
    """The responses of a recorded site by path and query, and the URL at which it was recorded."""

    folder: Path
    base: str
    ignored: frozenset[str]
    responses: Mapping[tuple[str, str], Mapping[str, object]]

    @classmethod
    def of(cls, site: RecordedSite) -> "Recording":
        """Read the index of a site."""
        described = json.loads((site.folder / "site.json").read_text("utf-8"))
        ignored = frozenset(described.get("ignore_params") or ())
        responses: dict[tuple[str, str], Mapping[str, object]] = {}
        base = ""
        with (site.folder / "index.jsonl").open(encoding="utf-8") as lines:
            for row in map(json.loads, lines):
                address = urlsplit(row["url"])
                base = f"{address.scheme}://{address.netloc}"
                responses.setdefault(_key(address.path, address.query, ignored), row)
        return cls(site.folder, base, ignored, responses)

    def response(self, target: str) -> Mapping[str, object] | None:
        """Return the recorded response for a path with its query, None if there is none."""
        path, _, query = target.partition("?")
        return self.responses.get(_key(path, query, self.ignored))


def _key(path: str, query: str, ignored: frozenset[str]) -> tuple[str, str]:
    kept = "&".join(each for each in query.split("&") if each.partition("=")[0] not in ignored) if ignored else query
    return unquote(path) or "/", unquote(kept)


class Mix(Pages):
    """The sites of all hosts; responses are cached in memory."""

    def __init__(self, sites: Mapping[str, Recording]) -> None:
        super().__init__()
        self._sites = sites
        self._kept: dict[tuple[str, str], tuple[bytes, bool]] = {}

    def respond(self, host: str, target: str, fields: dict[str, str]) -> bytes:
        """Return the recorded response of a host's site; an HTML response with status 200 counts as a page."""
        key = (host, target)
        if key not in self._kept:
            self._kept[key] = _made(self._sites[host], target, f"http://{fields.get('host', host)}")
        response, is_page = self._kept[key]
        if is_page:
            self.ask(host, target)
        return response


def _made(site: Recording, target: str, here: str) -> tuple[bytes, bool]:
    row = site.response(target)
    if row is None:
        return message("404 Not Found", b"<title>404 Not Found</title><h1>Not Found</h1>"), False
    media_type, status = str(row["content_type"]), int(str(row["status"]))
    body = (site.folder / str(row["file"])).read_bytes() if row.get("file") else b""
    if not media_type.startswith(_PICTURES):
        body = moved(body, site.base, here)
    headers: Sequence[tuple[str, str]] = row["headers"]  # type: ignore[assignment]
    sent = ((name, value) for name, value in headers if name.lower() not in {*_NOT_SENT, "content-type"})
    lines = "".join(f"{name}: {value.replace(site.base, here)}\r\n" for name, value in sent)
    return message(
        f"{status} {HTTPStatus(status).phrase}", body, media_type, lines
    ), status == 200 and media_type.startswith("text/html")


def moved(body: bytes, base: str, here: str) -> bytes:
    """Replace the URL of a site in a body, in all spellings that pages use.

    >>> moved(b'<a href="http://a.test/x">, "//a.test/y", http%3A%2F%2Fa.test', "http://a.test", "http://127.0.0.2:80")
    b'<a href="http://127.0.0.2:80/x">, "//127.0.0.2:80/y", http%3A%2F%2F127.0.0.2%3A80'
    """
    host, new = base.partition("//")[2], here.partition("//")[2]
    spellings = (
        (base, here),
        (base.replace("/", "\\/"), here.replace("/", "\\/")),
        (quote(base, safe=""), quote(here, safe="")),
        (f'"//{host}', f'"//{new}'),
    )
    for old, spelling in spellings:
        body = body.replace(old.encode(), spelling.encode())
    return body


def hosts(sites: Sequence[str]) -> tuple[str, ...]:
    """Return the host of each site."""
    return tuple(f"127.0.0.{number}" for number in range(2, 2 + len(sites)))


@contextmanager
def mix_serving(sites: Sequence[str] = KNOWN + UNKNOWN) -> Iterator[Served]:
    """Serve recorded sites from another process until the block ends."""
    for name in sites:
        recorded_site(name)  # Unpacked here, where it is told what is missing.
    with started("benchmarks.throughput_load", sites, hosts(sites)) as served:
        yield served


def lacking(sites: Sequence[str], target: Path) -> Path:
    """Copy the shipped knowledge base without the files of these sites' applications; return the copy."""
    shutil.copytree(Path(knowledge_base.__file__).parent, target, ignore=shutil.ignore_patterns("*.py", "__pycache__"))
    for application in {name.partition("/")[0] for name in sites}:
        (target / "applications" / f"{application}.xml").unlink()
    return target


def main() -> None:
    """Serve until the process is ended."""
    parser = argparse.ArgumentParser(description="Serve recorded sites, each on a host of its own.")
    parser.add_argument("sites", nargs="+", metavar="app/theme")
    names = parser.parse_args().sites
    recordings = [Recording.of(recorded_site(name)) for name in names]
    asyncio.run(serve(hosts(names), Mix(dict(zip(hosts(names), recordings, strict=True)))))


FORUM_HOSTS = 32
CONCURRENCY = (64, 2)
"""The most requests at the same time, in all and to each host."""
FORUM_PAGES = r"^http://[^/]+/(index\.php|viewforum\.php\?f=\d+(&start=\d+)?|viewtopic\.php\?t=\d+)$"


@dataclass(frozen=True, slots=True)
class Load:
    """Pages that are served, and the input of each crawler.

    ``definition`` are fields of this project's definition. Another crawler begins at ``seeds``, and follows links to
    URLs that match ``allow`` or are among ``pages``; ``pages`` is None if only a crawl by this project determines them.
    """

    name: str
    served: Served
    seeds: tuple[str, ...]
    definition: Mapping[str, object]
    pages: tuple[str, ...] | None = None
    allow: str = ""
    environment: Mapping[str, str] = field(default_factory=dict)

    def after(self, crawled: Sequence[str]) -> "Load":
        """Return the load for other crawlers: the pages that this project's crawl fetched, in its order."""
        return self if self.allow else replace(self, pages=tuple(crawled))

    def described(self, folder: Path, scoring: Mapping[str, object]) -> Path:
        """Write a definition for this project's crawler into a folder; return the file."""
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
    """Serve forums with about so many pages until the block ends."""
    small, large = map(threads_of, sizes)
    with serving(small, FORUM_HOSTS) as few, serving(large, FORUM_HOSTS) as many:
        yield forum_load(few, boards(small, FORUM_HOSTS)), forum_load(many, boards(large, FORUM_HOSTS))


def forum_load(served: Served, listed: Mapping[str, Forum]) -> Load:
    """Return the load of served forums."""
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
    """Return the number of threads on each board for which all boards together have about so many pages.

    >>> threads_of(2500)
    73
    """
    return max(1, int((pages / FORUM_HOSTS - 2) / 1.04))


@contextmanager
def mix(sizes: Sequence[int]) -> Iterator[Loads]:
    """Serve a mix of recorded sites until the block ends; the same number of pages is to be fetched from each.

    The knowledge base describes two thirds of them. A site with fewer pages is fetched completely.
    """
    sites = (*KNOWN, *UNKNOWN)
    with ExitStack() as stack:
        served = stack.enter_context(mix_serving(sites))
        folder = Path(stack.enter_context(TemporaryDirectory(prefix="aah-knowledge-")))
        known = lacking(UNKNOWN, folder / "knowledge_base")
        small, large = (mix_load(served, known, max(1, pages // len(sites))) for pages in sizes)
        yield small, large


def mix_load(served: Served, known: Path, pages: int) -> Load:
    """Return the load of served recorded sites, with so many pages of each."""
    definition = {
        "seeds": list(served.urls),
        "topic": {"keywords": ["linux", "installation", "network", "security"]},
        "limits": {"pages_per_domain": pages},
    }
    return Load("mix", served, served.urls, definition, environment={KNOWLEDGE_BASE: str(known)})


if __name__ == "__main__":
    main()
