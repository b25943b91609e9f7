"""Collections: named sets of crawls and imports, each a small file beside their folders that people may write, too.

``floods.collection.yaml`` in the folder of crawls is the collection ``floods``. It names folders of crawls and owns
none of them: what is done to a collection never changes a crawl.
"""

import io
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path, PurePosixPath
from typing import Annotated, Any, Final, Self

from pydantic import AfterValidator, Field, ValidationError
from ruamel.yaml import YAML
from ruamel.yaml.error import YAMLError
from ruamel.yaml.events import AliasEvent

from aahcrawler.archive.index import alone_in
from aahcrawler.layout import CREATED, DEFINITION, EXPORTS
from aahcrawler.tombstones import replace_durably
from online_analysis.icd.definition import Lines, Metadata
from online_analysis.icd.explanations import in_words
from online_analysis.icd.mistakes import refuse

EXTENSION: Final = ".collection.yaml"
MAX_BYTES: Final = 1 << 20
"""Bytes of a collection's file; a longer one is none."""
MAX_CRAWLS: Final = 10_000
_NAME: Final = re.compile(r"[a-z0-9][a-z0-9._-]{0,63}")
_MOMENT: Final = r"\d{4}(-(0[1-9]|1[0-2])(-(0[1-9]|[12]\d|3[01]))?)?"
_DATE: Final = re.compile(rf"{_MOMENT}(/({_MOMENT})?)?", re.ASCII)
LISTS: Final = ("creator", "contributor", "publisher", "subject", "language", "rights", "coverage")
"""The terms that may have several values, in the order in which they are shown."""
TERMS: Final = ("title", "description", *LISTS, "date")


class CollectionError(Exception):
    """Raised where a collection is not what it should be, or cannot be written; the message tells cause and remedy."""


def _dated(text: str) -> str:
    if text and not _DATE.fullmatch(text):
        raise refuse(
            "is no date", "write a year, a month or a day, or two of them: 2024, 2024-05, 2024-05-01/2024-06-30"
        )
    return text


def _within(name: str) -> str:
    path = PurePosixPath(name)
    if path.is_absolute() or ".." in path.parts or not path.parts or any(not sign.isprintable() for sign in name):
        raise refuse(
            f"{name[:80]!r} is no folder beside the collection", "write the name of a folder that lies beside this file"
        )
    return str(path)


Folder = Annotated[str, Field(max_length=300), AfterValidator(_within)]


class Collection(Metadata):
    """What a collection is called and described by, in terms of Dublin Core (ISO 15836-2), and its ``crawls``.

    These are names of folders, as they lie beside the collection's file, in the order in which they were added.
    """

    title: Annotated[str, Field(min_length=1, max_length=1000)]
    contributor: Lines = ()
    date: Annotated[str, AfterValidator(_dated)] = ""
    crawls: Annotated[tuple[Folder, ...], Field(max_length=MAX_CRAWLS)] = ()

    def terms(self) -> Iterator[tuple[str, str]]:
        """Yield the name of each term but the title with each of its values."""
        if self.description:
            yield "description", self.description
        for name in LISTS:
            yield from ((name, value) for value in getattr(self, name))
        if self.date:
            yield "date", self.date


class CollectionFile:
    """The file of a collection. ``name`` is that of the collection, ``place`` the folder of crawls that it lies in."""

    def __init__(self, path: Path) -> None:
        """Take the path of the file, or the same without its extension. Raises ``CollectionError`` for other names."""
        named = path.name.removesuffix(EXTENSION)
        if not _NAME.fullmatch(named):
            advice = "write up to 64 small letters, digits, dots, dashes and lines, such as crawls/floods"
            raise CollectionError(f"{path}: cannot be a collection's name; {advice}")
        self.name, self.place = named, path.parent
        self.path = path.with_name(named + EXTENSION)

    @classmethod
    def named(cls, path: Path) -> Self | None:
        """Return the collection that a path names, with its extension or without; None for one that names another.

        A folder of the same name comes first. Raises ``CollectionError`` for an extension behind what is no name.
        """
        if path.name.endswith(EXTENSION):
            return cls(path)
        if not _NAME.fullmatch(path.name) or path.exists() or not path.with_name(path.name + EXTENSION).is_file():
            return None
        return cls(path)

    @classmethod
    def all_in(cls, place: Path) -> Sequence[Self]:
        """Return the collections in a folder of crawls, in the order of their names."""
        named = (path for path in place.glob(f"*{EXTENSION}") if _NAME.fullmatch(path.name.removesuffix(EXTENSION)))
        return [cls(path) for path in sorted(named)]

    def read(self) -> Collection:
        """Return the collection. Raises ``CollectionError`` with each mistake on a line."""
        return self._validated(self._loaded())

    def folder(self, crawl: str) -> Path:
        """Return the folder of a crawl that the collection names."""
        return self.place / crawl

    def missing(self, collection: Collection) -> Sequence[str]:
        """Return the crawls that are gone: no folder of a crawl has their name."""
        return [crawl for crawl in collection.crawls if not is_crawl(self.folder(crawl))]

    def create(self, collection: Collection) -> None:
        """Write a new collection. Raises ``CollectionError`` where there is one, or it cannot be written."""
        if not self.place.is_dir():
            raise CollectionError(f"{self.path}: there is no folder {self.place}; name a folder that holds crawls")
        with self._alone():
            if self.path.exists():
                raise CollectionError(f"{self.path}: exists; aah collection add adds crawls to it")
            self._write(_said(collection))

    def change(self, changes: Mapping[str, Any]) -> Collection:
        """Change fields, those that become empty are taken out; return the collection. Comments in the file stay.

        Raises ``CollectionError``; the file is then as it was.
        """
        return self._rewrite(lambda _: changes)

    def check(self, crawls: Sequence[Path]) -> Sequence[str]:
        """Return how folders of crawls are named here. Raises ``CollectionError`` for what cannot be in it."""
        for crawl in crawls:
            if not is_crawl(crawl):
                raise CollectionError(f"{crawl}: is no folder of a crawl or import; aah import makes one of archives")
        return [self._name_of(crawl) for crawl in crawls]

    def add(self, crawls: Sequence[Path]) -> Sequence[str]:
        """Add the folders of crawls; return the names of those that were not in it. Raises ``CollectionError``."""
        names = self.check(crawls)
        added: list[str] = []

        def more(collection: Collection) -> Mapping[str, Any]:
            added.extend(name for name in dict.fromkeys(names) if name not in collection.crawls)
            return {"crawls": [*collection.crawls, *added]}

        self._rewrite(more)
        return added

    def remove(self, crawls: Sequence[Path]) -> None:
        """Take crawls out of the collection, and do nothing to them. Raises ``CollectionError`` for others."""
        names = [self._name_of(crawl) for crawl in crawls]

        def less(collection: Collection) -> Mapping[str, Any]:
            for name in names:
                if name not in collection.crawls:
                    raise CollectionError(
                        f"{self.path}: {name} is not in it; it has {', '.join(collection.crawls) or 'none'}"
                    )
            return {"crawls": [name for name in collection.crawls if name not in names]}

        self._rewrite(less)

    def delete(self) -> None:
        """Delete the file, and no crawl. Raises ``CollectionError``."""
        try:
            with self._alone():
                self.path.unlink()
        except OSError as error:
            raise CollectionError(f"{self.path}: cannot be deleted ({error.strerror})") from error

    def _name_of(self, crawl: Path) -> str:
        """Return how a folder is named from beside the file: a crawl that lies elsewhere cannot be."""
        try:
            name = crawl.resolve().relative_to(self.place.resolve()).as_posix()
        except ValueError:
            advice = f"a collection names folders beside it, in {self.place}"
            raise CollectionError(f"{crawl}: lies elsewhere; {advice}") from None
        if name == ".":
            raise CollectionError(f"{crawl}: is the folder of the collection itself; name crawls in it")
        return name

    def _rewrite(self, changes: Callable[[Collection], Mapping[str, Any]]) -> Collection:
        with self._alone():
            said = self._loaded()
            for name, value in changes(self._validated(said)).items():
                if value or name == "title":
                    said[name] = list(value) if isinstance(value, list | tuple) else value
                else:
                    said.pop(name, None)
            made = self._validated(said)
            self._write(said)
        return made

    def _loaded(self) -> Any:
        try:
            with self.path.open("rb") as file:
                content = file.read(MAX_BYTES + 1)
            if len(content) > MAX_BYTES:
                raise CollectionError(f"{self.path}: has more than {MAX_BYTES:,} bytes; no collection is that long")
            text = content.decode("utf-8-sig")
            # A few lines that refer to one another can stand for more values than any memory holds.
            if any(isinstance(event, AliasEvent) for event in _yaml().parse(text)):
                raise CollectionError(f"{self.path}: refers to another place of itself (*); write out what is meant")
            said = _yaml().load(text)
        except FileNotFoundError:
            raise CollectionError(f"{self.path}: there is no such collection; aah collection create makes it") from None
        except (OSError, UnicodeDecodeError, YAMLError, ValueError, RecursionError) as error:
            told = " ".join(str(error).split())[:300]
            raise CollectionError(f"{self.path}: cannot be read as YAML ({told}); mend it, or restore it") from error
        if not isinstance(said, dict):
            raise CollectionError(f"{self.path}: is no list of fields; begin with: title: What it is called")
        return said

    def _validated(self, said: Any) -> Collection:
        try:
            return Collection.model_validate(_plain(said))
        except ValidationError as error:
            raise CollectionError("\n".join(f"{self.path}: {line}" for line in mistakes(error))) from error

    def _write(self, said: Any) -> None:
        text = io.StringIO()
        _yaml().dump(said, text)
        try:
            replace_durably(self.path, text.getvalue().encode())
        except OSError as error:
            raise CollectionError(f"{self.path}: cannot be written ({error.strerror or error})") from error

    @contextmanager
    def _alone(self) -> Iterator[None]:
        """Wait until nobody else changes collections in the folder, and keep the others from it."""
        with ExitStack() as held:
            try:
                held.enter_context(alone_in(self.place))
            except OSError as error:
                raise CollectionError(
                    f"{self.place}: cannot be opened ({error.strerror}); name a folder of crawls"
                ) from error
            yield


def packages_with(crawl: Path) -> Iterator[Path]:
    """Yield the packages that a cockpit has made of a crawl's folder, and of the collections that it is in.

    A collection that cannot be read counts as one.
    """
    yield from (crawl / EXPORTS).glob("*")
    folder = crawl.resolve()
    for file in CollectionFile.all_in(folder.parent):
        try:
            is_in = any(file.folder(name).resolve() == folder for name in file.read().crawls)
        except CollectionError:
            is_in = True
        if is_in:
            yield from (file.place / EXPORTS).glob(f"{file.name}.*")


def is_crawl(folder: Path) -> bool:
    """Return whether a folder is that of a crawl or an import, or of a crawl that was created and never started."""
    try:
        return (folder / DEFINITION).is_file() or (folder / CREATED).is_file()
    except OSError:  # The name is longer than any folder's may be.
        return False


def mistakes(error: ValidationError) -> Iterator[str]:
    """Yield what is wrong with each field of a collection, and what to write."""
    for each in error.errors(include_url=False, include_input=False):
        if each["type"] == "extra_forbidden":
            where = ".".join(map(str, each["loc"]))
            yield f"{where}: is no field of a collection; it has {', '.join((*TERMS, 'crawls'))}"
        else:
            yield in_words(each)


def _said(collection: Collection) -> dict[str, Any]:
    fields = ((name, getattr(collection, name)) for name in (*TERMS, "crawls"))
    return {name: list(value) if isinstance(value, tuple) else value for name, value in fields if value}


def _plain(said: Any) -> Any:
    """Return what YAML gave as plain values: dates as they are written, sequences as lists."""
    if isinstance(said, dict):
        return {str(name): _plain(value) for name, value in said.items()}
    if isinstance(said, list):
        return [_plain(value) for value in said]
    return said if isinstance(said, str) or said is None else str(said)


def _yaml() -> YAML:
    yaml = YAML()
    yaml.preserve_quotes = True
    yaml.width = 100
    yaml.allow_unicode = True
    return yaml
