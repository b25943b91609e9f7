"""A dated web, partly held by several archives, with an event that recurs or happens once; generated from one seed.

Sites publish articles over twelve years, each mainly or partly about an event, or about something else. Front pages and
sections list current articles. Pages vanish, are sold, become errors with status 200, or redirect. Archives capture
them at different times, overlap partly, and have gaps.
"""

import gzip
import html
import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime
from pathlib import Path
from random import Random
from typing import Final, Literal
from uuid import NAMESPACE_URL, uuid5

import yaml

_WORDS: Final = yaml.safe_load(Path(__file__).with_name("event_words.yaml").read_text("utf-8"))
FIELDS: Final[Mapping[str, Mapping[str, str]]] = _WORDS["fields"]
"""The nouns, verbs and adjectives of each field."""

_COMMON: Final = _WORDS["common"].split()
_COMMON_VERBS: Final = _WORDS["common_verbs"].split()
_INCIDENTS: Final = _WORDS["incidents"].split()
_INCIDENT_WORDS: Final = _WORDS["incident_words"].split()
_FRAMES: Final[Sequence[str]] = _WORDS["frames"]
_SMALL_TALK: Final[Sequence[str]] = _WORDS["small_talk"]
_SOUNDS: Final = [_WORDS[each].split() for each in ("onsets", "vowels", "ends", "vowels", "ends")]


@dataclass(frozen=True, slots=True)
class Subject:
    """What texts are about: a field, and the people, places and incidents of one event in it."""

    field: str
    people: tuple[str, ...]
    places: tuple[str, ...]
    incidents: tuple[str, ...]

    @property
    def words(self) -> tuple[Sequence[str], Sequence[str], Sequence[str]]:
        """The nouns, verbs and adjectives of the field; an event uses all of them, some more often than others."""
        words = FIELDS[self.field]
        return words["nouns"].split(), words["verbs"].split(), words["adjectives"].split()


def subject(field: str, lot: Random) -> Subject:
    """Make up an event of a field."""
    incidents = tuple(f"the {lot.choice(_INCIDENT_WORDS)} {thing}" for thing in lot.sample(_INCIDENTS, 12))
    return Subject(field, _names(12, 2, lot), _names(6, 1, lot), incidents)


def edition(first: Subject, lot: Random) -> Subject:
    """Make up another edition of an event that recurs: most of its people and places are those of the first."""
    other = subject(first.field, lot)
    people, places = lot.sample(first.people, 8), lot.sample(first.places, 5)
    return Subject(first.field, (*people, *other.people[8:]), (*places, *other.places[5:]), other.incidents)


def aspect(whole: Subject, lot: Random) -> Subject:
    """Return a part of an event for one text: a few of its people, places and incidents."""
    chosen = (tuple(lot.sample(names, n)) for names, n in ((whole.people, 3), (whole.places, 2), (whole.incidents, 2)))
    return Subject(whole.field, *chosen)


def _names(count: int, words: int, lot: Random) -> tuple[str, ...]:
    return tuple(" ".join(_name(lot) for _ in range(words)) for _ in range(count))


def sentence(about: Subject, lot: Random) -> str:
    """Return a sentence about an event."""
    nouns, verbs, adjectives = about.words
    noun, other = _zipf(nouns, lot), _zipf(nouns, lot)
    filled = lot.choice(_FRAMES).format(
        **_common(lot, about),
        noun=noun,
        other=other if other != noun else lot.choice(nouns),
        verb=_zipf(verbs, lot),
        adjective=_zipf(adjectives, lot),
        place=lot.choice(about.places),
        incident=lot.choice(about.incidents),
        person2=lot.choice(about.people),
    )
    return filled[0].upper() + filled[1:]


def small_talk(about: Subject, lot: Random) -> str:
    """Return a sentence that says nothing of any event."""
    return lot.choice(_SMALL_TALK).format(**_common(lot, about))


def paragraphs(shares: Sequence[tuple[Subject, float]], sentences: int, lot: Random) -> tuple[str, ...]:
    """Return paragraphs of so many sentences, of which each subject has a share; the rest is small talk."""
    chosen: list[str] = []
    for about, share in shares:
        chosen += [sentence(about, lot) for _ in range(round(share * sentences))]
    chosen += [small_talk(shares[0][0], lot) for _ in range(sentences - len(chosen))]
    lot.shuffle(chosen)
    return tuple(" ".join(chosen[begin : begin + 4]) for begin in range(0, len(chosen), 4))


def headline(about: Subject, lot: Random) -> str:
    """Return a headline; it names the place or a person, and mostly the field by a word."""
    nouns, _, adjectives = about.words
    forms = (
        "{adjective} {noun} in {place}",
        "{person} and the {noun}",
        "{place}: {noun} and {other}",
        "{incident} in {place}",
    )
    filled = lot.choice(forms).format(
        adjective=lot.choice(adjectives),
        noun=_zipf(nouns, lot),
        other=lot.choice(nouns),
        place=lot.choice(about.places),
        person=lot.choice(about.people),
        incident=lot.choice(about.incidents),
    )
    return filled[0].upper() + filled[1:]


def _common(lot: Random, about: Subject) -> Mapping[str, str]:
    return {
        "common": lot.choice(_COMMON),
        "common2": lot.choice(_COMMON),
        "commonverb": lot.choice(_COMMON_VERBS),
        "person": lot.choice(about.people),
    }


def _zipf(words: Sequence[str], lot: Random) -> str:
    """Return a word; the first ones are more frequent than the last ones."""
    return words[int(len(words) * lot.random() ** 1.7)]


def _name(lot: Random) -> str:
    return "".join(map(lot.choice, _SOUNDS)).capitalize()


Kind = Literal["recurring", "single"]

BEGIN: Final = datetime(1999, 1, 10, tzinfo=UTC)
DAYS: Final = 12 * 365
COVERAGE: Final[Mapping[str, float]] = {"national": 0.72, "global": 0.38, "library": 0.15}
"""The archives, and the share of pages that each has captured at all."""
DEATHS: Final = (("gone", 0.5), ("soft", 0.2), ("sold", 0.15), ("moved", 0.15))
"""What becomes of pages, and how often: 404, an error with status 200, a page off topic, a way to the front page."""
_LIFE = 4 * 365.0
LATEST: Final = 150
"""The most days after which an article still gets links to others, in lists beside it."""
_FIRST, _NEXT = 50.0, 320.0
"""The mean days from publication to the first capture, and between captures."""
_OLD_MARKUP = datetime(2003, 1, 1, tzinfo=UTC)
MAIN, PART = 1.0, 0.5


@dataclass(frozen=True, slots=True)
class Event:
    """What is collected. ``lead`` and ``cool_down`` are half-lives in days."""

    kind: Kind
    field: str
    begin: datetime
    end: datetime
    lead: int
    cool_down: int


@dataclass(frozen=True, slots=True)
class Response:
    """The response of a URL at some time; ``relevance`` to the event is 1 (mainly), 0.5 (partly) or 0."""

    status: int
    body: bytes
    relevance: float = 0.0
    location: str = ""


@dataclass(frozen=True, slots=True)
class Capture:
    """A response that an archive holds."""

    archive: str
    url: str
    moment: datetime
    response: Response


@dataclass(slots=True)
class Article:
    """An article as it was published, with its links; after ``dies`` its URL behaves as ``fate`` says."""

    url: str
    published: datetime
    event: Subject
    about: tuple[tuple[Subject, float], ...]
    title: str
    relevance: float
    site: str
    section: str
    dies: datetime
    fate: str
    links: list[tuple[str, str]] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class DatedWorld:
    """A world: its event, how people would specify the collection, and what the archives hold."""

    event: Event
    seeds: tuple[str, ...]
    references: tuple[str, ...]
    keywords: tuple[str, ...]
    captures: tuple[Capture, ...]
    articles: Mapping[str, Article]
    sites: "Sites"

    def live(self, url: str, moment: datetime) -> Response | None:
        """Return the response of a URL at a time, None if there is nothing yet, or never."""
        return self.sites.response(url, moment)


def build(kind: Kind, seed: int, size: int = 600) -> DatedWorld:
    """Build the world of a seed with about so many articles."""
    lot = Random(f"{kind} {seed}")
    fields = list(FIELDS)
    lot.shuffle(fields)
    target = subject(fields[0], lot)
    event, editions = _events(kind, target, lot)
    sites = Sites(lot, fields)
    others = [subject(each, lot) for each in fields for _ in range(3)]
    for about, begin, length in editions:
        count = size // 7 if about is target else size // 12
        _publish(
            sites, about, (begin, length, event.lead, event.cool_down), count, others, lot, relevant=about is target
        )
    for about in others:
        begin = BEGIN + timedelta(days=lot.randrange(DAYS))
        _publish(sites, about, (begin, lot.randrange(1, 30), 40, 150), size // 40, others, lot, relevant=False)
    sites.link(lot)
    captures = tuple(_captured(sites, lot))
    held = {each.url for each in captures if each.response.status == 200}
    mains = sorted(
        a.url
        for a in sites.articles.values()
        if a.relevance == MAIN and a.url in held and a.published < event.end + timedelta(days=60)
    )
    seeds = (
        *lot.sample(mains, min(4, len(mains))),
        *(each for each in (sites.organiser, sites.sections(fields[0])[0]) if each in held),
    )
    references = tuple("\n".join(paragraphs(((target, 0.85),), 28, lot)) for _ in range(2))
    nouns = target.words[0]
    keywords = (target.places[2], target.people[4], nouns[0], nouns[1])
    return DatedWorld(event, seeds, references, keywords, captures, sites.articles, sites)


def _events(kind: Kind, target: Subject, lot: Random) -> tuple[Event, Sequence[tuple[Subject, datetime, int]]]:
    """Return the event, and the editions of it: subject, begin and days."""
    if kind == "single":
        begin = BEGIN + timedelta(days=lot.randrange(3 * 365, 5 * 365))
        length = lot.randrange(1, 10)
        return Event(kind, target.field, begin, begin + timedelta(days=length), 0, 180), [(target, begin, length)]
    years = lot.choice((2, 3))
    first = BEGIN + timedelta(days=lot.randrange(200, 500))
    length = lot.randrange(8, 30)
    count = 4
    wanted = lot.randrange(1, count - 1)
    editions = [
        (target if number == wanted else edition(target, lot), first + timedelta(days=365 * years * number), length)
        for number in range(count)
    ]
    begin = editions[wanted][1]
    return Event(kind, target.field, begin, begin + timedelta(days=length), 45, 45), editions


def _publish(
    sites: "Sites",
    about: Subject,
    when: tuple[datetime, int, int, int],
    count: int,
    others: Sequence[Subject],
    lot: Random,
    *,
    relevant: bool,
) -> None:
    """Publish articles around an event: half while it lasts, the others before and after it, and a few years later."""
    begin, length, lead, cool_down = when
    for _ in range(count):
        draw = lot.random()
        days = length * lot.random()
        if draw < 0.2 and lead:
            days = -lot.expovariate(0.69 / lead)
        elif draw < 0.6:
            days = length + lot.expovariate(0.69 / cool_down)
        elif draw > 0.93:
            days = 365.0 * lot.randrange(1, 5) + lot.gauss(0, 8)
        published = begin + timedelta(days=days)
        if not BEGIN <= published <= BEGIN + timedelta(days=DAYS):
            continue
        is_main = lot.random() < 0.62
        share = lot.uniform(0.45, 0.85) if is_main else lot.uniform(0.15, 0.3)
        beside = aspect(lot.choice(others), lot), (0.9 - share) * (0.5 if is_main else 0.9)
        relevance = (MAIN if is_main else PART) if relevant else 0.0
        sites.publish(about, ((aspect(about, lot), share), beside), published, relevance, lot)


class Sites:
    """Newspapers with sections, weblogs, and the page of those who organise the event."""

    def __init__(self, lot: Random, fields: Sequence[str]) -> None:
        self._hosts = [f"www.{lot.choice('abcdefgh')}{number}-news.test" for number in range(3)]
        self._blogs = [f"blog{number}.{lot.choice('klmnop')}pages.test" for number in range(4)]
        self.organiser = f"http://www.{fields[0]}-office.test/"
        self.articles: dict[str, Article] = {}
        self._fields = fields
        self._lists: dict[str, list[Article]] = {}
        self._bodies: dict[str, bytes] = {}
        self._lot = Random(lot.random())

    @property
    def lists(self) -> Sequence[str]:
        """The URLs of front pages, sections and the organiser: pages that change."""
        fronts = [f"http://{host}/" for host in (*self._hosts, *self._blogs)]
        return (*fronts, *(url for each in self._fields for url in self.sections(each)), self.organiser)

    def sections(self, field_name: str) -> Sequence[str]:
        """Return the sections of a field, one of each newspaper."""
        return [f"http://{host}/{field_name}/" for host in self._hosts]

    def publish(
        self,
        event: Subject,
        about: Sequence[tuple[Subject, float]],
        published: datetime,
        relevance: float,
        lot: Random,
    ) -> None:
        """Publish an article on an event on a site by lot."""
        host = lot.choice((*self._hosts, *self._hosts, *self._blogs))
        number = len(self.articles) + 1
        section = event.field
        day = published.strftime("%Y/%m")
        paths = (
            f"{section}/{number}.html",
            f"{day}/story{number}.html",
            f"cgi-bin/show.pl?id={number}&s={section[:2]}",
        )
        url = f"http://{host}/{paths[number % 3] if host in self._hosts else f'p{number}.html'}"
        dies = published + timedelta(days=lot.expovariate(1 / _LIFE))
        fate = lot.choices([name for name, _ in DEATHS], [weight for _, weight in DEATHS])[0]
        article = Article(
            url, published, event, tuple(about), headline(about[0][0], lot), relevance, host, section, dies, fate
        )
        self.articles[url] = article
        for each in (f"http://{host}/", f"http://{host}/{section}/"):
            self._lists.setdefault(each, []).append(article)

    def link(self, lot: Random) -> None:
        """Link each article to others: of its event, of its section at that time, of any."""
        by_event: dict[Subject, list[Article]] = {}
        by_field: dict[str, list[Article]] = {}
        for article in self.articles.values():
            by_event.setdefault(article.event, []).append(article)
            by_field.setdefault(article.section, []).append(article)
        for each in self._lists.values():
            each.sort(key=lambda article: article.published)
        everything = list(self.articles.values())
        for article in everything:
            for _ in range(lot.randrange(4, 10)):
                draw = lot.random()
                pool = (
                    by_event[article.event] if draw < 0.5 else by_field[article.section] if draw < 0.8 else everything
                )
                near = sorted(
                    lot.sample(pool, min(6, len(pool))), key=lambda other: abs(other.published - article.published)
                )
                # Links lead to what was there when the article was written, or later in lists beside it.
                for other in near:
                    if other is not article and other.published <= article.published + timedelta(days=LATEST):
                        article.links.append((other.url, other.title))
                        break

    def response(self, url: str, moment: datetime) -> Response | None:
        """Return the response of a URL at a time."""
        article = self.articles.get(url)
        if article is None:
            return self._list(url, moment) if url in self.lists else None
        if moment < article.published:
            return None
        if moment >= article.dies:
            return self._dead(article)
        if url not in self._bodies:
            self._bodies[url] = _page(article, Random(url))
        return Response(200, self._bodies[url], article.relevance)

    def _dead(self, article: Article) -> Response:
        front = f"http://{article.site}/"
        match article.fate:
            case "soft":
                text = "<h1>Sorry</h1><p>The page that you asked for is not here any more. Please try the search."
                return Response(200, f"<html><title>Sorry</title>{text}<a href='{front}'>Front page</a>".encode())
            case "sold":
                words = paragraphs(((subject("festival", Random(article.url)), 0.2),), 12, Random(article.url))
                return Response(200, f"<html><title>Domain</title><h1>Buy this</h1><p>{'<p>'.join(words)}".encode())
            case "moved":
                return Response(301, b"", location=front)
        return Response(404, b"<html><title>404</title><h1>Not Found</h1>")

    def _list(self, url: str, moment: datetime) -> Response:
        """Return a list as it was: the last articles of its place, or what the organiser says of the latest edition."""
        if url == self.organiser:
            known = [
                each for each in self.articles.values() if each.section == self._fields[0] and each.published <= moment
            ]
            known.sort(key=lambda each: each.published)
        else:
            known = [each for each in self._lists.get(url, ()) if each.published <= moment]
        recent = known[-18:]
        if not recent:
            return Response(200, f"<html><title>{url}</title><p>Nothing yet.".encode())
        relevant = sum(each.relevance for each in recent) / len(recent)
        sections = "".join(
            f'<li><a href="{each}">{each.rstrip("/").rpartition("/")[2]}</a>'
            for each in self.lists
            if each.startswith(url) and each != url
        )
        entries = "".join(
            f'<li><a href="{html.escape(each.url)}">{html.escape(each.title)}</a>' for each in reversed(recent)
        )
        lists = f"<ul>{sections}</ul><h1>Latest</h1><ul>{entries}</ul>"
        body = f"<html><head><title>{url[7:]}</title></head><body>{lists}</body></html>"
        return Response(200, body.encode(), PART if relevant > 0.6 else 0.0)


def _page(article: Article, lot: Random) -> bytes:
    """Return the HTML of an article in the manner of its time; a fifth tell no date."""
    texts = paragraphs(article.about, lot.randrange(12, 30), lot)
    title = html.escape(article.title)
    links = "".join(f'<li><a href="{html.escape(url)}">{html.escape(name)}</a>' for url, name in article.links)
    draw = lot.random()
    shown = article.published.strftime("%d %B %Y") if 0.5 < draw < 0.8 else ""
    home = f'<a href="http://{article.site}/">Home</a>'
    if article.site.startswith("www."):
        home += f' <a href="http://{article.site}/{article.section}/">{article.section}</a>'
    if article.published < _OLD_MARKUP:
        date = f"<FONT SIZE=-1>{shown}</FONT>" if shown else ""
        text = "<P>".join(map(html.escape, texts))
        return (
            f"<HTML><HEAD><TITLE>{title}</TITLE>{_declared(article, draw)}</HEAD><BODY BGCOLOR=#FFFFFF>"
            f"<TABLE><TR><TD>{home}<TD><H2>{title}</H2>{date}<P>{text}<HR><UL>{links}</UL></TABLE></BODY></HTML>"
        ).encode()
    text = "".join(f"<p>{html.escape(each)}</p>" for each in texts)
    date = f'<p class="date">{shown}</p>' if shown else ""
    return (
        f"<!DOCTYPE html><html><head><title>{title}</title>{_declared(article, draw)}</head><body><nav>{home}</nav>"
        f"<article><h1>{title}</h1>{date}{text}</article><aside><h2>More</h2><ul>{links}</ul></aside></body></html>"
    ).encode()


def _declared(article: Article, draw: float) -> str:
    if draw > 0.5:
        return ""
    return f'<meta property="article:published_time" content="{article.published.isoformat()}">'


def _captured(sites: Sites, lot: Random) -> Iterator[Capture]:
    """Yield the captures of all archives, unsorted: each page at random times, lists more often."""
    end = BEGIN + timedelta(days=DAYS)
    for url in (*sites.articles, *sites.lists):
        article = sites.articles.get(url)
        for archive, coverage in COVERAGE.items():
            if lot.random() > (coverage if article else min(1.0, coverage + 0.25)):
                continue
            moment = article.published if article else BEGIN
            mean = _FIRST if article else 30.0
            while True:
                moment += timedelta(days=lot.expovariate(1 / mean), seconds=1)
                if moment > end:
                    break
                response = sites.response(url, moment.replace(microsecond=0))
                if response is not None:
                    yield Capture(archive, url, moment.replace(microsecond=0), response)
                mean = _NEXT if article else 130.0
                if article and moment > article.dies and lot.random() < 0.6:
                    break


def write(world: DatedWorld, folder: Path) -> Mapping[str, Path]:
    """Write a WARC file for each archive, and ``truth.jsonl``: what each capture is worth; return the WARC files."""
    folder.mkdir(parents=True, exist_ok=True)
    files = {name: folder / f"{name}.warc.gz" for name in COVERAGE}
    for name, path in files.items():
        with path.open("wb") as file:
            for each in world.captures:
                if each.archive == name:
                    file.write(gzip.compress(_record(each), compresslevel=1, mtime=0))
    with (folder / "truth.jsonl").open("w", encoding="utf-8") as truth:
        for each in world.captures:
            line = {
                "url": each.url,
                "archive": each.archive,
                "moment": each.moment.isoformat(),
                "relevance": each.response.relevance,
            }
            truth.write(json.dumps(line) + "\n")
    return files


def head(response: Response, moment: datetime) -> str:
    """Return the head of a response as its server sent it."""
    reason = {200: "OK", 301: "Moved Permanently", 404: "Not Found"}[response.status]
    place = f"Location: {response.location}\r\n" if response.location else ""
    return (
        f"HTTP/1.1 {response.status} {reason}\r\nDate: {format_datetime(moment, usegmt=True)}\r\n"
        f"Content-Type: text/html\r\n{place}Content-Length: {len(response.body)}\r\n\r\n"
    )


def _record(capture: Capture) -> bytes:
    message = head(capture.response, capture.moment).encode() + capture.response.body
    moment = capture.moment.strftime("%Y-%m-%dT%H:%M:%SZ")
    fields = (
        "WARC/1.1",
        "WARC-Type: response",
        f"WARC-Record-ID: <{uuid5(NAMESPACE_URL, f'{capture.archive} {moment} {capture.url}').urn}>",
        f"WARC-Date: {moment}",
        f"WARC-Target-URI: {capture.url}",
        "Content-Type: application/http;msgtype=response",
        f"Content-Length: {len(message)}",
    )
    return "\r\n".join(fields).encode() + b"\r\n\r\n" + message + b"\r\n\r\n"
