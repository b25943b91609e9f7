"""``aah icd try``: the first page of each seed, or a sample out of archives, before anything is crawled.

The command imports its modules when it runs: help has to answer at once.
"""
# ruff: noqa: PLC0415

from pathlib import Path
from typing import Annotated

import typer

from aahcrawler.editor.commands import CrawlFolders
from aahcrawler.exits import MISTAKE, exit_on_error

dry_run_app = typer.Typer()


@dry_run_app.command("try")
def try_seeds(
    icd: Annotated[Path, typer.Argument(metavar="FILE", help="An Intelligent Crawl Definition in YAML.")],
    seeds: Annotated[
        list[str] | None, typer.Option("--seed", metavar="URL", help="Try this seed of it alone; may be repeated.")
    ] = None,
    kb: CrawlFolders = "",
    as_json: Annotated[bool, typer.Option("--json", help="Write a line of JSON for each seed as it is done.")] = False,
    seconds: Annotated[
        float, typer.Option("--seconds", metavar="N", min=1, max=600, help="How long one seed may take.")
    ] = 60.0,
    sample: Annotated[
        int | None,
        typer.Option("--sample", metavar="N", min=1, max=2000, help="Take N captures out of its archives instead."),
    ] = None,
) -> None:
    """Look at the first page of each seed, and of each query to a SPARQL endpoint, politely; nothing is archived.

    With --sample, look each seed up in the archives that the definition names, take captures from there on, and show
    the most relevant ones, how many would be members, and what is missing.
    """
    import json
    import sys

    from rich.console import Console

    from aahcrawler.crawl.startup.archive_sample import Sampling
    from aahcrawler.crawl.startup.dry_run import DryRun, TriedSeed, open_dry_run
    from aahcrawler.crawl.startup.dry_run_tables import lines_of, print_table, summary, tell_notes, tell_sample
    from aahcrawler.segments import DamageError
    from aahcrawler.sources.source import ArchiveFolderError
    from knowledge_base.file_selection import named_folders
    from knowledge_base.loader import LoadError
    from online_analysis.icd import IcdError

    with exit_on_error(IcdError, LoadError, DamageError):
        opened = open_dry_run(icd, named_folders(kb) if kb else ())
    tell_notes(opened.notes, typer.echo, as_json=as_json)
    if sample is not None:
        with exit_on_error(ArchiveFolderError):
            found = tell_sample(Sampling(opened.context, captures=sample), typer.echo, as_json=as_json)
        raise typer.Exit(0 if found.captures else 1)
    known = *opened.context.icd.seeds, *opened.context.icd.queries
    wanted = tuple(seeds or known)
    if missing := [seed for seed in wanted if seed not in known]:
        typer.echo(f"{missing[0]}: is no seed of {icd}; write it as `aah icd check` reads it, or add it", err=True)
        raise typer.Exit(MISTAKE)
    tried: list[TriedSeed] = []
    is_table = sys.stdout.isatty() and not as_json

    def tell(seed: TriedSeed) -> None:
        tried.append(seed)
        if as_json:
            typer.echo(json.dumps({"kind": "seed", **seed.as_json()}, ensure_ascii=False))
        elif is_table:
            typer.echo(f"{len(tried)} of {len(wanted)}: {seed.url}: {seed.words}", err=True)
        else:
            for line in lines_of(seed):
                typer.echo(line)
        sys.stdout.flush()

    with exit_on_error(ArchiveFolderError):
        DryRun(opened.context, seed_seconds=seconds).run(wanted, tell)
    if is_table:
        print_table(tried, Console())
    if as_json:
        giving = sum(seed.gives for seed in tried)
        typer.echo(json.dumps({"kind": "end", "seeds": len(tried), "giving": giving}))
    else:
        typer.echo(summary(tried))
    if not all(seed.gives for seed in tried):
        raise typer.Exit(1)
