"""``aah simulate``: crawls of archived worlds, to compare strategies.

The command imports its modules when it runs: help has to answer at once.
"""
# ruff: noqa: PLC0415

from pathlib import Path
from typing import Annotated

import typer

from aahcrawler.exits import exit_on_error
from offline.selection_commands import Processes

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
