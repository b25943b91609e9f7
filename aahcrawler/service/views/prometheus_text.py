"""The numbers of all crawls in the text format of Prometheus, version 0.0.4."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final, Literal, get_args

from aahcrawler import __version__
from aahcrawler.service.catalog.crawl_catalog import Crawl
from aahcrawler.service.views.crawl_state import CrawlState, CrawlStates, CrawlStatus
from aahcrawler.tallies import FAILURE, group

MEDIA_TYPE: Final = "text/plain; version=0.0.4; charset=utf-8"
MAX_CRAWLS: Final = 500
"""Crawls whose numbers are given, the first ones by id."""
MAX_REASONS: Final = 20
"""Reasons, statuses and applications that are told apart in each crawl, the commonest; the rest is ``other``."""
_OTHER = "other"

_Labels = tuple[tuple[str, str], ...]


@dataclass(slots=True)
class _Family:
    """A metric: its kind, what it is, and its samples."""

    kind: Literal["gauge", "counter"]
    help: str
    samples: list[tuple[_Labels, float]] = field(default_factory=list)


_COUNTED: Final[Mapping[str, tuple[str, str]]] = {
    "aah_crawl_fetched_pages_total": ("pages", "Pages that were fetched."),
    "aah_crawl_relevant_pages_total": ("relevant", "Fetched pages that are relevant."),
    "aah_crawl_received_bytes_total": ("bytes", "Bytes that were received."),
    "aah_crawl_requests_total": ("requests", "Requests that were made."),
    "aah_crawl_retries_total": ("retries", "Fetches that were put off to be tried again."),
    "aah_crawl_active_seconds_total": ("seconds", "Seconds that the crawl has run."),
}
_GROUPED: Final[Mapping[str, tuple[str, str, str]]] = {
    "aah_crawl_failures_total": (FAILURE, "reason", "URLs that failed, by reason."),
    "aah_crawl_refused_links_total": ("refused", "reason", "Links that were not followed, by reason."),
    "aah_crawl_blocked_urls_total": ("blocked", "reason", "URLs that were blocked when their turn came, by reason."),
    "aah_crawl_answers_total": ("status", "status", "Answers, by HTTP status."),
    "aah_crawl_application_pages_total": ("application", "application", "Pages by the software of their site."),
}


class Metrics:
    """Writes the numbers of crawls."""

    def __init__(self) -> None:
        self._families: dict[str, _Family] = {}

    def add(self, crawl: Crawl, status: CrawlStatus, tallies: Mapping[str, float]) -> None:
        """Add the numbers of a crawl."""
        own = (("crawl", crawl.id),)
        for state in get_args(CrawlState):
            self._gauge(
                "aah_crawl_state",
                "Whether a crawl is in a state (1) or not (0).",
                (*own, ("state", state)),
                state == status.state,
            )
        self._gauge("aah_crawl_live", "Whether the numbers are those of this moment.", own, status.is_live)
        for kind, counts in (("pages", status.pages), ("requisites", status.requisites)):
            for where, number in counts.items():
                self._gauge(
                    f"aah_crawl_{kind}", f"URLs of {kind} by where they are.", (*own, ("state", str(where))), number
                )
        self._gauge("aah_crawl_sites_queued", "Sites with queued URLs.", own, status.queues)
        self._gauge(
            "aah_crawl_workers",
            "Workers that serve the crawl, apart from one that crawls by itself.",
            own,
            len(status.workers),
        )
        if status.harvest_ratio is not None:
            self._gauge("aah_crawl_harvest_ratio", "Relevant pages among all fetched ones.", own, status.harvest_ratio)
        self._gauge(
            "aah_crawl_objects_on_pages", "Web objects by the pages that show them.", own, status.objects_on_pages
        )
        if status.objects is not None:
            self._gauge("aah_crawl_objects", "Web objects, once they are counted.", own, status.objects)
        if status.disk is not None:
            self._gauge("aah_crawl_disk_free_bytes", "Free bytes where the crawl is kept.", own, status.disk.free)
        for limit in status.limits:
            labels = (*own, ("limit", limit.name))
            self._gauge("aah_crawl_limit_used_ratio", "The used share of a limit.", labels, limit.share)
        self._count(own, tallies)

    def add_service(self, streams: int) -> None:
        """Add the numbers of the service itself."""
        self._gauge("aah_info", "The version that answers.", (("version", __version__),), 1)
        self._gauge("aah_service_streams", "Streams of live events that are open.", (), streams)

    def text(self) -> str:
        """Return all numbers."""
        return "".join(
            f"# HELP {name} {_escaped(family.help)}\n# TYPE {name} {family.kind}\n" + "".join(_lines(name, family))
            for name, family in self._families.items()
        )

    def _count(self, own: _Labels, tallies: Mapping[str, float]) -> None:
        for name, (tally, help_) in _COUNTED.items():
            self._sample("counter", name, help_, own, tallies.get(tally, 0.0))
        for name, (counts, label, help_) in _GROUPED.items():
            for word, number in _commonest(group(tallies, counts)):
                self._sample("counter", name, help_, (*own, (label, word)), number)

    def _gauge(self, name: str, help_: str, labels: _Labels, value: float) -> None:
        self._sample("gauge", name, help_, labels, value)

    def _sample(self, kind: Literal["gauge", "counter"], name: str, help_: str, labels: _Labels, value: float) -> None:
        self._families.setdefault(name, _Family(kind, help_)).samples.append((labels, float(value)))


def metrics_text(states: CrawlStates, crawls: Sequence[Crawl], streams: int) -> str:
    """Return the numbers of crawls, and of the service."""
    metrics = Metrics()
    metrics.add_service(streams)
    for crawl in sorted(crawls, key=lambda crawl: crawl.id)[:MAX_CRAWLS]:
        metrics.add(crawl, *states.status_and_tallies(crawl))
    return metrics.text()


def _commonest(counts: Mapping[str, int]) -> Iterator[tuple[str, int]]:
    told = {word: number for word, number in list(counts.items())[:MAX_REASONS] if word != _OTHER}
    yield from told.items()
    if rest := sum(counts.values()) - sum(told.values()):
        yield _OTHER, rest


def _lines(name: str, family: _Family) -> Iterator[str]:
    for labels, value in family.samples:
        written = ",".join(f'{label}="{_escaped(text, quoted=True)}"' for label, text in labels)
        yield f"{name}{{{written}}} {_number(value)}\n" if written else f"{name} {_number(value)}\n"


def _number(value: float) -> str:
    return str(int(value)) if value.is_integer() else repr(value)


def _escaped(text: str, *, quoted: bool = False) -> str:
    r"""Escape a text for a line of HELP, or for the value of a label.

    >>> _escaped('a"b', quoted=True)
    'a\\"b'
    """
    written = text.replace("\\", "\\\\").replace("\n", "\\n").replace("\r", " ")
    written = written.encode("utf-8", "replace").decode("utf-8")
    return written.replace('"', '\\"') if quoted else written
