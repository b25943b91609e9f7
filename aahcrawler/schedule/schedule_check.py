"""Checks of a schedule that need other files: its definitions, folders, secrets, commands."""

import shutil
from collections.abc import Iterator
from pathlib import Path

from aahcrawler.schedule.schedule_file import Schedule
from aahcrawler.schedule.units_file import Units
from online_analysis.icd import Icd, IcdError, Mistake
from online_analysis.icd.secrets import Secret, SecretError


def check_schedule(schedule: Schedule, folder: Path) -> tuple[Mistake, ...]:
    """Return mistakes in the definitions, crawls that share a folder, and anything missing on this machine."""
    return (*_of_definitions(schedule, folder), *_of_telling(schedule))


def check_units(units: Units, schedule: Schedule) -> tuple[Mistake, ...]:
    """Return what is wrong with a list of units on this machine."""
    found = [
        units.mistake(("stand_by", place), f"names {name}, which is no crawl of the schedule", "take it out")
        for place, name in enumerate(units.stand_by)
        if name not in schedule.crawls
    ]
    for name, unit in units.others.items():
        try:
            if unit.token is not None:
                unit.token.reveal()
        except SecretError as error:
            advice = f"{error.advice}; `aah schedule run` needs it to ask this unit"
            found.append(units.mistake(("units", name, "token"), error.problem, advice))
    return tuple(found)


def _of_definitions(schedule: Schedule, folder: Path) -> Iterator[Mistake]:
    outputs: dict[Path, str] = {}
    for name, entry in schedule.crawls.items():
        if not (folder / entry.definition).is_file():
            problem = f"names no file: {folder / entry.definition}"
            advice = "write the name of a definition's file, relative to the folder of the schedule"
            yield schedule.mistake(("crawls", name, "definition"), problem, advice)
            continue
        try:
            output = (folder / Icd.load(folder / entry.definition).output).resolve()
        except IcdError as error:
            yield from error.mistakes
            continue
        other = outputs.setdefault(output, name)
        if other != name:
            problem = f"has the same output as crawls.{other}, and two crawls never run in one folder"
            yield schedule.mistake(("crawls", name, "definition"), problem, "write another id or output in one of them")


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
