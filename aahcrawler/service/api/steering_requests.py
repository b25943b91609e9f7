"""What is asked of a crawl by those who steer it."""

from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field, JsonValue, RootModel, StrictBool

from aahcrawler.crawl_collections import Collection
from aahcrawler.frontier.blocking_rules import RuleKind
from aahcrawler.service.steering.describing import Description
from aahcrawler.service.steering.exclusion_rules import MOST_RULES
from aahcrawler.service.steering.starting_crawls import MOST_WORKERS
from aahcrawler.service.steering.url_scores import LONGEST_WAIT
from aahcrawler.urls import MAX_LENGTH

_STRICT = ConfigDict(extra="forbid", frozen=True, hide_input_in_errors=True)
LONGEST_DEFINITION = 2 * 2**20
Url = Annotated[str, Field(min_length=1, max_length=4 * MAX_LENGTH, examples=["https://forum.example.org/thread/17"])]
Number = Annotated[int, Field(strict=True)]
Size = Annotated[Number | str | None, Field(examples=["20 GB"])]
Score = Annotated[float, Field(ge=0, le=1, allow_inf_nan=False, strict=True)]
_SOME: dict[str, JsonValue] = {"minProperties": 1}


class Site(BaseModel):
    """A site, by any of its hosts: its pay-level domain is meant."""

    model_config = _STRICT

    site: Annotated[str, Field(min_length=1, max_length=300, examples=["forum.example.org"])]


class Start(BaseModel):
    """How a crawl is started. ``workers`` is the number of processes, as in the last time where it is left out."""

    model_config = _STRICT

    accept_changes: StrictBool = False
    workers: Annotated[int, Field(ge=1, le=MOST_WORKERS, strict=True)] | None = None


class RuleAsked(BaseModel):
    """A rule: a URL, all URLs that begin with a text, a host with all below it, or a pattern."""

    model_config = _STRICT

    kind: RuleKind
    text: Annotated[str, Field(min_length=1, max_length=MAX_LENGTH, examples=["calendar.example.org"])]


class RulesAsked(BaseModel):
    """Rules."""

    model_config = ConfigDict(
        **_STRICT, json_schema_extra={"examples": [{"rules": [{"kind": "host", "text": "ads.example.org"}]}]}
    )

    rules: Annotated[tuple[RuleAsked, ...], Field(min_length=1, max_length=MOST_RULES)]


class Scored(BaseModel):
    """A queued URL and the score that it is to have."""

    model_config = _STRICT

    url: Url
    score: Score


class Named(BaseModel):
    """A URL."""

    model_config = _STRICT

    url: Url


class Revisited(BaseModel):
    """A fetched page that is to be fetched again in so many seconds, with the score that it is queued with then."""

    model_config = _STRICT

    url: Url
    seconds: Annotated[float, Field(ge=0, le=LONGEST_WAIT, allow_inf_nan=False, strict=True)] = 0.0
    score: Score = 1.0


class LimitsAsked(BaseModel):
    """Limits to be changed, as a definition writes them; null puts one back to its default."""

    model_config = ConfigDict(**_STRICT, json_schema_extra=_SOME)

    pages: Number | None = None
    bytes: Size = None
    time: Annotated[str | None, Field(examples=["3 hours"])] = None
    pages_per_domain: Number | None = None
    requisite_bytes: Size = None
    requisite_file_bytes: Size = None
    requisites_per_page: Number | None = None
    requisites_per_style_sheet: Number | None = None
    parts_per_stream: Number | None = None
    stream_lines: Number | None = None
    browser_pages: Number | None = None
    browser_time: Annotated[str | None, Field(examples=["2 hours"])] = None


Analyser = Annotated[str, Field(pattern=r"^[A-Za-z_][A-Za-z0-9_-]{0,99}$")]
Weight = Annotated[float, Field(ge=0, allow_inf_nan=False, strict=True)]


class WeightsAsked(RootModel[dict[Analyser, Weight | None]]):
    """Weights to be changed, by analyser; null puts one back to its default."""

    model_config = ConfigDict(
        frozen=True, json_schema_extra={**_SOME, "additionalProperties": False, "examples": [{"text": 1, "url": 0.5}]}
    )


class ScopeAsked(BaseModel):
    """Fields of the scope to be changed, as a definition writes them; null puts one back to its default."""

    model_config = ConfigDict(**_STRICT, json_schema_extra=_SOME)

    sites: Literal["seeds", "anywhere"] | None = None
    allow: tuple[str, ...] | None = None
    deny: tuple[str, ...] | None = None
    languages: tuple[str, ...] | None = None
    depth: Number | None = None
    canonical: dict[str, JsonValue] | None = None
    rules: tuple[dict[str, JsonValue], ...] | None = None


class DefinitionAsked(BaseModel):
    """A definition as its file would have it, in YAML or JSON, and whether its crawl is to be started at once."""

    model_config = _STRICT

    definition: Annotated[str, Field(min_length=1, max_length=LONGEST_DEFINITION)] | dict[str, JsonValue]
    start: StrictBool = False


class TextAsked(BaseModel):
    """The text of a definition, and the digest of the one that it takes the place of."""

    model_config = _STRICT

    text: Annotated[str, Field(min_length=1, max_length=LONGEST_DEFINITION)]
    digest: Annotated[str, Field(pattern="^[0-9a-f]{64}$")]


class DefinitionText(BaseModel):
    """The text of a crawl's definition, and its digest, by which the next change names it."""

    model_config = ConfigDict(frozen=True)

    text: str
    digest: str


class DescriptionAsked(Description):
    """What a crawl is to be called and described by; what is left out is empty then."""


class CollectionAsked(Collection):
    """What a collection is to be; what is left out is empty then."""


class CopyAsked(BaseModel):
    """The title of a crawl that is to be defined as another one."""

    model_config = _STRICT

    title: Annotated[str, Field(min_length=1, max_length=1000, examples=["The flood, once more"])]
