"""A folder of converted site configs, with a report on each."""

import json
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import asdict, dataclass
from pathlib import Path

from lxml import etree

from aahcrawler.authoring.ftr.conversion import Conversion, LeftOut, convert_file
from aahcrawler.authoring.ftr.sources import ConfigFile, config_files
from knowledge_base.file_selection import SHIPPED
from knowledge_base.loader import load


@dataclass(frozen=True, slots=True)
class Pack:
    """The conversions of one source, in its order; each host once."""

    conversions: tuple[Conversion, ...]

    @property
    def applications(self) -> tuple[Conversion, ...]:
        """The files that became an application."""
        return tuple(conversion for conversion in self.conversions if conversion.application is not None)

    @property
    def left_out(self) -> Iterator[LeftOut]:
        """All that was not taken over, file by file."""
        return (left for conversion in self.conversions for left in conversion.left_out)

    def summary(self) -> str:
        """Return one line with the numbers of files converted wholly, in part, and not at all."""
        whole = sum(not conversion.left_out for conversion in self.applications)
        part = len(self.applications) - whole
        none = len(self.conversions) - len(self.applications)
        return f"{len(self.conversions)} files: {whole} converted wholly, {part} in part, {none} not"

    def reasons(self) -> list[tuple[str, int]]:
        """Return the reasons for omissions with their frequencies, the most frequent first."""
        return Counter(
            f"{left.directive}: {left.reason}" if left.line else left.reason for left in self.left_out
        ).most_common()


def convert(source: Path) -> Pack:
    """Convert every config of a folder or an archive. Raises `ConfigsError`."""
    return Pack(tuple(_once(config_files(source))))


def _once(files: Iterable[ConfigFile]) -> Iterator[Conversion]:
    """Convert the files; of several for one host the first that becomes an application counts."""
    taken: dict[str, str] = {}
    for file in files:
        conversion = convert_file(file)
        if conversion.application is None or conversion.host is None:
            yield conversion
        elif conversion.host in taken:
            reason = f"{taken[conversion.host]} is for the same host"
            yield Conversion(file.name, conversion.host, None, (LeftOut(file.name, 0, "", reason),))
        else:
            taken[conversion.host] = file.name
            yield conversion


def write(pack: Pack, folder: Path) -> None:
    """Write the pack as a folder of the knowledge base: ``applications/<host>.xml``.

    Files of the same name are overwritten, others are left alone. Raises OSError, and `LoadError` if the written files
    do not load beside the shipped knowledge base.
    """
    applications = folder / "applications"
    applications.mkdir(parents=True, exist_ok=True)
    for conversion in pack.applications:
        if conversion.application is not None and conversion.host is not None:
            tree = etree.ElementTree(conversion.application)
            tree.write(
                applications / _file_name(conversion.host), pretty_print=True, xml_declaration=True, encoding="UTF-8"
            )
    load(SHIPPED, folder)


def write_report(pack: Pack, file: Path) -> None:
    """Write the omissions as JSON: a list of objects with file, line, directive and reason."""
    file.write_text(json.dumps([asdict(left) for left in pack.left_out], indent=1, ensure_ascii=False) + "\n", "utf-8")


def _file_name(host: str) -> str:
    return f"subdomains-of-{host[2:]}.xml" if host.startswith("*.") else f"{host}.xml"
