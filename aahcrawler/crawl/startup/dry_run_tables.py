"""The outcome of a dry run for people: lines for a pipe, tables for a terminal."""

import json
from collections.abc import Callable, Iterator, Sequence

from rich.console import Console
from rich.markup import escape
from rich.table import Table

from aahcrawler.crawl.startup.archive_sample import SHOWN_MISSING, Sample, SampledCapture, Sampling, SeedHeld
from aahcrawler.crawl.startup.dry_run import TriedSeed
from aahcrawler.seeds.verdicts import links_in_words
from aahcrawler.tallies import plural

_MAX_REASONS = 4
_STEP = 5
"""Seeds and captures after which it is told how far a sample is."""


def lines_of(tried: TriedSeed) -> Iterator[str]:
    """Yield what is to be said of a seed, the verdict first, all else indented."""
    detail = f" ({_plain(tried.detail)})" if tried.detail else ""
    where = f", at {tried.ended_at}" if tried.ended_at else ""
    yield f"{tried.url}: {tried.words}{detail}{where}"
    if tried.status is not None:
        yield f"  {_page(tried)}"
    if tried.archive:
        yield f"  captured {tried.captured_at[:10]}, {_plain(tried.archive)}"
    if tried.gives:
        yield f"  {_links(tried)}"
        yield from (f"  {each.score:.3f} {each.url}{_anchor(each.anchor)}" for each in tried.best)
    yield from (f"  what to do: {hint}" for hint in tried.hints)


def print_table(tried: Sequence[TriedSeed], console: Console) -> None:
    """Print a line for each seed, and the best links of those that give some."""
    table = Table(box=None, pad_edge=False, header_style="bold")
    for name, right in (("seed", False), ("verdict", False), ("page", False), ("score", True), ("links", True)):
        table.add_column(name, justify="right" if right else "left", overflow="fold")
    table.add_column("what to do", overflow="fold")
    for each in tried:
        style = "" if each.gives else "red"
        score = "" if each.score is None else f"{each.score:.3f}"
        row = (each.url, each.words, _kind(each), score, f"{each.followed:,}", "\n".join(each.hints))
        table.add_row(*map(escape, row), style=style)
    console.print(table)
    for each in tried:
        if each.best:
            console.print(f"\n[bold]{escape(each.url)}[/bold]: {escape(_links(each))}")
        for link in each.best:
            console.print(f"  {link.score:.3f} {escape(link.url)}{escape(_anchor(link.anchor))}", highlight=False)


def summary(tried: Sequence[TriedSeed]) -> str:
    """Return how many seeds give pages."""
    giving = sum(each.gives for each in tried)
    return f"{giving:,} of {len(tried):,} seeds give pages"


def tell_notes(notes: Sequence[str], echo: Callable[..., object], *, as_json: bool) -> None:
    """Write what has to be known of a dry run, in JSON or on standard error."""
    for note in notes:
        echo(json.dumps({"kind": "note", "text": note}) if as_json else note, err=not as_json)


def tell_sample(sampling: Sampling, echo: Callable[[str], object], *, as_json: bool) -> Sample:
    """Take a sample and write what it is; in JSON a line now and then says how far it is. Raise as ``Sampling.run``."""
    told = 0

    def tell(sample: Sample) -> None:
        nonlocal told
        now = len(sample.seeds) + len(sample.captures)
        if as_json and now >= told + _STEP:
            told = now
            echo(json.dumps({"kind": "progress", "seeds": len(sample.seeds), "taken": len(sample.captures)}))

    sample = sampling.run(tell)
    if as_json:
        echo(json.dumps({"kind": "sample", **sample.as_json()}, ensure_ascii=False))
    else:
        for line in _sample_lines(sample):
            echo(line)
    return sample


def _sample_lines(sample: Sample) -> Iterator[str]:
    yield from map(_seed, sample.seeds)
    held = sum(bool(each.captures) for each in sample.seeds)
    yield f"{held:,} of {plural(len(sample.seeds), 'seed')} are in the archives"
    for name, each in sample.sources.items() if len(sample.sources) > 1 else ():
        failed = f", asked {plural(each.failed, 'time')} in vain" if each.failed else ""
        yield f"  {name}: {plural(each.seeds, 'seed')}, {plural(each.captures, 'capture')}{failed}"
    yield f"{plural(len(sample.captures), 'capture')} taken of {sample.looked_up:,} URLs looked up: {sample.ended}"
    yield from map(_capture, sample.best)
    for threshold, number in sample.members:
        own = ", as the definition has it" if threshold == sample.relevant_at else ""
        yield f"members from {threshold:g} on: {number:,} of {len(sample.captures):,}{own}"
    yield f"{plural(len(sample.missing), 'URL')} in no archive"
    yield from (f"  {url}" for url in sample.missing[:SHOWN_MISSING])
    yield from (f"{what}: {plural(times, 'time')}" for what, times in sample.troubles.most_common())


def _seed(seed: SeedHeld) -> str:
    if not seed.captures:
        return f"{seed.url}: {seed.problem}"
    told = f"{plural(seed.captures, 'capture')}, {seed.first[:10]} to {seed.last[:10]}"
    nearest = f"; {seed.nearest[:10]} would be taken first" if seed.nearest else ""
    return f"{seed.url}: {told}{nearest}{f' ({seed.problem})' if seed.problem else ''}"


def _capture(each: SampledCapture) -> str:
    parts = ((name, getattr(each, name)) for name in ("topic", "time"))
    made_of = ", ".join(f"{name} {value:.3f}" for name, value in parts if value is not None)
    title = f" “{_plain(each.title)}”" if each.title else ""
    return f"  {each.score:.3f}{f' ({made_of})' if made_of else ''} {each.captured_at[:10]} {each.url}{title}"


def _page(tried: TriedSeed) -> str:
    score = "no score" if tried.score is None else f"score {tried.score:.3f}"
    objects = ", ".join(f"{number:,} {kind}" for kind, number in tried.objects.items()) or "no objects"
    title = f" “{_plain(tried.title)}”" if tried.title else ""
    return f"{tried.status} {tried.media_type}{title}: {_kind(tried)}, {score}, {objects}"


def _kind(tried: TriedSeed) -> str:
    if not tried.application:
        return "no known application" if tried.status is not None else ""
    return f"{tried.application}, {tried.level or 'no known level'}"


def _links(tried: TriedSeed) -> str:
    number = sum(tried.avoided.values())
    reasons = ", ".join(
        f"{links_in_words(reason)}: {links:,}" for reason, links in list(tried.avoided.items())[:_MAX_REASONS]
    )
    return f"{tried.followed:,} links followed, {number:,} avoided{f' ({reasons})' if reasons else ''}"


def _anchor(anchor: str) -> str:
    return f" ({_plain(anchor)})" if anchor.strip() else ""


def _plain(text: str) -> str:
    """Return text of a page on one line, without what could move a terminal's cursor, and not too long."""
    line = " ".join("".join(sign if sign.isprintable() else " " for sign in text).split())
    return line if len(line) <= 100 else f"{line[:100]}..."
