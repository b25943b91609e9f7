"""``aah load`` and ``aah query``: the RDF of a crawl in a store that answers SPARQL.

Each command imports its modules when it runs, so that ``--help`` is fast.
"""

import sys
from collections import Counter
from pathlib import Path
from typing import Annotated, Literal

import typer

from aahcrawler.exits import MISTAKE, NOT_WHOLE, exit_on_error, utc_time
from offline.selection_commands import Processes
from offline.store.result_writer import ResultFormat

# ruff: noqa: PLC0415


store_app = typer.Typer()

_PATIENCE = 10.0
"""How many seconds to wait for another command that uses the store."""

Crawl = Annotated[Path, typer.Argument(metavar="CRAWL", help="The folder of a crawl.")]
Store = Annotated[
    Path | None, typer.Option("--store", metavar="FOLDER", help="The store's folder. Default: store, in the crawl's.")
]


@store_app.command()
def load(
    crawl: Crawl,
    store: Store = None,
    endpoint: Annotated[
        str,
        typer.Option(
            "--endpoint",
            metavar="URL",
            envvar="AAH_ENDPOINT",
            help="The URL at which a SPARQL 1.1 store takes updates, in place of a folder: http://localhost:7878/update",
        ),
    ] = "",
    query_endpoint: Annotated[
        str,
        typer.Option(
            "--query-endpoint",
            metavar="URL",
            envvar="AAH_QUERY_ENDPOINT",
            help="The URL at which that store takes queries, if it is another.",
        ),
    ] = "",
) -> None:
    """Load the new part of a crawl's RDF into a store, also while it runs; earlier statements stay."""
    from offline.store.endpoint import Endpoint, HttpError
    from offline.store.loading import LoadError
    from offline.store.loading import load as load_into
    from offline.store.local import FOLDER, LocalStore, StoreError

    if store is not None and endpoint:
        typer.echo("name a folder with --store or a URL with --endpoint, not both", err=True)
        raise typer.Exit(MISTAKE)
    with exit_on_error(HttpError, LoadError, StoreError):
        if endpoint:
            with Endpoint(endpoint, query_endpoint) as service:
                typer.echo(load_into(crawl, service))
        else:
            folder = _crawl_folder(crawl) / FOLDER if store is None else store
            with LocalStore(folder, _PATIENCE) as local:
                typer.echo(load_into(crawl, local))


@store_app.command()
def query(
    crawl: Crawl,
    sparql: Annotated[str, typer.Argument(metavar="[SPARQL]", help="A query in SPARQL 1.1.")] = "",
    output_format: Annotated[
        ResultFormat, typer.Option("--format", help="The format of the answer; ttl is for CONSTRUCT and DESCRIBE.")
    ] = ResultFormat.TABLE,
    ready: Annotated[str, typer.Option("--ready", metavar="NAME", help="The name of a ready-made query.")] = "",
    arg: Annotated[
        list[str] | None, typer.Option("--arg", metavar="NAME=VALUE", help="An argument of a ready-made query.")
    ] = None,
    listing: Annotated[bool, typer.Option("--list", help="List the ready-made queries and their arguments.")] = False,
    store: Store = None,
) -> None:
    """Load the new part of a crawl, then answer a query: in SPARQL, or a ready-made one."""
    from offline.store.loading import LoadError
    from offline.store.loading import load as load_into
    from offline.store.local import FOLDER, LocalStore, StoreError
    from offline.store.queries import NAME, QueryError, arguments, ask, nothing_found, ready_query
    from offline.store.result_writer import write

    _one_of(sparql, ready, listing=listing)
    if listing:
        _list()
        return
    with exit_on_error(LoadError, StoreError, QueryError):
        given, chosen = arguments(arg or ()), ready_query(ready) if ready else None
        if given and chosen is None:
            raise QueryError("--arg is for --ready; write values into the query")
        folder = _crawl_folder(crawl) / FOLDER if store is None else store
        with LocalStore(folder, _PATIENCE) as local:
            load_into(crawl, local)
            result = chosen.run(local.rdf, given) if chosen else ask(local.rdf, sparql)
            rows = write(result, output_format, sys.stdout)
            del result
            if not rows and chosen is not None and NAME in given:
                typer.echo(nothing_found(local.rdf, chosen, given[NAME]), err=True)
    if not rows and "GRAPH" not in sparql.upper() and not ready:
        typer.echo("nothing found: each capture is a graph of its own, so write GRAPH ?capture { ... }", err=True)


def _one_of(sparql: str, ready: str, *, listing: bool) -> None:
    if sum(map(bool, (sparql, ready, listing))) != 1:
        typer.echo("write a query in SPARQL, or --ready NAME, or --list", err=True)
        raise typer.Exit(MISTAKE)


def _crawl_folder(crawl: Path) -> Path:
    """Return a crawl's folder; exit if it is not the folder of a crawl, without creating anything there."""
    from offline.store.loading import objects_folder

    return objects_folder(crawl).parent


def _list() -> None:
    from offline.store.queries import ready_queries

    for ready in ready_queries():
        typer.echo(f"{ready.name}\n  {ready.summary}")
        for argument in ready.arguments:
            default = "" if argument.default is None else f" (default: {argument.default})"
            typer.echo(f"    --arg {argument.name}=...  {argument.meaning}{default}")


# ruff: noqa: PLC0415


score_app = typer.Typer()


@score_app.command("explain-score")
def explain_score(
    crawl: Annotated[Path, typer.Argument(metavar="CRAWL", help="The folder of a crawl.")],
    url: Annotated[str, typer.Argument(metavar="URL", help="A URL that the crawl has met.")],
    quick: Annotated[
        bool, typer.Option("--quick", help="Leave out the ranker's reasons, for which it learns the log again.")
    ] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Write one object of JSON.")] = False,
) -> None:
    """Explain a URL's score: its parts, its history, and the state of the URL, also while the crawl runs."""
    from rich.console import Console

    from aahcrawler.frontiers import NoCrawlError
    from aahcrawler.segments import DamageError
    from offline.explanation.report import write_json, write_tables
    from offline.explanation.score_explanation import UnknownUrlError, explain

    waiting = Console(stderr=True).status("asking the crawl, and its ranker")
    with exit_on_error(NoCrawlError, UnknownUrlError, DamageError), waiting:
        explained = explain(crawl, url, quick=quick)
    write = write_json if as_json else write_tables
    write(explained, sys.stdout)


@score_app.command("off-topic")
def off_topic(
    folder: Annotated[Path, typer.Argument(metavar="FOLDER", help="The folder of a crawl, or one with WARC files.")],
    compare_with: Annotated[
        Literal["auto", "first", "event"],
        typer.Option("--compare-with", help="The first page at a URL, or that nearest to the event of the definition."),
    ] = "auto",
) -> None:
    """List captures that show something else than their URL once did, with tabs between columns.

    They are off topic by their terms, or no pages at all: errors in disguise, parked domains, walls. With `auto` they
    are compared with the page nearest to the event where the crawl's definition has one, else with the first page.
    """
    from aahcrawler.archive.folders import ArchiveError, ArchiveFolder
    from aahcrawler.captures import ArchivedCaptures
    from aahcrawler.segments import SegmentError
    from offline.off_topic import NoEventError, OffTopicSearch, event_of

    with exit_on_error(ArchiveError):
        ArchiveFolder.at(folder)
    mistakes = (ArchiveError, NoEventError, SegmentError, OSError)
    with exit_on_error(*mistakes), ArchivedCaptures(folder) as source:
        event = None if compare_with == "first" else event_of(folder)
        if event is None and compare_with == "event":
            raise NoEventError(f"{folder}: its definition has no event; compare with the first page")
        typer.echo("url\tcaptured\twhy\tcosine\twords\tjaccard")
        for each in OffTopicSearch(source, event).found():
            measures = ("-" if value is None else f"{value:.2f}" for value in (each.cosine, each.words, each.jaccard))
            typer.echo("\t".join((each.url, f"{each.date:%Y-%m-%dT%H:%M:%SZ}", ", ".join(each.why), *measures)))


@score_app.command("statements")
def statements(
    folder: Annotated[Path, typer.Argument(metavar="FOLDER", help="The folder of a crawl, or one with WARC files.")],
    url: Annotated[str, typer.Argument(metavar="URL", help="The URL of an RDF document, a table or JSON.")],
    at: Annotated[
        str,
        typer.Option("--at", metavar="TIME", help="Write what it said at that time (UTC), or at the end of that day."),
    ] = "",
) -> None:
    """Write what each version of a document adds and takes away: RDF as RDF Patch, rows of tables and JSON as JSON."""
    from contextlib import closing

    from aahcrawler import urls
    from aahcrawler.archive.folders import ArchiveError, ArchiveFolder
    from aahcrawler.captures import ArchivedCaptures
    from aahcrawler.documents import DocumentReader
    from aahcrawler.segments import SegmentError
    from offline.statement_versions import changes_told, statement_versions, statements_told

    if not (canonical := urls.canonicalize(url)):
        raise typer.BadParameter(f"{url} is no URL of the web", param_hint="URL")
    with exit_on_error(ArchiveError):
        ArchiveFolder.at(folder)
    latest, number, unread, until = None, 0, 0, utc_time(at)
    until = f"{at.strip()}T23:59:59" if len(at.strip()) == len("2026-01-31") else until
    with (
        exit_on_error(ArchiveError, SegmentError, OSError),
        closing(DocumentReader()) as reader,
        ArchivedCaptures(folder) as source,
    ):
        is_known = next(iter(source.of_url(canonical)), None) is not None
        for version in statement_versions(source, canonical, reader) if is_known else ():
            if until and f"{version.date:%Y-%m-%dT%H:%M:%S}" > until:
                break
            number += 1
            if version.problem:
                unread += 1
                typer.echo(f"{version.date:%Y-%m-%dT%H:%M:%SZ}: cannot be compared: {version.problem}", err=True)
                continue
            latest = version
            for line in () if until else changes_told(version):
                typer.echo(line)
    for line in statements_told(latest) if until and latest is not None else ():
        typer.echo(line)
    if not number:
        when = f" until {until}" if until else ""
        told = f"{canonical} has no capture{when} in {folder} that is data"
        typer.echo(told if is_known else f"{canonical} is unknown in {folder}: it has no capture of it", err=True)
        raise typer.Exit(MISTAKE)
    if unread:
        typer.echo(f"captures that cannot be compared: {unread}; other versions: {number - unread}", err=True)
        raise typer.Exit(NOT_WHOLE)


# ruff: noqa: PLC0415


reread_app = typer.Typer()


@reread_app.command()
def reread(
    crawl: Annotated[Path, typer.Argument(metavar="CRAWL", help="The folder of a crawl.")],
    url: Annotated[list[str] | None, typer.Option("--url", metavar="URL", help="Only captures of this URL.")] = None,
    prefix: Annotated[str, typer.Option("--prefix", metavar="URL", help="Only captures of URLs that begin so.")] = "",
    number: Annotated[
        int | None, typer.Option("--crawl", metavar="N", min=1, help="Only those of crawl N of the folder.")
    ] = None,
    every: Annotated[
        bool, typer.Option("--all", help="Also those that were last read with this very knowledge base.")
    ] = False,
    processes: Processes = 1,
) -> None:
    """Read archived pages again, with the present knowledge base and what the crawl has learned; nothing is fetched."""
    from functools import partial

    from aahcrawler import urls
    from aahcrawler.archive.folders import ArchiveError, ArchiveFolder
    from aahcrawler.helper.assistance import RaisedTally
    from aahcrawler.jobs import JobError
    from aahcrawler.layout import NQUADS, OBJECTS
    from aahcrawler.objects.reader import ReadError
    from aahcrawler.segments import SegmentError, recover
    from knowledge_base.file_selection import folders_for
    from knowledge_base.loader import LoadError
    from offline.counting import counting
    from offline.rereading import RereadError, RereadOutcome, WantedCaptures
    from offline.rereading import reread as read_again

    with exit_on_error(ArchiveError, JobError, LoadError, ReadError, RereadError, SegmentError):
        folder = ArchiveFolder.at(crawl)
        if folder.crawl is None:
            raise RereadError(f"{crawl}: is not of this crawler; name the output folder of a crawl")
        wanted = WantedCaptures(frozenset(urls.canonicalize(each) or each for each in url or ()), prefix, number, every)
        counts: Counter[RereadOutcome] = Counter()
        tally = RaisedTally()
        with folder.alone(), counting("captures read") as count:
            recover(crawl / OBJECTS, NQUADS)
            seen = partial(count, "captures read")
            with read_again(crawl, folders_for(crawl), wanted, processes=processes, seen=seen) as rereads:
                for each in rereads:
                    counts[each.outcome] += 1
                    tally.add(each.url, each.raised)
                    if each.outcome is RereadOutcome.UNREADABLE:
                        typer.echo(f"{each.url}: cannot be read again; its former reading stays", err=True)
    for line in tally.lines():
        typer.echo(f"note: {line}", err=True)
    typer.echo(
        f"{crawl}: {counts.total():,} captures read again, {counts[RereadOutcome.CHANGED]:,} with another result, "
        f"{counts[RereadOutcome.SAME]:,} with the same, {counts[RereadOutcome.UNREADABLE]:,} that cannot be read"
    )


# ruff: noqa: PLC0415


refine_app = typer.Typer()

IcdFile = Annotated[Path, typer.Argument(metavar="FILE", help="An Intelligent Crawl Definition in YAML.")]


@refine_app.command()
def refine(
    icd: IcdFile,
    crawl: Annotated[
        Path | None, typer.Argument(metavar="CRAWL", help="The folder of a crawl. Default: that of the definition.")
    ] = None,
    output: Annotated[
        Path | None, typer.Option("--output", "-o", metavar="FILE", help="Where to write. Default: FILE.review.yaml.")
    ] = None,
    pages: Annotated[int, typer.Option("--pages", metavar="N", min=1, help="Read at most so many pages.")] = 5000,
) -> None:
    """Propose keywords, entities and seeds from a reference crawl, in a file to review; nothing is fetched."""
    from contextlib import closing
    from itertools import islice

    from aahcrawler.archive.folders import ArchiveError
    from aahcrawler.objects.reader import ReadError
    from aahcrawler.segments import SegmentError
    from aahcrawler.urls import canonicalize
    from knowledge_base.file_selection import folders_for
    from knowledge_base.loader import LoadError
    from offline.refinement.proposals import RefinementError, propose, reference_pages, review_text, topic_of
    from offline.rereading import Reader, RereadError
    from online_analysis.icd import Icd, IcdError

    with exit_on_error(ArchiveError, IcdError, LoadError, ReadError, RefinementError, RereadError, SegmentError):
        definition = Icd.load(icd)
        folder = crawl if crawl is not None else definition.output
        review = output or icd.with_name(f"{icd.name.removesuffix('.yaml').removesuffix('.yml')}.review.yaml")
        if review.exists():
            raise RefinementError(
                f"{review}: exists, and may have been reviewed; remove it, or name another with --output"
            )
        topic = topic_of(definition, folder)
        seeds = frozenset(canonicalize(seed) or seed for seed in definition.seeds)
        with closing(Reader.of(folder, folders_for(folder))) as reader:
            found = propose(definition, topic, seeds, islice(reference_pages(folder, topic, reader), pages))
    typer.echo(f"{folder}: {found.pages:,} pages read, {found.relevant:,} of them relevant")
    if found.are_none:
        typer.echo(f"nothing is proposed: {found.outcome.value}", err=True)
        raise typer.Exit(MISTAKE)
    review.write_text(review_text(found, icd, folder, review), "utf-8")
    typer.echo(
        f"{review}: {len(found.keywords)} keywords, {len(found.entities)} entities and {len(found.seeds)} seeds to "
        f"review; delete what does not fit, then run `aah icd merge {icd} {review}`"
    )


@refine_app.command()
def merge(
    icd: IcdFile,
    review: Annotated[Path, typer.Argument(metavar="REVIEW", help="A file that `aah icd refine` wrote.")],
) -> None:
    """Add what is left in a reviewed file to the definition; its comments, order and layout stay."""
    from offline.refinement.proposals import RefinementError, read_review, replace_file
    from offline.refinement.proposals import merge as merged_with
    from online_analysis.icd import IcdError

    with exit_on_error(IcdError, RefinementError):
        merged = merged_with(icd, read_review(review))
        replace_file(icd, merged.content)
    for name, values in merged.added.items():
        typer.echo(f"{icd}: {name}: added {', '.join(values)}")
    if not merged.added:
        typer.echo(f"{icd}: has all of it already, and stays as it is")


# ruff: noqa: PLC0415


simulation_app = typer.Typer()


@simulation_app.command()
def simulate(
    world: Annotated[
        Path, typer.Argument(metavar="WORLD", help="A folder with WARC files and topics.json, samples of seeds.")
    ],
    strategies: Annotated[
        str, typer.Option("--strategies", metavar="NAMES", help="Some strategies, with commas between. Default: all.")
    ] = "",
    orders: Annotated[
        Path | None, typer.Option("--orders", metavar="FILE", help="Write the fetched URLs, a crawl a line, in JSON.")
    ] = None,
    json_file: Annotated[
        Path | None, typer.Option("--json", metavar="FILE", help="Write strategies and tables as JSON.")
    ] = None,
    judge: Annotated[
        Path | None,
        typer.Option("--judge", metavar="FILE", help="What finds the relevant pages: `cosine`, `labels`, or a file."),
    ] = None,
    causes: Annotated[
        bool, typer.Option("--causes", help="Say why pages that the oracle fetched were missed; needs a judge.")
    ] = False,
    plot: Annotated[
        Path | None, typer.Option("--plot", metavar="FILE", help="Draw relevance over time, SVG; needs a judge.")
    ] = None,
    icd: Annotated[
        Path | None,
        typer.Option(
            "--icd",
            metavar="FILE",
            help="Take weights, scope and the like from a definition; not its topic, nor topic.reference_crawl.",
        ),
    ] = None,
    pages: Annotated[
        int, typer.Option("--pages", metavar="N", min=0, help="Pages a crawl. Default: as many as are relevant.")
    ] = 0,
    keep: Annotated[
        Path | None,
        typer.Option("--keep", metavar="FOLDER", help="Store the reading of the world there for the next run."),
    ] = None,
    seed: Annotated[int, typer.Option("--seed", metavar="N", help="The seed of random choices.")] = 0,
    processes: Processes = 1,
) -> None:
    """Crawl a folder of archived pages instead of the web, with each strategy and from each sample of seeds."""
    from functools import partial

    from knowledge_base.file_selection import folders_for
    from knowledge_base.loader import LoadError
    from offline.counting import counting
    from offline.simulation.built_in_judges import judge_file
    from offline.simulation.report import Targets, report
    from offline.simulation.sample import WorldError, read_samples, read_template
    from offline.simulation.simulation import Simulation, Watcher, simulated
    from offline.simulation.simulation import simulate as run
    from offline.simulation.strategies import StrategyError

    with exit_on_error(WorldError, StrategyError, LoadError):
        simulation = Simulation(
            world=world,
            strategies=tuple(filter(None, (name.strip() for name in strategies.split(",")))),
            knowledge_base=folders_for(world),
            template=read_template(icd),
            judge=judge_file(judge),
            keep=keep,
            seed=seed,
            pages=pages,
            processes=processes,
            causes=causes,
        )
        simulated(simulation)
        samples = read_samples(world)
        if plot is not None and judge is None:
            raise WorldError("--plot shows the pages that a judge calls relevant: name one with --judge FILE")
        if causes and judge is None:
            raise WorldError("--causes compares with the oracle, which needs a judge: name one with --judge FILE")
        if not pages and judge is None and any(sample.pages is None for sample in samples):
            raise WorldError(f"{world}: nothing says how many pages to fetch; write --pages N, or --judge FILE")
        crawled = f"samples crawled, of {len(samples)}"
        with counting("pages gathered", crawled, "pages fetched") as count:

            def crawling(pages: int) -> None:
                count(crawled, 1)
                count("pages fetched", pages)

            finished = run(simulation, samples, Watcher(partial(count, "pages gathered"), crawling))
        report(finished, simulation, Targets(orders, json_file, plot), typer.echo)
