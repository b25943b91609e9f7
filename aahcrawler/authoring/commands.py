"""``aah kb``: the tools of people who write the knowledge base.

Each command imports what it needs when it runs: help has to answer at once.
"""
# ruff: noqa: PLC0415

from pathlib import Path
from typing import Annotated

import typer

from aahcrawler.exits import told

kb_app = typer.Typer(help="The knowledge base of applications.", no_args_is_help=True)


@kb_app.command("check")
def check(
    folder: Annotated[Path | None, typer.Argument(metavar="[FOLDER]", help="Default: the one that ships.")] = None,
) -> None:
    """Check a knowledge base: one line for each mistake, with file, line and what to write instead."""
    from knowledge_base.loader import LoadError, load

    with told(LoadError):
        knowledge_base = load(folder) if folder else load()
    for application in knowledge_base.applications:
        typer.echo(f"{application.name}: {', '.join(level.name for level in application.levels)}")
