"""Settings that turn scores into priorities."""

from collections.abc import Mapping
from typing import Annotated, Literal, Self

from pydantic import AfterValidator, Field, ValidationInfo, field_validator, model_validator

from online_analysis.icd.mistakes import Section, refuse
from online_analysis.icd.sections import FileName, FolderName, Host, Pattern, Score, WebUrl

DEFAULT_WEIGHTS: Mapping[str, float] = {
    "text": 1.0,
    "url": 1.0,
    "spam": 100.0,
    "temporal": 0.25,
    "entities": 0.25,
    "social": 0.25,
    "application": 0.25,
    "relevance": 1.0,
    "ranker": 20.0,
}
"""The weight of each analyser to which the ICD gives none.

``spam`` scores only the few links of which it is sure, and must then prevail. The others add to ``text`` and ``url``;
those of plug-ins have no weight unless the ICD gives them one. The ranker learns its predictions from the scores of the
others, so it prevails as soon as it knows enough to predict.
"""

ANALYSERS = tuple(DEFAULT_WEIGHTS)
"""The names of the built-in analysers; others may have weights if the loader is given their names."""

_SPEAK_OF_THE_TOPIC = frozenset({"text", "url"})
"""The analysers that score something in any crawl with a topic; other built-in ones may never score."""


def _analyser(name: str, info: ValidationInfo) -> str:
    known: tuple[str, ...] = (info.context or {}).get("analysers", ANALYSERS)
    if name not in known:
        raise refuse("is no analyser", f"write one of {', '.join(known)}, or install the package that has it")
    return name


AnalyserName = Annotated[str, AfterValidator(_analyser)]
Weight = Annotated[float, Field(ge=0, le=1e6, allow_inf_nan=False)]
Share = Annotated[float, Field(ge=0, le=0.5, allow_inf_nan=False)]
Seed = Annotated[int, Field(ge=0, le=2**63 - 1)]


class PostTo(Section):
    """Another instance's web service, to which links scored at least ``at_least`` are posted, and its crawl."""

    url: WebUrl = Field(examples=["https://crawler.example.net/"])
    crawl: FolderName = Field(examples=["solar-villages"])
    at_least: Score = Field(default=0.0, examples=["0.2"])


_EQUAL = 0.5
"""The weight at which topic and time count the same."""


class Relevance(Section):
    """How the relevance of a page is made from topic and time, for collections about an event.

    ``alpha`` is the weight of the topic in a linear combination, the rest is that of time; other combinations do not
    use it. ``dates`` says in which order sources of a page's date are tried. With ``discussed``, the dates that a text
    is about come first. ``bigrams`` names a file of pairs of words counted in an archive, empty for none.
    """

    combination: Literal["linear", "product", "gated"] = Field(default="gated", examples=["linear"])
    alpha: Score = Field(default=_EQUAL, examples=["0.8"])
    dates: Literal["gossen", "klein"] = Field(default="gossen", examples=["klein"])
    discussed: bool = Field(default=False, examples=["true"])
    bigrams: FileName = Field(default="", examples=["bigrams.tsv"])

    @model_validator(mode="after")
    def _weigh_where_weights_count(self) -> Self:
        if self.alpha != _EQUAL and self.combination != "linear":
            advice = "write `combination: linear` beside it, or leave it out"
            raise refuse(f"has an alpha, by which a combination that is {self.combination} does not weigh", advice)
        return self


class Scoring(Section):
    """Settings that turn scores into priorities.

    ``weights`` has every built-in analyser, and those of plug-ins that the ICD weighs. ``batch`` counts pages.
    ``explore`` is a share of the fetches. ``entity_model`` names a spaCy pipeline, empty for none. Links of pages that
    score less than ``follow`` are not followed. With ``relevance``, that alone is the score of a page.
    """

    weights: Mapping[AnalyserName, Weight] = Field(default=DEFAULT_WEIGHTS, examples=["{text: 1, url: 0.5}"])
    update: Literal["first", "last", "max", "sum", "avg"] = Field(default="max", examples=["max"])
    batch: int = Field(default=1, ge=1, le=10**6, examples=["50"])
    balance: int = Field(default=1, ge=1, le=10**6, examples=["5"])
    relevant: Score = Field(default=0.2, examples=["0.2"])
    follow: Score = Field(default=0.0, examples=["0.2"])
    relevance: Relevance | None = Field(default=None, examples=["{combination: linear, alpha: 0.5}"])
    spam_hosts: tuple[Host, ...] = Field(default=(), examples=["[ads.example.net], or the name of a file"])
    url_patterns: Mapping[Pattern, Score] = Field(default={}, examples=['{"*/tag/solar/*": 0.9}'])
    entity_model: FileName = Field(default="", examples=["de_core_news_sm"])
    explore: Share = Field(default=0.0, examples=["0.05"])
    seed: Seed = Field(default=0, examples=["7"])
    post_to: PostTo | None = Field(
        default=None, examples=["{url: https://crawler.example.net/, crawl: solar-villages, at_least: 0.2}"]
    )

    @field_validator("weights", mode="after")
    @classmethod
    def _usable(cls, weights: Mapping[str, float]) -> Mapping[str, float]:
        complete = {**DEFAULT_WEIGHTS, **weights}
        speaking = {name for name in complete if name != "spam" and (name in weights or name in _SPEAK_OF_THE_TOPIC)}
        idle = weights and not any(weights.values())
        if idle or not any(complete[name] for name in speaking):
            raise refuse(
                "leave nothing to score with, they are all zero", "give at least one analyser a weight above 0"
            )
        return complete
