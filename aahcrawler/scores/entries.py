"""The entries of a score log: one JSON object a line, without fields that are None.

The fields of links are parallel lists, which take a third of the space and time of one object a link. Scores are
rounded to four decimals. ``at`` is in milliseconds since 1970.
"""

from collections.abc import Mapping, Sequence
from enum import StrEnum
from typing import Annotated, Literal, TypeVar

import numpy as np
from pydantic import BaseModel, ConfigDict, Field, TypeAdapter

FORMAT = 1
"""The version of the entries."""
DECIMALS = 4

Column = list[float | None] | float | None
"""A value a link, or the one that all of them have; None says nothing of a link."""


class Source(StrEnum):
    """Where URLs come from, other than the links of pages."""

    SEED = "seed"
    FORMER = "former crawl"
    """A page that a former crawl of the definition captured; it has the score that it had then."""
    POSTING = "social posting"
    REQUEST = "request"
    """A request of a Scrapy extension."""
    READMITTED = "readmitted"
    """A link that was refused, until the definition changed; it has the score that it had when it was refused."""
    SITEMAP = "sitemap"
    """A sitemap."""
    FEED = "feed"
    """A feed that a page announced."""


class _Entry(BaseModel):
    model_config = ConfigDict(frozen=True)


class Begin(_Entry):
    """The first entry of each file: the settings of all others in it. ``crawl`` counts the crawls of a definition.

    The other fields are copied from the definition's ``scoring``.
    """

    entry: Literal["begin"] = "begin"
    format: int = FORMAT
    at: int
    crawl: int
    update: str
    weights: Mapping[str, float]
    explore: float = 0.0
    seed: int = 0


class Offered(_Entry):
    """URLs offered to the frontier that no page linked to."""

    entry: Literal["offered"] = "offered"
    at: int
    source: Source
    url: list[str]
    score: list[float]


class Links(_Entry):
    """The links of a page: the score of each in the frontier, and each analyser's score of it.

    ``refused`` has the positions of links that were not offered, by reason. ``parts`` is empty where the scores are
    those of a former capture. ``unscored`` means that the links were offered without these scores, to be scored in a
    batch.
    """

    url: list[str]
    score: list[float]
    parts: Mapping[str, Column] = {}
    refused: Mapping[str, list[int]] = {}
    unscored: bool | None = None


class Lesson(_Entry):
    """What a ranker was given to learn from a page, besides the URLs of its links, so that it can be trained again.

    ``score`` and ``weight`` are the other analysers' average and its weight for each link, to six decimals. The other
    columns are indexes of ``names``, whose first entry is empty; ``role`` is that of the part which contains the link.
    A column is one number where all links have the same. ``left`` are the shares of the budgets of crawl and site that
    were left, None where nothing was spent.
    """

    worth: float
    left: tuple[float, float] | None = None
    application: str | None = None
    kind: str | None = None
    level: str | None = None
    title: str | None = None
    score: list[float]
    weight: list[float] | float = 0.0
    names: list[str]
    anchor: list[int] | int
    context: list[int] | int = 0
    place: list[int] | int
    action: list[int] | int
    role: list[int] | int


class Judged(_Entry):
    """A page that was fetched: its relevance, each analyser's score of it, and its links.

    ``priority`` is the score that it was fetched with, which its redirect target ``redirect`` inherits. ``score`` is
    None where the page could not be read. ``status`` is None for 200.
    """

    entry: Literal["page"] = "page"
    at: int
    url: str
    depth: int
    priority: float
    status: int | None = None
    score: float | None = None
    parts: Mapping[str, float] | None = None
    links: Links | None = None
    redirect: str | None = None
    lesson: Lesson | None = None


class Batched(_Entry):
    """URLs that were scored together from all ``pages`` of a batch, and offered with that score.

    ``linked`` is the number of these pages that link to each, ``parts`` each analyser's part of the score.
    """

    entry: Literal["batch"] = "batch"
    at: int
    pages: int
    url: list[str]
    score: list[float]
    linked: list[int] | int
    parts: Mapping[str, Column] = {}


class Asked(_Entry):
    """A call that asked the ranker for up to that many URLs with changed scores, whether or not it had any."""

    entry: Literal["asked"] = "asked"
    at: int
    n: int


class Rescored(_Entry):
    """URLs whose scores in the frontier were replaced because the ranker revised them.

    With ``by`` the definition has changed, and the entries after it use its weights.
    """

    entry: Literal["rescored"] = "rescored"
    at: int
    url: list[str]
    score: list[float]
    by: Literal["weights"] | None = None


class Ended(_Entry):
    """A URL that will not be fetched any more; ``state`` and ``reason`` are those of the frontier."""

    entry: Literal["ended"] = "ended"
    at: int
    url: str
    state: str
    reason: str = ""


Entry = Offered | Judged | Batched | Asked | Rescored | Ended
ENTRY: TypeAdapter[Begin | Entry] = TypeAdapter(
    Annotated[Begin | Offered | Judged | Batched | Asked | Rescored | Ended, Field(discriminator="entry")]
)


T = TypeVar("T")


def packed(values: Sequence[T]) -> list[T] | T | None:
    """Return a column of values as one value where all are the same; None where there are none.

    >>> packed([0.5, 0.5]), packed([0.5, None]), packed([])
    (0.5, [0.5, None], None)
    """
    if not values:
        return None
    first = values[0]
    return first if values.count(first) == len(values) else list(values)


def unpacked(column: list[T] | T, n: int) -> Sequence[T]:
    """Return the ``n`` values of a column."""
    return column if isinstance(column, list) else [column] * n


def rounded(values: Sequence[float | None], decimals: int) -> list[float | None]:
    """Round values; None becomes NaN, which is written as null.

    >>> rounded([0.12345, None, 1.0], 3)
    [0.123, nan, 1.0]
    """
    found: list[float | None] = np.array(values, np.float64).round(decimals).tolist()
    return found


def updated(update: str, total: float, offers: int, score: float) -> tuple[float, int]:
    """Return the sum and the number of a queued URL's scores, whose quotient is its score, after another offer.

    >>> updated("max", 0.5, 1, 0.2), updated("avg", 0.5, 1, 0.3), updated("sum", 0.0, 0, 0.3)
    ((0.5, 1), (0.8, 2), (0.3, 1))
    """
    if not offers:
        return score, 1
    match update:
        case "last":
            return score, 1
        case "max":
            return max(total, score), 1
        case "sum":
            return total + score, 1
        case "avg":
            return total + score, offers + 1
        case _:
            return total, offers
