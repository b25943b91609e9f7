"""``aah kb learned``, ``aah kb promote`` and ``aah kb reject``: review what crawls have learned, and decide on it.

Each command imports what it needs when it runs: help has to answer at once.
"""
# ruff: noqa: PLC0415

from pathlib import Path
from typing import Annotated

import typer

from aahcrawler.authoring.commands import CrawlFolders, Person
from aahcrawler.exits import told

learned_app = typer.Typer(help="Actions and signs that crawls have learned.")

Crawl = Annotated[
    Path, typer.Argument(metavar="CRAWL", help="The folder of a crawl.", exists=True, file_okay=False, readable=True)
]
RepairName = Annotated[str, typer.Argument(metavar="NAME", help="Its name, as aah kb learned lists it.")]
OfApplication = Annotated[str, typer.Option("--application", help="The application, if several items have the name.")]
OfSite = Annotated[str, typer.Option("--site", help="The site it was learned on, if several items have the name.")]


@learned_app.command("learned")
def list_learned(crawl: Crawl, kb: CrawlFolders = "") -> None:
    """List the actions and signs that a crawl has learned: what they replace, the evidence, and what became of them."""
    from aahcrawler.authoring.repairs.repair_list import repairs_in
    from knowledge_base.file_selection import filled, folders_for, named_folders
    from knowledge_base.loader import LoadError, load

    folders = named_folders(kb) if kb else folders_for(crawl)
    with told(LoadError, OSError):
        repairs, problems = repairs_in(crawl, load(*filled(folders)))
    for problem in problems:
        typer.echo(problem, err=True)
    for repair in repairs:
        for line in repair.lines():
            typer.echo(line)
    if not repairs and not problems:
        typer.echo(f"{crawl}: nothing had to be learned")


@learned_app.command("promote")
def promote_learned(
    crawl: Crawl,
    name: RepairName,
    kb: CrawlFolders = "",
    application: OfApplication = "",
    site: OfSite = "",
    variant: Annotated[str, typer.Option("--as", metavar="VARIANT", help="The variant that is to get it.")] = "",
    show: Annotated[bool, typer.Option("--show", help="Say what would change, and write nothing.")] = False,
    person: Person = "",
) -> None:
    """Make a learned action or sign part of its application's file, with a page of the crawl as its test.

    It becomes part of an action or a variant that is there where all pages allow it, else a new variant. The file is
    that of the last folder of the knowledge base; it is created if it is missing.
    """
    from aahcrawler.authoring.insertion import PromotionError
    from aahcrawler.authoring.own_entries.own_folder import OwnFolderError, login_name
    from aahcrawler.authoring.page_capture import told_of
    from aahcrawler.authoring.repairs.repair_acts import accept_plan, planned_repair
    from aahcrawler.authoring.repairs.repair_list import RepairError, repair_of, repairs_of
    from aahcrawler.authoring.saved_pages import SavedPageError
    from knowledge_base.file_selection import folders_for, named_folders
    from knowledge_base.loader import LoadError

    folders = named_folders(kb) if kb else folders_for(crawl)
    with told(LoadError, PromotionError, RepairError, SavedPageError, OwnFolderError, OSError):
        repair = repair_of(repairs_of(crawl, folders), name, application, site)
        plan = planned_repair(repair, folders, variant=variant)
        for line in plan.lines():
            typer.echo(line)
        if show:
            typer.echo("nothing was written")
            return
        promoted = accept_plan(repair, plan, folders, person or login_name())
    if not promoted.changed:
        return
    typer.echo(f"written: {promoted.file}")
    if promoted.captured is None:
        typer.echo(
            "no page it was learned from is in the crawl's archive any more or of a known level, so it has no test"
        )
        return
    for line in told_of(promoted.captured):
        typer.echo(line)


@learned_app.command("reject")
def reject_learned(
    crawl: Crawl,
    name: RepairName,
    because: Annotated[str, typer.Option("--because", metavar="TEXT", help="Why, for whoever looks at it next.")],
    kb: CrawlFolders = "",
    application: OfApplication = "",
    site: OfSite = "",
    person: Person = "",
) -> None:
    """Reject a learned action or sign: no further crawl of this folder uses it, or learns the same again."""
    from aahcrawler.authoring.own_entries.own_folder import login_name
    from aahcrawler.authoring.repairs.repair_acts import reject
    from aahcrawler.authoring.repairs.repair_list import RepairError, repair_of, repairs_of
    from knowledge_base.file_selection import folders_for, named_folders
    from knowledge_base.loader import LoadError

    folders = named_folders(kb) if kb else folders_for(crawl)
    with told(LoadError, RepairError, OSError):
        repair = repair_of(repairs_of(crawl, folders), name, application, site)
        decision = reject(repair, person or login_name(), because)
    typer.echo(f"{repair.learned.name}: {decision.state}")
