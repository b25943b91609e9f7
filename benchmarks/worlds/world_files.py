"""Writes a world as ``aah simulate`` reads it: WARC files, topics, labels, and what it was made of."""

import csv
import gzip
import json
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from uuid import NAMESPACE_URL, uuid5

from benchmarks.worlds.archived_page import Answer, ArchivedPage
from benchmarks.worlds.topic_lot import Topics

_DATE = "2026-01-02T03:04:05Z"
"""The date of all records: the same packages make the same bytes."""


def write_answers(folder: Path, name: str, answers: Iterable[Answer]) -> Mapping[str, tuple[str, ...]]:
    """Write a response record for each answer, the first for a URL; return the labels of the pages by URL."""
    labels: dict[str, tuple[str, ...]] = {}
    seen: set[str] = set()
    with (folder / f"{name}.warc.gz").open("wb") as file:
        for answer in answers:
            if answer.url in seen:
                continue
            seen.add(answer.url)
            file.write(gzip.compress(_record(answer), mtime=0))
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


def _record(answer: Answer) -> bytes:
    if isinstance(answer, ArchivedPage):
        status, own, body = "200 OK", "Content-Type: text/html", answer.body
    else:
        status, own, body = "301 Moved Permanently", f"Location: {answer.target}", b""
    answered = f"HTTP/1.1 {status}\r\n{own}\r\nContent-Length: {len(body)}\r\n\r\n".encode() + body
    fields = (
        "WARC/1.1",
        "WARC-Type: response",
        f"WARC-Record-ID: <{uuid5(NAMESPACE_URL, answer.url).urn}>",
        f"WARC-Date: {_DATE}",
        f"WARC-Target-URI: {answer.url}",
        "Content-Type: application/http;msgtype=response",
        f"Content-Length: {len(answered)}",
    )
    return "\r\n".join(fields).encode() + b"\r\n\r\n" + answered + b"\r\n\r\n"
