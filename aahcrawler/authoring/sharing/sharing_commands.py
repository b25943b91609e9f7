"""``aah kb pack`` and ``aah kb add``: entries that travel as one file.

Each command imports what it needs when it runs: help has to answer at once.
"""
# ruff: noqa: PLC0415

from pathlib import Path
from typing import Annotated

import typer

from aahcrawler.authoring.commands import Folders, Person
from aahcrawler.authoring.sharing.page_contents import Contents
from aahcrawler.exits import told

sharing_app = typer.Typer()


@sharing_app.command("pack")
def pack_into_file(
    name: Annotated[str, typer.Argument(metavar="NAME", help="The entry, as its file is called: tinyforum.")],
    to: Annotated[
        Path | None, typer.Option("--to", metavar="FILE", help="The file to write. Default: NAME.aah-entry.zip.")
    ] = None,
    licence: Annotated[
        str, typer.Option("--licence", metavar="SPDX", help="The licence for others, such as CC0-1.0 or Apache-2.0.")
    ] = "",
    licence_text: Annotated[
        Path | None, typer.Option("--licence-text", metavar="FILE", help="Its text, where it is not CC0-1.0.")
    ] = None,
    pages: Annotated[
        Contents | None, typer.Option("--pages", help="Whose words the saved pages hold: mine, made-up or others.")
    ] = None,
    without_pages: Annotated[
        bool, typer.Option("--without-pages", help="Leave the saved pages out; then nothing proves that it works.")
    ] = False,
    kb: Folders = "",
    person: Person = "",
) -> None:
    """Pack an entry with its saved pages and licence into one file, which aah kb add takes in elsewhere."""
    from aahcrawler.authoring.own_entries.own_folder import OwnFolderError, login_name
    from aahcrawler.authoring.saved_pages import SavedPageError
    from aahcrawler.authoring.sharing.entry_pack import ENDING, PackError
    from aahcrawler.authoring.sharing.packing import Said, pack_entry
    from knowledge_base.file_selection import named_folders
    from knowledge_base.loader import LoadError, load

    file = to or Path(f"{name}{ENDING}")
    with told(LoadError, SavedPageError, PackError, OwnFolderError, OSError):
        folders = named_folders(kb)
        said = Said(person or login_name(), licence, licence_text, pages, without_pages)
        data = pack_entry(name, folders, load(*folders), said)
        file.write_bytes(data)
    typer.echo(f"written: {file} ({len(data):,} bytes)")


@sharing_app.command("add")
def add_from_file(
    file: Annotated[
        Path, typer.Argument(metavar="FILE", help="A file that aah kb pack made.", exists=True, dir_okay=False)
    ],
    kb: Folders = "",
    show: Annotated[bool, typer.Option("--show", help="Say what would change, and write nothing.")] = False,
    replace: Annotated[bool, typer.Option("--replace", help="Let it take the place of one that is there.")] = False,
    person: Person = "",
) -> None:
    """Take an entry into the last folder of the knowledge base, once its tests and those of all others have passed."""
    from aahcrawler.authoring.own_entries.own_folder import OwnFolderError, login_name
    from aahcrawler.authoring.sharing.entry_import import ImportRefusedError, propose, take
    from aahcrawler.authoring.sharing.entry_pack import PackError, read_pack
    from knowledge_base.file_selection import named_folders

    with told(PackError, OwnFolderError, OSError):
        folders = named_folders(kb)
        proposal = propose(read_pack(file), folders)
        for line in (*proposal.said, *proposal.difference):
            typer.echo(line)
        if show and not proposal.wrong:
            typer.echo("all tests passed; nothing was written")
            return
        if show:
            raise ImportRefusedError(proposal.wrong)
        change = take(proposal, folders[-1], person or login_name(), replace=replace)
    typer.echo(f"written: {folders[-1] / 'applications' / f'{proposal.pack.entry.name}.xml'}")
    typer.echo(str(change))
