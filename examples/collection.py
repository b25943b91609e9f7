"""The demo of a collection, ``python -m examples.collection`` or ``make demo-collection``: two archives, and a crawl.

The archives are made of the demo's world: a WARC file of a town library and a WACZ package of a museum hold its pages
in part, captured on days of their own; some were errors by then. The crawl is the command that a user would type.
"""

import gzip
import hashlib
import json
import shutil
import sys
import zipfile
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from random import Random
from typing import Final
from uuid import NAMESPACE_URL, uuid5

import yaml

from aahcrawler.report import read_collection
from examples import demo
from examples.serve import WORLD, Answer, World
from online_analysis.icd import Icd

DEFINITION: Final = Path(__file__).resolve().parent / "collection.yaml"
ARCHIVES: Final = Path("crawls") / "demo-archives"
GONE: Final = Answer(
    200,
    "text/html; charset=UTF-8",
    b"<!doctype html><title>Page not found</title><h1>Page not found</h1><p>This page does not exist any more.</p>",
)
"""What a site answered by then in the place of pages that it had removed."""


@dataclass(frozen=True, slots=True)
class Holdings:
    """What an archive holds: a share of all pages, captured on days from the first on; a share was gone by then.

    The front page of each site is there.
    """

    file: str
    share: float
    first: datetime
    days: int
    gone: float


LIBRARY: Final = Holdings("town-library.warc.gz", 0.7, datetime(2021, 6, 1, tzinfo=UTC), 200, 0.02)
MUSEUM: Final = Holdings("harbour-museum.wacz", 0.6, datetime(2022, 2, 1, tzinfo=UTC), 300, 0.06)


def records(world: Path, holdings: Holdings) -> Iterator[bytes]:
    """Yield the records of what an archive holds of a world, the same ones every time."""
    sites = World.read(world)
    for index in sorted(world.glob("*/index.jsonl")):
        for line in index.read_text("utf-8").splitlines():
            url = json.loads(line)["url"]
            host = index.parent.name
            lot, is_front = Random(f"{holdings.file} {url}"), url == f"http://{host}/"
            if lot.random() > holdings.share and not is_front:
                continue
            moment = holdings.first + timedelta(seconds=lot.randrange(holdings.days * 86400))
            is_gone = lot.random() < holdings.gone and not is_front
            answer = GONE if is_gone else sites.answer(host, url.partition(host)[2] or "/")
            yield _record(url, moment, answer)


def _record(url: str, moment: datetime, answer: Answer) -> bytes:
    place = f"Location: {answer.location}\r\n" if answer.location else ""
    head = f"HTTP/1.1 {answer.status} \r\nContent-Type: {answer.content_type}\r\n{place}"
    block = f"{head}Content-Length: {len(answer.body)}\r\n\r\n".encode() + answer.body
    date = f"{moment:%Y-%m-%dT%H:%M:%SZ}"
    fields = (
        "WARC/1.1",
        "WARC-Type: response",
        f"WARC-Record-ID: <{uuid5(NAMESPACE_URL, f'{date} {url}').urn}>",
        f"WARC-Date: {date}",
        f"WARC-Target-URI: {url}",
        "Content-Type: application/http;msgtype=response",
        f"Content-Length: {len(block)}",
    )
    return gzip.compress("\r\n".join(fields).encode() + b"\r\n\r\n" + block + b"\r\n\r\n", mtime=0)


def write_archives(world: Path, folder: Path) -> None:
    """Write both archives of a world into a folder."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / LIBRARY.file).write_bytes(b"".join(records(world, LIBRARY)))
    inner, content = "archive/data.warc.gz", b"".join(records(world, MUSEUM))
    described = {
        "profile": "data-package",
        "wacz_version": "1.1.1",
        "resources": [
            {
                "name": "data.warc.gz",
                "path": inner,
                "hash": f"sha256:{hashlib.sha256(content).hexdigest()}",
                "bytes": len(content),
            }
        ],
    }
    with zipfile.ZipFile(folder / MUSEUM.file, "w", zipfile.ZIP_STORED) as package:
        package.writestr(zipfile.ZipInfo(inner), content)
        package.writestr(zipfile.ZipInfo("datapackage.json"), json.dumps(described))


def write_definition(folder: Path) -> Path:
    """Write the definition, and its reference documents, beside the archives, which its paths lead to from there."""
    content = yaml.safe_load(DEFINITION.read_text("utf-8"))
    for name in (DEFINITION.name, *content["topic"]["documents"]):
        shutil.copyfile(DEFINITION.parent / name, folder / name)
    return folder / DEFINITION.name


def four_lines(crawl: Path) -> list[str]:
    """Return what the demo says at its end of the crawl in a folder."""
    found = read_collection(crawl)
    rate = "" if found.retrieval_rate is None else f"; they had {found.retrieval_rate:.0%} of the URLs asked for"
    parts = ", ".join(f"{each.share:.0%} from {each.archive}" for each in found.contributions)
    chain = [row.title or row.url for row in found.chain]
    deepest = f"{chain[-1]!r}, {len(chain) - 1} links from {chain[0]!r}" if chain else "none"
    return [
        f"Collected  {len(found.pages)} pages of {len(found.contributions)} archives, {len(found.relevant)} relevant.",
        f"Archives   {parts}{rate}; {len(found.missing)} pages are in none.",
        f"Deepest    {deepest}.",
        f"Open       {crawl / 'report.html'}, with pictures of it, or: {demo.typed()} cockpit {crawl}",
    ]


def main() -> int:
    """Run the demo; return its exit code."""
    write_archives(WORLD, ARCHIVES)
    definition = write_definition(ARCHIVES)
    icd = Icd.load(definition)
    try:
        demo.clear(icd.output, icd.id)
    except demo.DemoError as error:
        print(error, file=sys.stderr)
        return 2
    code = demo.aah("crawl", str(definition)).returncode
    if not code:
        print("\n".join(four_lines(icd.output)))
    return code


if __name__ == "__main__":
    sys.exit(main())
