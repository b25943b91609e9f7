"""The part of an ICD that says which pages are looked at in a browser, and how."""

from datetime import timedelta
from typing import Annotated, Literal

from pydantic import Field, field_validator

from online_analysis.icd.section import Section, refuse
from online_analysis.icd.sections import Duration, Pattern


class BrowserSection(Section):
    """Which pages are looked at in a browser, after they were fetched: those that scripts make.

    ``pages`` always are and ``never`` never, whatever ``use`` says; ``never`` prevails. ``page_time`` bounds one look,
    ``at_once`` the looks of one worker at a time. ``under_login``: whether what is done on a page may send anything
    where the crawl has credentials for its site.
    """

    use: Literal["auto", "always", "never"] = Field(default="auto", examples=["always"])
    pages: tuple[Pattern, ...] = Field(default=(), examples=['["*://app.example.org/*"]'])
    never: tuple[Pattern, ...] = Field(default=(), examples=["[/print/]"])
    page_time: Duration = Field(default=timedelta(seconds=30), examples=["30 s"])
    at_once: Annotated[int, Field(ge=1, le=16)] = Field(default=4, examples=["2"])
    under_login: bool = Field(default=False, examples=["true"])
    screenshots: bool = Field(default=True, examples=["false"])

    @field_validator("page_time")
    @classmethod
    def _some_time(cls, page_time: timedelta) -> timedelta:
        if not page_time:
            raise refuse("is zero, so no page could be looked at", "write for example 30 s, or `use: never`")
        return page_time
