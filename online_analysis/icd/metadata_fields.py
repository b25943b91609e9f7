"""The fields of an ICD that describe its archive for people, in the terms of Dublin Core."""

import re
from collections.abc import Iterator
from typing import Annotated

from pydantic import AfterValidator, Field

from online_analysis.icd.section import Section, refuse
from online_analysis.icd.sections import Line


def _folded(text: str) -> str:
    return " ".join(text.split())


def _language_tag(tag: str) -> str:
    if not re.fullmatch(r"[A-Za-z]{2,3}(-[A-Za-z0-9]{2,8}){0,3}", tag.strip()):
        raise refuse("is no language tag", "write a code of two or three letters, such as de, nds or pt-BR")
    return tag.strip()


Lines = Annotated[tuple[Annotated[Line, Field(max_length=1000)], ...], Field(max_length=100)]
Languages = Annotated[tuple[Annotated[str, AfterValidator(_language_tag)], ...], Field(max_length=100)]


class Metadata(Section):
    """Describes what the crawl collects (Dublin Core terms, ISO 15836-2); the title is the ICD's own.

    Nothing that a crawl does depends on it.
    """

    description: Annotated[str, AfterValidator(_folded)] = Field(
        default="", max_length=10_000, examples=["Posts of residents on the flood of May 2024"]
    )
    creator: Lines = Field(default=(), examples=["[Example City Archive]"])
    publisher: Lines = Field(default=(), examples=["[Example City Archive]"])
    rights: Lines = Field(default=(), examples=["[For use in the reading room]"])
    language: Languages = Field(default=(), examples=["[de, nds]"])
    subject: Lines = Field(default=(), examples=["[floods, dikes]"])
    coverage: Lines = Field(default=(), examples=["[Lower Saxony, May 2024]"])

    def terms(self) -> Iterator[tuple[str, str]]:
        """Yield the name of each term with each of its values, as ``dcterms`` has them."""
        if self.description:
            yield "description", self.description
        for name in ("creator", "publisher", "rights", "language", "subject", "coverage"):
            yield from ((name, value) for value in getattr(self, name))
