"""The definition of a crawl as it is written: found, changed with its comments kept, and put back whole."""

import difflib
import os
import tempfile
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import closing, contextmanager
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from typing import Final

from pydantic import JsonValue

from aahcrawler.crawls import Started, running_process, started
from aahcrawler.definition_bundle import unpacked
from aahcrawler.frontier.protocol import FrontierUnavailableError
from aahcrawler.frontier.redis.registry import RedisRegistry
from aahcrawler.frontier.registry import Definition, Registry, RegistryError, UnknownCrawlError
from aahcrawler.layout import CREATED
from aahcrawler.service.catalog.crawl_catalog import Crawl
from aahcrawler.service.catalog.crawl_registry import CrawlRegistry
from aahcrawler.service.web.problems import BAD_DEFINITION, CONFLICT, UNAVAILABLE, MistakeView, ProblemError
from online_analysis.icd import Icd, IcdError
from online_analysis.icd.editing import edited
from online_analysis.icd.text_check import checked

MAX_MISTAKES: Final = 100
_UNKNOWN = (
    "this service does not know the file of its definition: start the crawl with `aah crawl FILE` once on this machine"
)


@dataclass(frozen=True, slots=True)
class HeldDefinition:
    """A definition as it is written. ``file`` is None where a shared server holds it, with ``others``, its files.

    ``started`` says how the crawl of a file was started last, None where it never was.
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
    """A change of a definition's text that is not in force: the text and what it means, before and after."""

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
        """Return the definition of a crawl: of the file that it runs by, or else of the shared server.

        Raise ``ProblemError`` where none is known, or where it is not that of this crawl any more.
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
        """Write what ``rewritten`` returns. Of two that change different fields at once both hold."""
        with self._lock:
            made = self.rewritten(crawl, changes)
            self._write(crawl, made)
            return made

    def replace(self, crawl: Crawl, text: str, digest: str, check: Callable[[Icd, Icd], None]) -> Rewriting:
        """Write another text. Raise ``ProblemError`` where the one before is not that with the digest any more.

        ``check`` is given what is wanted and what was before, and may raise to prevent it.
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
            icd = unpacked(definition, crawl.icd.output)
        except (UnicodeDecodeError, IcdError) as error:
            raise ProblemError(CONFLICT, f"the definition on the server cannot be read: {error}") from None
        return HeldDefinition(text, icd, None, None, definition.files)


def definition_file(crawl: Crawl) -> tuple[Path, Started | None] | None:
    """Return the file of a crawl's definition, and how the crawl was started last; None where no file is known."""
    if crawl.folder is None:
        return None
    found = started(crawl.folder)
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
    """Return what a text defines, without looking at anything that it names on this machine. Raise ``IcdError``."""
    found = checked(text)
    if found.icd is None:
        raise IcdError(list(found.mistakes))
    return found.icd


def _meaning(held: HeldDefinition, text: str) -> Icd:
    """Return what a changed text means. It may name no file that the former one did not. Raise ``IcdError``."""
    if held.file is None:
        return unpacked(Definition(text.encode(), held.others or {}), held.icd.output)
    folder, allowed = held.file.parent, frozenset(held.icd.file_names)
    archives = frozenset(path for source in held.icd.captures.sources for path in source.archive)

    def place(name: str) -> Path:
        found = folder / name
        return found if name in allowed or str(found.absolute()) in archives else folder / "missing" / "file"

    return Icd.parse(text.encode(), held.file, place=place)


def _write_file(file: Path, before: str, text: str) -> None:
    """Replace a file whole, unless somebody has changed it meanwhile; a link stays one."""
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
