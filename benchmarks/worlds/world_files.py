"""Writes a world as ``aah simulate`` reads it: WARC files, topics, labels, and what it was made of."""

import csv
import json
from collections.abc import Iterable, Mapping, Sequence
from io import BytesIO
from pathlib import Path
from uuid import NAMESPACE_URL, uuid5

from warcio.statusandheaders import StatusAndHeaders
from warcio.warcwriter import WARCWriter

from benchmarks.worlds.archived_page import Answer, ArchivedPage
from benchmarks.worlds.topic_lot import Topics

_DATE = "2026-01-02T03:04:05Z"
"""The date of all records: the same packages make the same bytes."""


def write_answers(folder: Path, name: str, answers: Iterable[Answer]) -> Mapping[str, tuple[str, ...]]:
    """Write a response record for each answer, the first for a URL; return the labels of the pages by URL."""
    labels: dict[str, tuple[str, ...]] = {}
    seen: set[str] = set()
    with (folder / f"{name}.warc.gz").open("wb") as file:
        writer = WARCWriter(file, gzip=True)
        for answer in answers:
            if answer.url in seen:
                continue
            seen.add(answer.url)
            writer.write_record(_record(writer, answer))
            if isinstance(answer, ArchivedPage):
                labels[answer.url] = answer.labels
    return labels


def write_labels(folder: Path, labels: Mapping[str, Sequence[str]]) -> None:
    """Write ``topics.tsv``: each page with its narrowest label and, separated by bars, with all of them."""
    with (folder / "topics.tsv").open("w", encoding="utf-8", newline="") as file:
        table = csv.writer(file, delimiter="\t", quoting=csv.QUOTE_NONE, quotechar=None, lineterminator="\n")
        table.writerow(("url", "topic", "tags"))
        for url, names in labels.items():
            table.writerow((url, names[0] if names else "", "|".join(names)))


def write_topics(folder: Path, topics: Topics, sources: Mapping[str, str]) -> None:
    """Write ``topics.json`` and, as ``sources.json``, the versions of the packages that the world was made of."""
    (folder / "topics.json").write_text(json.dumps(topics, indent=1, ensure_ascii=False) + "\n", "utf-8")
    (folder / "sources.json").write_text(json.dumps(sources, indent=1) + "\n", "utf-8")


def _record(writer: WARCWriter, answer: Answer) -> object:
    if isinstance(answer, ArchivedPage):
        status, own, body = "200 OK", [("Content-Type", "text/html")], answer.body
    else:
        status, own, body = "301 Moved Permanently", [("Location", answer.target)], b""
    head = StatusAndHeaders(status, [*own, ("Content-Length", str(len(body)))], protocol="HTTP/1.1")
    fields = {"WARC-Date": _DATE, "WARC-Record-ID": f"<{uuid5(NAMESPACE_URL, answer.url).urn}>"}
    return writer.create_warc_record(
        answer.url, "response", payload=BytesIO(body), http_headers=head, warc_headers_dict=fields
    )
