"""``aah kb``: commands for entries, for what crawls have learned, and for trials on archives.

Each command imports its modules when it is called, so that ``--help`` is fast.
"""
# ruff: noqa: PLC0415

from pathlib import Path
from typing import Annotated

import typer

from aahcrawler.editor.commands import CrawlFolders, Folders, Person
from aahcrawler.editor.entries.entry_files import Contents
from aahcrawler.exits import MISTAKE, exit_on_error

entry_app = typer.Typer()

EntryName = Annotated[str, typer.Argument(metavar="NAME", help="The entry, as its file is called: tinyforum.")]
Crawl = Annotated[
    Path, typer.Argument(metavar="CRAWL", help="The folder of a crawl.", exists=True, file_okay=False, readable=True)
]
RepairName = Annotated[str, typer.Argument(metavar="NAME", help="Its name, as aah kb learned lists it.")]
OfApplication = Annotated[str, typer.Option("--application", help="The application, if several items have the name.")]
OfSite = Annotated[str, typer.Option("--site", help="The site it was learned on, if several items have the name.")]


@entry_app.command("history")
def show_history(
    name: Annotated[str, typer.Argument(metavar="[NAME]", help="The entry. Default: the last change of each.")] = "",
    kb: Folders = "",
) -> None:
    """Show who changed what and when in the last folder of the knowledge base."""
    from aahcrawler.editor.entries.own_folder import OwnFolder, OwnFolderError
    from knowledge_base.file_selection import named_folders

    own = OwnFolder(named_folders(kb)[-1])
    with exit_on_error(OwnFolderError, OSError):
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
    from aahcrawler.editor.entries.own_folder import OwnFolderError, login_name
    from aahcrawler.editor.entries.staging import brought_back
    from knowledge_base.file_selection import SHIPPED, named_folders
    from knowledge_base.loader import LoadError

    folders = named_folders(kb)
    if folders[-1].resolve() == SHIPPED.resolve():
        typer.echo("the files that ship have no history here; name a folder of your own: --kb shipped:FOLDER", err=True)
        raise typer.Exit(MISTAKE)
    with exit_on_error(OwnFolderError, LoadError, OSError):
        change = brought_back(name, number, folders, person or login_name())
    typer.echo(str(change))
    typer.echo(f"next: aah kb test {name}")


@entry_app.command("pack")
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
    from aahcrawler.editor.entries.entry_pack import ENDING, PackError, Said, pack_entry
    from aahcrawler.editor.entries.own_folder import OwnFolderError, login_name
    from aahcrawler.editor.pages.saved_pages import SavedPageError
    from knowledge_base.file_selection import named_folders
    from knowledge_base.loader import LoadError, load

    file = to or Path(f"{name}{ENDING}")
    with exit_on_error(LoadError, SavedPageError, PackError, OwnFolderError, OSError):
        folders = named_folders(kb)
        said = Said(person or login_name(), licence, licence_text, pages, without_pages)
        data = pack_entry(name, folders, load(*folders), said)
        file.write_bytes(data)
    typer.echo(f"written: {file} ({len(data):,} bytes)")


@entry_app.command("add")
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
    from aahcrawler.editor.entries.entry_import import ImportRefusedError, propose, take
    from aahcrawler.editor.entries.entry_pack import PackError, read_pack
    from aahcrawler.editor.entries.own_folder import OwnFolderError, login_name
    from knowledge_base.file_selection import named_folders

    with exit_on_error(PackError, OwnFolderError, OSError):
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


@entry_app.command("learned")
def list_learned(crawl: Crawl, kb: CrawlFolders = "") -> None:
    """List the actions and signs that a crawl has learned: what they replace, the evidence, and what became of them."""
    from aahcrawler.editor.repairs.repair_list import repairs_in
    from knowledge_base.file_selection import filled, folders_for, named_folders
    from knowledge_base.loader import LoadError, load

    folders = named_folders(kb) if kb else folders_for(crawl)
    with exit_on_error(LoadError, OSError):
        repairs, problems = repairs_in(crawl, load(*filled(folders)))
    for problem in problems:
        typer.echo(problem, err=True)
    for repair in repairs:
        for line in repair.lines():
            typer.echo(line)
    if not repairs and not problems:
        typer.echo(f"{crawl}: nothing had to be learned")


@entry_app.command("promote")
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
    from aahcrawler.editor.entries.own_folder import OwnFolderError, login_name
    from aahcrawler.editor.pages.page_capture import told_of
    from aahcrawler.editor.pages.saved_pages import SavedPageError
    from aahcrawler.editor.repairs.insertion import PromotionError
    from aahcrawler.editor.repairs.repair_list import RepairError, accept_plan, planned_repair, repair_of, repairs_of
    from knowledge_base.file_selection import folders_for, named_folders
    from knowledge_base.loader import LoadError

    folders = named_folders(kb) if kb else folders_for(crawl)
    with exit_on_error(LoadError, PromotionError, RepairError, SavedPageError, OwnFolderError, OSError):
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


@entry_app.command("reject")
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
    from aahcrawler.editor.entries.own_folder import login_name
    from aahcrawler.editor.repairs.repair_list import RepairError, reject, repair_of, repairs_of
    from knowledge_base.file_selection import folders_for, named_folders
    from knowledge_base.loader import LoadError

    folders = named_folders(kb) if kb else folders_for(crawl)
    with exit_on_error(LoadError, RepairError, OSError):
        repair = repair_of(repairs_of(crawl, folders), name, application, site)
        decision = reject(repair, person or login_name(), because)
    typer.echo(f"{repair.learned.name}: {decision.state}")


@entry_app.command("try")
def try_on_archive(
    crawl: Annotated[
        Path,
        typer.Argument(metavar="CRAWL", help="The folder of a crawl.", exists=True, file_okay=False, readable=True),
    ],
    kb: CrawlFolders = "",
    application: Annotated[
        str,
        typer.Option(
            "--application",
            metavar="NAME",
            help="Compare with the knowledge base without the last file of this application, not with the crawl's own.",
        ),
    ] = "",
    host: Annotated[str, typer.Option("--host", metavar="NAME", help="Read pages of this host alone.")] = "",
    pages: Annotated[
        int,
        typer.Option("--pages", metavar="N", min=0, help="Read at most so many, of each sort some; 0 reads all."),
    ] = 1_000,
    as_json: Annotated[bool, typer.Option("--json", help="Write lines of JSON: progress, pages, a summary.")] = False,
) -> None:
    """Try a knowledge base on archived pages: objects and links that would be gained, lost or read differently.

    Ends with 0 where nothing would change, with 1 where something would.
    """
    import sys

    from rich.console import Console

    from aahcrawler.editor.pages.archive_trial import (
        ArchiveTrialError,
        HeaviestPages,
        Progress,
        Question,
        Summary,
        page_lines,
        summary_lines,
        tried,
        without_changes,
    )
    from aahcrawler.segments import DamageError
    from knowledge_base.file_selection import folders_for, named_folders
    from knowledge_base.loader import LoadError, load

    heaviest = HeaviestPages()
    summary: Summary | None = None
    with exit_on_error(LoadError, ArchiveTrialError, DamageError), Console(stderr=True).status("") as status:
        folders = named_folders(kb) if kb else folders_for(crawl)
        after = load(*folders)
        question = Question(crawl, after, host=host, most=pages)
        if application:
            before, against = without_changes(folders, application)
            question = Question(crawl, after, before, host, pages, against)
        for result in tried(question):
            if as_json:
                typer.echo(result.model_dump_json())
                sys.stdout.flush()
            match result:
                case Progress():
                    status.update(f"{result.done:,} of {result.of:,} pages")
                case Summary():
                    summary = result
                case page:
                    heaviest.add(page)
    if summary is None:
        return
    for line in (*summary_lines(summary), *page_lines(heaviest.pages())) if not as_json else ():
        typer.echo(line)
    if summary.differing or summary.unreadable:
        raise typer.Exit(1)
