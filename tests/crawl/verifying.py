"""What must hold of the folder of any crawl that has ended, checked with other people's readers."""

import gzip
import warnings
from collections import Counter
from contextlib import redirect_stdout
from io import StringIO
from pathlib import Path
from types import SimpleNamespace

import pyoxigraph as ox
import rdflib
from fastwarc.warc import ArchiveIterator
from warcio.checker import Checker

from tests.crawl.crawling import EndedRun, rows, summary

LEFTOVERS = ("*.open", "*.part", "*.mark", "frontier/server.json", ".spool/*")


def assert_whole(crawl: Path) -> None:
    """See that every file was closed, and is understood to its end by warcio, fastwarc, pyoxigraph and rdflib."""
    left = [path for pattern in LEFTOVERS for path in crawl.rglob(pattern)]
    assert left == []
    assert_archive(crawl)
    assert_objects(crawl)


def assert_archive(crawl: Path) -> None:
    """See that each WARC file passes warcio's check, and that fastwarc finds a request for each answer.

    A crawler that was killed may have written its last response and not yet the request that led to it.
    """
    files = sorted((crawl / "archive").iterdir())
    assert files
    assert {"".join(path.suffixes[-2:]) for path in files} == {".warc.gz"}
    checked = warcio_check(*files)
    assert checked.code == 0, checked.out
    for path in files:
        kinds = Counter(kind for kind, _ in records(path))
        assert kinds["warcinfo"] == 1
        assert 0 <= kinds["response"] + kinds["revisit"] - kinds["request"] <= 1, path


def warcio_check(*paths: Path) -> EndedRun:
    """Return what ``warcio check -v`` says of files, and its exit code."""
    said = StringIO()
    with redirect_stdout(said):
        code = Checker(SimpleNamespace(inputs=[*map(str, paths)], verbose=True)).process_all()
    return EndedRun(code, said.getvalue(), "")


def records(path: Path) -> list[tuple[str, str]]:
    """Return type and target of each record of a WARC file, all digests verified."""
    found = []
    with path.open("rb") as file:
        for record in ArchiveIterator(file, parse_http=False, verify_digests=True):
            kind = record.headers["WARC-Type"]
            found.append((kind, record.headers.get("WARC-Target-URI") or ""))
    return found


def archived(crawl: Path) -> Counter[str]:
    """Count the answers of a crawl by URL, those that repeat a payload included."""
    files = sorted((crawl / "archive").iterdir())
    return Counter(url for path in files for kind, url in records(path) if kind in {"response", "revisit"})


def assert_objects(crawl: Path) -> None:
    """See that each N-Quads file says as much to two parsers, and names nothing by a blank node."""
    files = sorted((crawl / "objects").iterdir())
    assert {"".join(path.suffixes[-2:]) for path in files} == {".nq.gz"}
    for path in files:
        text = gzip.decompress(path.read_bytes())
        quads = set(ox.parse(text, ox.RdfFormat.N_QUADS))
        assert quads
        assert not any(isinstance(term, ox.BlankNode) for quad in quads for term in quad)
        dataset = rdflib.Dataset()
        with warnings.catch_warnings():  # rdflib warns of what it does itself while it parses.
            warnings.simplefilter("ignore", DeprecationWarning)
            dataset.parse(data=text, format="nquads")
            assert sum(1 for _ in dataset.quads()) == len(quads)


def assert_counts(crawl: Path) -> None:
    """Compare ``crawl.json`` with the tables of a finished crawl; a page that was captured twice counts once."""
    counted, pages, objects = summary(crawl), rows(crawl), rows(crawl, "objects")
    last = {row["url"]: row for row in pages}
    assert counted["pages"] == sum(row["status"] < 300 for row in last.values())
    assert counted["relevant"] == sum(bool(row["relevant"]) for row in last.values())
    assert counted["objects"] == sum(counted["object"].values()) == len(objects)
    assert counted["status"] == Counter(str(row["status"]) for row in last.values())
    assert counted["answers"] == len(last)
    assert counted["frontier"]["pages_done"] == len(last)
    assert counted["frontier"]["pages_queued"] == counted["frontier"]["pages_leased"] == 0
    in_log = (crawl / "crawl.log").read_text("utf-8")
    assert "Traceback" not in in_log
