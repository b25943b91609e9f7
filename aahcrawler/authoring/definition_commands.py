"""``aah icd schema``, ``aah icd new`` and ``aah icd try``: definitions written, and tried before anything is crawled.

Each command imports its modules when it runs: help has to answer at once.
"""
# ruff: noqa: PLC0415

import typer

definition_app = typer.Typer()


@definition_app.command()
def schema() -> None:
    """Write the JSON Schema of definitions, by which editors complete and check YAML, to standard output."""
    import json

    from online_analysis.icd.json_schema import icd_schema

    typer.echo(json.dumps(icd_schema(), ensure_ascii=False, indent=2))
