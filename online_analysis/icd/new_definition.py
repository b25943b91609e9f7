"""Write a new definition from what a person knows at the beginning, with comments on what else can be decided."""

import re
import unicodedata
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from urllib.parse import urlsplit

from online_analysis.icd.definition import Icd
from online_analysis.icd.yaml_source import after_name, scalar

_PAGES, _TIME, _BYTES = 10_000, "12 hours", "20 GB"


@dataclass(frozen=True, slots=True)
class Wish:
    """What somebody wants to crawl. For empty texts and lists, and None, the default of the field is used.

    ``start`` and ``end`` are dates as written in an ICD; give both or none.
    """

    seeds: tuple[str, ...]
    contact: str
    keywords: tuple[str, ...] = ()
    entities: tuple[str, ...] = ()
    title: str = ""
    id: str = ""
    operator: str = ""
    languages: tuple[str, ...] = ()
    start: str = ""
    end: str = ""
    anywhere: bool = False
    pages: int | None = None


def new_definition(wish: Wish) -> str:
    """Return the text of a definition. Raises IcdError with all mistakes if the wish gives no valid definition."""
    wish = replace(wish, id=wish.id or suggested_id(wish.title, wish.seeds))
    text = first_text(wish)
    Icd.parse(text.encode(), Path(f"{wish.id}.yaml"))
    return text


def first_text(wish: Wish) -> str:
    """Return the text of a definition that may have mistakes, each at the field of the wish that causes it."""
    wish = replace(wish, id=wish.id or suggested_id(wish.title, wish.seeds))
    return "\n".join(_lines(wish)) + "\n"


def suggested_id(title: str, seeds: Iterable[str]) -> str:
    """Return a name for the folder of a crawl, from its title or else from the host of its first seed.

    >>> suggested_id("Solardörfer, Deutschland!", ()), suggested_id("", ["https://www.example.org/a"])
    ('solardorfer-deutschland', 'example-org')
    """
    host = next((urlsplit(seed).hostname or "" for seed in seeds), "").removeprefix("www.")
    plain = unicodedata.normalize("NFKD", title.replace("ß", "ss")).encode("ascii", "ignore").decode().lower()
    words = re.findall("[a-z0-9]+", plain) or re.findall("[a-z0-9]+", host)
    name = ""
    for word in words:
        longer = f"{name}-{word}".removeprefix("-")
        if len(longer) > 48:
            break
        name = longer
    return name or (words[0][:48] if words else "my-crawl")


def _lines(wish: Wish) -> Iterator[str]:
    yield "# What a crawl is to collect. `aah icd check FILE` finds mistakes, `aah icd try FILE` looks at first pages,"
    yield "# and `aah crawl FILE` begins. docs/icd.md has all fields; those that are left out have their defaults."
    yield ""
    yield f"id: {scalar(wish.id)}"
    yield f"title: {scalar(wish.title)}" if wish.title else "# title: What the crawl is called in reports"
    yield f"operator: {scalar(wish.operator)}" if wish.operator else "# operator: The institution that crawls"
    yield f"contact: {scalar(wish.contact)}    # webmasters are told it with each request"
    yield ""
    yield "# The pages to begin with."
    yield f"seeds:{after_name('seeds', list(wish.seeds), 0)}"
    yield ""
    yield from _subject(wish)
    yield ""
    yield from _event(wish)
    yield ""
    yield from _bounds(wish)


def _subject(wish: Wish) -> Iterator[str]:
    if not (wish.keywords or wish.entities):
        yield "# The crawl takes the whole sites of its seeds. With a subject, pages that speak of it come first."
        yield "# topic: {keywords: [solar power, photovoltaics], entities: [Freiburg]}"
        return
    yield "# What relevant pages speak of, in each language that they are written in. Pages and links are scored by it."
    yield "topic:"
    yield f"  keywords:{after_name('keywords', list(wish.keywords), 2)}"
    yield f"  entities:{after_name('entities', list(wish.entities), 2)}    # names of people, places, organisations"
    yield "  # documents: [about.html]    # texts about the subject: files beside this one, or URLs"
    yield "  # reference_crawl: 200       # after so many pages the crawl adds words that it has learned"


def _event(wish: Wish) -> Iterator[str]:
    if wish.start or wish.end:
        yield "# The span of time that it is about; pages of other times count less."
        yield "event:"
        yield from (f"  {name}: {scalar(date)}" for name, date in (("start", wish.start), ("end", wish.end)) if date)
        yield "  # lead: 30 days         # how long before it is talked about"
        yield "  # cool_down: 12 weeks   # and how long after"
    else:
        yield "# The span of time that it is about, if it is about one; dates do not matter otherwise."
        yield "# event: {start: 2024-05-01, end: 2024-05-31, lead: 30 days, cool_down: 12 weeks}"


def _bounds(wish: Wish) -> Iterator[str]:
    yield "scope:"
    sites = "anywhere" if wish.anywhere else "seeds"
    yield f"  sites: {sites}    # seeds: the sites of the seeds alone; anywhere: wherever the subject leads"
    if wish.languages:
        yield f"  languages:{after_name('languages', list(wish.languages), 2)}    # links of pages in others are left"
    else:
        yield "  # languages: [de, en]    # links of pages in other languages are left"
    yield '  # deny: ["*/calendar/*", /print/, "host:ads.example.com"]    # addresses that are never fetched'
    yield ""
    yield "# The crawl ends with the first of these; the same command goes on with higher ones."
    yield "limits:"
    yield f"  pages: {_PAGES if wish.pages is None else wish.pages}"
    yield f"  time: {_TIME}"
    yield f"  bytes: {_BYTES}"
    yield ""
    yield "politeness:"
    yield "  delay: 1 s    # between two fetches from one site"
