"""What the first page of a seed is for a crawl, and what to look at where something is wrong with it."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from aahcrawler.seeds import Verdict
from aahcrawler.seeds.bulk_refusals import links_in_words, none_followed, remedy


@dataclass(frozen=True, slots=True)
class BestLink:
    """A link that the crawl would queue, with its score."""

    url: str
    anchor: str
    score: float


@dataclass(frozen=True, slots=True)
class TriedSeed:
    """What the first page of a seed is for the crawl.

    ``verdict`` and ``advice`` are those of the crawl's report on seeds; ``detail`` says more where there is more.
    ``ended_at`` is where its redirects led, empty where it has none. ``status`` is None where there was no answer, and
    ``score`` None where the page has none. ``followed`` counts links to pages that would be queued, ``avoided`` those
    that would not, by reason. ``best`` are the best of the former.
    """

    url: str
    verdict: Verdict
    advice: str = ""
    detail: str = ""
    ended_at: str = ""
    seconds: float = 0.0
    status: int | None = None
    media_type: str = ""
    title: str = ""
    language: str = ""
    application: str = ""
    level: str = ""
    objects: Mapping[str, int] = field(default_factory=dict)
    score: float | None = None
    is_relevant: bool | None = None
    followed: int = 0
    avoided: Mapping[str, int] = field(default_factory=dict)
    best: tuple[BestLink, ...] = ()

    @property
    def gives(self) -> bool:
        """Whether the seed is a way into its site."""
        return self.verdict in {Verdict.FETCHED, Verdict.OFF_TOPIC}

    @property
    def hints(self) -> tuple[str, ...]:
        """What to look at, the verdict's advice first; none where the seed is as it should be."""
        return tuple(self._hints())

    def _hints(self) -> Iterator[str]:
        if self.verdict is Verdict.OFF_TOPIC:
            yield "the page says little of the subject: look whether its best links do, and at topic in the definition"
        elif self.advice:
            yield self.advice
        is_told = not self.gives or (self.verdict is Verdict.FETCHED and self.advice)
        if is_told or self.followed:
            return
        if self.level and not self.avoided:
            yield f"the page is a {self.level} of {self.application}, and leads no further: give one that lists others"
        elif not self.avoided:
            yield "no link was found on it: look for a page that lists others, a feed or a sitemap"
        else:
            reason = max(self.avoided, key=lambda each: self.avoided[each])
            yield f"{none_followed(reason)}: {remedy(reason)}"

    def as_json(self) -> dict[str, object]:
        """Return all of it as JSON has it; ``avoided`` with the words for people beside each reason."""
        return {
            "url": self.url,
            "verdict": self.verdict.value,
            "gives": self.gives,
            "detail": self.detail,
            "ended_at": self.ended_at,
            "seconds": round(self.seconds, 3),
            "status": self.status,
            "media_type": self.media_type,
            "title": self.title,
            "language": self.language,
            "application": self.application,
            "level": self.level,
            "objects": dict(self.objects),
            "score": None if self.score is None else round(self.score, 6),
            "relevant": self.is_relevant,
            "followed": self.followed,
            "avoided": [
                {"reason": reason, "words": links_in_words(reason), "links": number}
                for reason, number in self.avoided.items()
            ],
            "best": [{"url": each.url, "anchor": each.anchor, "score": round(each.score, 6)} for each in self.best],
            "hints": list(self.hints),
        }
