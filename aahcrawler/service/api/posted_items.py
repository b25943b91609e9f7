"""Posted items as their senders write them, and the result of each."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from hashlib import blake2b
from typing import Annotated, Self

from pydantic import BaseModel, ConfigDict, Field, JsonValue, ValidationError, model_validator
from pydantic_core import from_json

from aahcrawler.frontier.posting import CONTENT_BYTES, KEY_BYTES, Wish
from aahcrawler.frontier.protocol import State
from aahcrawler.urls import MAX_LENGTH

_EXAMPLE: JsonValue = {
    "url": "https://forum.example.org/thread/17",
    "score": 0.83,
    "anchor": "Dike breaks at the harbour",
    "source": "https://social.example.net/post/4711",
}


class Outcome(StrEnum):
    """The outcome of an item."""

    ACCEPTED = "accepted"
    """Its URL is new and queued."""
    RESCORED = "rescored"
    """Its URL was queued already; the crawl's update function was applied."""
    BLACKLISTED = "blacklisted"
    """Its URL will not be fetched."""
    KNOWN = "known"
    """Its URL is being fetched or was, as ``state`` says; nothing changed."""
    OUT_OF_SCOPE = "out_of_scope"
    """The crawl does not want its URL, as ``reason`` says."""
    INVALID = "invalid"
    """The item is invalid, as ``reason`` and ``detail`` tell."""


class Item(BaseModel):
    """A URL and a client's score of it."""

    model_config = ConfigDict(
        extra="forbid", frozen=True, strict=True, hide_input_in_errors=True, json_schema_extra={"examples": [_EXAMPLE]}
    )

    url: Annotated[str, Field(max_length=4 * MAX_LENGTH, description="An http or https URL.")]
    score: Annotated[
        float | None,
        Field(ge=0, le=1, allow_inf_nan=False, description="How relevant; may be left out with `blacklist` only."),
    ] = None
    blacklist: Annotated[bool, Field(description="Never fetch this URL; the score is not looked at then.")] = False
    immediate: Annotated[bool, Field(description="Fetch it before everything that is not immediate.")] = False
    anchor: Annotated[str, Field(max_length=1000, description="The text of the link.")] = ""
    source: Annotated[
        str, Field(max_length=MAX_LENGTH, description="The page the link is on, or the name of its scorer.")
    ] = ""

    @model_validator(mode="after")
    def _says_something(self) -> Self:
        if self.score is None and not self.blacklist:
            raise ValueError("give a score from 0 to 1, or blacklist")
        if self.blacklist and self.immediate:
            raise ValueError("give immediate or blacklist, not both")
        return self

    @property
    def wish(self) -> Wish:
        """The operation that the item asks of the frontier."""
        if self.blacklist:
            return Wish.BLOCK
        return Wish.FRONT if self.immediate else Wish.SCORE

    def content_for(self, url: str) -> bytes:
        """Return all that the item says, ``url`` being its canonical URL: equal for items that say the same."""
        score = None if self.blacklist else round((self.score or 0.0) * 1_000_000)
        return json.dumps([url, score, self.wish, self.anchor, self.source]).encode()


@dataclass(frozen=True, slots=True, kw_only=True)
class Result:
    """The outcome of one item. ``repeated``: it had been applied before, with this outcome, and changed nothing now."""

    url: str = ""
    outcome: Outcome
    state: State | None = None
    reason: str = ""
    detail: str = ""
    repeated: bool = False


class Answer(BaseModel):
    """The outcomes of the items of a request, in their order."""

    crawl: str
    counts: Mapping[Outcome, int]
    results: tuple[Result, ...]


def invalid(url: str, reason: str, detail: str) -> Result:
    """Return the result for an invalid item."""
    return Result(url=url[:MAX_LENGTH], outcome=Outcome.INVALID, reason=reason, detail=detail)


def read_item(raw: object) -> Item | Result:
    """Return an item from parsed JSON, or the result for an invalid one."""
    try:
        return Item.model_validate(raw)
    except ValidationError as error:
        first = error.errors(include_url=False, include_context=False, include_input=False)[0]
        where = ".".join(map(str, first["loc"]))
        url = raw.get("url", "") if isinstance(raw, dict) else ""
        given = url if isinstance(url, str) else ""
        return invalid(given, where or "item", first["msg"])


def read_line(line: bytes) -> Item | Result:
    """Return the item of a line of NDJSON, or the result for an invalid one."""
    try:
        return read_item(from_json(line, allow_inf_nan=False))
    except ValueError as error:
        return invalid("", "json", str(error))


def identity(posted: bytes, key: str, position: int) -> tuple[bytes, bytes]:
    """Return key and content of the post an item becomes.

    With an idempotency key it is known by that and its position in the request, else by all that it says.
    """
    content = blake2b(posted, digest_size=CONTENT_BYTES).digest()
    known_by = b"key\0%d\0%s" % (position, key.encode()) if key else b"said\0" + posted
    return blake2b(known_by, digest_size=KEY_BYTES).digest(), content
