"""``aah kb learned`` and ``aah kb promote``: what crawls have learned, looked at and taken over by people.

Each command imports what it needs when it runs: help has to answer at once.
"""
# ruff: noqa: PLC0415

from pathlib import Path
from typing import Annotated

import typer

from aahcrawler.authoring.commands import Folders
from aahcrawler.exits import told

learned_app = typer.Typer(help="What crawls have learned about applications.")

Crawl = Annotated[
    Path, typer.Argument(metavar="CRAWL", help="The folder of a crawl.", exists=True, file_okay=False, readable=True)
]


@learned_app.command("learned")
def list_learned(crawl: Crawl, kb: Folders = "") -> None:
    """List the actions that a crawl has learned, beside what they replace, with the evidence."""
    from aahcrawler.adaptation.overlay import LEARNED, Overlay
    from aahcrawler.authoring.promotion import compared
    from knowledge_base.folders import named_folders
    from knowledge_base.loader import LoadError, load

    with told(LoadError):
        knowledge_base = load(*named_folders(kb))
    actions, problems = Overlay(crawl / LEARNED).actions(knowledge_base)
    for problem in problems:
        typer.echo(str(problem), err=True)
    for each in actions:
        typer.echo(f"{each.name}: {each.application}, level {each.level}, action {each.action}, on {each.site}")
        typer.echo(
            f"  {each.failure}: {each.before} objects on {len(each.pages)} pages with the file's action, "
            f"{each.after} with this one; {each.method}, confidence {each.confidence:.2f}, {each.date:%Y-%m-%d %H:%M}"
        )
        for row in compared(each, knowledge_base):
            typer.echo(f"  {row.part}")
            typer.echo(f"    - {' | '.join(row.before) or 'nothing'}")
            typer.echo(f"    + {' | '.join(row.after) or 'nothing'}")
        for url in each.pages:
            typer.echo(f"  learned from {url}")
    if not actions and not problems:
        typer.echo(f"{crawl}: nothing had to be learned")


@learned_app.command("promote")
def promote_learned(
    crawl: Crawl,
    name: Annotated[str, typer.Argument(metavar="NAME", help="The action's name, as aah kb learned lists it.")],
    kb: Folders = "",
    application: Annotated[str, typer.Option("--application", help="Where several are called so: of which.")] = "",
    site: Annotated[str, typer.Option("--site", help="Where several are called so: learned on which site.")] = "",
    variant: Annotated[str, typer.Option("--as", metavar="VARIANT", help="How the variant is to be called.")] = "",
) -> None:
    """Write a learned action into its application's file as a variant, with a page of the crawl as its test.

    The file is that of the last folder of the knowledge base, which is made where there is none yet.
    """
    from aahcrawler.adaptation.overlay import LEARNED, Overlay
    from aahcrawler.authoring.archived import kept_page
    from aahcrawler.authoring.capture import CaptureError, told_of
    from aahcrawler.authoring.promotion import PromotionError, chosen, promote
    from knowledge_base.folders import named_folders
    from knowledge_base.loader import LoadError, load

    folders = named_folders(kb)
    with told(LoadError, PromotionError, CaptureError, OSError):
        (folders[-1] / "applications").mkdir(parents=True, exist_ok=True)
        actions, _ = Overlay(crawl / LEARNED).actions(load(*folders))
        learned = chosen(actions, name, application, site)
        page = next(filter(None, (kept_page(crawl, url) for url in learned.pages)), None)
        promoted = promote(learned, page, folders, variant)
    typer.echo(f"{promoted.file}: variant {promoted.variant} of level {learned.level}")
    if promoted.captured is None:
        typer.echo("none of the pages it was learned from is in the crawl's archive any more, so it has no test")
        return
    for line in told_of(promoted.captured):
        typer.echo(line)
