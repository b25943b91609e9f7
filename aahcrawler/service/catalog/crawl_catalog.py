"""The crawls in a service's folders, searched anew for each request, and the rules by which each admits URLs."""

import json
import logging
import shlex
import threading
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from functools import lru_cache
from pathlib import Path
from urllib.parse import urlsplit

from aahcrawler import urls
from aahcrawler.crawls import frontier_name, is_import, last_start, number
from aahcrawler.definitions import DefinitionError, read_definition
from aahcrawler.exclusions import Exclusions
from aahcrawler.frontier.hops import Hop, extended
from aahcrawler.frontier.server.server_process import served_at
from aahcrawler.layout import CREATED, DEFINITION, DELETED, EXCLUSIONS, FRONTIER, SERVICE_LOG, SUMMARY, TOMBSTONES
from aahcrawler.scope import ExternalUrl, Scope
from aahcrawler.segments import DamageError
from aahcrawler.tombstones import TakenDown
from aahcrawler.wire.ip_policy import IpPolicy
from online_analysis.icd import Icd, IcdError
from online_analysis.icd.text_check import MAX_BYTES, checked_definition

PRIVATE = "private_address"
"""The reason for refusing a URL that leads to an IP address the crawl must not connect to."""

_LOOPBACK = "127.0.0.1"
_HOSTS = 4096
_ANY_PORT = 80


class Fault(StrEnum):
    """The reasons why a text is no URL that can be crawled."""

    URL = "url"
    """The URL is not an http or https URL."""
    TOO_LONG = "too_long"
    """The URL has more characters than any URL of a page."""


@dataclass(frozen=True, slots=True)
class Target:
    """A canonical URL and its queue."""

    url: str
    queue: str


class Admission:
    """The rules by which a definition admits URLs.

    Host names are not resolved; IP addresses are checked when fetching.
    """

    def __init__(self, icd: Icd, taken_down: TakenDown | None = None, exclusions: Exclusions | None = None) -> None:
        self._scope = Scope(icd, taken_down=taken_down, exclusions=exclusions)
        self._addresses = IpPolicy(
            allow_private=icd.network.allow_private,
            resolve={host: str(endpoint) for host, endpoint in icd.network.resolve.items()},
        )
        self._is_private = lru_cache(_HOSTS)(self._judge_authority)

    def target(self, text: str) -> Target | Fault:
        """Return a URL in the form that the crawl uses, or why it has none."""
        url = self._scope.spelling.url(text)
        if url is None:
            return Fault.TOO_LONG if len(text) > urls.MAX_LENGTH else Fault.URL
        queue = urls.queue_of(url)
        return Target(url, queue) if 0 < len(queue.encode()) <= 255 else Fault.URL

    def refusal(self, target: Target) -> str | None:
        """Return why the crawl would not fetch a URL, as ``Scope.admit`` does, or ``PRIVATE``; None if it would."""
        refused = self._scope.admit(ExternalUrl(target.url, target.queue, path=self.path(target)))
        if refused is not None:
            return str(refused)
        return PRIVATE if self._is_private(target.url.split("/", 3)[2]) else None

    def path(self, target: Target) -> str:
        """Return the hop path of a posted URL: a single hop, from outside."""
        return extended("", Hop.POST, is_off_site=not self._scope.is_of_seeds(target.queue))

    def _judge_authority(self, authority: str) -> bool:
        host = urlsplit(f"//{authority}").hostname or ""
        mapped = self._addresses.mapped(host, _ANY_PORT)
        if mapped is not None:
            return self._addresses.refusal(mapped.address) is not None
        name = host.rstrip(".")
        if name == "localhost" or name.endswith(".localhost"):
            return self._addresses.refusal(_LOOPBACK) is not None
        try:
            return self._addresses.refusal(name) is not None
        except ValueError:
            return False


_logger = logging.getLogger(__name__)
_Stamps = tuple[tuple[int, int], ...]


@dataclass(frozen=True, slots=True)
class Crawl:
    """A crawl that has begun, was created or was submitted: its definition, its rules for URLs, and its number.

    ``folder`` is None if it has none on this machine. ``registered`` is the reason of its end by the shared server,
    empty if the crawl goes on there, None if the server does not know it.
    """

    folder: Path | None
    icd: Icd
    admission: Admission
    number: int
    registered: str | None = None

    @property
    def id(self) -> str:
        """The id of its definition."""
        return self.icd.id

    @property
    def frontier_name(self) -> str:
        """The name under which a frontier's server keeps it."""
        return frontier_name(self.icd.id, self.number)

    @property
    def is_import(self) -> bool:
        """Whether its folder holds imported archives, so that no crawl runs there."""
        return self.folder is not None and is_import(self.folder)

    @property
    def has_begun(self) -> bool:
        """Whether it was ever started, as far as this machine knows, and not merely created."""
        return self.folder is None or (self.folder / DEFINITION).is_file()

    @property
    def argument(self) -> str:
        """Its folder as an argument of commands, quoted for a shell; ``FOLDER`` if it has none on this machine."""
        return "FOLDER" if self.folder is None else argument_of(self.folder)

    @property
    def definition_argument(self) -> str:
        """The file of its definition as an argument of commands, quoted for a shell; ``FILE`` if it is unknown."""
        file = None if self.folder is None else _written(self.folder)
        return "FILE" if file is None or not file.is_file() else argument_of(file)

    def own_server(self) -> str | None:
        """Return the URL of the frontier server that the running crawl has started; None if there is none."""
        return None if self.folder is None else served_at(self.folder / FRONTIER)

    def of_server(self, number: int, ending: str, folder: Path | None) -> "Crawl":
        """Return the crawl with what the shared server knows of it."""
        return replace(self, number=number, registered=ending, folder=folder)

    def ending(self) -> str:
        """Return why the crawl is over, empty if it is not.

        Starting a crawl that is over begins with an empty queue.
        """
        if self.registered is not None or self.folder is None:
            return self.registered or ""
        try:
            told = json.loads((self.folder / SUMMARY).read_text("utf-8"))
            state, reason = str(told["state"]), str(told["reason"])
        except (OSError, ValueError, KeyError, TypeError, RecursionError):
            return ""
        return reason if state == "finished" or (state == "stopped" and reason.startswith("limits.")) else ""


def argument_of(path: Path) -> str:
    """Return a path as an argument of commands run in this process's working folder, quoted for a shell.

    >>> argument_of(Path.cwd() / "crawls" / "the dikes"), argument_of(Path("/a/b"))
    ("'crawls/the dikes'", '/a/b')
    """
    here = Path.cwd()
    named = str(path.relative_to(here) if path.is_relative_to(here) else path)
    return shlex.quote(f"./{named}" if named.startswith("-") else named)


class Catalog:
    """The crawls of a service by id. A place is the folder of a crawl, or a folder that contains such folders.

    If several crawls have the same id, the first one counts, by the order of places and then of names.
    """

    def __init__(self, places: Sequence[Path]) -> None:
        # Crawls are started in other working folders, to which a relative path would mean another place.
        self._places = tuple(place.absolute() for place in places)
        self._known: dict[Path, tuple[_Stamps, Crawl]] = {}
        self._logged: frozenset[str] = frozenset()
        self._lock = threading.Lock()

    def crawls(self) -> tuple[Crawl, ...]:
        """Return all crawls; folders that are left out are logged once."""
        found, passed_over = self._found()
        for said in sorted({*passed_over} - self._logged):
            _logger.warning("%s", said)
        self._logged = frozenset(passed_over)
        return found

    def passed_over(self) -> tuple[str, ...]:
        """Return a message for each folder that is left out, because its id is taken or it cannot be read."""
        return self._found()[1]

    def _found(self) -> tuple[tuple[Crawl, ...], tuple[str, ...]]:
        found: dict[str, Crawl] = {}
        passed_over: list[str] = []
        for folder in self._folders():
            try:
                crawl = self._read(folder)
            except (OSError, DamageError, DefinitionError, IcdError) as error:
                passed_over.append(str(error))
                continue
            first = found.setdefault(crawl.id, crawl).folder
            if first is not None and first != folder:
                told = f"has the id {crawl.id}, as has {argument_of(first)}, which is shown"
                passed_over.append(f"{argument_of(folder)}: {told}; serve this folder alone to see it")
        return tuple(found.values()), tuple(passed_over)

    def crawl(self, name: str) -> Crawl | None:
        """Return the crawl with an id, None if there is none."""
        return next((crawl for crawl in self.crawls() if crawl.id == name), None)

    def folder_of(self, name: str) -> Path | None:
        """Return the folder of the crawl with an id, None if it has none here."""
        found = self.crawl(name)
        return None if found is None else found.folder

    def place_for_new(self) -> Path | None:
        """Return the folder in which new crawls are created, None if all places are folders of single crawls."""
        return next((place for place in self._places if place.is_dir() and not _is_crawl(place)), None)

    def deleted(self) -> Iterator[Path]:
        """Yield the folders of crawls whose deletion was begun."""
        holds = [place.is_dir() and not _is_crawl(place) for place in self._places]
        parents = (place if held else place.parent for place, held in zip(self._places, holds, strict=True))
        for parent in dict.fromkeys(parents):
            if parent.is_dir():
                yield from (each for each in parent.iterdir() if each.name.startswith(DELETED) and each.is_dir())

    def service_log(self) -> Path | None:
        """Return the log file of acts, which lies beside the crawls; None without a place."""
        place = self.place_for_new() or next((place.parent for place in self._places), None)
        return None if place is None else place / SERVICE_LOG

    def close(self) -> None:
        """Do nothing: no file is kept open."""

    def _folders(self) -> Iterator[Path]:
        for place in self._places:
            if _is_crawl(place):
                yield place
            elif place.is_dir():
                inner = sorted(each for each in place.iterdir() if not each.name.startswith(DELETED))
                yield from filter(_is_crawl, inner)

    def _read(self, folder: Path) -> Crawl:
        written, excluded = _written(folder), folder.parent / EXCLUSIONS
        stamp = tuple(map(_stamp, (_definition(folder), folder / TOMBSTONES, written, excluded)))
        with self._lock:
            kept = self._known.get(folder)
            if kept is None or kept[0] != stamp:
                icd = _as_described(_read_definition(folder), written)
                admission = Admission(icd, TakenDown.of(folder), _exclusions(folder))
                kept = self._known[folder] = stamp, Crawl(folder, icd, admission, number(folder))
        return kept[1]


def _exclusions(folder: Path) -> Exclusions:
    """Return the exclusions for a crawl; none if the file cannot be read, since no crawl can start then."""
    try:
        return Exclusions.of(folder)
    except DamageError as error:
        _logger.warning("%s", error)
        return Exclusions()


def _is_crawl(folder: Path) -> bool:
    """Return whether a folder is that of a crawl that has begun, or was created and never started."""
    return _definition(folder).is_file()


def _definition(folder: Path) -> Path:
    """Return the file with a crawl's definition: its ``icd.json``, or the one it was created with if it never began."""
    begun = folder / DEFINITION
    return begun if begun.is_file() else folder / CREATED


def _read_definition(folder: Path) -> Icd:
    if (folder / DEFINITION).is_file():
        return read_definition(folder / DEFINITION)
    return Icd.load(folder / CREATED).model_copy(update={"output": folder})


def _written(folder: Path) -> Path:
    """Return the definition file of a crawl that people edit."""
    found = last_start(folder)
    return found.file if found is not None else folder / CREATED


def _as_described(icd: Icd, file: Path) -> Icd:
    """Return a definition with title and description from its edited file, as a crawl does not depend on these."""
    try:
        with file.open("rb") as opened:
            text = opened.read(MAX_BYTES).decode()
    except (OSError, UnicodeDecodeError):
        return icd
    now = checked_definition(text).icd
    if now is None or now.id != icd.id:
        return icd
    return icd.model_copy(update={"title": now.title, "metadata": now.metadata})


def _stamp(path: Path) -> tuple[int, int]:
    """Return values by which a change of a file is noticed; zeros if it does not exist."""
    try:
        stat = path.stat()
    except FileNotFoundError:
        return 0, 0
    return stat.st_mtime_ns, stat.st_ino
