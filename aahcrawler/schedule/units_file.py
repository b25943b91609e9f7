"""The units that share a schedule: installations of which each visits its part.

The list lies beside the schedule (``schedule-units.yaml`` for ``schedule.yaml``) and is equal on all machines except
for ``name``. It determines which unit visits what (``division``), so that units need no coordination.
"""

from collections.abc import Mapping
from datetime import timedelta
from typing import Annotated, ClassVar, Self

from pydantic import AfterValidator, Field, HttpUrl, model_validator

from aahcrawler.schedule.rhythms import Interval
from aahcrawler.schedule.yaml_file import YamlFile
from online_analysis.icd.mistakes import Section, refuse
from online_analysis.icd.secrets import Secret
from online_analysis.icd.sections import FolderName


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


class Units(YamlFile):
    """The units of a schedule, and which of them this one is.

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

    kind: ClassVar = "a list of units"
    usual: ClassVar = "schedule-units.yaml"
    begins: ClassVar = "`name` and `units`"
    advice: ClassVar = "write the list of units beside the schedule (docs/watching.md)"

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
