"""Commands for crawls on a shared server.

Each imports what it needs when it runs: help has to answer at once, and only workers need Scrapy.
"""
# ruff: noqa: PLC0415

import time
from collections.abc import Sequence
from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from aahcrawler.exits import exit_on_error, utc_time
from aahcrawler.frontier.server.binary import REDIS_URL

worker_app = typer.Typer()


class Severity(StrEnum):
    """The severities of events, the least first."""

    INFO = "INFO"
    WARNING = "WARNING"
    ERROR = "ERROR"
    CRITICAL = "CRITICAL"


Redis = Annotated[
    str,
    typer.Option(
        "--redis",
        metavar="URL",
        envvar=REDIS_URL,
        help="The shared server: redis://HOST:PORT/0, rediss://..., or unix:///PATH.",
        show_default=False,
    ),
]
POLL = 1.0
"""Seconds between two looks for new events."""


@worker_app.command("submit")
def submit_definition(
    icd: Annotated[Path, typer.Argument(metavar="FILE", help="An Intelligent Crawl Definition in YAML.")],
    redis: Redis,
) -> None:
    """Give a crawl to the workers of a shared server; again, to change its definition or to begin it anew."""
    from aahcrawler.crawl.cluster.submission import SubmissionRefusedError, submit
    from aahcrawler.frontier.protocol import FrontierUnavailableError
    from aahcrawler.frontier.redis.registry import connected
    from aahcrawler.frontier.registry import RegistryError
    from online_analysis.icd import IcdError

    refusals = (IcdError, SubmissionRefusedError, FrontierUnavailableError, RegistryError, OSError)
    with exit_on_error(*refusals), connected(redis) as server:
        typer.echo(str(submit(icd, redis, server.registry, server.presence)))


@worker_app.command("crawls")
def list_crawls(redis: Redis) -> None:
    """List the crawls of a shared server: state, counts, and number of workers."""
    from aahcrawler.crawl.cluster.status import crawl_lines
    from aahcrawler.frontier.protocol import FrontierUnavailableError
    from aahcrawler.frontier.redis.registry import connected
    from aahcrawler.frontier.registry import RegistryError

    with exit_on_error(FrontierUnavailableError, RegistryError), connected(redis) as server:
        for line in crawl_lines(server):
            typer.echo(line)


@worker_app.command("workers")
def list_workers(redis: Redis) -> None:
    """List the workers of a shared server, and what each has done for each crawl since it was started."""
    from aahcrawler.crawl.cluster.status import worker_lines
    from aahcrawler.frontier.protocol import FrontierUnavailableError
    from aahcrawler.frontier.redis.registry import connected
    from aahcrawler.frontier.registry import RegistryError

    with exit_on_error(FrontierUnavailableError, RegistryError), connected(redis) as server:
        for line in worker_lines(server.presence.workers(), time.time()):
            typer.echo(line)


@worker_app.command("events")
def show_events(
    folders: Annotated[
        list[Path] | None,
        typer.Argument(metavar="CRAWL", help="Folders of crawls. Default: the workers of a shared server."),
    ] = None,
    redis: Redis = "",
    crawl: Annotated[
        str, typer.Option("--crawl", metavar="ID", help="Events of one crawl of the server; of folders, its number.")
    ] = "",
    search: Annotated[
        str, typer.Option("--search", metavar="WORDS", help="In folders: full text, such as: timeout -robots host*")
    ] = "",
    level: Annotated[
        Severity | None, typer.Option("--level", help="In folders: this severity and those above.")
    ] = None,
    since: Annotated[str, typer.Option("--since", metavar="TIME", help="In folders: from then on, in UTC.")] = "",
    until: Annotated[str, typer.Option("--until", metavar="TIME", help="In folders: before then, in UTC.")] = "",
    as_json: Annotated[bool, typer.Option("--json", help="In folders: an event a line, as JSON.")] = False,
    worker: Annotated[
        str, typer.Option("--worker", metavar="TEXT", help="Events of workers whose names contain this text.")
    ] = "",
    grep: Annotated[str, typer.Option("--grep", metavar="TEXT", help="Events that contain a text, in any case.")] = "",
    follow: Annotated[bool, typer.Option("--follow", help="Go on with new events, until Ctrl-C.")] = False,
) -> None:
    """Show what crawls have logged, a line each, the oldest first: in their folders, or the workers of a server."""
    if folders:
        return _show_kept(
            folders, _conditions(search, level, crawl, since, until), grep, worker or follow, as_json=as_json
        )
    if search or level or since or until or as_json:
        raise typer.BadParameter("--search, --level, --since, --until and --json are for folders; name one")
    if not redis:
        raise typer.BadParameter(f"name the folder of a crawl, or a shared server with --redis or {REDIS_URL}")
    from aahcrawler.crawl.cluster.status import EventFilter
    from aahcrawler.frontier.protocol import FrontierUnavailableError
    from aahcrawler.frontier.redis.registry import connected
    from aahcrawler.frontier.registry import RegistryError

    wanted, place = EventFilter(crawl, worker, grep), ""
    with exit_on_error(FrontierUnavailableError, RegistryError), connected(redis) as server:
        try:
            while True:
                for at, event in server.events.read(place):
                    place = at
                    if wanted.admits(event):
                        typer.echo(str(event))
                if not follow:
                    return None
                time.sleep(POLL)
        except KeyboardInterrupt:
            return None


Conditions = tuple[str, tuple[str, ...], int | None, str, str]
"""What an ``EventQuery`` is made of: words, severities, the number of a crawl, and a span of time."""


def _conditions(search: str, level: Severity | None, crawl: str, since: str, until: str) -> Conditions:
    if crawl and not crawl.isdecimal():
        raise typer.BadParameter("of a folder, --crawl takes the number of one of its crawls, such as 1")
    severities = tuple(Severity)
    levels = tuple(each.value for each in severities[severities.index(level) :]) if level is not None else ()
    return search, levels, int(crawl) if crawl else None, utc_time(since), utc_time(until)


def _show_kept(folders: Sequence[Path], conditions: Conditions, grep: str, others: object, *, as_json: bool) -> None:
    import json
    from contextlib import ExitStack
    from dataclasses import asdict
    from heapq import merge

    from aahcrawler.event_index import EventIndex, EventQuery, EventSearchError

    if others:
        raise typer.BadParameter("--worker and --follow are for a shared server; folders keep what is over")
    with exit_on_error(EventSearchError), ExitStack() as stack:
        indexes = [stack.enter_context(EventIndex(folder)) for folder in folders]
        query = EventQuery(*conditions)
        for event in merge(*(index.find(query) for index in indexes), key=lambda event: event.at):
            if grep.casefold() in str(event).casefold():
                typer.echo(json.dumps(asdict(event), ensure_ascii=False) if as_json else str(event))


@worker_app.command("worker")
def run_worker(
    redis: Redis,
    folder: Annotated[
        Path, typer.Option("--folder", metavar="DIR", help="The folder in which each crawl gets one of its own.")
    ] = Path("crawls"),
    only: Annotated[
        list[str] | None,
        typer.Option("--only", metavar="ID", help="Serve the crawl with this id alone; may be repeated."),
    ] = None,
    until_finished: Annotated[
        bool, typer.Option("--until-finished", help="Leave when all crawls that are served have ended.")
    ] = False,
    at_once: Annotated[
        int, typer.Option("--at-once", metavar="N", min=1, max=1000, help="The most URLs that are fetched at once.")
    ] = 64,
    definition: Annotated[Path | None, typer.Option("--definition", hidden=True)] = None,
    attached: Annotated[bool, typer.Option("--attached", hidden=True)] = False,
) -> None:
    """Serve the crawls of a shared server until Ctrl-C; any number of workers may, on any machines."""
    from aahcrawler.crawl.cluster.worker import WorkerOptions, serve
    from aahcrawler.crawl.scrapy.run import project_settings
    from aahcrawler.frontier.protocol import FrontierUnavailableError
    from aahcrawler.frontier.redis.registry import connected
    from aahcrawler.frontier.registry import RegistryError

    options = WorkerOptions(folder, tuple(only or ()), until_finished, definition, at_once, attached)
    with exit_on_error(FrontierUnavailableError, RegistryError), connected(redis) as server:
        code = serve(server, options, project_settings(), lambda text: typer.echo(text, err=True))
    raise typer.Exit(code)
