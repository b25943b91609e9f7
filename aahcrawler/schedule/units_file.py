"""The units that share a schedule: installations of which each visits its part.

The list lies beside the schedule (``schedule-units.yaml`` for ``schedule.yaml``) and is equal on all machines except
for ``name``. It determines which unit visits what (``division``), so that units need no coordination.
"""

from collections.abc import Mapping
from datetime import timedelta
from pathlib import Path
from typing import Annotated, Self

from pydantic import AfterValidator, Field, HttpUrl, PrivateAttr, ValidationError, model_validator

from aahcrawler.schedule.rhythms import Interval
from online_analysis.icd.explanations import mistakes_of
from online_analysis.icd.mistakes import FieldPath, IcdError, Mistake, Section, refuse
from online_analysis.icd.secrets import Secret
from online_analysis.icd.sections import FolderName
from online_analysis.icd.yaml_source import LARGEST, Source, read_source


def _origin(url: HttpUrl) -> HttpUrl:
    if url.query or url.fragment or url.username:
        raise refuse("is no address of a service", "write it as https://archive.example.org, with a path at most")
    return url


Origin = Annotated[HttpUrl, AfterValidator(_origin)]


class Unit(Section):
    """An installation: its service, a token with the role ``read``, and its share of visits relative to the others.

    ``replay`` is the address of its replay, for links to TimeMaps.
    """

    url: Origin = Field(examples=["https://south.example.org"])
    token: Secret | None = Field(default=None, examples=["{env: SOUTH_TOKEN}"])
    weight: float = Field(default=1.0, gt=0, le=1e6, allow_inf_nan=False, examples=["4"])
    replay: Origin | None = Field(default=None, examples=["https://south-replay.example.org"])


class Units(Section):
    """The units of a schedule, and the name of this one.

    When a unit has not responded for ``silent_after``, others visit its part. Crawls in ``stand_by`` are visited by
    their first unit alone, and the second unit steps in on failure, since their visits take so long that those of two
    units would overlap. Units must have public addresses and HTTPS unless ``allow_private`` is set.
    """

    name: FolderName = Field(examples=["north"])
    silent_after: Interval = Field(default=timedelta(hours=1), examples=["1 h"])
    allow_private: bool = Field(default=False, examples=["yes"])
    stand_by: tuple[FolderName, ...] = Field(default=(), max_length=20_000, examples=["[daily-news]"])
    units: Mapping[FolderName, Unit] = Field(
        min_length=1, max_length=50, examples=["{north: {url: https://north.example.org}}"]
    )

    _source: Source = PrivateAttr(default_factory=lambda: Source(""))

    @model_validator(mode="after")
    def _whole(self) -> Self:
        if self.name not in self.units:
            raise refuse("lacks this unit", f"add `{self.name}`, or write under `name` which of them this machine is")
        for name, unit in self.units.items():
            if unit.url.scheme != "https" and not self.allow_private and name != self.name:
                problem = f"would send the token of {name} in plain text"
                raise refuse(problem, "write https://, or `allow_private: yes` for a network of your own")
        return self

    @property
    def others(self) -> Mapping[str, Unit]:
        """The units other than this one."""
        return {name: unit for name, unit in self.units.items() if name != self.name}

    @property
    def weights(self) -> Mapping[str, float]:
        """The relative share of visits of each unit."""
        return {name: unit.weight for name, unit in self.units.items()}

    @classmethod
    def load(cls, path: Path) -> Self:
        """Read a list of units. Raise ``IcdError`` with every mistake in it."""
        try:
            with path.open("rb") as file:
                content = file.read(LARGEST + 1)
        except OSError as error:
            advice = "write the list of units beside the schedule (docs/watching.md)"
            raise IcdError([Mistake(str(path), 1, "", f"cannot be read ({error.strerror})", advice)]) from error
        return cls.parse(content, str(path))

    @classmethod
    def parse(cls, content: bytes, file: str = "schedule-units.yaml") -> Self:
        """Read the content of such a list; raise as ``load`` does."""
        source = read_source(content, file, "a list of units", "`name` and `units`")
        try:
            units = cls.model_validate(source.data)
        except ValidationError as error:
            raise IcdError([*source.mistakes, *mistakes_of(error, cls, source)]) from None
        if source.mistakes:
            raise IcdError(source.mistakes)
        units._source = source  # noqa: SLF001 - still being made
        return units

    def mistake(self, path: FieldPath, problem: str, advice: str) -> Mistake:
        """Return a mistake at a field, with the line of that field."""
        return self._source.mistake(path, problem, advice)
