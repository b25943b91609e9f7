"""Gives the texts of a recorded site what texts on real sites repeat: quotes, signatures and boilerplate.

What is added becomes a part of the objects' bodies, on the site's pages as in its ground truth: every second answer
begins with sentences of the one before it, every author signs in the same way, and some send a line of their device.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from hashlib import blake2b
from pathlib import Path
from typing import Any

from lxml.html import HtmlElement, fromstring

from benchmarks.damage import copied, written
from benchmarks.recorded import RecordedSite, recorded_files
from benchmarks.truth import Layout, Truth, words

QUOTED = 2
"""One in so many answers quotes the one before it."""
SENTENCES = 40
"""The most words of a quotation."""
WHOLE, FOREIGN = 0.95, 1.15
"""The least share of a body in the element that holds it, and the most words of that relative to those of the body."""
MIN_WORDS = 8
"""Bodies with fewer words are left unchanged, since they cannot be told from others."""

_DEVICES = (
    "Sent from my telephone, please excuse the brevity and any mistakes.",
    "This message was written with the board's own reader for small screens.",
)
_MOTTOES = (
    "Measure twice, cut once, and keep the offcuts.",
    "Whoever asks is a fool for a minute; whoever does not, for a lifetime.",
    "My opinions are my own, my spelling is the dictionary's fault.",
    "Please read the rules of this board before you answer.",
)


@dataclass(frozen=True, slots=True)
class Addition:
    """The text before a body, empty where it quotes nothing, and the lines behind it."""

    quote: str
    lines: tuple[str, ...]

    def around(self, body: str) -> str:
        """Return a body with the additions around it."""
        return "\n".join(filter(None, (self.quote, body, *self.lines)))


def repeating(site: RecordedSite, target: Path, seed: int) -> RecordedSite:
    """Write a copy of a site with additions to its texts to ``target/app/theme``."""
    copy = copied(site, target)
    rows = [json.loads(line) for line in (site.folder / "truth.jsonl").read_text("utf-8").splitlines()]
    truth = Truth.of(site)
    added = additions(rows, seed)
    numbers = _numbered(rows)
    firm = _firm(site, truth, numbers.keys() & added.keys())
    for name, page in recorded_files(site):
        if page.is_html and _extended(page.tree, truth, {number: added[number] for number in firm}):
            (copy.folder / name).write_bytes(written(page))
    for number in firm:
        row = rows[numbers[number]]
        row["body"] = added[number].around(row["body"])
    lines = "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows)
    (copy.folder / "truth.jsonl").unlink()
    (copy.folder / "truth.jsonl").write_text(lines, "utf-8")
    return copy


def additions(rows: Sequence[Mapping[str, Any]], seed: int) -> Mapping[int, Addition]:
    """Return the addition to each body, by the body's number among those that are not empty."""
    added: dict[int, Addition] = {}
    before: Mapping[str, Any] | None = None
    bodied = (row for row in rows if words(row["body"] or ""))
    for number, row in enumerate(bodied):
        draw = _drawn(seed, str(row["id"]))
        quote = ""
        if before is not None and row.get("parent") and draw % QUOTED == 0 and before["url"] == row["url"]:
            quote = f"{before['author']} wrote: {' '.join(before['body'].split()[:SENTENCES])}"
        writer = _drawn(seed, str(row["author"]))
        lines = [f"-- {row['author']}: {_MOTTOES[writer % len(_MOTTOES)]}"]
        if writer % 3 == 0:
            lines.insert(0, _DEVICES[writer // 3 % len(_DEVICES)])
        added[number] = Addition(quote, tuple(lines))
        before = row
    return added


def _drawn(seed: int, about: str) -> int:
    return int.from_bytes(blake2b(f"{seed}\n{about}".encode(), digest_size=4).digest())


def _numbered(rows: Sequence[Mapping[str, Any]]) -> Mapping[int, int]:
    """Return the row number of each body that is long enough, by the body's number."""
    bodied = [place for place, row in enumerate(rows) if words(row["body"] or "")]
    return {number: place for number, place in enumerate(bodied) if len(words(rows[place]["body"])) >= MIN_WORDS}


def _firm(site: RecordedSite, truth: Truth, numbers: set[int]) -> list[int]:
    """Return the numbers of bodies that lie in one element on every page that shows them completely."""
    held: set[int] = set()
    torn: set[int] = set()
    for _, page in recorded_files(site):
        if page.is_html:
            layout = Layout.of(page.tree, truth)
            found = _holders(layout, truth, numbers)
            held |= found.keys()
            torn |= _whole(layout, truth, numbers) - found.keys()
    return sorted(held - torn)


def _whole(layout: Layout, truth: Truth, numbers: set[int]) -> set[int]:
    counted: dict[int, int] = {}
    for marks in layout.marks:
        for number in marks & numbers:
            counted[number] = counted.get(number, 0) + 1
    return {number for number, count in counted.items() if count >= WHOLE * len(truth.bodies[number])}


def _holders(layout: Layout, truth: Truth, numbers: set[int]) -> dict[int, HtmlElement]:
    """Return the innermost element that holds each body and hardly anything else."""
    found: dict[int, HtmlElement] = {}
    whole = _whole(layout, truth, numbers)
    by_size = sorted((len(truth.bodies[number]), number) for number in whole)
    # An element ends, and is noted, before those around it do.
    for element in layout.spans:
        if not isinstance(element.tag, str) or element.tag in ("a", "p", "span", "html", "body", "head", "title"):
            continue
        size = layout.size(element)
        for length, number in by_size:
            if length > size / WHOLE:
                break
            if size <= FOREIGN * length and layout.share(element, number) >= WHOLE * length:
                found.setdefault(number, element)
    return found


def _extended(tree: HtmlElement, truth: Truth, added: Mapping[int, Addition]) -> bool:
    """Add to each body on a page its addition; return whether there was any."""
    holders = _holders(Layout.of(tree, truth), truth, set(added))
    for number, holder in holders.items():
        if added[number].quote:
            quote = _paragraph("blockquote", added[number].quote)
            quote.tail, holder.text = holder.text, None
            holder.insert(0, quote)
        holder.extend(_paragraph("p", line) for line in added[number].lines)
    return bool(holders)


def _paragraph(tag: str, text: str) -> HtmlElement:
    made = fromstring(f"<{tag}></{tag}>")
    made.text = text
    return made
