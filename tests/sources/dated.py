"""Archives with dated captures, made up."""

import gzip
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from tests.imports.archives import record


@dataclass(frozen=True, slots=True)
class Dated:
    """A capture of a URL at a moment (ISO 8601, to the second): its status, its body, and more fields of its head."""

    url: str
    at: str
    body: str = ""
    status: str = "200 OK"
    fields: Mapping[str, str] = field(default_factory=lambda: {"Content-Type": "text/html; charset=utf-8"})

    @property
    def block(self) -> bytes:
        """The response as its site sent it."""
        lines = "".join(f"{name}: {value}\r\n" for name, value in self.fields.items())
        return f"HTTP/1.1 {self.status}\r\n{lines}\r\n{self.body}".encode()


def page(title: str, *links: str, text: str = "") -> str:
    """Return a page of some words about a flood, with links."""
    said = text or f"{title}: the storm surge of the river has flooded the harbour, and the dike breaks."
    shown = "".join(f'<li><a href="{link}">more of the flood: {link}</a></li>' for link in links)
    return f"<html><title>{title}</title><body><article><h1>{title}</h1><p>{said}</p></article><ul>{shown}</ul></body>"


def write_archive(path: Path, captures: Iterable[Dated]) -> Path:
    """Write a WARC file of captures, a gzip member a record."""
    with path.open("wb") as file:
        for number, each in enumerate(captures, 1):
            written = record(number, each.block, url=each.url, version="1.1", WARC_Date=each.at)
            file.write(gzip.compress(written.text))
    return path
