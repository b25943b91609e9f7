"""``aah kb history`` and ``aah kb restore``: who changed what in the own folder, and earlier states brought back.

Each command imports what it needs when it runs: help has to answer at once.
"""
# ruff: noqa: PLC0415

from typing import Annotated

import typer

from aahcrawler.authoring.commands import Folders, Person
from aahcrawler.exits import MISTAKE, told

entry_app = typer.Typer()

EntryName = Annotated[str, typer.Argument(metavar="NAME", help="The entry, as its file is called: tinyforum.")]


@entry_app.command("history")
def show_history(
    name: Annotated[str, typer.Argument(metavar="[NAME]", help="The entry. Default: the last change of each.")] = "",
    kb: Folders = "",
) -> None:
    """Show who changed what and when in the last folder of the knowledge base."""
    from aahcrawler.authoring.own_entries.own_folder import OwnFolder, OwnFolderError
    from knowledge_base.file_selection import named_folders

    own = OwnFolder(named_folders(kb)[-1])
    with told(OwnFolderError, OSError):
        for each in (name,) if name else own.names():
            changes = own.history(each)
            for change in changes if name else changes[-1:]:
                typer.echo(str(change) if name else f"{each}: {change}")
            if not changes:
                typer.echo(f"{each}: nothing was noted")
            if own.unreadable(each):
                typer.echo(f"{each}: {own.unreadable(each)} lines of its history cannot be read", err=True)
    if not name and not own.names():
        typer.echo(f"{own.path} holds no entries")


@entry_app.command("restore")
def restore_entry(
    name: EntryName,
    number: Annotated[int, typer.Argument(metavar="NUMBER", help="The change, as aah kb history NAME counts them.")],
    kb: Folders = "",
    person: Person = "",
) -> None:
    """Bring back an entry as it was after a change: its file, its saved pages and its licence."""
    from aahcrawler.authoring.own_entries.own_folder import OwnFolderError, login_name
    from aahcrawler.authoring.own_entries.staging import brought_back
    from knowledge_base.file_selection import SHIPPED, named_folders
    from knowledge_base.loader import LoadError

    folders = named_folders(kb)
    if folders[-1].resolve() == SHIPPED.resolve():
        typer.echo("the files that ship have no history here; name a folder of your own: --kb shipped:FOLDER", err=True)
        raise typer.Exit(MISTAKE)
    with told(OwnFolderError, LoadError, OSError):
        change = brought_back(name, number, folders, person or login_name())
    typer.echo(str(change))
    typer.echo(f"next: aah kb test {name}")
