"""``aah icd schema`` and ``aah icd new``: the JSON Schema of definitions, and a new definition.

Each command imports its modules when it is called, so that ``--help`` is fast.
"""
# ruff: noqa: PLC0415

import sys
from pathlib import Path
from typing import Annotated

import typer

from aahcrawler.exits import exit_on_error

definition_app = typer.Typer()

_MAX_LIST = 20_000_000
_OPTIONS = {
    "seeds": "--seed",
    "contact": "--contact",
    "topic.keywords": "--keyword",
    "topic.entities": "--entity",
    "title": "--title",
    "id": "--id",
    "operator": "--operator",
    "scope.languages": "--language",
    "event.start": "--from",
    "event.end": "--to",
    "limits.pages": "--pages",
}
"""The options that give the fields of a definition."""


class NewDefinitionError(Exception):
    """The definition cannot be made; the message says why and what to do."""


@definition_app.command()
def schema() -> None:
    """Write the JSON Schema of definitions, by which editors complete and check YAML, to standard output."""
    import json

    from online_analysis.icd.json_schema import icd_schema

    typer.echo(json.dumps(icd_schema(), ensure_ascii=False, indent=2))


@definition_app.command()
def new(
    file: Annotated[
        str, typer.Argument(metavar="[FILE]", help="The file to write; - is standard output. Default: ID.yaml.")
    ] = "",
    seeds: Annotated[
        list[str] | None, typer.Option("--seed", metavar="URL", help="A page to begin with; may be repeated.")
    ] = None,
    seed_list: Annotated[
        str, typer.Option("--seeds", metavar="FILE|-", help="A list with seeds in whatever form; - is standard input.")
    ] = "",
    keywords: Annotated[
        list[str] | None, typer.Option("--keyword", metavar="WORDS", help="What it is about; may be repeated.")
    ] = None,
    entities: Annotated[
        list[str] | None, typer.Option("--entity", metavar="NAME", help="A name that it is about; may be repeated.")
    ] = None,
    title: Annotated[str, typer.Option("--title", help="What the crawl is called.")] = "",
    identifier: Annotated[str, typer.Option("--id", help="The name of its folder. Default: by the title.")] = "",
    operator: Annotated[str, typer.Option("--operator", help="The institution that crawls.")] = "",
    contact: Annotated[
        str, typer.Option("--contact", envvar="AAH_CONTACT", help="Your e-mail address or URL, which sites are told.")
    ] = "",
    languages: Annotated[
        list[str] | None, typer.Option("--language", metavar="CODE", help="A language, such as de; may be repeated.")
    ] = None,
    start: Annotated[str, typer.Option("--from", metavar="DATE", help="The first day that it is about.")] = "",
    end: Annotated[str, typer.Option("--to", metavar="DATE", help="The last day that it is about.")] = "",
    anywhere: Annotated[
        bool, typer.Option("--anywhere", help="Leave the sites of the seeds wherever the subject leads.")
    ] = False,
    pages: Annotated[int | None, typer.Option("--pages", min=0, help="The most pages; 0 is no limit.")] = None,
) -> None:
    """Write a new definition, with comments that say what else to decide; on a terminal it asks for what is missing."""
    from aahcrawler.tallies import plural
    from online_analysis.icd import IcdError
    from online_analysis.icd.new_definition import Wish, new_definition, suggested_id

    is_dialogue = sys.stdin.isatty() and sys.stderr.isatty()
    with exit_on_error(NewDefinitionError):
        given = [*(seeds or ()), *_listed(seed_list)]
        wish = Wish(
            tuple(given or (_asked_seeds() if is_dialogue else ())),
            contact or _asked("Your e-mail address or URL, which sites are told", is_dialogue),
            tuple(keywords or _parted(_asked("What it is about (commas between; none: whole sites)", is_dialogue))),
            tuple(entities or ()),
            title or _asked("What the crawl is called", is_dialogue),
            identifier,
            operator,
            tuple(languages or ()),
            start,
            end,
            anywhere,
            pages,
        )
        _need(wish.seeds, "no seed", "--seed URL, or --seeds FILE with a list")
        _need(wish.contact, "no contact", "--contact you@example.org, or set AAH_CONTACT")
        try:
            text = new_definition(wish)
        except IcdError as error:
            # There is no file yet whose lines could be looked up.
            raise NewDefinitionError(
                "\n".join(_by_option(each.field, f"{each.problem}; {each.advice}") for each in error.mistakes)
            ) from error
        path = Path(file or f"{wish.id or suggested_id(wish.title, wish.seeds)}.yaml")
        if file == "-":
            typer.echo(text, nl=False)
            return
        _write(path, text)
    typer.echo(f"{path}: written, {plural(len(wish.seeds), 'seed')}; next: aah icd try {path}")


def _listed(name: str) -> tuple[str, ...]:
    """Return the seeds in a file; report lines that hold none."""
    from online_analysis.icd.seed_list import read_seed_list

    if not name:
        return ()
    try:
        with sys.stdin.buffer if name == "-" else Path(name).open("rb") as source:
            content = source.read(_MAX_LIST)
    except (OSError, ValueError) as error:
        raise NewDefinitionError(f"{name}: cannot be read ({getattr(error, 'strerror', None) or error})") from error
    found = read_seed_list(content.decode("utf-8-sig", "replace"))
    for refused in found.refused:
        typer.echo(f"{name}:{refused.line}: {ascii(refused.text)[1:-1]}: {refused.reason}", err=True)
    return found.seeds


def _asked(question: str, is_dialogue: bool) -> str:
    return str(typer.prompt(question, default="", show_default=False, err=True)).strip() if is_dialogue else ""


def _asked_seeds() -> tuple[str, ...]:
    """Ask for seeds, one a line, until an empty line."""
    from online_analysis.icd.seed_list import read_seed_list

    typer.echo("Paste the pages to begin with, and end with an empty line:", err=True)
    lines = []
    while line := sys.stdin.readline().strip():
        lines.append(line)
    found = read_seed_list("\n".join(lines))
    for refused in found.refused:
        typer.echo(f"{refused.text}: {refused.reason}", err=True)
    return found.seeds


def _parted(text: str) -> list[str]:
    return [each.strip() for each in text.split(",") if each.strip()]


def _by_option(field: str, said: str) -> str:
    """Return a mistake of the definition with the option that gave the field.

    For example ``--to: event.end: is no date; write a date such as ...``.
    """
    option = _OPTIONS.get(field.partition("[")[0], "")
    return " ".join(": ".join(filter(None, (option, field, said))).split())


def _need(value: object, what: str, how: str) -> None:
    if not value:
        raise NewDefinitionError(f"{what} is given; add {how}")


def _write(path: Path, text: str) -> None:
    try:
        with path.open("x", encoding="utf-8") as file:
            file.write(text)
    except FileExistsError:
        raise NewDefinitionError(f"{path}: exists, and is left as it is; name another file, or remove it") from None
    except OSError as error:
        raise NewDefinitionError(f"{path}: cannot be written ({error.strerror})") from error
