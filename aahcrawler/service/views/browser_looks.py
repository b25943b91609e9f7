"""Shows what a look at a page in a browser was, and the pictures of it, from the records beside a capture."""

import json
from contextlib import suppress
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Final

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, ValidationError

from aahcrawler.archive.record_access import LONGEST_METADATA, Record, RecordError
from aahcrawler.archive.resources import DOM, THUMBNAIL, VIEW
from aahcrawler.metadata import MEDIA_TYPE
from aahcrawler.service.views.warc_records import CapturePlace, plain, records_found

LARGEST_PICTURE: Final = 16 << 20
"""Bytes of a picture that are shown."""
_MOST_LINES: Final = 100
_LONGEST_LINE: Final = 500
_SIGNATURES: Final = {"image/png": b"\x89PNG\r\n\x1a\n", "image/jpeg": b"\xff\xd8\xff"}


class Picture(StrEnum):
    """A picture of a page: what its record's target begins with."""

    SCREENSHOT = VIEW
    THUMBNAIL = THUMBNAIL


def _lines(given: object) -> object:
    return [plain(str(line))[:_LONGEST_LINE] for line in given[:_MOST_LINES]] if isinstance(given, list) else given


_Lines = Annotated[tuple[str, ...], BeforeValidator(_lines)]


class BrowserLookShown(BaseModel):
    """A look at a page in a browser, as the metadata of the page tell it (``browser``).

    ``ended`` says why no more was waited for, ``failed`` why there is no document of it. ``refused`` counts what the
    page asked for and was not given, by reason. Of ``console`` and ``behaviours`` at most 100 lines are told.
    ``made_of`` are the URLs of the data that the page was made of, where no browser looked at it. ``pictures`` are
    those that the archive holds; ``has_document`` says that it holds the page as it was read.
    """

    model_config = ConfigDict(frozen=True, extra="ignore")

    ended: str = ""
    failed: str = ""
    seconds: float = 0.0
    requests: int = 0
    refused: dict[str, int] = Field(default_factory=dict)
    behaviours: _Lines = ()
    console: _Lines = ()
    made_of: _Lines = ()
    pictures: frozenset[Picture] = frozenset()
    has_document: bool = False


def browser_look(crawl: Path, wanted: CapturePlace) -> BrowserLookShown | None:
    """Return what the archive tells of the look at a capture in a browser; None where there was none."""
    told, pictures, has_document = None, set[Picture](), False
    for _, record in records_found(crawl, wanted):
        target = record.header.get("WARC-Target-URI").strip("<>")
        pictures |= {each for each in Picture if record.kind == "resource" and target.startswith(each)}
        has_document = has_document or (record.kind == "resource" and target.startswith(DOM))
        if record.kind == "metadata" and record.header.get("Content-Type") == MEDIA_TYPE:
            told = _told(record)
    if told is None and not pictures and not has_document:
        return None
    return (told or BrowserLookShown()).model_copy(
        update={"pictures": frozenset(pictures), "has_document": has_document}
    )


def picture(crawl: Path, wanted: CapturePlace, which: Picture) -> tuple[bytes, str] | None:
    """Return a picture of a capture, and its media type; None where the archive has none that can be shown."""
    for _, record in records_found(crawl, wanted):
        if record.kind == "resource" and record.header.get("WARC-Target-URI").strip("<>").startswith(which):
            with suppress(RecordError):
                found = record.whole_block(LARGEST_PICTURE)
                return next(((found, kind) for kind, begin in _SIGNATURES.items() if found.startswith(begin)), None)
    return None


def _told(record: Record) -> BrowserLookShown | None:
    try:
        said = json.loads(record.whole_block(LONGEST_METADATA)).get("browser")
        return None if said is None else BrowserLookShown.model_validate(said)
    except (RecordError, ValueError, AttributeError, RecursionError, ValidationError):
        return None
