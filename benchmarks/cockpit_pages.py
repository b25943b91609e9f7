"""Generates the pages of a large crawl: forums, blogs, news and shops, with links, scores and objects.

Everything follows from the number of a page and a seed, so that a crawl of any size can be generated again.
"""

import html
import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from functools import cached_property
from typing import Literal

from aahcrawler.webobject import Container, Person, Reference, WebObject
from online_analysis.aggregation import Scores

BEGUN = datetime(2026, 3, 1, 6, tzinfo=UTC)
TOPIC = ("flood", "dyke", "storm surge", "evacuation", "sea wall", "lock gate", "inquiry", "rebuilding")
RELEVANT_AT = 0.2
UNCHANGED, EDITED = "unchanged", "edited"
_NAMES = (
    "Ann Vos",
    "Ruben Staal",
    "Jørgen Møller",
    "Zoë Brandt",
    "李 雷",
    "Ольга Ким",
    "T. O'Neil",
    "nightowl",
    "dyke_watcher",
)
_WORDS = (
    *("the", "a", "of", "and", "to", "in", "was", "for"),
    *("on", "that", "with", "harbour", "water", "town", "night", "council"),
    *("people", "road", "house", "boat", "wind", "rain", "sand", "wall"),
    *("morning", "letter", "bridge", "school", "door", "street", "report", "meeting"),
    *("work", "price", "street", "market", "church", "garden", "river", "ship"),
    *("engine", "volunteer", "mayor", "insurer", "tide", "pump", "cellar", "roof"),
    *("train", "station", "bus", "field", "winter", "summer", "photograph", "history"),
    *("question"),
)
_SITES = 60
_EXTERNAL = 2_000
_LINKS = 24
_SECOND = 40
"""One capture in so many is of a page that was captured before."""
_Kind = Literal["thread", "board", "article", "blog", "shop"]
_KINDS: tuple[_Kind, ...] = ("thread", "thread", "thread", "article", "article", "blog", "board", "shop")
_APPLICATIONS: Mapping[_Kind, tuple[str | None, str | None, Literal["intermediate", "terminal"] | None]] = {
    "thread": ("phpBB", "thread", "terminal"),
    "board": ("phpBB", "board", "intermediate"),
    "article": (None, None, None),
    "blog": ("WordPress", "post", "terminal"),
    "shop": ("MyBB", "thread", "terminal"),
}


@dataclass(frozen=True, slots=True)
class Shape:
    """The size of a crawl: the numbers of captured pages and of queued URLs, its number, and the random seed."""

    pages: int = 100_000
    queued: int = 500_000
    crawl: int = 1
    seed: int = 20260301


@dataclass(frozen=True)
class InventedPage:
    """A generated capture: ``number`` counts from 0. ``again`` says what became of a page that was captured before."""

    shape: Shape
    number: int
    url: str
    kind: _Kind
    status: int
    text_seed: int
    again: Literal["", "unchanged", "edited"] = ""
    trap: str = ""

    @property
    def fetched_at(self) -> datetime:
        """When it was fetched: some ten pages a second, slower at night; crawls are a month apart."""
        slow = 1 + (self.number % 4000) / 2000
        return BEGUN + timedelta(days=30 * (self.shape.crawl - 1), seconds=0.1 * self.number * slow**0.1)

    @cached_property
    def title(self) -> str:
        """Return its title."""
        return f"{_sentence(self._random(1))[:60]} {self.number}"

    @cached_property
    def described(self) -> tuple[str | None, str | None, Literal["intermediate", "terminal"] | None]:
        """Return its application, level and role; None for errors, redirects and pages of unknown software."""
        return _APPLICATIONS[self.kind] if self.status == 200 else (None, None, None)

    @cached_property
    def score(self) -> float | None:
        """Return its relevance; a crawl harvests less and less as it goes on."""
        if self.status != 200:
            return None
        wear = 1 - 0.6 * self.number / max(self.shape.pages, 1)
        return round(min(1.0, self._random(2).betavariate(2, 4) * (0.4 + wear)), 6)

    @property
    def is_relevant(self) -> bool | None:
        """Return whether it is relevant, None where it has no score."""
        return None if self.score is None else self.score >= RELEVANT_AT

    @property
    def priority(self) -> float:
        """Return the score that it was leased with."""
        return round(self._random(3).betavariate(3, 3), 6)

    @cached_property
    def objects(self) -> tuple[WebObject, ...]:
        """Return its objects: the posts of a thread, an article and its comments."""
        if self.status != 200 or self.kind == "board" or self.trap == "soft_404":
            return ()
        rng = self._random(4)
        many = rng.randint(2, 8) if self.kind in ("thread", "shop") else 1 + rng.randint(0, 2) * (self.kind == "blog")
        return tuple(self._object(at, rng) for at in range(many))

    @property
    def containers(self) -> tuple[Container, ...]:
        """Return what holds its objects."""
        is_thread = self.kind in ("thread", "shop") and self.objects
        return (Container(f"{self.url}#thread", "thread", self.title),) if is_thread else ()

    @cached_property
    def links(self) -> tuple[str, ...]:
        """Return the URLs of its links: pages that are captured later, and URLs that stay queued."""
        if self.status != 200:
            return ()
        rng = self._random(5)
        ahead = [page_url(min(self.number + rng.randint(1, 90), self.shape.pages)) for _ in range(6)]
        waiting = [queued_url(rng.randrange(max(self.shape.queued, 1))) for _ in range(_LINKS - 6)]
        return tuple(dict.fromkeys(ahead + waiting))

    @cached_property
    def link_scores(self) -> tuple[float, ...]:
        """Return the score of each link."""
        rng = self._random(9)
        return tuple(round(rng.random() * 0.6, 4) for _ in self.links)

    @cached_property
    def scores(self) -> tuple[Scores, ...]:
        """Return the scores that analysers gave the page and its links."""
        if self.score is None:
            return ()
        rng, many = self._random(6), len(self.links)
        return (
            Scores("text", self.score, self.link_scores),
            Scores("entities", round(rng.random(), 4), tuple(round(rng.random(), 4) for _ in range(many))),
            Scores("url", None, tuple(None if rng.random() < 0.5 else round(rng.random(), 4) for _ in range(many))),
            Scores("application", None, (0.1,) * many),
        )

    @property
    def refused(self) -> Mapping[str, Sequence[int]]:
        """Return the positions of links that were not offered, by reason."""
        rng = self._random(7)
        if not self.links or rng.random() < 0.3:
            return {}
        return {"profile": (0,), "login": (1,)} if rng.random() < 0.5 else {"near_duplicate": (2,), "scope": (0, 1)}

    @cached_property
    def body(self) -> bytes:
        """Return its HTML: its objects between a menu and its links."""
        shown = "".join(_article(each) for each in self.objects)
        anchors = "".join(
            f'<li><a href="{html.escape(url)}">{_sentence(random.Random(url))[:40]}</a></li>' for url in self.links
        )
        head = f"<!DOCTYPE html><html><head><title>{html.escape(self.title)}</title></head><body>"
        return f"{head}<ul class=menu>{anchors}</ul><main>{shown}</main></body></html>\n".encode()

    def _object(self, at: int, rng: random.Random) -> WebObject:
        kind = {"thread": "post", "shop": "post", "blog": "article", "article": "article"}.get(self.kind, "page")
        if at:
            kind = "comment" if self.kind == "blog" else "reply"
        body = " ".join(_sentence(rng) for _ in range(rng.randint(1, 9)))
        if self.again == EDITED and not at:
            body = f"{body} Correction: {_sentence(self._random(8))}"
        known = {
            "title": (self.title,) if not at and rng.random() < 0.95 else (),
            "author": (Person(rng.choice(_NAMES)),) if rng.random() < 0.85 else (),
            "date": (self.fetched_at - timedelta(hours=rng.randint(1, 20_000)),) if rng.random() < 0.9 else (),
            "body": (body,),
            "url": (Reference(f"{self.url}#p{at}"),),
        }
        properties = {name: values for name, values in known.items() if values}
        inferred = {"date": "generic reading"} if "date" in properties and self.kind == "article" else {}
        part_of = f"{self.url}#thread" if self.kind in ("thread", "shop") else None
        return WebObject(f"{self.url}#p{at}", kind, self.url, properties, part_of, inferred)

    def _random(self, part: int) -> random.Random:
        return random.Random(self.text_seed * 16 + part)


def invented(shape: Shape, number: int) -> InventedPage:
    """Return the capture with a number in [0, ``shape.pages``)."""
    rng = random.Random(shape.seed * 1_000_003 + number)
    if number >= _SECOND and number % _SECOND == 0:
        former = invented(Shape(shape.pages, shape.queued, 1, shape.seed), number - rng.randint(1, _SECOND - 1))
        if former.status == 200:
            again: Literal["unchanged", "edited"] = "edited" if rng.random() < 0.5 else "unchanged"
            return replace(former, shape=shape, number=number, again=again)
    roll = rng.random()
    status = 404 if roll < 0.03 else 301 if roll < 0.05 else 503 if roll < 0.053 else 200
    trap = ("near_duplicate" if rng.random() < 0.8 else "soft_404") if status == 200 and rng.random() < 0.02 else ""
    kind = _KINDS[_site(number) % len(_KINDS)]
    page = InventedPage(shape, number, page_url(number), kind, status, shape.seed + number, trap=trap)
    if shape.crawl == 1 or status != 200:
        return page
    return replace(page, again="unchanged" if number % 3 else "edited")


def page_url(number: int) -> str:
    """Return the URL of a page that is captured, or would be next."""
    site, kind = _site(number), _KINDS[_site(number) % len(_KINDS)]
    path = {"thread": f"viewtopic.php?t={number}", "shop": f"showthread.php?tid={number}"}.get(kind, f"{kind}/{number}")
    return f"http://{kind}{site}.varhaven{site}.example/{path}"


def queued_url(number: int) -> str:
    """Return a queued URL: one in five is on a site of captured pages, the others on further sites."""
    if number % 5 == 0:
        return f"{page_url(number).partition('.example/')[0]}.example/archive/{number}?page={number % 7}"
    return f"http://www.far{number % _EXTERNAL}.test/{_WORDS[number % len(_WORDS)]}/{number}.html"


def _site(number: int) -> int:
    """Return the site of a page: some sites are much larger than others."""
    return int((number * 7919 % 1000 / 1000) ** 2 * _SITES)


def _sentence(rng: random.Random) -> str:
    words = rng.choices(_WORDS, k=rng.randint(8, 18))
    if rng.random() < 0.4:
        words.insert(3, rng.choice(TOPIC))
    return f"{' '.join(words).capitalize()}."


def _article(each: WebObject) -> str:
    author, date, body = each.first("author"), each.first("date"), each.first("body")
    name = author.name if isinstance(author, Person) else ""
    when = date.isoformat() if isinstance(date, datetime) else ""
    anchor = each.iri.rpartition("#")[2]
    by = f"<h2>{html.escape(str(each.first('title') or ''))}</h2><address>{html.escape(name)}</address>"
    return f'<article id="{anchor}">{by}<time datetime="{when}">{when}</time><p>{html.escape(str(body))}</p></article>'
