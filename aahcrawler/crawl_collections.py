"""Collections: named sets of crawls and imports, each kept in a small YAML file that people may edit.

``floods.collection.yaml`` in the folder of crawls is the collection ``floods``. It lists the folders of its crawls
but does not own them: no change of a collection changes a crawl.
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
    """The file of a collection is invalid, or cannot be read or written; the message tells cause and remedy."""


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
    """A collection: its description in terms of Dublin Core (ISO 15836-2), and its ``crawls``.

    ``crawls`` are folder names relative to the folder of the collection's file, in the order in which they were added.
    """

    title: Annotated[str, Field(min_length=1, max_length=1000)]
    contributor: Lines = ()
    date: Annotated[str, AfterValidator(_dated)] = ""
    crawls: Annotated[tuple[Folder, ...], Field(max_length=MAX_CRAWLS)] = ()

    def terms(self) -> Iterator[tuple[str, str]]:
        """Yield each value of each term except the title, as a pair of term name and value."""
        if self.description:
            yield "description", self.description
        for name in LISTS:
            yield from ((name, value) for value in getattr(self, name))
        if self.date:
            yield "date", self.date


class CollectionFile:
    """The file of a collection.

    ``name`` is the collection's name, ``place`` the folder that holds the file and the crawls.
    """

    def __init__(self, path: Path) -> None:
        """Take the path of the file, with or without its extension.

        Raise ``CollectionError`` if the name is not allowed.
        """
        named = path.name.removesuffix(EXTENSION)
        if not _NAME.fullmatch(named):
            advice = "write up to 64 small letters, digits, dots, dashes and lines, such as crawls/floods"
            raise CollectionError(f"{path}: cannot be a collection's name; {advice}")
        self.name, self.place = named, path.parent
        self.path = path.with_name(named + EXTENSION)

    @classmethod
    def named(cls, path: Path) -> Self | None:
        """Return the collection at a path, given with or without the extension; None if the path is no collection's.

        Without the extension, a file or folder of exactly this name takes precedence over the collection. Raise
        ``CollectionError`` for a path with the extension whose name is not allowed.
        """
        if path.name.endswith(EXTENSION):
            return cls(path)
        if not _NAME.fullmatch(path.name) or path.exists() or not path.with_name(path.name + EXTENSION).is_file():
            return None
        return cls(path)

    @classmethod
    def all_in(cls, place: Path) -> Sequence[Self]:
        """Return the collections in a folder of crawls, sorted by name."""
        named = (path for path in place.glob(f"*{EXTENSION}") if _NAME.fullmatch(path.name.removesuffix(EXTENSION)))
        return [cls(path) for path in sorted(named)]

    def read(self) -> Collection:
        """Read and validate the file. Raise ``CollectionError``, with a line for each mistake."""
        return self._validated(self._loaded())

    def folder(self, crawl: str) -> Path:
        """Return the folder of a crawl that the collection names."""
        return self.place / crawl

    def missing(self, collection: Collection) -> Sequence[str]:
        """Return the names of those crawls of the collection that have no folder any more."""
        return [crawl for crawl in collection.crawls if not is_crawl(self.folder(crawl))]

    def create(self, collection: Collection) -> None:
        """Write a new collection. Raise ``CollectionError`` if the file exists already or cannot be written."""
        if not self.place.is_dir():
            raise CollectionError(f"{self.path}: there is no folder {self.place}; name a folder that holds crawls")
        with self._alone():
            if self.path.exists():
                raise CollectionError(f"{self.path}: exists; aah collection add adds crawls to it")
            self._write(_said(collection))

    def change(self, changes: Mapping[str, Any]) -> Collection:
        """Set fields in the file and return the changed collection; a field that is set to an empty value is removed.

        Comments in the file are kept. Raise ``CollectionError``; the file is then unchanged.
        """
        return self._rewrite(lambda _: changes)

    def check(self, crawls: Sequence[Path]) -> Sequence[str]:
        """Return the names by which the collection would list these folders of crawls.

        Raise ``CollectionError`` for a folder that holds no crawl or does not lie beside the file.
        """
        for crawl in crawls:
            if not is_crawl(crawl):
                raise CollectionError(f"{crawl}: is no folder of a crawl or import; aah import makes one of archives")
        return [self._name_of(crawl) for crawl in crawls]

    def add(self, crawls: Sequence[Path]) -> Sequence[str]:
        """Add folders of crawls; return the names of those that were not listed before. Raise as ``check`` does."""
        names = self.check(crawls)
        added: list[str] = []

        def more(collection: Collection) -> Mapping[str, Any]:
            added.extend(name for name in dict.fromkeys(names) if name not in collection.crawls)
            return {"crawls": [*collection.crawls, *added]}

        self._rewrite(more)
        return added

    def remove(self, crawls: Sequence[Path]) -> None:
        """Take crawls out of the collection; their folders are left alone.

        Raise ``CollectionError`` if one is not listed.
        """
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
        """Delete the collection's file; no crawl is touched. Raise ``CollectionError`` if that fails."""
        try:
            with self._alone():
                self.path.unlink()
        except OSError as error:
            raise CollectionError(f"{self.path}: cannot be deleted ({error.strerror})") from error

    def _name_of(self, crawl: Path) -> str:
        """Return a folder's path relative to the collection's file.

        Raise ``CollectionError`` unless it lies beside the file.
        """
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
        """Hold the lock under which collections in this folder are changed; wait until it is free."""
        with ExitStack() as held:
            try:
                held.enter_context(alone_in(self.place))
            except OSError as error:
                raise CollectionError(
                    f"{self.place}: cannot be opened ({error.strerror}); name a folder of crawls"
                ) from error
            yield


def packages_with(crawl: Path) -> Iterator[Path]:
    """Yield the export packages, made by a cockpit, that may contain pages of a crawl.

    These are the packages of the crawl itself and of each collection that lists it. A collection whose file cannot be
    read is taken to list it.
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
    """Return whether a folder is that of a crawl, also one that was created but never started, or of an import."""
    try:
        return (folder / DEFINITION).is_file() or (folder / CREATED).is_file()
    except OSError:  # The name is longer than any folder's may be.
        return False


def mistakes(error: ValidationError) -> Iterator[str]:
    """Yield a line for each mistake that validation found in a collection's file, with what to write instead."""
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
    """Return parsed YAML as plain Python values: lists, dictionaries and strings; dates stay as they are written."""
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
