"""Read the directives of one site config."""

import re
from collections.abc import Iterator
from dataclasses import dataclass

from aahcrawler.authoring.ftr.sources import ConfigFile

_DIRECTIVE = re.compile(r"\s*(?P<name>[a-z_]+)\s*(?:\((?P<parameter>[^)]*)\))?\s*:\s*(?P<value>.*?)\s*", re.IGNORECASE)
_HOST = re.compile(r"(?:[a-z0-9](?:[a-z0-9_-]*[a-z0-9])?\.)+[a-z0-9-]{2,}")


@dataclass(frozen=True, slots=True)
class Directive:
    """One line of a config: ``name: value``, or ``name(parameter): value``."""

    line: int
    name: str
    value: str


def directives(text: str) -> Iterator[Directive]:
    """Yield the directives of a config; comments, empty lines and lines without a directive are ignored."""
    for number, line in enumerate(text.splitlines(), start=1):
        match = None if line.lstrip().startswith("#") else _DIRECTIVE.fullmatch(line)
        if match is not None and match["value"]:
            yield Directive(number, match["name"].lower(), match["value"])


def host_of(file: ConfigFile) -> str | None:
    """Return the host that a config is for, from its name; None if it is for none.

    >>> host_of(ConfigFile("example.org.txt", "")), host_of(ConfigFile(".example.org.txt", ""))
    ('example.org', '*.example.org')
    """
    name = file.name.removesuffix(".txt").lower()
    host = name.removeprefix(".").removeprefix("www.")
    if not _HOST.fullmatch(host):
        return None
    return f"*.{host}" if name.startswith(".") else host
