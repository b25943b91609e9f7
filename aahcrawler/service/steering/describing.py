"""What a crawl is called and described by, in the terms of Dublin Core: shown, and changed in its definition."""

from collections.abc import Mapping
from typing import Annotated, Final

from pydantic import BaseModel, ConfigDict, Field, JsonValue

from aahcrawler.service.catalog.crawl_catalog import Crawl
from aahcrawler.service.steering.held_definitions import HeldDefinitions
from aahcrawler.service.steering.steering_log import note
from online_analysis.icd import Icd
from online_analysis.icd.form import FormField, form_fields

Value = Annotated[str, Field(max_length=1000)]
Values = Annotated[tuple[Value, ...], Field(max_length=100)]
LISTS: Final = ("creator", "publisher", "rights", "language", "subject", "coverage")
"""The terms that may have several values."""


class Description(BaseModel):
    """Title and description of a crawl, and lists of values of other terms of Dublin Core."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    title: Value = Field(min_length=1, examples=["The flood, as the forum saw it"])
    description: Annotated[str, Field(max_length=10_000)] = ""
    creator: Values = ()
    publisher: Values = ()
    rights: Values = ()
    language: Values = ()
    subject: Values = ()
    coverage: Values = ()

    @classmethod
    def of(cls, icd: Icd) -> "Description":
        """Return what a definition says."""
        return cls(title=icd.title, **icd.metadata.model_dump())

    @property
    def has_terms(self) -> bool:
        """Whether it says more than a title."""
        return any(getattr(self, name) for name in ("description", *LISTS))


def terms() -> Mapping[str, FormField]:
    """Return the fields of a definition that a crawl is described by, beside its title, by the names of the terms."""
    return {name: form_fields()[f"metadata.{name}"] for name in ("description", *LISTS)}


def describe(definitions: HeldDefinitions, crawl: Crawl, by: str, wanted: Description) -> Description:
    """Write a description into the definition of a crawl; return it as it is then.

    Raise ``ProblemError`` with the mistakes of the outcome, and where the definition is not known here.
    """
    made = definitions.rewrite(crawl, _changes(definitions.read(crawl).icd, wanted))
    arguments: dict[str, JsonValue] = {"diff": list(made.diff())}
    note(crawl, by, "describe", arguments, {"title": made.icd.title})
    return Description.of(made.icd)


def _changes(icd: Icd, wanted: Description) -> Mapping[str, JsonValue]:
    """Return the fields that differ, None for those that are to be empty."""
    before = Description.of(icd).model_dump(mode="json")
    return {
        name if name == "title" else f"metadata.{name}": value or None
        for name, value in wanted.model_dump(mode="json").items()
        if value != before[name]
    }
