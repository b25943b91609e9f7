"""The definition of a crawl as it is written: found, changed with its comments kept, and put back whole.

The former are its secrets and files, and where they are sent; the latter widen what a crawl reaches, keeps, or shows to
whoever may read it.
"""

import difflib
import os
import tempfile
import threading
from collections.abc import Callable, Iterator, Mapping, Set
from contextlib import closing, contextmanager
from dataclasses import dataclass
from hashlib import sha256
from ipaddress import IPv4Network, IPv6Network
from pathlib import Path
from typing import Final

from pydantic import JsonValue

from aahcrawler.crawls import Started, last_start, running_process
from aahcrawler.definition_bundle import unpack_definition
from aahcrawler.frontier.protocol import FrontierUnavailableError
from aahcrawler.frontier.redis.registry import RedisRegistry
from aahcrawler.frontier.registry import Definition, Registry, RegistryError, UnknownCrawlError
from aahcrawler.layout import CREATED
from aahcrawler.service.catalog.crawl_catalog import Crawl
from aahcrawler.service.catalog.crawl_registry import CrawlRegistry
from aahcrawler.service.web.problems import BAD_DEFINITION, CONFLICT, UNAVAILABLE, MistakeView, ProblemError
from aahcrawler.service.web.roles import Caller, Role, checked
from online_analysis.icd import Icd, IcdError
from online_analysis.icd.editing import edited
from online_analysis.icd.text_check import checked_definition

MAX_MISTAKES: Final = 100
_UNKNOWN = (
    "this service does not know the file of its definition: start the crawl with `aah crawl FILE` once on this machine"
)


@dataclass(frozen=True, slots=True)
class HeldDefinition:
    """The text of a definition. ``file`` is None if a shared server holds it, with its files in ``others``.

    ``started`` says how the crawl of the file was last started, None if it never was.
    """

    text: str
    icd: Icd
    file: Path | None
    started: Started | None = None
    others: Mapping[str, bytes] | None = None

    @property
    def digest(self) -> str:
        """A digest of the text, by which two versions of it are told apart."""
        return digest_of(self.text)


@dataclass(frozen=True, slots=True)
class Rewriting:
    """A change of a definition's text: text and meaning before and after."""

    before: HeldDefinition
    text: str
    icd: Icd

    @property
    def digest(self) -> str:
        """A digest of the changed text."""
        return digest_of(self.text)

    def diff(self) -> tuple[str, ...]:
        """Return the lines that differ, as ``diff -u`` does."""
        lines = self.before.text.splitlines(), self.text.splitlines()
        return tuple(difflib.unified_diff(*lines, "before", "after", lineterm="", n=2))


def digest_of(text: str) -> str:
    """Return a digest of a text."""
    return sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


class HeldDefinitions:
    """Reads and writes the definitions of crawls. It may be used by several threads at once."""

    def __init__(self, reach: CrawlRegistry) -> None:
        self._reach = reach
        self._lock = threading.Lock()

    def read(self, crawl: Crawl) -> HeldDefinition:
        """Return the definition of a crawl: the file from which it runs, or else that of the shared server.

        Raise ``ProblemError`` if none is known, or if the file now defines another crawl.
        """
        is_shared = crawl.registered is not None and running_process(crawl.folder) is None
        return self._registered(crawl) if is_shared else _in_file(crawl)

    def rewritten(self, crawl: Crawl, changes: Mapping[str, JsonValue]) -> Rewriting:
        """Return the text with fields set to values, None removing one; nothing is written.

        Raise ``ProblemError`` with every mistake that the outcome has.
        """
        held = self.read(crawl)
        with _mistakes_told(f"{crawl.id} would have mistakes"):
            try:
                text = edited(held.text, changes)
            except (TypeError, ValueError) as error:
                raise ProblemError(BAD_DEFINITION, f"{', '.join(changes)[:500]}: {error}") from None
            return Rewriting(held, text, _meaning(held, text))

    def rewrite(self, crawl: Crawl, changes: Mapping[str, JsonValue]) -> Rewriting:
        """Write what ``rewritten`` returns. Two concurrent calls that change different fields both take effect."""
        with self._lock:
            made = self.rewritten(crawl, changes)
            self._write(crawl, made)
            return made

    def replace(self, crawl: Crawl, text: str, digest: str, check: Callable[[Icd, Icd], None]) -> Rewriting:
        """Write another text. Raise ``ProblemError`` if the present text does not have this digest.

        ``check`` is called with the new and the old definition, and may raise to prevent the change.
        """
        with self._lock:
            held = self.read(crawl)
            if digest != held.digest:
                raise ProblemError(CONFLICT, "somebody has changed the definition since you read it; read it again")
            with _mistakes_told("the definition has mistakes"):
                # Before anything that it names on this machine is looked at.
                check(unread(text), unread(held.text))
                made = Rewriting(held, text, _meaning(held, text))
            if made.icd.id != crawl.id:
                raise ProblemError(CONFLICT, f"the id is {made.icd.id!r}; another id is another crawl: create that one")
            if made.icd.output != held.icd.output:
                raise ProblemError(
                    CONFLICT, "output stays as it is: it says where on this machine the crawl's folder is"
                )
            check(made.icd, held.icd)
            self._write(crawl, made)
            return made

    def _write(self, crawl: Crawl, made: Rewriting) -> None:
        if made.text == made.before.text:
            return
        if made.before.file is not None:
            _write_file(made.before.file, made.before.text, made.text)
            return
        with registry_of(self._reach) as registry:
            definition = Definition(made.text.encode(), made.before.others or {})
            registry.submit(crawl.id, definition, title=made.icd.title)

    def _registered(self, crawl: Crawl) -> HeldDefinition:
        with registry_of(self._reach) as registry:
            try:
                _, definition = registry.definition(crawl.id)
            except UnknownCrawlError as error:
                raise ProblemError(CONFLICT, str(error)) from None
        try:
            text = definition.text.decode()
            icd = unpack_definition(definition, crawl.icd.output)
        except (UnicodeDecodeError, IcdError) as error:
            raise ProblemError(CONFLICT, f"the definition on the server cannot be read: {error}") from None
        return HeldDefinition(text, icd, None, None, definition.files)


def definition_file(crawl: Crawl) -> tuple[Path, Started | None] | None:
    """Return the file of a crawl's definition, and how the crawl was last started; None if no file is known."""
    if crawl.folder is None:
        return None
    found = last_start(crawl.folder)
    if found is not None:
        return found.file, found
    created = crawl.folder / CREATED
    return (created, None) if created.is_file() else None


@contextmanager
def registry_of(reach: CrawlRegistry) -> Iterator[Registry]:
    """Lend the registry of the shared server. Raise ``ProblemError`` where it cannot be asked."""
    try:
        with closing(RedisRegistry(reach.shared or "")) as registry:
            yield registry
    except (FrontierUnavailableError, RegistryError) as error:
        raise ProblemError(UNAVAILABLE, f"the shared server: {error}", headers={"Retry-After": "5"}) from error


def refused(error: IcdError, detail: str) -> ProblemError:
    """Return the mistakes of a definition as a problem."""
    mistakes = tuple(
        MistakeView(line=each.line, field=each.field, problem=each.problem, advice=each.advice)
        for each in error.mistakes[:MAX_MISTAKES]
    )
    first = mistakes[0]
    where = f"line {first.line}: {first.field}: " if first.field else f"line {first.line}: "
    said = f"{detail}: {where}{first.problem}; {first.advice}"
    return ProblemError(BAD_DEFINITION, " ".join(said.split()), mistakes=mistakes)


@contextmanager
def _mistakes_told(detail: str) -> Iterator[None]:
    try:
        yield
    except IcdError as error:
        raise refused(error, detail) from None


def _in_file(crawl: Crawl) -> HeldDefinition:
    found = definition_file(crawl)
    if found is None:
        raise ProblemError(CONFLICT, f"{crawl.id}: {_UNKNOWN}")
    file, how = found
    try:
        text = file.read_bytes().decode()
        icd = Icd.parse(text.encode(), file)
    except (OSError, UnicodeDecodeError) as error:
        raise ProblemError(CONFLICT, f"the definition {file.name} cannot be read: {error}; {_UNKNOWN}") from None
    except IcdError as error:
        raise refused(error, f"{file.name} has mistakes") from None
    base = how.working_folder if how is not None else Path.cwd()
    is_its = icd.id == crawl.id and crawl.folder is not None and (base / icd.output).resolve() == crawl.folder.resolve()
    if not is_its:
        raise ProblemError(CONFLICT, f"{file.name} defines another crawl now, or another output; {_UNKNOWN}")
    return HeldDefinition(text, icd, file, how)


def unread(text: str) -> Icd:
    """Parse a definition without accessing anything that it names on this machine. Raise ``IcdError``."""
    found = checked_definition(text)
    if found.icd is None:
        raise IcdError(list(found.mistakes))
    return found.icd


def _meaning(held: HeldDefinition, text: str) -> Icd:
    """Load a changed text, which may name no file that the former text did not name. Raise ``IcdError``."""
    if held.file is None:
        return unpack_definition(Definition(text.encode(), held.others or {}), held.icd.output)
    folder, allowed = held.file.parent, frozenset(held.icd.file_names)
    archives = frozenset(path for source in held.icd.captures.sources for path in source.archive)

    def place(name: str) -> Path:
        found = folder / name
        return found if name in allowed or str(found.absolute()) in archives else folder / "missing" / "file"

    return Icd.parse(text.encode(), held.file, place=place)


def _write_file(file: Path, before: str, text: str) -> None:
    """Replace a file atomically, unless it was changed meanwhile; a symbolic link is kept."""
    target = file.resolve()
    try:
        if target.read_bytes() != before.encode():
            raise ProblemError(CONFLICT, f"somebody is changing {file.name} just now; try again")
        with tempfile.NamedTemporaryFile("wb", dir=target.parent, prefix=f".{target.name}.", delete=False) as part:
            part.write(text.encode())
            part.flush()
            os.fsync(part.fileno())
        try:
            Path(part.name).chmod(target.stat().st_mode)
            Path(part.name).replace(target)
        except OSError:
            Path(part.name).unlink(missing_ok=True)
            raise
    except OSError as error:
        raise ProblemError(CONFLICT, f"{file.name} cannot be written: {error.strerror}") from error


_WHOLE: Final = frozenset({"archive.target", "scoring.entity_model", "scoring.post_to"})
_NAMES: Final = frozenset({"ca_file", "client_certificate", "client_key", "cookies_file", "env", "file"})
_ARCHIVES: Final = "archive"
"""How archives of this machine are named among the sources of captures."""
_PROBLEM = "reaches this machine's own files or secrets"
_ADVICE = "write it into the file of the definition on the machine itself, or leave it out"


def machine_fields(icd: Icd) -> Mapping[str, object]:
    """Return the fields of a definition that access this machine's own secrets, files and archives, by path."""
    found = dict(_reaching(icd.model_dump(mode="json", exclude={"output"}), ""))
    return {**found, **{f"file {name}": name for name in icd.file_names}}


def refuse_machine_fields(icd: Icd, before: Icd | None = None, own: Set[str] = frozenset()) -> None:
    """Raise ``ProblemError`` if a definition from the network accesses anything of this machine.

    Files and archives in ``own`` are allowed: they came with it, or are the service's. So is what the definition
    ``before`` accessed already; but if it names secrets, the rest of ``network`` must not change, since that determines
    to whom they are sent.
    """
    allowed = {} if before is None else machine_fields(before)
    new = [
        name
        for name, value in machine_fields(icd).items()
        if not all(each in own for each in _named(value)) and (name not in allowed or allowed[name] != value)
    ]
    if before is not None and any(name.startswith("network.") for name in allowed) and before.network != icd.network:
        new.append("network")
    if new:
        mistakes = tuple(MistakeView(line=1, field=name, problem=_PROBLEM, advice=_ADVICE) for name in new)
        raise ProblemError(BAD_DEFINITION, f"{', '.join(new)}: {_PROBLEM}; {_ADVICE}", mistakes=mistakes)


def _named(value: object) -> list[object]:
    return value if isinstance(value, list) else [value if isinstance(value, str) else None]


def _reaching(value: object, path: str) -> Iterator[tuple[str, object]]:
    name = path.rpartition(".")[2]
    if path in _WHOLE or name in _NAMES or (name == _ARCHIVES and path.startswith("captures.")):
        if value:
            yield path, value
    elif isinstance(value, dict):
        for name, inner in value.items():
            yield from _reaching(inner, f"{path}.{name}" if path else str(name))
    elif isinstance(value, list):
        for place, inner in enumerate(value):
            yield from _reaching(inner, f"{path}[{place}]")


NARROWEST: Final[Mapping[str, str]] = {
    "archive.redact": "true",
    "browser.under_login": "false",
    "network.cookies": '"off"',
    "network.cookies_file": "null",
    "politeness.nofollow": '"obey"',
    "politeness.robots": '"obey"',
}
"""Fields of which every other value than this one is wider, as JSON."""
LISTED: Final[Set[str]] = frozenset({"network.logins", "network.secrets_over_http"})
"""Lists that each new entry widens."""
LED: Final[Set[str]] = frozenset({"network.proxy", "network.hosts"})
"""Ways to hosts, of which another one shows what is sent to somebody else: taking one away does, too."""
GIVEN: Final[Set[str]] = frozenset({"network.accounts", "network.headers", "network.resolve"})
"""What is given to hosts, or leads to them, each by its host: a new or another one widens."""
PRIVATE: Final = "network.allow_private"
"""Networks that are not public: one that lies in none of those before widens."""
_DEFAULTS: Final = Icd.model_validate(
    {"id": "none", "contact": "none@example.org", "seeds": ["http://none.test/"], "topic": {"keywords": ["none"]}}
)


def widened(icd: Icd, before: Icd | None = None) -> tuple[str, ...]:
    """Return the paths of the fields that allow more than before, or more than their defaults for a new definition."""
    return tuple(sorted(set(_widened(icd, _DEFAULTS if before is None else before))))


def refuse_widening(caller: Caller, icd: Icd, before: Icd | None = None) -> None:
    """Raise ``ProblemError`` if a caller without the role ``widen`` makes a definition allow more than before."""
    if found := widened(icd, before):
        checked(caller, Role.WIDEN, f"to set {', '.join(found)} to more than before")


def _widened(icd: Icd, before: Icd) -> Iterator[str]:
    now, then = _texts(icd), _texts(before)
    yield from (path for path, least in NARROWEST.items() if now[path] not in (then[path], least))
    yield from (path for path in now.keys() | then.keys() if _is_below(path, LED) and now.get(path) != then.get(path))
    yield from (path for path, text in now.items() if _is_below(path, GIVEN) and text not in ("{}", then.get(path)))
    for path in LISTED:
        name = path.rpartition(".")[2]
        if any(entry not in getattr(before.network, name) for entry in getattr(icd.network, name)):
            yield path
    if not all(
        any(_lies_in(inner, outer) for outer in before.network.allow_private) for inner in icd.network.allow_private
    ):
        yield PRIVATE


def _texts(icd: Icd) -> Mapping[str, str]:
    return {**icd.meaning(), "archive.redact": "true" if icd.archive.redact else "false"}


def _is_below(path: str, fields: Set[str]) -> bool:
    return any(path == field or path.startswith(f"{field}.") for field in fields)


def _lies_in(inner: IPv4Network | IPv6Network, outer: IPv4Network | IPv6Network) -> bool:
    if isinstance(inner, IPv4Network):
        return isinstance(outer, IPv4Network) and inner.subnet_of(outer)
    return isinstance(outer, IPv6Network) and inner.subnet_of(outer)
