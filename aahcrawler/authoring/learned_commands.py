"""``aah kb learned`` and ``aah kb promote``: review and take over the actions and signs that crawls have learned.

Each command imports what it needs when it runs: help has to answer at once.
"""
# ruff: noqa: PLC0415

from pathlib import Path
from typing import Annotated

import typer

from aahcrawler.authoring.commands import Folders, Person
from aahcrawler.exits import told

learned_app = typer.Typer(help="Actions and signs that crawls have learned.")

Crawl = Annotated[
    Path, typer.Argument(metavar="CRAWL", help="The folder of a crawl.", exists=True, file_okay=False, readable=True)
]


@learned_app.command("learned")
def list_learned(crawl: Crawl, kb: Folders = "") -> None:
    """List the actions and signs that a crawl has learned, with the replaced ones and the evidence."""
    from aahcrawler.adaptation.store.overlay import Overlay
    from aahcrawler.authoring.promotion_words import compared, described
    from aahcrawler.layout import LEARNED
    from knowledge_base.file_selection import named_folders
    from knowledge_base.loader import LoadError, load

    with told(LoadError):
        knowledge_base = load(*named_folders(kb))
    learnt, problems = Overlay(crawl / LEARNED).learned(knowledge_base)
    for problem in problems:
        typer.echo(str(problem), err=True)
    for each in learnt:
        for line in described(each):
            typer.echo(line)
        for row in compared(each, knowledge_base):
            typer.echo(f"  {row.part}")
            typer.echo(f"    - {' | '.join(row.before) or 'nothing'}")
            typer.echo(f"    + {' | '.join(row.after) or 'nothing'}")
        for url in each.pages:
            typer.echo(f"  learned from {url}")
    if not learnt and not problems:
        typer.echo(f"{crawl}: nothing had to be learned")


@learned_app.command("promote")
def promote_learned(
    crawl: Crawl,
    name: Annotated[str, typer.Argument(metavar="NAME", help="Its name, as aah kb learned lists it.")],
    kb: Folders = "",
    application: Annotated[
        str, typer.Option("--application", help="The application, if several items have the name.")
    ] = "",
    site: Annotated[
        str, typer.Option("--site", help="The site it was learned on, if several items have the name.")
    ] = "",
    variant: Annotated[str, typer.Option("--as", metavar="VARIANT", help="The variant that is to get it.")] = "",
    show: Annotated[bool, typer.Option("--show", help="Say what would change, and write nothing.")] = False,
    person: Person = "",
) -> None:
    """Make a learned action or sign part of its application's file, with a page of the crawl as its test.

    It becomes part of an action or a variant that is there where all pages allow it, else a new variant. The file is
    that of the last folder of the knowledge base; it is created if it is missing.
    """
    from aahcrawler.adaptation.store.overlay import Overlay
    from aahcrawler.authoring.archived_pages import kept_page
    from aahcrawler.authoring.insertion import PromotionError
    from aahcrawler.authoring.own_entries.own_folder import OwnFolderError, login_name
    from aahcrawler.authoring.page_capture import told_of
    from aahcrawler.authoring.promotion import carried_out, chosen, planned
    from aahcrawler.authoring.saved_pages import SavedPageError
    from aahcrawler.layout import LEARNED
    from knowledge_base.file_selection import filled, named_folders
    from knowledge_base.loader import LoadError, load

    folders = named_folders(kb)
    with told(LoadError, PromotionError, SavedPageError, OwnFolderError, OSError):
        learnt, _ = Overlay(crawl / LEARNED).learned(load(*filled(folders)))
        learned = chosen(learnt, name, application, site)
        pages = [page for url in learned.pages if (page := kept_page(crawl, url)) is not None]
        plan = planned(learned, pages, folders, variant)
        for line in plan.lines():
            typer.echo(line)
        if show or plan.insertion is None:
            typer.echo("nothing was written")
            return
        promoted = carried_out(plan, folders, person or login_name())
    typer.echo(f"written: {promoted.file}")
    if promoted.captured is None:
        typer.echo(
            "no page it was learned from is in the crawl's archive any more or of a known level, so it has no test"
        )
        return
    for line in told_of(promoted.captured):
        typer.echo(line)
