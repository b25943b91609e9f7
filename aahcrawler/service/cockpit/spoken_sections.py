"""Page sections on what crawls speak of: pictures with tables, whose parts link to the texts."""

from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import asdict
from typing import Final

from markupsafe import Markup

from aahcrawler.annotations import Kind
from aahcrawler.annotations.annotation_settings import AnnotationSettings
from aahcrawler.overview.overview_sections import Chosen, OverviewSection, bars, columns, over_time, table
from aahcrawler.overview.periods import periods, worded
from aahcrawler.overview.spoken_pictures import Row, TopicArea, balance, shares, topic_map
from aahcrawler.service.cockpit.site import address, visible
from aahcrawler.service.views.enriched_crawl import ALL_TIMES, TimeSpan, month_of
from aahcrawler.service.views.judged_words import JudgedWord
from aahcrawler.service.views.spoken_of import CrawlSpokenOf, SpokenOf
from aahcrawler.service.views.spoken_of_one import OpinionTold, SpokenOfOne
from aahcrawler.service.views.ties_over_time import Trend

LABELS: Final = {
    Kind.TOPIC: "Topic",
    Kind.ORGANISATION: "Organisation",
    Kind.PLACE: "Place",
    Kind.EVENT: "Event",
    Kind.NAME: "Name",
    Kind.PERSON: "Person",
    Kind.KEYWORD: "Keyword",
}
"""What is called how on its page."""
_BARS: Final = 8
_TOPICS: Final = 12
_MAPPED: Final = 40
_MARKED: Final = 60
"""The most words of a sentence that are marked on its capture."""
_IN_SEARCH: Final = frozenset({Kind.PERSON, Kind.ORGANISATION, Kind.PLACE, Kind.TOPIC})


def chosen_in(span: TimeSpan) -> Chosen:
    """Return a function that tells whether a period overlaps a span; it returns None if there is no span."""

    def chosen(period: str) -> bool | None:
        if not span:
            return None
        begin, end = period.ljust(4, "0"), period.ljust(4, "9")
        is_after = end[: len(span.since)] >= span.since[: len(end)]
        return is_after and begin[: len(span.until)] <= span.until[: len(begin)]

    return chosen


class Leads:
    """The addresses to which names in a crawl link: a page of their own, or a search."""

    def __init__(self, crawl: str, settings: AnnotationSettings, span: TimeSpan = ALL_TIMES) -> None:
        self._crawl, self._settings, self._span = crawl, settings, span

    def page(self, kind: Kind, of: str, label: str) -> str:
        """Return the address of the page on something, or of a search if it has no page."""
        if self._settings.has_page(kind):
            return self._own(kind, of)
        return self.search(kind, label)

    def keyword(self, word: str, named: Collection[str] = ()) -> str:
        """Return the address of the page on a keyword, or of a search if it is one of the names of people."""
        return self.search(Kind.KEYWORD, word) if word in named else self._own(Kind.KEYWORD, word)

    def _own(self, kind: Kind, of: str) -> str:
        return address("crawls", self._crawl, "archive", "spoken", kind, of=of, **asdict(self._span))

    def search(self, kind: Kind, label: str, period: str = "") -> str:
        """Return the address of the search for objects that speak of something."""
        return self._found(_asked(kind, label), period)

    def together(self, one: tuple[Kind, str], other: tuple[Kind, str], period: str = "") -> str:
        """Return the address of the search for objects that speak of two things, each a kind and a label."""
        return self._found(f"{_asked(*one)} {_asked(*other)}", period)

    def _found(self, query: str, period: str) -> str:
        return address("search", q=query, crawl=self._crawl, **(_dates(period) or asdict(self._span)))

    def capture(self, record: str, words: str) -> str:
        """Return the address of a capture with some words marked: the longest part of them that stands in a row."""
        words = max(words.split("[…]"), key=len)
        marked = " ".join(words.replace('"', " ").split()[:_MARKED])
        asked = f'"{marked}"' if marked else ""
        return address("crawls", self._crawl, "captures", record.removeprefix("urn:uuid:"), words=asked)


def _asked(kind: Kind, label: str) -> str:
    """Return the query for what speaks of something; a mere name is searched as words."""
    words = label.replace('"', " ")
    return f'{kind}:"{words}"' if kind in _IN_SEARCH else f'"{words}"'


def _dates(period: str) -> dict[str, str]:
    """Return the search parameters that select a period."""
    if not period:
        return {}
    if len(period) >= 4:
        return {"since": period, "until": period}
    return {"since": period.ljust(4, "0"), "until": period.ljust(4, "9")}


def shown_sections(sections: Iterable[OverviewSection]) -> list[tuple[OverviewSection, Markup]]:
    """Return sections with their HTML, in which every character can be seen."""
    return [(each, shown_markup(each.html)) for each in sections]


def shown_markup(html: str) -> Markup:
    """Return HTML of the overviews, which is escaped there, with every character visible."""
    return Markup(visible(html))  # noqa: S704


def sections_of_all(told: CrawlSpokenOf, leads: Leads, chosen: Chosen) -> list[OverviewSection]:
    """Return the sections of all that a crawl speaks of: topics as a map and over time, names, events."""
    found = [topic_map_section(told.topics, leads.page), _topics(told, leads, chosen)] if told.topics else []
    for name, title, every in (
        ("organisations", "Organisations", told.organisations),
        ("places", "Places", told.places),
        ("people", "People", told.people),
        ("keywords", "Keywords", told.keywords),
        ("names", "Names of which is not known what bears them", told.names),
    ):
        if every:
            lead = (lambda _, of, __: leads.keyword(of, told.named)) if name == "keywords" else leads.page
            found.append(_ranked(name, title, every, lead))
    if told.judged:
        found.insert(min(2, len(found)), _judged(told.judged, leads))
    if told.events:
        found.insert(min(4, len(found)), _events(told, leads.page))
    return found


def _topics(told: CrawlSpokenOf, leads: Leads, chosen: Chosen) -> OverviewSection:
    shown = told.topics[:_TOPICS]
    rows = [Row(each.label, each.months, leads.page(Kind.TOPIC, each.of, each.label)) for each in shown]

    def lead(place: int, period: str) -> str:
        return leads.search(Kind.TOPIC, shown[place].label, period)

    picture = shares("Topics over time", rows, told.published, lead, chosen)
    note = "<p>The larger a disk, the more of the objects that were published then speak of the topic.</p>"
    picture = picture + note if picture else _bars("Topics", shown, leads.page)
    lines = [
        (each.label, leads.page(Kind.TOPIC, each.of, each.label), (", ".join(each.terms), each.objects))
        for each in told.topics
    ]
    return OverviewSection(
        "topics", "Topics over time", picture + table(("Topic", "stems of its terms", "objects"), lines)
    )


def _ranked(name: str, title: str, every: Sequence[SpokenOf], lead: Callable[[Kind, str, str], str]) -> OverviewSection:
    rows = [(each.label, lead(each.kind, each.of, each.label), (each.objects, each.times)) for each in every]
    return OverviewSection(name, title, _bars(title, every[:_BARS], lead) + table((title, "objects", "times"), rows))


def topic_map_section(topics: Sequence[SpokenOf], lead: Callable[[Kind, str, str], str]) -> OverviewSection:
    """Return the section with the map of topics."""
    shown = [each for each in topics if each.objects][:_MAPPED]
    areas = [TopicArea(each.label, each.objects, each.terms, lead(Kind.TOPIC, each.of, each.label)) for each in shown]
    note = "<p>The area of a topic is the number of objects that speak of it; topics that share terms lie together.</p>"
    rows = [(each.label, each.address, (each.weight, ", ".join(each.terms))) for each in areas]
    drawn = topic_map("Topics", areas)
    return OverviewSection("map", "Topics", drawn + note + table(("Topic", "objects", "stems of its terms"), rows))


def _bars(title: str, every: Sequence[SpokenOf], lead: Callable[[Kind, str, str], str]) -> str:
    named = {each.of: each for each in every}
    labels = {of: each.label for of, each in named.items()}
    counts = {of: each.objects for of, each in named.items()}
    return bars(title, counts, labels, lambda of: lead(named[of].kind, of, labels[of]), "objects")


def _judged(words: Sequence[JudgedWord], leads: Leads) -> OverviewSection:
    title = "Opinions with keywords"
    counts = {each.word: each.praise + each.blame for each in words[:_BARS]}
    note = "<p>Sentences that praise or blame and have a keyword of the definition. Each leads to them, by month.</p>"
    rows = [(each.word, leads.keyword(each.word), (each.praise, each.blame)) for each in words]
    picture = bars(title, counts, {}, leads.keyword, "sentences")
    return OverviewSection("words", title, picture + note + table(("Keyword", "praise", "blame"), rows))


def _events(told: CrawlSpokenOf, lead: Callable[[Kind, str, str], str]) -> OverviewSection:
    events, total = told.events, told.all_events
    times = periods(told.happened)
    picture = columns("Events", times.counts, lambda _: "", "events") if times.counts else ""
    rows = [(each.label, lead(Kind.EVENT, each.of, each.label), (each.when, each.objects)) for each in events]
    more = f"<p>The table has the first {len(events):,} of {total:,}.</p>" if total > len(events) else ""
    outside = times.earlier + times.later
    far = f"<p>{outside:,} that lie far from all others are not in the picture.</p>" if outside else ""
    return OverviewSection("events", "Events", picture + more + far + table(("What happened", "when", "objects"), rows))


def sections_of_one(told: SpokenOfOne, leads: Leads, chosen: Chosen) -> list[OverviewSection]:
    """Return the sections on one thing: over time, beside other things, praise and blame."""
    spoken = told.spoken

    def of_time(period: str) -> str:
        return leads.search(spoken.kind, spoken.label, period)

    dated = {month: n for month, n in spoken.months.items() if month}
    found = []
    if spoken.kind is not Kind.KEYWORD:  # Nothing is known of the texts that merely have the word.
        found.append(over_time("times", "Over time", dated, of_time, "web objects", spoken.months.get("", 0), chosen))
    if told.beside:
        rows = [
            (each.label, leads.page(each.kind, each.of, each.label), (str(each.kind), each.objects))
            for each in told.beside
        ]
        best = sorted(told.beside, key=lambda each: -each.objects)[:_BARS]
        picture = _bars("Together with", best, leads.page)
        found.append(OverviewSection("beside", "Together with", picture + table(("Name", "kind", "objects"), rows)))
    if told.ties:
        found.append(_ties(told, leads, chosen))
    if told.months:
        names = _periods_of(told)

        def sentences(period: str) -> str:
            return f"#opinions-{period}" if period in names else ""

        picture = balance("Praise and blame", told.months, sentences, chosen)
        shown = ((month, pair) for month, pair in told.months.items() if not month or chosen(month) is not False)
        counts = [(worded(month) or "no date", "", pair) for month, pair in shown]
        found.append(
            OverviewSection("balance", "Praise and blame", picture + table(("Time", "praise", "blame"), counts))
        )
    return found


_TRENDS: Final = {Trend.RISING: "↗", Trend.FALLING: "↘", Trend.STEADY: "→"}


def _ties(told: SpokenOfOne, leads: Leads, chosen: Chosen) -> OverviewSection:
    """Return the section of the partners that rise and fall: a row each, the most rising first."""
    spoken, title = told.spoken, "Closer and looser ties"
    rows = [
        Row(f"{_TRENDS[each.trend]} {each.label}", each.months, leads.page(each.kind, each.of, each.label))
        for each in told.ties
    ]

    def both(place: int, period: str = "") -> str:
        each = told.ties[place]
        return leads.together((spoken.kind, spoken.label), (each.kind, each.label), period)

    dated = {month: n for month, n in spoken.months.items() if month}
    picture = shares(title, rows, dated, both, chosen)
    note = (
        "<p>The larger a disk, the more of the objects of that time which speak of it speak of the partner as well. "
        "↗ has a larger share of the later half of these objects than of the earlier half, ↘ a smaller one, by more "
        "than chance makes of nineteen ties in twenty; → has not. A disk leads to the objects, these to their "
        "captures.</p>"
    )
    lines = [
        (each.label, both(place), (str(each.kind), each.trend, f"{each.earlier:.0%}", f"{each.later:.0%}", sum(n)))
        for place, each in enumerate(told.ties)
        for n in [each.months.values()]
    ]
    heads = ("With", "kind", "the tie is", "earlier share", "later share", "objects")
    return OverviewSection("ties", title, picture + note + table(heads, lines))


def _periods_of(told: SpokenOfOne) -> tuple[str, ...]:
    """Return the periods of the picture of praise and blame."""
    return tuple(periods({month: sum(pair) for month, pair in told.months.items() if month}).counts)


def by_period(told: SpokenOfOne) -> list[tuple[str, str, list[OpinionTold]]]:
    """Return the sentences with opinions by period, each period with its name and its words."""
    names = _periods_of(told)
    length = len(names[0]) if names else 0
    found: dict[str, list[OpinionTold]] = {}
    for each in told.opinions:
        period = month_of(each.published)[:length]
        found.setdefault(period if period in names else "", []).append(each)
    return [(name, worded(name) if name else "at another time, or none", found[name]) for name in sorted(found)]
