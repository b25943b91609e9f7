"""Loads the knowledge base from its XML files: completely valid, or not at all."""

import re
from collections import defaultdict
from collections.abc import Iterable, Sequence
from difflib import get_close_matches
from pathlib import Path
from typing import Self

from lxml import etree

from knowledge_base.behaviours import Behaviour
from knowledge_base.file_selection import SHIPPED, UNKNOWN_PAGES, chosen_files
from knowledge_base.model import Application, Condition, Kind, KnowledgeBase, Strength
from knowledge_base.parsing.schema_words import SchemaWords
from knowledge_base.xml_reader import Notes, Problem, check_expressions, read_application, read_kind, read_unknown_pages

FOLDER = SHIPPED
SCHEMA = FOLDER / "schema" / "knowledge-base.xsd"
LARGEST_FILE = 4 * 1024 * 1024
LONGEST_CHAIN = 20
"""Files that may extend one another in a row."""


class LoadError(Exception):
    """Files of the knowledge base are wrong; ``problems`` lists every mistake, by file and line."""

    def __init__(self, problems: Iterable[Problem]) -> None:
        self.problems = tuple(sorted(problems))
        super().__init__("\n".join(map(str, self.problems)))

    def __reduce__(self) -> tuple[type[Self], tuple[tuple[Problem, ...]]]:
        return type(self), (self.problems,)


def load(*folders: Path) -> KnowledgeBase:
    """Load ``kinds/*.xml``, ``applications/*.xml`` and ``unknown-pages.xml`` of folders, or those that ship.

    An application of a later folder replaces one of the same name. A folder without kinds uses those of the folders
    before it, or those that ship; the last ``unknown-pages.xml`` counts. Raises `LoadError` with all mistakes of all
    files; nothing is loaded then.
    """
    files = chosen_files(folders or (FOLDER,))
    try:
        knowledge_base = load_files(files.kinds, files.applications, files.unknown_pages)
    except LoadError as error:
        raise LoadError((*files.problems, *error.problems)) from error
    if files.problems:
        raise LoadError(files.problems)
    return knowledge_base


def load_files(
    kind_files: Sequence[Path], application_files: Sequence[Path], unknown_pages: Path = FOLDER / UNKNOWN_PAGES
) -> KnowledgeBase:
    """Load the given files. Raises `LoadError`."""
    schema = etree.XMLSchema(etree.parse(SCHEMA))
    problems: list[Problem] = []
    kinds: dict[str, Kind] = {}
    for file in kind_files:
        notes = Notes(file)
        root = _valid_root(file, schema, notes, "kind")
        if root is not None:
            kind = read_kind(root, notes)
            kinds[kind.name] = kind
        problems += notes.problems
    applications = _Applications(kinds)
    for file in application_files:
        notes = Notes(file)
        applications.add(_valid_root(file, schema, notes, "application"), notes)
    found = applications.read()
    general, mistakes = _general(unknown_pages, schema)
    problems += (*applications.problems, *mistakes)
    problems += _conflicts(found)
    if problems:
        raise LoadError(problems)
    return KnowledgeBase(
        tuple(sorted((application for _, application in found), key=lambda application: application.name)),
        tuple(kinds.values()),
        *general,
    )


def _general(
    file: Path, schema: etree.XMLSchema
) -> tuple[tuple[tuple[Behaviour, ...], tuple[Condition, ...]], list[Problem]]:
    notes = Notes(file)
    root = _valid_root(file, schema, notes, "unknown-pages")
    return (read_unknown_pages(root, notes) if root is not None else ((), ())), notes.problems


class _Applications:
    """Reads the files of applications, each after the one that it extends."""

    def __init__(self, kinds: dict[str, Kind]) -> None:
        self._kinds = kinds
        self._roots: list[tuple[Notes, etree._Element]] = []
        self._by_name: dict[str, tuple[Notes, etree._Element]] = {}
        self._done: dict[Path, Application | None] = {}
        self._notes: list[Notes] = []

    @property
    def problems(self) -> list[Problem]:
        """Return the problems of the files added so far."""
        return [problem for notes in self._notes for problem in notes.problems]

    def add(self, root: etree._Element | None, notes: Notes) -> None:
        """Take the root of a file, None where the schema refused it."""
        self._notes.append(notes)
        if root is not None:
            self._roots.append((notes, root))
            self._by_name.setdefault((root.get("name") or "").strip(), (notes, root))

    def read(self) -> list[tuple[Path, Application]]:
        """Read all files; an application counts only where nothing was noted."""
        found = [(notes.file, self._application(notes, root, ())) for notes, root in self._roots]
        return [(file, application) for file, application in found if application is not None]

    def _application(self, notes: Notes, root: etree._Element, chain: tuple[str, ...]) -> Application | None:
        if notes.file not in self._done:
            self._done[notes.file] = self._read(notes, root, chain)
        return self._done[notes.file]

    def _read(self, notes: Notes, root: etree._Element, chain: tuple[str, ...]) -> Application | None:
        kind = self._kinds.get(root.get("kind", ""))
        if kind is None:
            known = ", ".join(sorted(self._kinds)) or "none yet"
            notes.add(root, f"there is no file for kind {root.get('kind')}; the kinds with a file are {known}")
            return None
        extended = self._extended(notes, root, chain)
        if extended is None and root.get("extends"):
            return None
        return read_application(root, kind, notes, extended)

    def _extended(self, notes: Notes, root: etree._Element, chain: tuple[str, ...]) -> Application | None:
        name = (root.get("extends") or "").strip()
        if not name:
            return None
        if name == root.get("name") or name in chain:
            notes.add(root, f"this file extends {name}, which extends this file in turn; take one extends out")
            return None
        if len(chain) >= LONGEST_CHAIN:
            notes.add(root, f"more than {LONGEST_CHAIN} files extend one another in a row; extend the last one itself")
            return None
        if name not in self._by_name:
            notes.add(root, f"no valid file describes {name}, which this file extends; {self._advice(name)}")
            return None
        return self._application(*self._by_name[name], (*chain, (root.get("name") or "").strip()))

    def _advice(self, name: str) -> str:
        close = get_close_matches(name, self._by_name, 1, 0.5)
        meant = f"did you mean {close[0]}? " if close else ""
        return meant + "Write the name as its file has it, and correct that file first where it has mistakes"


def _valid_root(file: Path, schema: etree.XMLSchema, notes: Notes, expected: str) -> etree._Element | None:
    """Return the root of a file that the schema accepts; note the mistakes otherwise."""
    root = _root(file, notes)
    if root is None:
        return None
    if root.tag != expected:
        notes.add(root, f"this file must hold one <{expected}> element, not <{root.tag!s}>")
        return None
    if schema.validate(root):
        return root
    words = SchemaWords(etree.parse(SCHEMA).getroot())
    notes.problems += [Problem(str(file), error.line, words.plain(error.message)) for error in schema.error_log]
    check_expressions(root, notes)
    return None


def _root(file: Path, notes: Notes) -> etree._Element | None:
    try:
        data = file.read_bytes()
    except OSError as error:
        notes.problems.append(Problem(str(file), 0, f"the file cannot be read: {error.strerror}"))
        return None
    refusal = _refusal(data)
    if refusal:
        line = data[: max(data.find(b"<!"), 0)].count(b"\n") + 1
        notes.problems.append(Problem(str(file), line, refusal))
        return None
    parser = etree.XMLParser(resolve_entities=False, no_network=True, load_dtd=False, remove_comments=True)
    try:
        return etree.fromstring(data, parser)
    except etree.XMLSyntaxError as error:
        notes.problems.append(Problem(str(file), error.lineno or 0, f"this is not well-formed XML: {error.msg}"))
        return None


def _refusal(data: bytes) -> str:
    if len(data) > LARGEST_FILE:
        return f"the file is larger than {LARGEST_FILE:,} bytes"
    if data.startswith((b"\xff\xfe", b"\xfe\xff")) or b"\x00" in data:
        return "the file is not in UTF-8; save it as UTF-8"
    if re.search(rb"<!\s*(DOCTYPE|ENTITY)", data, re.IGNORECASE):
        return "DOCTYPE and entity declarations are not allowed; write the text itself"
    return ""


def _conflicts(found: Sequence[tuple[Path, Application]]) -> list[Problem]:
    """Find names and signs that two files claim with equal strength."""
    problems = []
    names: dict[str, Path] = {}
    signs: defaultdict[tuple[object, ...], list[tuple[Path, Application]]] = defaultdict(list)
    for file, application in found:
        first = names.setdefault(application.name.lower(), file)
        if first != file:
            problems.append(Problem(str(file), 1, f"{first.name} describes {application.name} as well; merge them"))
        for key in {(p.key, p.strength) for p in application.patterns if p.strength > Strength.HINT}:
            signs[key].append((file, application))
    for claims in signs.values():
        if len(claims) > 1:
            others = ", ".join(application.name for _, application in claims[:-1])
            message = f"{claims[-1][1].name} has a sign that {others} claims as strongly; make one of them weaker"
            problems.append(Problem(str(claims[-1][0]), 1, message))
    return problems
