"""What a reader takes along of a capture: its text as a file, a mail with a citation, and where else it is archived."""

from collections.abc import Sequence
from itertools import accumulate
from typing import Final
from urllib.parse import quote

from pydantic import BaseModel, ConfigDict

from aahcrawler.annotations import Annotation, Kind
from aahcrawler.annotations.annotation_settings import AnnotationSettings
from aahcrawler.objects.capture_statements import ObjectRow
from aahcrawler.service.catalog.crawl_catalog import Crawl
from aahcrawler.service.views.page_indexes import PageIndexes
from aahcrawler.service.views.page_list import PageShown
from aahcrawler.service.web.problems import ProblemError

MAX_TEXT: Final = 2_000_000
"""Characters of a text that is taken along."""
MAX_PASSAGE: Final = 800
"""Characters of a passage, and of a citation, as the address of a mail has them: a letter of other scripts is nine.

Programs for mail take addresses of some 2,000.
"""
_MAX_SUBJECT: Final = 200
MAX_NAMED: Final = 8
"""Names of a kind that are shown beside a capture."""
_KINDS: Final = (Kind.TOPIC, Kind.PERSON, Kind.ORGANISATION, Kind.PLACE)


class HeldBy(BaseModel):
    """A crawl or import that has captures of a URL, how many, and when the first and the last of them were made."""

    model_config = ConfigDict(frozen=True)

    crawl: str
    title: str
    captures: int
    first: str
    last: str
    record: str


def held_by(indexes: PageIndexes, crawls: Sequence[Crawl], url: str) -> tuple[tuple[HeldBy, ...], int]:
    """Return the crawls that have captures of a URL, the latest first, and how many crawls could not be asked."""
    found, unasked = [], 0
    for crawl in crawls:
        if crawl.folder is None:
            continue
        try:
            with indexes.asked(crawl) as index:
                row = index.base.execute(
                    "SELECT count(*), min(fetched_at), max(fetched_at), (SELECT record FROM capture WHERE url = ?1 "
                    "ORDER BY at DESC, id DESC LIMIT 1) FROM capture WHERE url = ?1",
                    (url,),
                ).fetchone()
        except ProblemError:
            unasked += 1
            continue
        captures, first, last, record = tuple(row)
        if captures:
            told = {"captures": captures, "first": first, "last": last, "record": record}
            found.append(HeldBy(crawl=crawl.id, title=crawl.icd.title or crawl.id, **told))
    return tuple(sorted(found, key=lambda each: (each.last, each.crawl), reverse=True)), unasked


def names_of(said: Sequence[Annotation], settings: AnnotationSettings) -> dict[Kind, list[tuple[str, str]]]:
    """Return what a capture speaks of by kind, the IRI or label and the name of each, the most frequent first.

    People are left out unless the institution shows them.
    """
    found: dict[Kind, dict[str, list[str]]] = {}
    for each in said:
        if each.kind in _KINDS and settings.has_page(each.kind):
            found.setdefault(each.kind, {}).setdefault(each.iri or each.label, []).append(each.label)
    return {
        kind: [
            (of, min(labels)) for of, labels in sorted(found[kind].items(), key=lambda item: (-len(item[1]), item[0]))
        ][:MAX_NAMED]
        for kind in _KINDS
        if kind in found
    }


def citation(page: PageShown, crawl: str) -> str:
    """Return by what a capture is cited: title, URL, when it was captured, in which crawl, and as which record."""
    title = f"{' '.join(page.title.split())}. " if page.title else ""
    return f"{title}{page.url} (captured {page.fetched_at}, archive {crawl}, record {page.record})"


def as_text(page: PageShown, crawl: str, objects: Sequence[ObjectRow]) -> str:
    """Return the texts of a capture's objects with their authors and dates, below what it is cited by.

    Beyond ``MAX_TEXT`` characters it is cut, and says so at its end.
    """
    parts = [citation(page, crawl)]
    for each in objects:
        if each.body:
            told = " · ".join(filter(None, (each.type, each.title, each.author, each.date)))
            parts.append(f"{told}\n\n{each.body}")
    text = "\n\n----\n\n".join(parts)
    return (
        f"{text}\n" if len(text) <= MAX_TEXT else f"{text[:MAX_TEXT]}\n\n----\n\nCut here: the archive has the rest.\n"
    )


def mail_address(page: PageShown, crawl: str, passage: str, link: str) -> str:
    """Return the address that opens a mail with a passage and its citation in the reader's own program.

    Nothing is sent: whom it goes to, and whether, is left to the reader.
    """
    words = " ".join(passage.split())
    cut = _cut(words, MAX_PASSAGE)
    quoted = f"“{cut}{'' if cut == words else ' …'}”" if words else ""
    body = "\r\n\r\n".join(filter(None, (quoted, _cut(citation(page, crawl), MAX_PASSAGE), link)))
    subject = _cut(" ".join((page.title or page.url).split()), _MAX_SUBJECT)
    return f"mailto:?subject={_quoted(subject)}&body={_quoted(body)}"


def _cut(words: str, most: int) -> str:
    """Return the beginning of a text that takes so many characters in an address at most, cut between words if it can.

    >>> _cut("the dike broke", 12), _cut("堤防が決壊した", 18)
    ('the dike', '堤防')
    """
    sizes = accumulate(len(_quoted(sign)) for sign in words[: most + 1])
    end = sum(size <= most for size in sizes)
    return words if end == len(words) else words[: max(words.rfind(" ", 0, end + 1), 0) or end]


def _quoted(text: str) -> str:
    return quote(text, safe="", errors="replace")
