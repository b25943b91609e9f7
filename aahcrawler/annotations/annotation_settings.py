"""An institution's settings for showing annotations: whether people are shown, and where names can be looked up."""

import tomllib
from pathlib import Path
from string import Formatter
from typing import Annotated, Final, NamedTuple
from urllib.parse import quote

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, StrictBool, ValidationError

from aahcrawler.annotations.annotation import Kind
from online_analysis.icd.explanations import in_words

FILE: Final = "annotations.toml"
"""The file, beside the folders of crawls."""
_MAX_FILE: Final = 100_000


def _template(text: str) -> str:
    if not text.startswith(("https://", "http://")):
        raise ValueError("begin it with https://")
    try:
        named = {name for _, name, _, _ in Formatter().parse(text) if name is not None}
    except ValueError as error:
        raise ValueError(f"{error}; write {{label}} where the name goes") from error
    if named != {"label"}:
        raise ValueError("write {label} where the name goes, and nothing else in braces")
    return text


class OutsideSource(BaseModel):
    """An outside source where names can be looked up: its name, its URL template, and the kinds it knows (empty: all).

    ``{label}`` in ``template`` is replaced by the percent-encoded name.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    name: Annotated[str, Field(min_length=1, max_length=80)]
    template: Annotated[str, AfterValidator(_template)]
    kinds: frozenset[Kind] = frozenset()


class OutsideLink(NamedTuple):
    """A link to an outside source that looks a name up. The service itself never fetches it."""

    name: str
    address: str


class AnnotationSettings(BaseModel):
    """The settings in ``annotations.toml``.

    Without the file, no page is about a person, and there are no outside links. ``note`` says why the file was ignored,
    empty if it was not.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    people: StrictBool = False
    sources: Annotated[tuple[OutsideSource, ...], Field(max_length=20)] = ()
    note: Annotated[str, Field(exclude=True)] = ""

    @classmethod
    def of(cls, crawl: Path | None) -> "AnnotationSettings":
        """Read the settings beside a crawl's folder; None stands for a crawl without a folder on this machine."""
        return cls.read(None if crawl is None else crawl.parent)

    @classmethod
    def read(cls, place: Path | None) -> "AnnotationSettings":
        """Read the settings in a folder.

        If the file is invalid, return the defaults with a ``note`` on what is wrong.
        """
        path = None if place is None else place / FILE
        try:
            if path is None or not path.is_file():
                return cls()
            if path.stat().st_size > _MAX_FILE:
                return cls(note=f"{FILE} has more than {_MAX_FILE:,} bytes, and is not heeded; shorten it.")
            told = tomllib.loads(path.read_text("utf-8"))
            return cls.model_validate({name: value for name, value in told.items() if name != "note"})
        except ValidationError as error:
            return cls(note=f"{FILE} is not heeded: {in_words(error.errors()[0])}. Mend it.")
        except (OSError, ValueError) as error:
            return cls(note=f"{FILE} is not heeded: {error}. Mend it.")

    def links(self, kind: Kind, label: str) -> tuple[OutsideLink, ...]:
        """Return links to the outside sources for a name of some kind.

        >>> wiki = OutsideSource(name="Wikipedia", template="https://en.wikipedia.org/wiki/Special:Search?search={label}")
        >>> AnnotationSettings(sources=(wiki,)).links(Kind.PLACE, "Den Haag")[0].address
        'https://en.wikipedia.org/wiki/Special:Search?search=Den%20Haag'
        """
        known = (each for each in self.sources if kind in each.kinds or not each.kinds)
        return tuple(OutsideLink(each.name, each.template.format(label=quote(label, safe=""))) for each in known)

    def has_page(self, kind: Kind) -> bool:
        """Return whether something that annotations of a kind mean gets a page of its own."""
        return kind in PAGES or (self.people and kind in _PERHAPS_PEOPLE)


PAGES: Final = (Kind.TOPIC, Kind.ORGANISATION, Kind.PLACE, Kind.EVENT)
"""The kinds of what has pages of its own."""
_PERHAPS_PEOPLE: Final = (Kind.PERSON, Kind.NAME)
"""The kinds that have where people are shown: a name of which is not known what bears it may be a person's."""
