"""Find contributions without an element of their own: runs of blocks that end with a name and a date."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from aahcrawler.induction.field_labels import names_nobody
from aahcrawler.induction.outline import Outline, weight
from aahcrawler.induction.record_sets import Byline, Dated, Nature, Record, RecordSet, Region
from aahcrawler.induction.shown_dates import ShownDate
from aahcrawler.page.text import BLOCKS, excerpt, plain_text
from aahcrawler.urls import resolve

_BLOCKS = frozenset({"p", "dd", "li", "dl", "ul", "ol", "div", "blockquote", "pre", "table"})
_LISTS = frozenset({"ul", "ol", "dl", "table", "blockquote", "pre"})
_HEADINGS = frozenset({"h1", "h2", "h3", "h4", "h5", "h6"})
_MAX_BETWEEN_LENGTH = 12
_MAX_HEADING_LENGTH = 100
_MAX_OF_HEADING = 0.7
_SENTENCE_ENDS = (".", ":", ";", ",", "。")
_BYLINES = frozenset(
    {"by", "von", "par", "por", "di", "da", "door", "av", "af", "od", "przez", "от", "автор", "oleh", "autor"}
)
"""Words at the end of a title whose author follows in the same line, as in the tree of a thread."""
_USER = re.compile(r"user|benutzer|utilisateur|usuario|utente|profil|member|people|/~|/@|author", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class _Signature:
    """A block that ends with a signature: its place, the date, and the link to the author."""

    block: int
    date: ShownDate
    author: int
    telling: bool
    """Whether more than a few letters are before the signature in its block."""


def signed_records(outline: Outline, shown: Sequence[ShownDate], base: str) -> tuple[RecordSet, ...]:
    """Return the signed contributions of a page as one set.

    A signature is a link followed by a date at the end of a block of text, with only further links and marks in
    between. The blocks back to the previous signature or to a heading belong to it.
    """
    signatures = [signature for each in shown if (signature := _signature(outline, each)) is not None]
    if sum(signature.telling for signature in signatures) < 0.5 * len(signatures):
        return ()
    if not signatures or (len(signatures) == 1 and not _names_user(outline, signatures[0])):
        return ()
    holders = {outline.parents[signature.block] for signature in signatures}
    spoken = frozenset(outline.tags[signature.block] for signature in signatures) | {"p"}
    records: list[Record] = []
    previous = -1
    for signature in signatures:
        records.append(_record(outline, signature, previous, base, spoken))
        previous = signature.block
    records = [record for record in records if record.body and _says_something(record.body.plain())]
    if not records or sum(weight(record.body.plain()) >= 25 for record in records if record.body) < 0.3 * len(records):
        return ()
    container = min(holders)
    for signature in signatures:
        container = outline.common(container, signature.block)
    return (RecordSet(outline.elements[max(container, 0)], tuple(records), Nature.POSTS, 0.9),)


def _says_something(text: str) -> bool:
    """Return whether a text is more than numbers and a date, and more than a title with a byline: ``The harbour - by``.

    >>> _says_something("#1, 05:24 AM"), _says_something("The harbour - by"), _says_something("I saw it.")
    (False, False, True)
    """
    return bool(text) and not names_nobody(text) and text.casefold().split()[-1] not in _BYLINES


def _signature(outline: Outline, shown: ShownDate) -> _Signature | None:
    if shown.piece < 0 or shown.declared:
        return None
    piece = outline.pieces[shown.piece]
    block = piece.owner
    while block >= 0 and outline.tags[block] not in _BLOCKS:
        if outline.tags[block] in BLOCKS or outline.tags[block] in ("td", "th"):
            return None
        block = outline.parents[block]
    if block <= 0 or not _ends(outline, block, shown.piece):
        return None
    links: list[int] = []
    for number in range(shown.piece - 1, -1, -1):
        earlier = outline.pieces[number]
        if not outline.contains(block, earlier.owner):
            break
        if earlier.linked:
            links.append(_link(outline, earlier.owner))
        elif len(earlier.text) > _MAX_BETWEEN_LENGTH:
            return _of(block, shown, links, telling=True)
    return _of(block, shown, links, telling=False)


def _of(block: int, shown: ShownDate, links: Sequence[int], *, telling: bool) -> _Signature | None:
    if not links or len(links) > 4:
        return None
    return _Signature(block, shown, links[-1], telling)


def _ends(outline: Outline, block: int, number: int) -> bool:
    """Return whether no text follows a piece within its block, except in blocks within it."""
    if number + 1 >= len(outline.pieces):
        return True
    following = outline.pieces[number + 1]
    return not outline.contains(block, following.owner) or (
        following.owner > block
        and any(outline.tags[place] in _BLOCKS for place in _between(outline, following.owner, block))
    )


def _between(outline: Outline, place: int, block: int) -> Iterator[int]:
    while place > block:
        yield place
        place = outline.parents[place]


def _link(outline: Outline, place: int) -> int:
    while place >= 0 and outline.tags[place] != "a":
        place = outline.parents[place]
    return place


def _names_user(outline: Outline, signature: _Signature) -> bool:
    return bool(_USER.search(outline.elements[signature.author].get("href") or ""))


def _record(outline: Outline, signature: _Signature, previous: int, base: str, spoken: frozenset[str]) -> Record:
    block = signature.block
    run = [block]
    heading: int | None = None
    for place in _preceding(outline, block):
        if _is_heading(outline, place, spoken) and place > previous:
            heading = _headline(outline, place)
            break
        if place <= previous or outline.contains(place, previous) or outline.tags[place] not in _BLOCKS:
            break
        run.append(place)
    run.reverse()
    element = outline.elements[signature.author]
    dated = signature.date
    href = element.get("href")
    titled = outline.elements[heading] if heading is not None else None
    return Record(
        elements=tuple(outline.elements[place] for place in run),
        body=Region(tuple(outline.elements[place] for place in run), (), _text(outline, run, signature)),
        author=Byline(excerpt(element, 100), element, resolve(base, href) if href else None),
        date=Dated(dated.read, outline.elements[dated.place], dated.attribute),
        title=excerpt(titled, 300) if titled is not None else "",
        heading=titled,
    )


def _preceding(outline: Outline, block: int) -> Iterator[int]:
    siblings = [place for place in outline.children(outline.parents[block]) if place < block]
    return reversed(siblings)


def _is_heading(outline: Outline, place: int, spoken: frozenset[str]) -> bool:
    """Return whether an element is a heading: by its tag, or as a few words in an element without signatures."""
    if any(outline.tags[each] in _HEADINGS for each in (place, *outline.children(place))):
        return True
    inner = range(place, outline.ends[place])
    if any(outline.tags[each] in spoken or outline.tags[each] in _LISTS for each in inner):
        return False
    shown = outline.free(place) + outline.linked(place)
    return 2 <= shown <= _MAX_HEADING_LENGTH and not excerpt(outline.elements[place], 300).endswith(_SENTENCE_ENDS)


def _headline(outline: Outline, place: int) -> int:
    """Return the place of a heading's words, without clickable elements beside them if these are separate."""
    inner = range(place, outline.ends[place])
    heading = next((each for each in inner if outline.tags[each] in _HEADINGS), place)
    plain = [each for each in inner if outline.free(each) and not outline.linked(each)]
    words = max(plain, key=lambda each: (outline.free(each), each), default=heading)
    return words if outline.free(words) >= _MAX_OF_HEADING * outline.free(heading) else heading


def _text(outline: Outline, run: Sequence[int], signature: _Signature) -> str:
    lines = [plain_text(outline.elements[place]) for place in run[:-1]]
    last = outline.elements[run[-1]]
    nested = [
        outline.elements[place] for place in outline.children(run[-1]) if outline.tags[place] in ("ul", "ol", "dl")
    ]
    text = plain_text(last, nested)
    name = excerpt(outline.elements[signature.author], 100)
    end = text.rfind(name)
    cut = text[:end] if end > 0 else text
    return "\n".join(filter(None, (*lines, cut.rstrip(" \n-–—~(["))))
