"""Resolves an operator's arguments: crawls, URLs, domains and rules. A mistake is reported, and ends the command."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from aahcrawler.definitions import DefinitionError
from aahcrawler.exits import exit_on_error
from aahcrawler.frontier.blocking_rules import Rule, RuleKind
from aahcrawler.frontier.protocol import FrontierUnavailableError
from aahcrawler.frontier.redis.control import RedisControl
from aahcrawler.frontier.registry import RegistryError
from aahcrawler.frontiers import NoCrawlError
from aahcrawler.operating.frontier_access import control_of
from aahcrawler.urls import canonicalize, queue_of
from online_analysis.icd.units import parse_duration


@contextmanager
def reached(crawl: str, *, alone: bool = False) -> Iterator[RedisControl]:
    """Lend the frontier of a crawl (``control_of``)."""
    mistakes = NoCrawlError, DefinitionError, FrontierUnavailableError, RegistryError
    with exit_on_error(*mistakes), control_of(crawl, alone=alone) as control:
        yield control


def rules_of(
    urls: Sequence[str] | None, prefixes: Sequence[str] | None, hosts: Sequence[str] | None, texts: Sequence[str] | None
) -> tuple[Rule, ...]:
    """Return the rules that name these URLs, prefixes, hosts and patterns; there has to be one at least."""
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
    """Return a URL in the crawl's canonical form; raise ValueError for an invalid one."""
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
    """Return the queue of a host."""
    with exit_on_error(ValueError):
        return queue_of(canonical(f"http://{host}/"))


def rule_names(rules: Sequence[Rule]) -> str:
    """Return the names of rules."""
    return ", ".join(rule.reason for rule in rules)
