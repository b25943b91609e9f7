"""What the first page of a seed is for a crawl, and what to look at where something is wrong with it."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Final

from aahcrawler.scope import RULE, Refusal, SourceRefusal
from aahcrawler.seeds import Verdict

_WORDS: Final[Mapping[str, str]] = {
    Refusal.SCHEME: "no http or https URL",
    Refusal.TOO_LONG: "too long an address",
    Refusal.TAKEN_DOWN: "taken down",
    Refusal.FORM: "a form",
    Refusal.SPAM: "a spam host",
    Refusal.DENIED: "denied by scope.deny",
    Refusal.OTHER_SITE: "on another site than the seeds",
    Refusal.NOT_ALLOWED: "not in scope.allow",
    Refusal.TOO_DEEP: "too many links from a seed",
    Refusal.LANGUAGE: "on a page in another language",
    SourceRefusal.NOFOLLOW: "marked nofollow",
    SourceRefusal.SOURCE: "of a source that is off",
    "register": "a registration",
    "api": "an interface for programs",
    "help": "a page of help",
}
_REMEDIES: Final[Mapping[str, str]] = {
    Refusal.OTHER_SITE: "set scope.sites to anywhere, or add seeds on the sites they lead to",
    Refusal.NOT_ALLOWED: "add patterns to scope.allow that cover them",
    Refusal.DENIED: "make the patterns of scope.deny narrower",
    Refusal.TOO_DEEP: "raise scope.depth",
    SourceRefusal.NOFOLLOW: "set politeness.nofollow to ignore",
    SourceRefusal.SOURCE: "set sources.feeds to linked",
}


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
            yield "the page says little of the subject: look whether its best links do, and at topic in the ICD"
        elif self.advice:
            yield self.advice
        if not self.gives or self.followed:
            return
        if self.level and not self.avoided:
            yield f"the page is a {self.level} of {self.application}, and leads no further: give one that lists others"
        elif not self.avoided:
            yield "no link was found on it: look for a page that lists others, a feed or a sitemap"
        else:
            reason = max(self.avoided, key=lambda each: self.avoided[each])
            remedy = _REMEDIES.get(reason, "look at scope in the ICD")
            yield f"none of its links is followed, most of them since they are {in_words(reason)}: {remedy}"

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
                {"reason": reason, "words": in_words(reason), "links": number}
                for reason, number in self.avoided.items()
            ],
            "best": [{"url": each.url, "anchor": each.anchor, "score": round(each.score, 6)} for each in self.best],
            "hints": list(self.hints),
        }


def in_words(reason: str) -> str:
    """Return why a link is avoided in words that complete "the link is ...".

    >>> in_words("other_site"), in_words("rule:near"), in_words("reply-form")
    ('on another site than the seeds', 'refused by the rule near', 'a reply form')
    """
    if reason.startswith(RULE):
        return f"refused by the rule {reason.removeprefix(RULE)}"
    plain = reason.replace("-", " ").replace("_", " ")
    return _WORDS.get(reason) or f"{'an' if plain[:1] in 'aeiou' else 'a'} {plain}"
