"""Loads the knowledge base from its XML files; any mistake prevents the loading."""

import re
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from difflib import get_close_matches
from functools import lru_cache
from hashlib import sha256
from pathlib import Path
from typing import Self

from lxml import etree

from knowledge_base.behaviours import Behaviour
from knowledge_base.file_selection import SHIPPED, UNKNOWN_PAGES, chosen_files
from knowledge_base.model import Application, Condition, Kind, KnowledgeBase, Strength
from knowledge_base.xml_reader import Notes, Problem, check_expressions, read_application, read_kind, read_unknown_pages

FOLDER = SHIPPED
SCHEMA = FOLDER / "schema" / "knowledge-base.xsd"
MAX_FILE_SIZE = 4 * 1024 * 1024
MAX_CHAIN = 20
"""Files that may extend one another in a row."""
MAX_KNOWN = 500
"""Descriptions that a process keeps for the next loading, which are several times those that ship."""


class LoadError(Exception):
    """Raised for mistakes in files of the knowledge base; ``problems`` lists all of them, by file and line."""

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
            kind = _kind(root, notes)
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
        """Add the root of a file, None where the schema rejected it."""
        self._notes.append(notes)
        if root is not None:
            self._roots.append((notes, root))
            self._by_name.setdefault((root.get("name") or "").strip(), (notes, root))

    def read(self) -> list[tuple[Path, Application]]:
        """Read all files; returns only applications of files without problems."""
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
        before = _known_applications(_digest(root), kind, extended)
        if before:
            return before[0]
        application = read_application(root, kind, notes, extended)
        if not notes.problems:
            before.append(application)
        return application

    def _extended(self, notes: Notes, root: etree._Element, chain: tuple[str, ...]) -> Application | None:
        name = (root.get("extends") or "").strip()
        if not name:
            return None
        if name == root.get("name") or name in chain:
            notes.add(root, f"this file extends {name}, which extends this file in turn; take one extends out")
            return None
        if len(chain) >= MAX_CHAIN:
            notes.add(root, f"more than {MAX_CHAIN} files extend one another in a row; extend the last one itself")
            return None
        if name not in self._by_name:
            notes.add(root, f"no valid file describes {name}, which this file extends; {self._advice(name)}")
            return None
        return self._application(*self._by_name[name], (*chain, (root.get("name") or "").strip()))

    def _advice(self, name: str) -> str:
        close = get_close_matches(name, self._by_name, 1, 0.5)
        meant = f"did you mean {close[0]}? " if close else ""
        return meant + "Write the name as its file has it, and correct that file first where it has mistakes"


def _kind(root: etree._Element, notes: Notes) -> Kind:
    before = _known_kinds(_digest(root))
    if before:
        return before[0]
    kind = read_kind(root, notes)
    if not notes.problems:
        before.append(kind)
    return kind


@lru_cache(MAX_KNOWN)
def _known_kinds(_digest: bytes) -> list[Kind]:
    """Return the list that holds the kind that an element was read into, empty until it was read without problems.

    Kinds and applications are values: what was read once without problems is the same for each loading.
    """
    return []


@lru_cache(MAX_KNOWN)
def _known_applications(_digest: bytes, _kind: Kind, _extended: Application | None) -> list[Application]:
    """Return the list that holds the application that an element of this kind was read into, as of `_known_kinds`."""
    return []


def _digest(root: etree._Element) -> bytes:
    return sha256(etree.tostring(root)).digest()


def _valid_root(file: Path, schema: etree.XMLSchema, notes: Notes, expected: str) -> etree._Element | None:
    """Return the root of a file that the schema accepts; otherwise record the mistakes and return None."""
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
    if len(data) > MAX_FILE_SIZE:
        return f"the file is larger than {MAX_FILE_SIZE:,} bytes"
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


_NAMES = {"xs": "http://www.w3.org/2001/XMLSchema"}
_ELEMENT = r"Element '(?P<element>[^']*)'(?:, attribute '(?P<attribute>[^']*)')?: "
_FORMS = {
    name: re.compile(_ELEMENT + form, re.DOTALL)
    for name, form in (
        ("place", r"This element is not expected\.(?: Expected is (?:one of )?\( (?P<expected>.*) \)\.)?"),
        ("lacking", r"Missing child element\(s\)\.(?: Expected is (?:one of )?\( (?P<expected>.*) \)\.)?"),
        ("unknown", r"The attribute '[^']*' is not allowed\."),
        ("required", r"The attribute '(?P<needed>[^']*)' is required but missing\."),
        ("value", r"(?:\[facet '\w+'\] The value )?'(?P<value>.*?)' is not (?:an element|accepted|a valid).*"),
        ("twice", r"Duplicate key-sequence \['(?P<value>.*)'\] in unique identity-constraint '.*'\."),
        ("text", r"(?:Character|Element) content .*is not allowed.*"),
        ("root", r"No matching global declaration available.*"),
    )
}  # fmt: skip


class SchemaWords:
    """Rewrites the messages of the schema's validator in plain words, using the schema's own documentation."""

    def __init__(self, schema: etree._Element) -> None:
        self._schema = schema
        self._words: Mapping[str, Callable[[re.Match[str]], str]] = {
            "place": self._place,
            "lacking": self._lacking,
            "unknown": self._unknown,
            "required": lambda found: f'<{found["element"]}> needs {found["needed"]}; write {found["needed"]}="..."',
            "value": self._value,
            "twice": lambda found: f"another <{found['element']}> has the name {found['value']} already; rename one",
            "text": lambda found: (
                f"nothing of this sort can stand within <{found['element']}>; take it out, or put <!-- --> around it"
            ),
            "root": lambda found: (
                f"<{found['element']}> cannot be the outermost element; write <application> or <kind>"
            ),
        }

    def plain(self, message: str) -> str:
        """Return a message of the validator in plain words; unchanged where its form is unknown."""
        for name, form in _FORMS.items():
            found = form.fullmatch(message.strip())
            if found is not None:
                return self._words[name](found)
        return message

    def _place(self, found: re.Match[str]) -> str:
        expected = _tags(found["expected"])
        if f"<{found['element']}>" not in self._elements():
            return f"there is no element <{found['element']}>; {self._meant(found['element'], expected)}"
        if not expected:
            return f"<{found['element']}> cannot stand here; take it out, or look at the order in the schema"
        return f"<{found['element']}> cannot stand here; at this place comes {_either(expected)}"

    def _meant(self, element: str, expected: list[str]) -> str:
        close = get_close_matches(f"<{element}>", expected or self._elements(), 1, 0.6)
        return f"did you mean {close[0]}?" if close else f"at this place comes {_either(expected)}"

    def _lacking(self, found: re.Match[str]) -> str:
        return f"<{found['element']}> is not complete; it needs {_either(_tags(found['expected']))} as well"

    def _unknown(self, found: re.Match[str]) -> str:
        element, attribute = found["element"], found["attribute"]
        known = self._attributes(element)
        close = get_close_matches(attribute, known, 1, 0.6)
        advice = f"did you mean {close[0]}?" if close and close[0] != attribute else f"it can have {', '.join(known)}"
        return f"<{element}> has no {attribute} here; {advice if known else 'take it out'}"

    def _value(self, found: re.Match[str]) -> str:
        element, attribute = found["element"], found["attribute"]
        type_name = next(iter(self._types(element, attribute)), "")
        choices = self._strings("//xs:simpleType[@name=$name]//xs:enumeration/@value", name=type_name)
        texts = self._strings("//xs:simpleType[@name=$name]/xs:annotation/xs:documentation/text()", name=type_name)
        wanted = " ".join(" ".join(texts).split())
        advice = f"write {_either(choices)}" if choices else f"what must stand there: {wanted}"
        place = f"{attribute} of <{element}>" if attribute else f"<{element}>"
        return f'{place} cannot be "{found["value"]}"; {advice}'

    def _elements(self) -> list[str]:
        return [f"<{name}>" for name in self._strings("//xs:element/@name")]

    def _attributes(self, element: str) -> list[str]:
        """Return the attributes that elements of a name can have, in any position."""
        own = "//xs:element[@name=$element]/xs:complexType | //xs:complexType[@name=//xs:element[@name=$element]/@type]"
        shared = f"//xs:attributeGroup[@name=({own})/xs:attributeGroup/@ref]"
        names = self._strings(f"({own} | {shared})/xs:attribute/@name", element=element)
        return list(dict.fromkeys(names))

    def _types(self, element: str, attribute: str | None) -> list[str]:
        if attribute is None:
            return self._strings("//xs:element[@name=$element]/@type", element=element)
        own = "//xs:element[@name=$element]/xs:complexType | //xs:complexType[@name=//xs:element[@name=$element]/@type]"
        shared = f"//xs:attributeGroup[@name=({own})/xs:attributeGroup/@ref]"
        return self._strings(
            f"({own} | {shared})/xs:attribute[@name=$attribute]/@type", element=element, attribute=attribute
        )

    def _strings(self, expression: str, **variables: str) -> list[str]:
        found = etree.XPath(expression, namespaces=_NAMES)(self._schema, **variables)
        return [str(value) for value in found] if isinstance(found, list) else []


def _tags(expected: str | None) -> list[str]:
    return [f"<{name.strip()}>" for name in (expected or "").split(",") if name.strip()]


def _either(choices: list[str]) -> str:
    return " or ".join(filter(None, (", ".join(choices[:-1]), choices[-1]))) if choices else "nothing more"
