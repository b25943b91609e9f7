"""Checks of a schedule: its file, and what needs others: its definitions, folders, list of units, secrets, commands."""

import shutil
from collections.abc import Collection, Iterator
from contextlib import suppress
from pathlib import Path

from aahcrawler.schedule.schedule_file import Schedule
from aahcrawler.schedule.units_file import Units
from online_analysis.icd import Icd, IcdError, Mistake
from online_analysis.icd.secrets import Secret, SecretError
from online_analysis.icd.yaml_source import Source


def check_schedule(path: Path, units: Path) -> list[Mistake]:
    """Return all mistakes that can be found at once in a schedule and in its list of ``units``, if there is one.

    Beside those of the files themselves: mistakes in the definitions, crawls that share a folder, and anything missing
    on this machine. Raise ``IcdError`` if the schedule's file cannot be read as YAML.
    """
    source = Schedule.source_of(Schedule.content(path), str(path))
    found: list[Mistake] = []
    schedule: Schedule | None = None
    try:
        schedule = Schedule.load(path)
    except IcdError as error:
        found += error.mistakes
        with suppress(IcdError):  # What of it is sound is checked all the same.
            schedule = Schedule.sound(path)[0]
    found += _of_definitions(source, path.absolute().parent)
    if schedule is not None:
        found += _of_telling(schedule)
    if units.exists():
        crawls = source.data.get("crawls")
        try:
            found += _of_units(Units.load(units), crawls if isinstance(crawls, dict) else {})
        except IcdError as error:
            found += error.mistakes
    return found


def _of_units(units: Units, crawls: Collection[str]) -> tuple[Mistake, ...]:
    found = [
        units.mistake(("stand_by", place), f"names {name}, which is no crawl of the schedule", "take it out")
        for place, name in enumerate(units.stand_by)
        if name not in crawls
    ]
    for name, unit in units.others.items():
        try:
            if unit.token is not None:
                unit.token.reveal()
        except SecretError as error:
            advice = f"{error.advice}; `aah schedule run` needs it to ask this unit"
            found.append(units.mistake(("units", name, "token"), error.problem, advice))
    return tuple(found)


def _of_definitions(source: Source, folder: Path) -> Iterator[Mistake]:
    """Check the definitions that the crawls name, whatever else is wrong with the schedule."""
    crawls, outputs = source.data.get("crawls"), dict[Path, str]()
    for name, entry in crawls.items() if isinstance(crawls, dict) else ():
        definition = entry.get("definition") if isinstance(entry, dict) else None
        if not isinstance(definition, str) or "\0" in definition:
            continue
        try:
            is_file = (folder / definition).is_file()
        except OSError:
            is_file = False
        if not is_file:
            problem = f"names no file: {folder / definition}"
            advice = "write the name of a definition's file, relative to the folder of the schedule"
            yield source.mistake(("crawls", name, "definition"), problem, advice)
            continue
        try:
            output = (folder / Icd.load(folder / definition).output).resolve()
        except IcdError as error:
            yield from error.mistakes
            continue
        other = outputs.setdefault(output, name)
        if other != name:
            problem = f"has the same output as crawls.{other}, and two crawls never run in one folder"
            yield source.mistake(("crawls", name, "definition"), problem, "write another id or output in one of them")


def _of_telling(schedule: Schedule) -> Iterator[Mistake]:
    tell = schedule.tell
    secrets = {
        ("tell", "mail", "password"): tell.mail.password if tell.mail else None,
        ("tell", "webhook", "secret"): tell.webhook.secret if tell.webhook else None,
    }
    for path, secret in secrets.items():
        yield from _of_secret(schedule, path, secret)
    if tell.command and shutil.which(tell.command[0]) is None:
        advice = "write its whole path, and see that it may be run"
        yield schedule.mistake(("tell", "command", 0), "is no program of this machine", advice)


def _of_secret(schedule: Schedule, path: tuple[str, ...], secret: Secret | None) -> Iterator[Mistake]:
    if secret is None:
        return
    try:
        secret.reveal()
    except SecretError as error:
        yield schedule.mistake(path, error.problem, error.advice.replace("crawls", "looks after the schedule"))
