"""``aah kb``: tools for authors of the knowledge base.

Each command imports its modules when it is called, so that ``--help`` is fast.
"""
# ruff: noqa: PLC0415

from pathlib import Path
from typing import Annotated

import typer

from aahcrawler.exits import MISTAKE, exit_on_error

kb_app = typer.Typer(help="The knowledge base of applications.", no_args_is_help=True)


@kb_app.command("check")
def check_files(
    folders: Annotated[
        list[Path] | None,
        typer.Argument(
            metavar="[FOLDER]...",
            help="Folders of a knowledge base. Default: those that AAH_KNOWLEDGE_BASE names, else the one that ships.",
        ),
    ] = None,
    seconds: Annotated[
        float, typer.Option("--seconds", min=1, help="How long one expression may take before it is ended.")
    ] = 60.0,
    unproven: Annotated[
        bool, typer.Option("--unproven", help="List the entries of each application without a proven citation.")
    ] = False,
) -> None:
    """Check a knowledge base: one line for each mistake, with file, line and the correction."""
    from rich.console import Console
    from rich.markup import escape

    from aahcrawler.editor.checks.examination import check
    from knowledge_base.file_selection import SHIPPED

    console = Console(stderr=True)
    with console.status("reading the files") as status:
        checked = check(tuple(folders or (SHIPPED,)), seconds, lambda words: status.update(escape(words)))
    for line in checked.lines(unproven=unproven):
        typer.echo(line)
    if checked.errors:
        raise typer.Exit(MISTAKE)


Folders = Annotated[
    str,
    typer.Option(
        "--kb",
        metavar="FOLDER",
        envvar="AAH_KNOWLEDGE_BASE",
        help="The knowledge base: a folder, or several with : between; the word shipped is the one that ships.",
    ),
]
CrawlFolders = Annotated[
    str,
    typer.Option(
        "--kb",
        metavar="FOLDER",
        help="The knowledge base: a folder, or several with : between; the word shipped is the one that ships. "
        "Default: that of the crawl, with the own entries beside it.",
    ),
]
Contact = Annotated[
    str, typer.Option("--contact", envvar="AAH_CONTACT", help="Your e-mail address or URL, sent to the site.")
]
Private = Annotated[
    bool, typer.Option("--allow-private", help="Let hosts of your own network be asked, such as a test server.")
]
Person = Annotated[
    str,
    typer.Option(
        "--as-person", metavar="NAME", help="Who makes the change, for the history. Default: your login name."
    ),
]
OfFile = Annotated[str, typer.Option("--url", metavar="URL", help="For a file: the URL it was found at.")]


@kb_app.command("test")
def try_pages(
    names: Annotated[
        list[str] | None, typer.Argument(metavar="[NAME]...", help="Applications or saved pages: phpbb, phpbb/thread.")
    ] = None,
    kb: Folders = "",
) -> None:
    """Try the knowledge base on its saved pages: one line a page, and the differences from the expectation."""
    from aahcrawler.editor.pages.saved_pages import SavedPageError
    from aahcrawler.editor.pages.trial import Selection, TrialError, all_pages, lines_of, notes, summary
    from knowledge_base.file_selection import named_folders
    from knowledge_base.loader import LoadError, load

    with exit_on_error(LoadError, SavedPageError, TrialError):
        folders = named_folders(kb)
        knowledge_base = load(*folders)
        selection = Selection(knowledge_base, all_pages(folders), tuple(names or ()))
        failed = 0
        for outcome in selection.outcomes():
            failed += bool(outcome.differences)
            for line in lines_of(outcome):
                typer.echo(line)
    for line in notes(selection):
        typer.echo(line)
    typer.echo(summary(len(selection.chosen), failed))
    if failed:
        raise typer.Exit(1)


@kb_app.command("capture")
def capture_page(
    named: Annotated[str, typer.Argument(metavar="URL|FILE", help="The page: a URL, or a file you saved.")],
    application: Annotated[
        str, typer.Option("--application", metavar="NAME", help="The application of the page. Default: as recognised.")
    ] = "",
    name: Annotated[
        str, typer.Option("--as", metavar="PAGE", help="The name of the saved page. Default: its level, numbered.")
    ] = "",
    kb: Folders = "",
    url: OfFile = "",
    negative: Annotated[bool, typer.Option("--negative", help="No level of the entry may hold for it.")] = False,
    replace: Annotated[bool, typer.Option("--replace", help="Write over a saved page of that name.")] = False,
    contact: Contact = "",
    allow_private: Private = False,
    person: Person = "",
) -> None:
    """Save a page, and the results of reading it, as a test beside its application's file."""
    from aahcrawler.editor.entries.own_folder import OwnFolderError, login_name, note
    from aahcrawler.editor.pages.page_capture import CaptureError, Wish, capture, told_of
    from aahcrawler.editor.pages.page_source import FetchError, SourceError, source
    from aahcrawler.editor.pages.saved_pages import SavedPageError
    from knowledge_base.file_selection import named_folders
    from knowledge_base.loader import LoadError, load

    with exit_on_error(LoadError, SavedPageError, SourceError, FetchError, CaptureError, OwnFolderError):
        folders = named_folders(kb)
        page = source(contact, allow_private=allow_private).page(named, url)
        wish = Wish(application, name, negative, replace)
        captured = capture(page, load(*folders), folders, wish)
        file = captured.saved.file
        what = f"saved the page {file.stem} as a test"
        note(folders, file.parent.name, person or login_name(), what, (file, file.with_suffix(".json")))
    for line in told_of(captured):
        typer.echo(line)


@kb_app.command("new")
def begin_application(
    name: Annotated[str, typer.Argument(metavar="NAME", help="The name of the application as its makers write it.")],
    contents: Annotated[
        list[str], typer.Option("--from", metavar="URL|FILE", help="A page with posts or an article; may be repeated.")
    ],
    lists: Annotated[
        list[str] | None, typer.Option("--list", metavar="URL|FILE", help="A page that lists others; may be repeated.")
    ] = None,
    kind: Annotated[str, typer.Option("--kind", help="The kind of the application.")] = "web-forum",
    kb: Folders = "",
    url: Annotated[
        list[str] | None, typer.Option("--url", metavar="URL", help="For each file, in order: where it was found.")
    ] = None,
    site: Annotated[bool, typer.Option("--site", help="The file is for this site alone.")] = False,
    contact: Contact = "",
    allow_private: Private = False,
    person: Person = "",
) -> None:
    """Write a first draft of an application's file from its pages, with every guess marked."""
    from aahcrawler.editor.drafting.begin import Wish, begin, lines_of
    from aahcrawler.editor.drafting.draft import DraftError
    from aahcrawler.editor.drafting.level_plans import Given
    from aahcrawler.editor.entries.own_folder import OwnFolderError, login_name, note
    from aahcrawler.editor.pages.page_source import FetchError, SourceError, as_typed, source
    from aahcrawler.editor.pages.saved_pages import SavedPageError
    from knowledge_base.file_selection import named_folders
    from knowledge_base.loader import LoadError

    with exit_on_error(LoadError, SavedPageError, SourceError, FetchError, DraftError, OwnFolderError):
        pages = source(contact, allow_private=allow_private).pages((*contents, *(lists or ())), tuple(url or ()))
        given = Given(pages[: len(contents)], pages[len(contents) :])
        folders = named_folders(kb)
        begun = begin(Wish(name, kind, site), given, folders)
        what = f"drafted from {', '.join(page.url for page in pages)}"
        note(folders, begun.file.stem, person or login_name(), what, (begun.file,))
    for line in lines_of(begun, as_typed(contents[0], pages[0].url)):
        typer.echo(line)


@kb_app.command("explain")
def explain_page(
    named: Annotated[
        str,
        typer.Argument(metavar="URL|FILE", help="The page: a URL, a file you saved, or a WARC file of a crawl."),
    ],
    kb: Folders = "",
    url: OfFile = "",
    as_json: Annotated[bool, typer.Option("--json", help="Write JSON for machines.")] = False,
    contact: Contact = "",
    allow_private: Private = False,
) -> None:
    """Show the application and level of a page, the lines that decided, the results of each action, and near misses."""
    import json
    import sys
    from dataclasses import asdict, replace

    from rich.console import Console

    from aahcrawler.editor.explanation.explain import explain
    from aahcrawler.editor.explanation.explanation_model import plain_lines, print_tables
    from aahcrawler.editor.pages.page_source import FetchError, SourceError, named_page
    from aahcrawler.editor.pages.saved_pages import SavedPageError
    from aahcrawler.editor.text.file_lines import FileLines, read_files
    from aahcrawler.segments import SegmentError
    from knowledge_base.file_selection import chosen_files, named_folders
    from knowledge_base.loader import LoadError, load

    hops: list[str] = []
    with exit_on_error(LoadError, SavedPageError, SourceError, FetchError, SegmentError):
        folders = named_folders(kb)
        knowledge_base = load(*folders)
        page = named_page(named, url, contact, allow_private=allow_private, redirected=lambda old, _: hops.append(old))
    places = FileLines(read_files(chosen_files(folders).applications))
    explained = replace(explain(page, knowledge_base, places), redirects=tuple(hops))
    if as_json:
        typer.echo(json.dumps(asdict(explained), ensure_ascii=False, indent=2))
    elif sys.stdout.isatty():
        print_tables(explained, Console())
    else:
        for line in plain_lines(explained):
            typer.echo(line)


@kb_app.command("import-ftr")
def import_site_configs(
    source: Annotated[Path, typer.Argument(metavar="ARCHIVE|FOLDER", help="The site configs: ftr-site-config.tar.xz.")],
    to: Annotated[Path, typer.Option("--to", metavar="FOLDER", help="The folder to write the pack to.")],
    report: Annotated[
        Path | None, typer.Option("--report", metavar="FILE", help="Write all that was left out, with why, as JSON.")
    ] = None,
) -> None:
    """Convert fivefilters' site configs into an optional pack of site-level applications."""
    from aahcrawler.editor.fivefilters import ConfigsError, convert, write, write_report
    from knowledge_base.loader import LoadError

    with exit_on_error(ConfigsError, LoadError, OSError):
        pack = convert(source)
        write(pack, to)
        if report is not None:
            write_report(pack, report)
    for reason, times in pack.reasons():
        typer.echo(f"left out {times} times: {reason}")
    typer.echo(pack.summary())
    typer.echo(f"To use it beside the knowledge base that ships: AAH_KNOWLEDGE_BASE=shipped:{to} aah crawl ...")
