"""``aah frontier``: show and change the queue of a crawl, whether or not it runs.

Each command imports its modules when it is called, so that ``--help`` is fast.
"""
# ruff: noqa: PLC0415

import sys
from pathlib import Path
from typing import Annotated

import typer

from aahcrawler.exits import MISTAKE, exit_on_error

frontier_app = typer.Typer(
    name="frontier",
    help="The frontier of a crawl: show its queue, and change it. All but `restore` works while the crawl runs.",
    no_args_is_help=True,
)

Crawl = Annotated[
    str,
    typer.Argument(
        metavar="CRAWL", help="The folder of a crawl; or, with AAH_REDIS_URL, the id of one that was submitted there."
    ),
]
AsJson = Annotated[bool, typer.Option("--json", help="Write JSON.")]
Host = Annotated[
    str,
    typer.Option("--host", help="The domain of this host alone, in all crawls that share the server; else the crawl."),
]
Urls = Annotated[list[str] | None, typer.Option("--url", help="A URL. Each option may be given several times.")]
Prefixes = Annotated[list[str] | None, typer.Option("--prefix", help="All URLs that begin with this text.")]
Hosts = Annotated[list[str] | None, typer.Option("--host", help="All URLs of a host, and of those below it.")]
Patterns = Annotated[
    list[str] | None, typer.Option("--pattern", help="All URLs that a pattern with * matches, or that hold a text.")
]


@frontier_app.command()
def counts(crawl: Crawl, as_json: AsJson = False) -> None:
    """Count URLs by state and by reason for being blocked or failed; list paused domains and rules."""
    from aahcrawler.operating import frontier_access
    from aahcrawler.operating.frontier_access import reached

    with reached(crawl) as frontier:
        found = frontier_access.counts_of(frontier.counts(), frontier)
    write = frontier_access.write_json if as_json else frontier_access.write_counts
    write(found, sys.stdout)


@frontier_app.command()
def top(
    crawl: Crawl,
    number: Annotated[int, typer.Option("-n", "--number", min=1, max=100_000, help="The number of URLs.")] = 20,
    as_json: AsJson = False,
) -> None:
    """List the URLs that are to be fetched next: score, depth, kind and URL, the best first."""
    from aahcrawler.operating import frontier_access
    from aahcrawler.operating.frontier_access import reached

    with reached(crawl) as frontier:
        offers = frontier.iterate(number)
    if as_json:
        frontier_access.write_json(frontier_access.offers_of(offers), sys.stdout)
    else:
        frontier_access.write_offers(offers, sys.stdout)


@frontier_app.command()
def pause(crawl: Crawl, host: Host = "") -> None:
    """Fetch nothing more of a crawl, or of one domain, until it is resumed; fetches in progress are kept."""
    from aahcrawler.operating.frontier_access import queue_named, reached

    with reached(crawl) as frontier:
        if host:
            frontier.pause_queue(queue := queue_named(host))
            typer.echo(f"{queue} is paused in all crawls")
        else:
            frontier.pause()
            typer.echo(f"{crawl} is paused")


@frontier_app.command()
def resume(crawl: Crawl, host: Host = "") -> None:
    """Resume fetching after a pause."""
    from aahcrawler.operating.frontier_access import queue_named, reached

    with reached(crawl) as frontier:
        if host:
            frontier.resume_queue(queue := queue_named(host))
            typer.echo(f"{queue} goes on in all crawls")
        else:
            frontier.resume()
            typer.echo(f"{crawl} goes on")


@frontier_app.command()
def block(
    crawl: Crawl, url: Urls = None, prefix: Prefixes = None, host: Hosts = None, pattern: Patterns = None
) -> None:
    """Fetch none of these URLs, whether they are queued now or found later, until they are unblocked."""
    from aahcrawler.operating.frontier_access import reached, rule_names, rules_of

    rules = rules_of(url, prefix, host, pattern)
    with reached(crawl) as frontier:
        blocked = frontier.block(rules)
    typer.echo(f"{blocked:,} queued URLs are blocked; rules: {rule_names(rules)}")


@frontier_app.command()
def unblock(
    crawl: Crawl, url: Urls = None, prefix: Prefixes = None, host: Hosts = None, pattern: Patterns = None
) -> None:
    """Remove rules of `block`, as they were given; the URLs they blocked are queued again, with their scores."""
    from aahcrawler.operating.frontier_access import reached, rule_names, rules_of

    rules = rules_of(url, prefix, host, pattern)
    with reached(crawl) as frontier:
        unknown = [rule for rule in rules if rule not in frontier.rules()]
        back = frontier.unblock(rules)
    typer.echo(f"{back:,} URLs are queued again")
    if unknown:
        typer.echo(f"no such rules: {rule_names(unknown)}; `aah frontier counts` lists those that hold", err=True)
        raise typer.Exit(MISTAKE)


@frontier_app.command()
def snapshot(
    crawl: Crawl,
    file: Annotated[Path, typer.Argument(metavar="FILE", help="The file to write; one that exists is replaced.")],
) -> None:
    """Write the whole state of a frontier to a file. Pause the crawl before, and it is the state of one moment."""
    from aahcrawler.frontier.control import SnapshotError
    from aahcrawler.operating.frontier_access import reached

    with exit_on_error(SnapshotError, OSError), reached(crawl) as frontier:
        urls = frontier.snapshot(file)
    typer.echo(f"{file}: {urls:,} URLs")


@frontier_app.command()
def restore(
    crawl: Crawl,
    file: Annotated[Path, typer.Argument(metavar="FILE", help="The file that `snapshot` has written.")],
    replace: Annotated[bool, typer.Option("--replace", help="Discard the present content of the frontier.")] = False,
) -> None:
    """Restore a crawl that does not run from a snapshot. Pages fetched since stay in its archive."""
    from aahcrawler.frontier.control import SnapshotError
    from aahcrawler.operating.frontier_access import reached

    with exit_on_error(SnapshotError, OSError), reached(crawl, alone=True) as frontier:
        urls = frontier.restore(file, replace=replace)
    typer.echo(f"{crawl}: {urls:,} URLs")


@frontier_app.command()
def revisit(
    crawl: Crawl,
    urls: Annotated[list[str], typer.Argument(metavar="URL...", help="Pages that have been fetched.")],
    wait: Annotated[str, typer.Option("--in", help="The time from now: 30 min, 2 h, 1 day.")] = "0",
    score: Annotated[float, typer.Option("--score", min=0.0, help="The score with which they are queued then.")] = 1.0,
) -> None:
    """Fetch pages again that have been fetched in this crawl, now or later."""
    from aahcrawler.frontier.control import Revisit
    from aahcrawler.frontier.protocol import Offer
    from aahcrawler.operating.frontier_access import canonical, reached, seconds_of
    from aahcrawler.urls import queue_of

    with exit_on_error(ValueError):
        seconds, found = seconds_of(wait), [canonical(url) for url in urls]
    with reached(crawl) as frontier:
        answers = frontier.again([Revisit(Offer(url, queue_of(url), score), seconds) for url in found])
    typer.echo(f"{sum(answers):,} pages are due again")
    for url, is_due in zip(found, answers, strict=True):
        if not is_due:
            typer.echo(f"{url}: has not been fetched in this crawl, or is blocked", err=True)
    if not all(answers):
        raise typer.Exit(MISTAKE)
