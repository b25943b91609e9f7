"""The log of acts on a crawl, appended to a file in its folder, and read newest first."""

import json
import logging
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Final

from pydantic import JsonValue, ValidationError

from aahcrawler.layout import STEERING
from aahcrawler.segments import private
from aahcrawler.service.catalog.crawl_catalog import Crawl
from aahcrawler.service.web.noted_acts import note_did
from aahcrawler.service.web.problems import Shown

MAX_ACTS: Final = 1000
"""Acts that are read back at once."""
_BLOCK = 1 << 16
_MAX_ARGUMENTS_LENGTH = 1 << 14
"""Characters of an act's arguments that are kept; the definition itself tells the rest."""
_ENCODE = json.JSONEncoder(ensure_ascii=False).encode
_logger = logging.getLogger(__name__)


class Act(Shown):
    """Something that was done to a crawl: when (UTC), in which crawl of the folder, by whom, what, and its effect."""

    at: datetime
    crawl: int
    by: str
    act: str
    arguments: Mapping[str, JsonValue] = {}
    effect: Mapping[str, JsonValue] = {}


class Acts(Shown):
    """Acts, the newest first; ``more`` says that there are older ones.

    ``kept`` is false for a crawl without a folder on this machine: its acts are in the log of the service alone.
    """

    acts: tuple[Act, ...]
    more: bool
    kept: bool


def note(
    crawl: Crawl, by: str, act: str, arguments: Mapping[str, JsonValue], effect: Mapping[str, JsonValue] = {}
) -> None:
    """Append an act. A failure to write is only logged, since the act has been done.

    The service's log has the act as well, in the line of the request.
    """
    note_did(crawl.id, act)
    entry = Act(
        at=datetime.now(UTC), crawl=crawl.number, by=by, act=act, arguments=_short(arguments), effect=_short(effect)
    )
    line = _ENCODE(entry.model_dump(mode="json")) + "\n"
    if crawl.folder is None:
        _logger.info("steering of %s: %s", crawl.id, line.rstrip())
        return
    path = crawl.folder / STEERING
    try:
        # One write, at the end of the file: two services that note something at once do not mix their lines.
        with open(path, "ab", buffering=0, opener=private) as file:
            file.write(line.encode())
    except OSError as error:
        _logger.error("%s cannot be written (%s); done all the same: %s", path, error.strerror, line.rstrip())


def read_acts(crawl: Crawl, number: int = 100) -> Acts:
    """Return the last acts, at most ``MAX_ACTS``. Lines that cannot be read are passed over."""
    if crawl.folder is None:
        return Acts(acts=(), more=False, kept=False)
    found: list[Act] = []
    most = min(number, MAX_ACTS)
    for line in _lines_from_end(crawl.folder / STEERING):
        try:
            act = Act.model_validate_json(line)
        except ValidationError:
            continue
        if len(found) == most:
            return Acts(acts=tuple(found), more=True, kept=True)
        found.append(act)
    return Acts(acts=tuple(found), more=False, kept=True)


def _short(values: Mapping[str, JsonValue]) -> dict[str, JsonValue]:
    """Return values, with long ones truncated to the beginning of their JSON."""
    written = {name: _ENCODE(value) for name, value in values.items()}
    return {
        name: value if len(written[name]) <= _MAX_ARGUMENTS_LENGTH else f"{written[name][:_MAX_ARGUMENTS_LENGTH]}…"
        for name, value in values.items()
    }


def _lines_from_end(path: Path) -> Iterator[bytes]:
    """Yield the complete lines of a file, the last one first; nothing if there is no file."""
    try:
        file = path.open("rb")
    except FileNotFoundError:
        return
    with file:
        place, rest = file.seek(0, 2), b""
        while place > 0:
            size = min(_BLOCK, place)
            place -= size
            file.seek(place)
            rest, *lines = (file.read(size) + rest).split(b"\n")
            yield from (line for line in reversed(lines) if line)
        if rest:
            yield rest
