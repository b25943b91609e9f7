"""Loads the knowledge base from its XML files: completely valid, or not at all."""

import re
from collections import defaultdict
from collections.abc import Iterable, Sequence
from pathlib import Path

from lxml import etree

from knowledge_base.model import Application, Kind, KnowledgeBase, Strength
from knowledge_base.reading import Notes, Problem, check_expressions, read_application, read_kind

FOLDER = Path(__file__).parent
SCHEMA = FOLDER / "schema" / "knowledge-base.xsd"
LARGEST_FILE = 4 * 1024 * 1024


class LoadError(Exception):
    """Files of the knowledge base are wrong; ``problems`` lists every mistake, by file and line."""

    def __init__(self, problems: Iterable[Problem]) -> None:
        self.problems = tuple(sorted(problems))
        super().__init__("\n".join(map(str, self.problems)))


def load(folder: Path = FOLDER) -> KnowledgeBase:
    """Load ``kinds/*.xml`` and ``applications/*.xml`` of a folder.

    Raises `LoadError` with all mistakes of all files; nothing is loaded then.
    """
    return load_files(sorted(folder.glob("kinds/*.xml")), sorted(folder.glob("applications/*.xml")))


def load_files(kind_files: Sequence[Path], application_files: Sequence[Path]) -> KnowledgeBase:
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
    found: list[tuple[Path, Application]] = []
    for file in application_files:
        notes = Notes(file)
        application = _application(file, schema, kinds, notes)
        if application is not None:
            found.append((file, application))
        problems += notes.problems
    problems += _conflicts(found)
    if problems:
        raise LoadError(problems)
    return KnowledgeBase(
        tuple(sorted((application for _, application in found), key=lambda application: application.name)),
        tuple(kinds.values()),
    )


def _application(file: Path, schema: etree.XMLSchema, kinds: dict[str, Kind], notes: Notes) -> Application | None:
    root = _valid_root(file, schema, notes, "application")
    if root is None:
        return None
    kind = kinds.get(root.get("kind", ""))
    if kind is None:
        known = ", ".join(sorted(kinds)) or "none yet"
        notes.add(root, f"there is no file for kind {root.get('kind')}; the kinds with a file are {known}")
        return None
    return read_application(root, kind, notes)


def _valid_root(file: Path, schema: etree.XMLSchema, notes: Notes, expected: str) -> etree._Element | None:
    """Return the root of a file that the schema accepts; note what is wrong otherwise."""
    root = _root(file, notes)
    if root is None:
        return None
    if root.tag != expected:
        notes.add(root, f"this file must hold one <{expected}> element, not <{root.tag!s}>")
        return None
    if schema.validate(root):
        return root
    notes.problems += [Problem(str(file), error.line, _plain(error.message)) for error in schema.error_log]
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


def _plain(message: str) -> str:
    """Take the jargon of schema validation out of a message."""
    message = re.sub(r"\[facet '[^']*'\] ", "", message)
    return re.sub(r"atomic type '[^']*'", "form described in schema/knowledge-base.xsd", message)


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
