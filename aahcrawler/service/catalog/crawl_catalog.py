"""The crawls that a service knows, found anew in their folders for each request, and the URLs that each would take."""

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
from aahcrawler.crawls import frontier_name, is_import, number, started
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
    """The reasons for which a URL cannot be crawled."""

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
    """The rules of one definition. Names are not looked up: a name's IP address is judged when it is fetched."""

    def __init__(self, icd: Icd, taken_down: TakenDown | None = None, exclusions: Exclusions | None = None) -> None:
        self._scope = Scope(icd, taken_down=taken_down, exclusions=exclusions)
        self._addresses = IpPolicy(
            allow_private=icd.network.allow_private,
            resolve={host: str(endpoint) for host, endpoint in icd.network.resolve.items()},
        )
        self._is_private = lru_cache(_HOSTS)(self._judge_authority)

    def target(self, text: str) -> Target | Fault:
        """Return the crawl's form of a URL, or the reason why it has none."""
        url = self._scope.spelling.url(text)
        if url is None:
            return Fault.TOO_LONG if len(text) > urls.MAX_LENGTH else Fault.URL
        queue = urls.queue_of(url)
        return Target(url, queue) if 0 < len(queue.encode()) <= 255 else Fault.URL

    def refusal(self, target: Target) -> str | None:
        """Return why the crawl does not fetch a URL, as ``Scope.admit`` does, or ``PRIVATE``; None when it may."""
        refused = self._scope.admit(ExternalUrl(target.url, target.queue, path=self.path(target)))
        if refused is not None:
            return str(refused)
        return PRIVATE if self._is_private(target.url.split("/", 3)[2]) else None

    def path(self, target: Target) -> str:
        """Return the hops that lead to a posted URL: one, from outside."""
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
    """A crawl that has begun, was created or was submitted: its definition, its rules of admission, and its number.

    ``folder`` is None where this machine has none of it. ``registered`` is what a shared server says of its end, empty
    where it says that the crawl goes on, None where it knows nothing of the crawl.
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
        """Whether it was ever started, as far as this machine knows; one that was only created was not."""
        return self.folder is None or (self.folder / DEFINITION).is_file()

    @property
    def argument(self) -> str:
        """Its folder as commands take it where this process was started, quoted for a shell.

        It is ``FOLDER`` where this machine has none of it.
        """
        return "FOLDER" if self.folder is None else argument_of(self.folder)

    @property
    def definition_argument(self) -> str:
        """The file in which somebody writes its definition, as ``argument`` is; ``FILE`` where that is not known."""
        file = None if self.folder is None else _written(self.folder)
        return "FILE" if file is None or not file.is_file() else argument_of(file)

    def own_server(self) -> str | None:
        """Return the URL of the server that the crawl itself started, None where it is not running with one."""
        return None if self.folder is None else served_at(self.folder / FRONTIER)

    def of_server(self, number: int, ending: str, folder: Path | None) -> "Crawl":
        """Return the crawl as a shared server knows it."""
        return replace(self, number=number, registered=ending, folder=folder)

    def ending(self) -> str:
        """Return the reason why the crawl is over, empty while it is not: it would begin anew with an empty queue."""
        if self.registered is not None or self.folder is None:
            return self.registered or ""
        try:
            told = json.loads((self.folder / SUMMARY).read_text("utf-8"))
            state, reason = str(told["state"]), str(told["reason"])
        except (OSError, ValueError, KeyError, TypeError, RecursionError):
            return ""
        return reason if state == "finished" or (state == "stopped" and reason.startswith("limits.")) else ""


def argument_of(path: Path) -> str:
    """Return a path as commands take it where this process was started, quoted for a shell.

    >>> argument_of(Path.cwd() / "crawls" / "the dikes"), argument_of(Path("/a/b"))
    ("'crawls/the dikes'", '/a/b')
    """
    here = Path.cwd()
    named = str(path.relative_to(here) if path.is_relative_to(here) else path)
    return shlex.quote(f"./{named}" if named.startswith("-") else named)


class Catalog:
    """Crawls by id. A place is the folder of a crawl, or one in which such folders lie side by side.

    Of several crawls with one id the first is taken, in the order of the places and then of names.
    """

    def __init__(self, places: Sequence[Path]) -> None:
        # Crawls are started in other working folders, to which a relative path would mean another place.
        self._places = tuple(place.absolute() for place in places)
        self._known: dict[Path, tuple[_Stamps, Crawl]] = {}
        self._logged: frozenset[str] = frozenset()
        self._lock = threading.Lock()

    def crawls(self) -> tuple[Crawl, ...]:
        """Return every crawl that has begun. What is passed over is logged once."""
        found, passed_over = self._found()
        for said in sorted({*passed_over} - self._logged):
            _logger.warning("%s", said)
        self._logged = frozenset(passed_over)
        return found

    def passed_over(self) -> tuple[str, ...]:
        """Return why folders of crawls are not shown, a line each: another one has the id, or they cannot be read."""
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
        """Return the crawl of an id, None where none has begun."""
        return next((crawl for crawl in self.crawls() if crawl.id == name), None)

    def folder_of(self, name: str) -> Path | None:
        """Return the folder of the crawl of an id, None where there is none here."""
        found = self.crawl(name)
        return None if found is None else found.folder

    def place_for_new(self) -> Path | None:
        """Return the folder in which new crawls get folders of their own, None where all places are single crawls."""
        return next((place for place in self._places if place.is_dir() and not _is_crawl(place)), None)

    def deleted(self) -> Iterator[Path]:
        """Yield the folders, beside those of crawls, that somebody had begun to delete."""
        holds = [place.is_dir() and not _is_crawl(place) for place in self._places]
        parents = (place if held else place.parent for place, held in zip(self._places, holds, strict=True))
        for parent in dict.fromkeys(parents):
            if parent.is_dir():
                yield from (each for each in parent.iterdir() if each.name.startswith(DELETED) and each.is_dir())

    def service_log(self) -> Path | None:
        """Return the file in which acts are noted: beside the crawls, None where no place is known."""
        place = self.place_for_new() or next((place.parent for place in self._places), None)
        return None if place is None else place / SERVICE_LOG

    def close(self) -> None:
        """Let go of nothing: folders are read anew each time."""

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
    """Return what holds for a crawl; nothing where the file cannot be read, since no crawl starts then anyway."""
    try:
        return Exclusions.of(folder)
    except DamageError as error:
        _logger.warning("%s", error)
        return Exclusions()


def _is_crawl(folder: Path) -> bool:
    """Return whether a folder is that of a crawl that has begun, or was created and never started."""
    return _definition(folder).is_file()


def _definition(folder: Path) -> Path:
    """Return the file that says what a crawl goes by; where it never began, the one that it was created with."""
    begun = folder / DEFINITION
    return begun if begun.is_file() else folder / CREATED


def _read_definition(folder: Path) -> Icd:
    if (folder / DEFINITION).is_file():
        return read_definition(folder / DEFINITION)
    return Icd.load(folder / CREATED).model_copy(update={"output": folder})


def _written(folder: Path) -> Path:
    """Return the file in which somebody writes the definition of a crawl."""
    found = started(folder)
    return found.file if found is not None else folder / CREATED


def _as_described(icd: Icd, file: Path) -> Icd:
    """Return a definition with title and description as its file has them by now: no crawl acts on them."""
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
    """Return what changes with a file; zeros where there is none."""
    try:
        stat = path.stat()
    except FileNotFoundError:
        return 0, 0
    return stat.st_mtime_ns, stat.st_ino
