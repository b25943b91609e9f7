"""The frontier of a crawl, given the crawl's folder or its id on a shared server.

Rules and output of ``aah frontier``.
"""

import json
import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Protocol, TextIO

from rich import box
from rich.console import Console
from rich.table import Column, Table
from rich.text import Text

from aahcrawler.crawls import frontier_name, frontier_settings
from aahcrawler.definition_bundle import unpack_definition
from aahcrawler.definitions import DefinitionError, read_definition
from aahcrawler.exits import exit_on_error
from aahcrawler.frontier.control import Blocking, Pausing, Rule, RuleKind
from aahcrawler.frontier.protocol import Counts, FrontierUnavailableError, Offer, State
from aahcrawler.frontier.redis.control import RedisControl
from aahcrawler.frontier.redis.registry import RedisRegistry
from aahcrawler.frontier.registry import RegistryError
from aahcrawler.frontier.server.binary import REDIS_URL
from aahcrawler.frontiers import NoCrawlError, crawl_of, server_of
from aahcrawler.layout import DEFINITION
from aahcrawler.urls import canonicalize, queue_of
from online_analysis.icd import Icd
from online_analysis.icd.units import parse_duration


@contextmanager
def control_of(crawl: str, *, alone: bool = False) -> Iterator[RedisControl]:
    """Lend the frontier of a crawl, given its folder or its id on a shared server.

    With ``alone``, the crawl must not be running, and cannot be started meanwhile. Raise ``NoCrawlError`` if there is
    no such folder or id, ``DefinitionError`` if its definition cannot be read back, and ``FrontierUnavailableError`` if
    its server cannot be reached, or with ``alone`` if the crawl runs.
    """
    folder, shared = Path(crawl), os.environ.get(REDIS_URL)
    if (folder / DEFINITION).is_file():
        found, icd = crawl_of(folder), read_definition(folder / DEFINITION)
        with server_of(folder, alone=alone) as address, _control(address, icd, found.number) as control:
            yield control
    elif shared:
        with _control(shared, *_registered(shared, crawl)) as control:
            yield control
    else:
        raise NoCrawlError(
            f"{crawl}: holds no crawl; name the folder that the definition calls output, or set {REDIS_URL} and name "
            "the id of a crawl that was submitted there"
        )


@contextmanager
def _control(address: str, icd: Icd, number: int) -> Iterator[RedisControl]:
    with closing(RedisControl(address, frontier_name(icd.id, number), frontier_settings(icd))) as control:
        yield control


def _registered(server: str, crawl: str) -> tuple[Icd, int]:
    registry = RedisRegistry(server)
    number = next((each.number for each in registry.crawls() if each.id == crawl), None)
    if number is None:
        raise NoCrawlError(f"{crawl}: is neither the folder of a crawl nor the id of one that {REDIS_URL} knows")
    return unpack_definition(registry.definition(crawl)[1], Path(crawl)), number


@contextmanager
def reached(crawl: str, *, alone: bool = False) -> Iterator[RedisControl]:
    """Lend the frontier of a crawl as ``control_of`` does; exit with a message on its errors."""
    mistakes = NoCrawlError, DefinitionError, FrontierUnavailableError, RegistryError
    with exit_on_error(*mistakes), control_of(crawl, alone=alone) as control:
        yield control


def rules_of(
    urls: Sequence[str] | None, prefixes: Sequence[str] | None, hosts: Sequence[str] | None, texts: Sequence[str] | None
) -> tuple[Rule, ...]:
    """Return the rules that options give; exit with a message if there is none."""
    with exit_on_error(ValueError):
        given = (
            *(Rule(RuleKind.URL, canonical(text)) for text in urls or ()),
            *(Rule(RuleKind.PREFIX, text) for text in prefixes or ()),
            *(Rule(RuleKind.HOST, text.lower()) for text in hosts or ()),
            *(Rule(RuleKind.PATTERN, text) for text in texts or ()),
        )
        if not given:
            raise ValueError("nothing is named; give --url, --prefix, --host or --pattern")
        return given


def canonical(text: str) -> str:
    """Return the canonical form of a URL; raise ValueError if it is invalid."""
    url = canonicalize(text)
    if url is None:
        raise ValueError(f"{text!r} is no http or https URL")
    return url


def seconds_of(text: str) -> float:
    """Return the seconds of a duration; raise ValueError for an invalid one."""
    try:
        return parse_duration(text).total_seconds()
    except ValueError as error:
        raise ValueError(f"{text!r} {error}; write a number and a unit: 30 min, 2 h, 1 day") from None


def queue_named(host: str) -> str:
    """Return the name of the queue to which a host belongs."""
    with exit_on_error(ValueError):
        return queue_of(canonical(f"http://{host}/"))


def rule_names(rules: Sequence[Rule]) -> str:
    """Return the names of rules."""
    return ", ".join(rule.reason for rule in rules)


_CONTROLS = {code: " " if chr(code).isspace() else "�" for code in (*range(32), *range(127, 160), 0x2028, 0x2029)}


class Withheld(Pausing, Blocking, Protocol):
    """The part of a frontier that pauses queues and blocks URLs by rules."""


def counts_of(counts: Counts, control: Withheld) -> Mapping[str, object]:
    """Return the counts of a frontier, its paused queues and its rules, as the JSON output has them."""
    return {
        "paused": control.is_paused(),
        "paused_queues": sorted(control.paused_queues()),
        "pages": {str(state): counts.pages.get(state, 0) for state in State},
        "requisites": {str(state): counts.requisites.get(state, 0) for state in State},
        "queues": counts.queues,
        "reasons": dict(counts.reasons),
        "rules": sorted(rule.reason for rule in control.rules()),
    }


def offers_of(offers: Sequence[Offer]) -> Sequence[Mapping[str, object]]:
    """Return queued URLs as the JSON output has them; a URL without score has null."""
    return [
        {
            "url": offer.url,
            "queue": offer.queue,
            "score": offer.score if offer.score >= 0 else None,
            "depth": offer.depth,
            "kind": offer.kind,
            "via": offer.via or None,
            "path": offer.path,
        }
        for offer in offers
    ]


def write_json(value: object, out: TextIO) -> None:
    """Write a value as JSON."""
    out.write(json.dumps(value, ensure_ascii=False, indent=1) + "\n")


def write_counts(found: Mapping[str, object], out: TextIO) -> None:
    """Write the result of ``counts_of`` as tables."""
    console = Console(file=out, highlight=False)
    pages, requisites, reasons = (_numbers(found[name]) for name in ("pages", "requisites", "reasons"))
    table = _table("", "state", "pages", "requisites")
    for state in pages:
        _row(table, state, f"{pages[state]:,}", f"{requisites[state]:,}")
    console.print(table)
    if reasons:
        table = _table("Why URLs are blocked or have failed", "reason", "URLs")
        for reason, number in sorted(reasons.items(), key=lambda item: -item[1]):
            _row(table, reason, f"{number:,}")
        console.print(table)
    for line in _lines(found):
        console.print(Text(line.translate(_CONTROLS)), soft_wrap=True)


def write_offers(offers: Sequence[Offer], out: TextIO) -> None:
    """Write queued URLs as a table, the URL last."""
    for offer in offers:
        score = "unscored" if offer.score < 0 else f"{offer.score:8.4f}"
        out.write(f"{score:>8}  {offer.depth:>3}  {offer.kind:<9}  {offer.url}\n")


def _lines(found: Mapping[str, object]) -> Iterable[str]:
    if found["paused"]:
        yield "paused: nothing is leased of this crawl"
    for name, what in (("paused_queues", "paused in all crawls"), ("rules", "blocked by rule")):
        listed = found[name]
        if isinstance(listed, list) and listed:
            yield f"{what}: {', '.join(map(str, listed))}"


def _numbers(value: object) -> Mapping[str, int]:
    return {str(name): int(number) for name, number in value.items()} if isinstance(value, Mapping) else {}


def _table(title: str, *names: str) -> Table:
    columns = (Column(name, justify="left" if n == 0 else "right", overflow="fold") for n, name in enumerate(names))
    return Table(*columns, title=title or None, title_justify="left", box=box.SIMPLE_HEAD)


def _row(table: Table, *cells: str) -> None:
    """Add a row whose cells are shown literally: neither as markup nor as control sequences of the terminal."""
    table.add_row(*(Text(cell.translate(_CONTROLS)) for cell in cells))
