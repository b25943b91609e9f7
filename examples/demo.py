"""The demo, ``python -m examples.demo`` or ``make demo``: serve the world, crawl it, say what came of it, search it.

The crawl is the command a user would type, ``aah crawl examples/demo.yaml``. Where port 8765 is taken, the world is
served on a free port and a copy of the definition names that one. The folder of an earlier demo is replaced; a folder
that is not the demo's is left alone.
"""

import errno
import json
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urlsplit

import yaml
from filelock import FileLock, Timeout
from pydantic import BaseModel

from aahcrawler import layout
from aahcrawler.layout import LOCK, SUMMARY
from examples.serve import PORT, WORLD, Request, WorldServer, serve
from online_analysis.icd import Icd

SEARCHED = "flooded cellar"
DEFINITION = Path(__file__).resolve().parent / "demo.yaml"
NOT_JUNK = frozenset({"spam", "other_site", "not_allowed", "denied", "too_deep", "scheme", "too_long", "language"})
"""Reasons that say where a link leads, not that it leads to a form or to what is known already."""


class DemoError(Exception):
    """The demo cannot run; the message says why and what to do."""


class Counts(BaseModel):
    """The part of ``crawl.json`` that the demo speaks of."""

    id: str
    seconds: float
    pages: int
    relevant: int
    objects: int
    requisites: int
    object: dict[str, int]
    application: dict[str, int]
    refused: dict[str, int]
    blocked: dict[str, int]


class PageRow(BaseModel):
    """A line of ``aah pages``, as far as the demo speaks of it."""

    url: str


@dataclass(frozen=True, slots=True)
class Known:
    """What is known of the world without crawling it: which URLs are about the flood, and which hosts are not."""

    on_topic: frozenset[str]
    off_topic_hosts: frozenset[str]
    trap_paths: frozenset[tuple[str, str]]

    @classmethod
    def read(cls, world: Path) -> "Known":
        """Return what the recorded sites of a world say about themselves."""
        on_topic: set[str] = set()
        hosts: set[str] = set()
        traps: set[tuple[str, str]] = set()
        for site in sorted(path.parent for path in world.glob("*/site.json")):
            rows = [json.loads(line) for line in (site / "pages.jsonl").read_text("utf-8").splitlines()]
            about = {row["url"] for row in rows if row.get("on_topic")}
            on_topic |= about
            hosts |= set() if about else {site.name}
            trap = json.loads((site / "site.json").read_text("utf-8")).get("trap")
            traps |= {(site.name, trap["path"])} if trap else set()
        return cls(frozenset(on_topic), frozenset(hosts), frozenset(traps))


def five_lines(
    counts: Counts, rows: Sequence[PageRow], requests: Sequence[Request], known: Known, folder: Path
) -> list[str]:
    """Return what the demo says at its end: two lines of what was collected, two of what was avoided, one to go on.

    ``rows`` are the fetched pages, ``requests`` what the server of the world saw.
    """
    hosts = {urlsplit(row.url).netloc for row in rows}
    found = len(known.on_topic & {row.url for row in rows})
    kinds = _listed(counts.object, 4)
    share = f"{counts.relevant / counts.pages:.0%}" if counts.pages else "none"
    trapped = sum((one.host, urlsplit(one.path).path) in known.trap_paths for one in requests)
    strayed = sum(urlsplit(row.url).netloc in known.off_topic_hosts for row in rows)
    junk = {reason: number for reason, number in counts.refused.items() if reason not in NOT_JUNK}
    robots = sum(number for reason, number in counts.blocked.items() if "robots" in reason)
    return [
        (
            f"Collected  {counts.pages} pages of {len(hosts)} sites in {counts.seconds:.0f} s, "
            f"{share} of them relevant: {found} of the {len(known.on_topic)} pages about the flood."
        ),
        f"Extracted  {counts.objects} web objects ({kinds}) from {_listed(counts.application, 4)}.",
        (
            f"Avoided    {sum(junk.values())} junk links ({_listed(junk, 3)}), "
            f"{counts.refused.get('spam', 0)} spam links, {robots} URLs that robots.txt forbids."
        ),
        f"Strayed    into the endless calendar {trapped} times, into sites about something else for {strayed} pages.",
        f"Open       {folder / 'report.html'} or, with all the rest: {typed()} cockpit {folder}",
    ]


def typed() -> str:
    """Return the command line of the project as it can be typed here."""
    command = Path(sys.executable).with_name("aah")
    return str(command.relative_to(Path.cwd()) if command.is_relative_to(Path.cwd()) else command)


def _listed(counts: dict[str, int], most: int) -> str:
    largest = sorted(counts.items(), key=lambda item: (-item[1], item[0]))
    shown = ", ".join(f"{number} {name}" for name, number in largest[:most])
    return (shown or "none") + (", ..." if len(largest) > most else "")


def clear(folder: Path, crawl: str) -> None:
    """Remove the folder of an earlier demo; raise DemoError for a folder of another crawl or one that is in use."""
    if not folder.exists() or not any(folder.iterdir()):
        return
    if _crawl_of(folder) != crawl:
        raise DemoError(f"{folder} is not a folder of the demo: move it away, or name another output in {DEFINITION}")
    try:
        with FileLock(folder / LOCK, timeout=0):
            shutil.rmtree(folder)
    except Timeout:
        raise DemoError(f"another demo is running in {folder}: wait for it or stop it") from None


def _crawl_of(folder: Path) -> str | None:
    """Return the id of the crawl whose folder this is, None where it cannot be told."""
    for name in (SUMMARY, layout.DEFINITION):
        try:
            kept = json.loads((folder / name).read_text("utf-8"))["id"]
        except (OSError, ValueError, KeyError, TypeError):
            continue
        return str(kept).strip('"')
    return None


def at_port(definition: Path, port: int, target: Path) -> Path:
    """Write a copy of a definition whose hosts are served at another port; return where it is."""
    content = yaml.safe_load(definition.read_text("utf-8"))
    network = content["network"]
    network["resolve"] = dict.fromkeys(network["resolve"], f"127.0.0.1:{port}")
    documents = content["topic"].get("documents", [])
    content["topic"]["documents"] = [_absolute(document, definition.parent) for document in documents]
    target.write_text(yaml.safe_dump(content, allow_unicode=True, sort_keys=False), "utf-8")
    return target


def _absolute(document: str, folder: Path) -> str:
    return document if "://" in document else str(folder / document)


def crawl(definition: Path, server: WorldServer) -> int:
    """Run ``aah crawl`` on a definition and say what came of it; return the exit code of the crawl."""
    icd = Icd.load(definition)
    clear(icd.output, icd.id)
    code = aah("crawl", str(definition)).returncode
    if code:
        return code
    counts = Counts.model_validate_json((icd.output / SUMMARY).read_bytes())
    listed = aah("pages", str(icd.output), "--format", "jsonl", capture=True)
    if listed.returncode:
        return listed.returncode
    rows = [PageRow.model_validate_json(line) for line in listed.stdout.splitlines()]
    print("\n".join(five_lines(counts, rows, server.requests, Known.read(WORLD), icd.output)))
    print(f'Search     {typed()} search {icd.output} "{SEARCHED}"', flush=True)
    return aah("search", str(icd.output), SEARCHED, "--limit", "3").returncode


def aah(*arguments: str, capture: bool = False) -> subprocess.CompletedProcess[str]:
    """Run a command of ``aah``, as a user would type it."""
    command = [sys.executable, "-m", "aahcrawler.cli", *arguments]
    return subprocess.run(command, stdout=subprocess.PIPE if capture else None, text=True, check=False)


def main() -> int:
    """Run the demo; return its exit code."""
    try:
        with ExitStack() as stack:
            server = _served(stack)
            if server.port == PORT:
                return crawl(DEFINITION, server)
            print(f"Port {PORT} is taken; the world is served on port {server.port}, the definition is a copy for it.")
            folder = stack.enter_context(tempfile.TemporaryDirectory(prefix="aah-demo-"))
            return crawl(at_port(DEFINITION, server.port, Path(folder) / "demo.yaml"), server)
    except DemoError as error:
        print(error, file=sys.stderr)
        return 2


def _served(stack: ExitStack) -> WorldServer:
    try:
        return stack.enter_context(serve(port=PORT))
    except OSError as error:
        if error.errno != errno.EADDRINUSE:
            raise
        return stack.enter_context(serve())


if __name__ == "__main__":
    sys.exit(main())
