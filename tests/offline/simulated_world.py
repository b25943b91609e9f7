"""A world of archived pages, written by hand: a site about solar power beside one about cooking, linked both ways."""

import gzip
import json
from collections.abc import Mapping, Sequence
from pathlib import Path

SOLAR = "https://solar.test"
COOKING = "https://cooking.test"
SEEDS = (f"{SOLAR}/", f"{SOLAR}/solar/0")

_WORDS = {
    SOLAR: "Solar panels on village roofs turn sunlight into power; photovoltaic cells and inverters feed the grid.",
    COOKING: "Simmer onions and garlic in butter, add flour, stir the soup slowly, then season it with pepper.",
}
_ANCHORS = {SOLAR: "solar panels part {}", COOKING: "soup recipe {}"}

Link = tuple[str, str]

JUDGE = """
import json, sys

def key(url):
    return url.partition("://")[2].partition("#")[0].rstrip("/")

def read_world(folder):
    import pathlib
    known = json.loads((pathlib.Path(folder) / "relevant.json").read_text())
    return {name: number for number, name in enumerate(known)}, list(known.values()), []

def relevance(counts, seeds):
    return {}, 1.0, [float(value) for value in counts]

def harvest(order, rel, budget):
    return sum(rel[page] > .333 for page in order[:budget]) / budget

if __name__ == "__main__":
    strategies = list(dict.fromkeys(json.loads(line)["strategy"] for line in open(sys.argv[2])))
    interval = [-0.5, 0.5]
    print(json.dumps({"rows": [{"strategy": s, "gap@R": 0.25, "gap95@R": interval} for s in strategies]}))
"""
"""A judge that has been told what is relevant."""


def page(site: str, number: int, links: Sequence[Link]) -> str:
    """Return an HTML page with a paragraph of its site's words, a menu, and a list of links."""
    rows = "".join(f'<li class="row{number}"><a href="{url}">{anchor}</a></li>' for url, anchor in links)
    return (
        f'<html lang="en"><head><title>{_ANCHORS[site].format(number)}</title></head><body>'
        f'<div class="menu"><a href="/">Home</a></div><main><p>{_WORDS[site]}</p><p>{_WORDS[site]}</p>'
        f"<ul>{rows}</ul></main></body></html>"
    )


def write_world(folder: Path, pages: int = 12, samples: int = 2) -> Path:
    """Write a world of ``pages`` pages on each site and a home page; page n links to n + 1 and n + 2 of both sites.

    ``http://old.test/`` redirects to the first page about cooking, to which the home page links by that address.
    """
    folder.mkdir(parents=True, exist_ok=True)
    home = [(f"{SOLAR}/solar/0", "solar panels"), ("http://old.test/", "soup recipes"), (f"{SOLAR}/gone", "gone")]
    written: dict[str, str | bytes] = {f"{SOLAR}/": page(SOLAR, 0, home), "http://old.test/": b""}
    for number in range(pages):
        following = [n for n in (number + 1, number + 2) if n < pages]
        for site, name in ((COOKING, "soup"), (SOLAR, "solar")):
            links = [(f"{COOKING}/soup/{n}", _ANCHORS[COOKING].format(n)) for n in following]
            links += [(f"{SOLAR}/solar/{n}", _ANCHORS[SOLAR].format(n)) for n in following]
            written[f"{site}/{name}/{number}"] = page(site, number, links)
    write_pages(folder, written)
    write_topics(folder, [SEEDS] * samples)
    return folder


def write_topics(folder: Path, samples: Sequence[Sequence[str]]) -> None:
    """Write the samples of the one topic."""
    (folder / "topics.json").write_text(json.dumps({"Solar power": [list(seeds) for seeds in samples]}))


def with_reference(folder: Path, pages: int = 13, samples: int = 2) -> Path:
    """Say how many pages are relevant."""
    rows = {f"Solar power#{number}": {"R": pages, "first": [0.5, 0.5]} for number in range(samples)}
    (folder / "reference.json").write_text(json.dumps(rows))
    return folder


def with_judge(folder: Path, pages: int = 12) -> Path:
    """Write a judge to whom all pages about solar power are relevant, and return its file."""
    relevant: dict[str, float] = {"solar.test": 1.0}
    for number in range(pages):
        relevant[f"solar.test/solar/{number}"] = 0.8
        relevant[f"cooking.test/soup/{number}"] = 0.1
    (folder / "relevant.json").write_text(json.dumps(relevant))
    judge = folder / "judge.py"
    judge.write_text(JUDGE)
    return judge


def write_pages(folder: Path, pages: Mapping[str, str | bytes]) -> None:
    """Write a response record for each page, without requests; an empty page redirects."""
    records = (gzip.compress(_record(number, url, body)) for number, (url, body) in enumerate(pages.items()))
    (folder / "world.warc.gz").write_bytes(b"".join(records))


def _record(number: int, url: str, content: str | bytes) -> bytes:
    body = content if isinstance(content, bytes) else content.encode()
    status = "200 OK" if body else f"301 Moved Permanently\r\nLocation: {COOKING}/soup/0"
    head = f"HTTP/1.1 {status}\r\nContent-Type: text/html; charset=utf-8\r\nContent-Length: {len(body)}\r\n\r\n"
    payload = head.encode() + body
    fields = (
        "WARC/1.1",
        "WARC-Type: response",
        f"WARC-Record-ID: <urn:uuid:00000000-0000-4000-8000-{number:012d}>",
        "WARC-Date: 2026-01-02T03:04:05Z",
        f"WARC-Target-URI: {url}",
        "Content-Type: application/http;msgtype=response",
        f"Content-Length: {len(payload)}",
    )
    return "\r\n".join(fields).encode() + b"\r\n\r\n" + payload + b"\r\n\r\n"
