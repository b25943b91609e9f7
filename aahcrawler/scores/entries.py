"""What a score log says, entry by entry. Each is an object of JSON on a line; what is None is left out.

Columns of links run parallel to one another: that takes a third of the room of an object a link, and of the time.
Scores are rounded to four decimals. ``at`` are milliseconds since 1970.
"""

from collections.abc import Mapping
from enum import StrEnum
from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field, TypeAdapter

FORMAT = 1
"""The version of the entries."""
DECIMALS = 4

Column = list[float | None] | float | None
"""A value a link, or the one that all of them have; None says nothing of a link."""


class Source(StrEnum):
    """Who offers URLs, beside the links of pages."""

    SEED = "seed"
    FORMER = "former crawl"
    """A page that a former crawl of the definition captured; it has the score that it had then."""
    POSTING = "social posting"
    REQUEST = "request"
    """What a Scrapy add-on asked for."""
    READMITTED = "readmitted"
    """A link that was refused, until the definition changed; it has the score that it had when it was refused."""
    SITEMAP = "sitemap"
    """What a sitemap lists."""
    FEED = "feed"
    """What a feed has that a page announced."""


class _Entry(BaseModel):
    model_config = ConfigDict(frozen=True)


class Begin(_Entry):
    """The first entry of each file: what all others in it go by. ``crawl`` counts the crawls of a definition.

    The rest is from the definition's ``scoring``.
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
    """URLs that no page led to."""

    entry: Literal["offered"] = "offered"
    at: int
    source: Source
    url: list[str]
    score: list[float]


class Links(_Entry):
    """The links of a page: what each went to the frontier with, and what each analyser said of it.

    ``refused`` has the positions of links that were not offered, by reason. ``parts`` is empty where the scores are
    those of a former capture. ``unscored``: they went to the frontier without these scores, to be scored with a batch.
    """

    url: list[str]
    score: list[float]
    parts: Mapping[str, Column] = {}
    refused: Mapping[str, list[int]] = {}
    unscored: bool | None = None


class Lesson(_Entry):
    """What a ranker was given of the page beside the addresses of its links, so that it can be given it again.

    ``score`` and ``weight`` are what the other analysers said of each link, to six decimals. The other columns index
    ``names``, the first of which is empty; ``role`` is that of the part which the link stands in. Each is one number
    where all links have the same.
    """

    worth: float
    application: str | None = None
    kind: str | None = None
    level: str | None = None
    score: list[float]
    weight: list[float] | float = 0.0
    names: list[str]
    anchor: list[int] | int
    place: list[int] | int
    action: list[int] | int
    role: list[int] | int


class Judged(_Entry):
    """A page that was answered: what it was worth, what each analyser said of it, and where it leads.

    ``priority`` is the score that it was fetched with, which is also what goes to ``redirect``, the address that it
    redirects to. ``score`` is None where nothing was understood. ``status`` is None for 200.
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
    """URLs that were scored together, by what all ``pages`` of a batch say of them, and offered with that score.

    ``linked`` is how many of these pages link to each, ``parts`` what each analyser's part came to.
    """

    entry: Literal["batch"] = "batch"
    at: int
    pages: int
    url: list[str]
    score: list[float]
    linked: list[int] | int
    parts: Mapping[str, Column] = {}


class Asked(_Entry):
    """The ranker was asked for so many URLs whose score has changed, whether or not it had any."""

    entry: Literal["asked"] = "asked"
    at: int
    n: int


class Rescored(_Entry):
    """URLs that have these scores in the frontier from now on: what the ranker was asked for was acted upon.

    With ``by`` it is the definition that has changed, and what it weighs that the file goes by.
    """

    entry: Literal["rescored"] = "rescored"
    at: int
    url: list[str]
    score: list[float]
    by: Literal["weights"] | None = None


class Ended(_Entry):
    """A URL that will not be fetched any more, ``state`` and ``reason`` being the frontier's."""

    entry: Literal["ended"] = "ended"
    at: int
    url: str
    state: str
    reason: str = ""


Entry = Offered | Judged | Batched | Asked | Rescored | Ended
ENTRY: TypeAdapter[Begin | Entry] = TypeAdapter(
    Annotated[Begin | Offered | Judged | Batched | Asked | Rescored | Ended, Field(discriminator="entry")]
)
