"""The section ``captures`` of an ICD: where captures come from, and which capture of a URL is chosen."""

from typing import Annotated, Any, Final, Literal, Self

from pydantic import AfterValidator, Field, model_validator

from online_analysis.icd.field_paths import IN_ORDER
from online_analysis.icd.mistakes import Section, refuse
from online_analysis.icd.sections import FileName, Moment, OneOrSeveral, WebUrl

LIVE: Final = "live"
"""The name of the live web among the sources."""
BY_EVENT: Final = ("earliest-in-event", "first-after-event")
"""The choices of captures that depend on the event of the ICD."""
_KINDS: Final = ("live", "archive", "cdx", "memento")
_HOW: Final = "write `live`, or one of `archive: [FOLDER]`, `cdx: {...}` and `memento: {...}` for each source"


class CdxServer(Section):
    """A CDX server, such as pywb, OpenWayback or the Internet Archive, and where the captures it lists can be fetched.

    To ``replay``, 14 digits of a time, ``id_/`` and a URL are appended; to ``files``, the names of WARC files, which
    must support range requests. One of the two must be given.
    """

    server: WebUrl = Field(examples=["https://archive.example.org/collection/cdx"])
    replay: WebUrl | None = Field(default=None, examples=["https://archive.example.org/collection/"])
    files: WebUrl | None = Field(default=None, examples=["https://data.example.org/"])

    @model_validator(mode="after")
    def _one_of_both(self) -> Self:
        if (self.replay is None) == (self.files is None):
            problem = "says both how" if self.replay else "does not say how"
            raise refuse(f"{problem} captures are had", "write `replay:` with an address, or `files:` with one")
        return self


class MementoArchive(Section):
    """An archive, or an aggregator of several, that supports the Memento protocol (RFC 7089).

    The unchanged URL is appended to either address. One of the two must be given; if an archive has no TimeGate, only
    its TimeMap is requested.
    """

    timegate: WebUrl | None = Field(default=None, examples=["https://archive.example.org/web/"])
    timemap: WebUrl | None = Field(default=None, examples=["https://archive.example.org/web/timemap/link/"])

    @model_validator(mode="after")
    def _something(self) -> Self:
        if self.timegate is None and self.timemap is None:
            raise refuse("names no address", "write `timegate:`, `timemap:` or both")
        return self


class CaptureSource(Section):
    """One source of captures: the live web, archives on this machine, a CDX server, or a Memento archive.

    ``archive`` names folders of crawls, WARC, ARC and WACZ files or folders of them, and CDX, CDXJ and ZipNum indexes
    of such files, relative to the ICD. ``name`` is the source's name in reports, by default its file or host.
    """

    name: Annotated[str, Field(max_length=100)] | None = Field(default=None, examples=["Example National Library"])
    live: bool = Field(default=False, examples=["true"])
    archive: Annotated[tuple[FileName, ...], OneOrSeveral] = Field(
        default=(), max_length=1000, examples=["[imports/flood-2013]"]
    )
    cdx: CdxServer | None = Field(
        default=None, examples=["{server: https://archive.example.org/cdx, replay: https://archive.example.org/web/}"]
    )
    memento: MementoArchive | None = Field(default=None, examples=["{timegate: https://archive.example.org/web/}"])

    @model_validator(mode="before")
    @classmethod
    def _live_alone(cls, value: Any) -> Any:
        if isinstance(value, str):
            if value.strip().lower() != LIVE:
                raise refuse("is no source", _HOW)
            return {"live": True}
        return value

    @model_validator(mode="after")
    def _one_kind(self) -> Self:
        if sum(bool(getattr(self, kind)) for kind in _KINDS) != 1:
            raise refuse("is not one source", _HOW)
        return self


def _told_apart(sources: tuple[CaptureSource, ...]) -> tuple[CaptureSource, ...]:
    if not sources:
        raise refuse("is an empty list", _HOW)
    if sum(source.live for source in sources) > 1:
        raise refuse("names the live web twice", "remove one of them")
    return sources


class Captures(Section):
    """Where captures come from, the preferred source first, and which capture of a URL is chosen.

    A URL is taken from the first source that has it. ``auto`` means ``earliest-in-event`` if the ICD has an event, else
    ``newest``. ``nearest_to`` is given only for ``nearest``.
    """

    sources: Annotated[tuple[CaptureSource, ...], IN_ORDER, AfterValidator(_told_apart)] = Field(
        default=(CaptureSource(live=True),), max_length=100, examples=["[{archive: imports/flood-2013}, live]"]
    )
    snapshot: Literal["auto", "earliest-in-event", "first-after-event", "nearest", "newest", "all"] = Field(
        default="auto", examples=["newest"]
    )
    nearest_to: Moment | None = Field(default=None, examples=["2013-06-12"])

    @model_validator(mode="after")
    def _date_of_nearest(self) -> Self:
        if (self.snapshot == "nearest") != (self.nearest_to is not None):
            problem = "has no date" if self.nearest_to is None else "has a date that is not asked for"
            raise refuse(problem, "write `snapshot: nearest` together with `nearest_to: 2013-06-12`")
        return self

    @property
    def is_live(self) -> bool:
        """Whether the live web is the only source."""
        return all(source.live for source in self.sources)

    @property
    def has_live(self) -> bool:
        """Whether the live web is one of the sources."""
        return any(source.live for source in self.sources)
