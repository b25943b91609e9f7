"""Bodies of requests as they arrive: bounded in size, in items, in the length of a line, and in time."""

import asyncio
from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass

from fastapi import Request
from pydantic_core import from_json
from starlette.requests import ClientDisconnect

from aahcrawler.service.api.posted_items import Item, Result, read_item
from aahcrawler.service.web.problems import BAD_JSON, TOO_LARGE, TOO_SLOW, ProblemError

AT_ONCE = 500
"""Items of a stream that are applied together."""


@dataclass(frozen=True, slots=True)
class Limits:
    """The limits of a request: items, bytes, bytes of a line of NDJSON, seconds between two pieces of a body."""

    items: int = 10_000
    body: int = 16 * 2**20
    line: int = 2**16
    patience: float = 30.0


async def read_whole(request: Request, limits: Limits) -> bytes:
    """Return a body. Raise ``ProblemError`` when there is too much of it."""
    return b"".join([piece async for piece in _pieces(request, limits)])


def parse_whole(body: bytes, limits: Limits) -> Sequence[Item | Result]:
    """Return the items of a JSON body, an object or an array. Raise ``ProblemError`` for an invalid or large one."""
    try:
        raw = from_json(body, allow_inf_nan=False)
    except ValueError as error:
        raise ProblemError(BAD_JSON, str(error)) from None
    entries = raw if isinstance(raw, list) else [raw]
    if len(entries) > limits.items:
        raise ProblemError(TOO_LARGE, _too_many(limits), applied=0)
    return [read_item(entry) for entry in entries]


async def read_stream(request: Request, limits: Limits) -> AsyncIterator[Sequence[bytes]]:
    """Yield the lines of an NDJSON body as they arrive, a batch at a time; empty lines are left out.

    Raise ``ProblemError`` when the body is too large; the lines yielded before stand.
    """
    batch: list[bytes] = []
    total = 0
    async for line in _lines(request, limits):
        total += 1
        if total > limits.items:
            if batch:
                yield batch
            raise ProblemError(TOO_LARGE, _too_many(limits))
        batch.append(line)
        if len(batch) == AT_ONCE:
            yield batch
            batch = []
    if batch:
        yield batch


async def _lines(request: Request, limits: Limits) -> AsyncIterator[bytes]:
    rest = b""
    async for piece in _pieces(request, limits):
        *lines, rest = (rest + piece).split(b"\n")
        if any(len(line) > limits.line for line in (*lines, rest)):
            raise ProblemError(TOO_LARGE, f"a line has at most {limits.line:,} bytes")
        for line in filter(None, map(bytes.strip, lines)):
            yield line
    if rest.strip():
        yield rest.strip()


async def _pieces(request: Request, limits: Limits) -> AsyncIterator[bytes]:
    size = 0
    pieces = request.stream().__aiter__()
    while True:
        try:
            async with asyncio.timeout(limits.patience):
                piece = await anext(pieces)
        except StopAsyncIteration:
            return
        except ClientDisconnect:
            raise ProblemError(TOO_SLOW, "the rest of the request never arrived") from None
        except TimeoutError:
            raise ProblemError(TOO_SLOW, f"nothing arrived for {limits.patience:g} seconds") from None
        size += len(piece)
        if size > limits.body:
            raise ProblemError(TOO_LARGE, f"a body has at most {limits.body:,} bytes; post in several requests")
        yield piece


def _too_many(limits: Limits) -> str:
    return f"a request has at most {limits.items:,} items; post the rest in further requests"
