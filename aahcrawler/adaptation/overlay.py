"""Learned actions in files: a folder with one file for each application, in the format of the knowledge base.

Every worker of a crawl writes to the same folder and reads from it, so that what one has learned serves all. The
files that ship are never changed by a crawl; ``aah kb promote`` is how a person takes something over.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime
from hashlib import sha256
from pathlib import Path

from filelock import FileLock
from lxml import etree

from aahcrawler.adaptation.cases import LearnedAction
from aahcrawler.adaptation.learner.learned import Learned, Support
from aahcrawler.adaptation.lessons import Method
from knowledge_base.loader import SCHEMA
from knowledge_base.model import KnowledgeBase
from knowledge_base.parsing.objects import extract
from knowledge_base.reading import Notes, Problem

LEARNED = "learned"
"""Where in its folder a crawl keeps what it learned."""
_LOCK = ".lock"
_LARGEST = 16 << 20


@dataclass(frozen=True, slots=True)
class Evidence:
    """What is written of a learned action, but not the action itself: see `aahcrawler.adaptation.cases.LearnedAction`.

    ``date`` is ISO 8601.
    """

    site: str
    application: str
    level: str
    action: str
    name: str
    method: str
    failure: str
    pages: tuple[str, ...]
    before: int
    after: int
    confidence: float
    date: str


class Overlay:
    """The learned actions of one crawl. Safe for several processes at once."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def keep(self, learned: LearnedAction) -> Path:
        """Write an action to its application's file, in place of one of that name, site and level; return the file.

        The file is replaced as a whole, so that a reader sees the old one or the new one. What cannot be read in the
        old one is kept beside it as ``.broken``. Raises ``OSError`` where the disk refuses.
        """
        self._folder.mkdir(parents=True, exist_ok=True)
        path = self._folder / _file_name(learned.application)
        with FileLock(self._folder / _LOCK):
            root = _root(path, learned.application)
            written = _written(learned)
            for element in root.findall("action"):
                if _key(element) == _key(written):
                    root.remove(element)
            root.append(written)
            etree.indent(root)
            part = path.with_suffix(".part")
            part.write_bytes(etree.tostring(root, encoding="utf-8", xml_declaration=True) + b"\n")
            part.replace(path)
        return path

    def actions(self, knowledge_base: KnowledgeBase) -> tuple[tuple[LearnedAction, ...], tuple[Problem, ...]]:
        """Return what was learned about applications of a knowledge base, and what is wrong with the files.

        An action that cannot be read is left out and told; those of applications, levels or actions that are not
        known any more are left out silently, since another knowledge base may know them.
        """
        found: list[LearnedAction] = []
        problems: list[Problem] = []
        schema = etree.XMLSchema(etree.parse(SCHEMA))
        for path in sorted(self._folder.glob("*.xml")):
            root, wrong = _parsed(path, schema)
            problems += wrong
            if root is not None:
                notes = Notes(path)
                found += _read(root, knowledge_base, notes)
                problems += notes.problems
        return tuple(found), tuple(problems)

    def evidence(self) -> tuple[Evidence, ...]:
        """Return what was learned as far as it can be read, without a knowledge base to compare it with."""
        schema = etree.XMLSchema(etree.parse(SCHEMA))
        roots = (_parsed(path, schema)[0] for path in sorted(self._folder.glob("*.xml")))
        return tuple(
            _evidence(element, root.get("application") or "")
            for root in roots
            if root is not None
            for element in root.iterchildren("action")
        )

    def stamp(self) -> tuple[tuple[str, int, int], ...]:
        """Return something that differs once a file has changed."""
        try:
            statuses = [(path.name, path.stat()) for path in sorted(self._folder.glob("*.xml"))]
        except OSError:
            return ()
        return tuple((name, status.st_mtime_ns, status.st_size) for name, status in statuses)


def _file_name(application: str) -> str:
    """Return a safe file name; names that only differ in what file names cannot hold get different ones.

    >>> _file_name("phpBB"), _file_name("../x")
    ('phpBB.xml', '_x-d6b96a97.xml')
    """
    safe = "".join(sign if sign.isascii() and (sign.isalnum() or sign in " -_") else "" for sign in application).strip()
    if safe == application:
        return f"{safe}.xml"
    return f"_{safe}-{sha256(application.encode()).hexdigest()[:8]}.xml"


def _root(path: Path, application: str) -> etree._Element:
    if path.exists():
        try:
            return etree.parse(path, _parser()).getroot()
        except etree.XMLSyntaxError:
            path.replace(path.with_suffix(".broken"))
    return etree.Element("learned", {"application": application})


def _parser() -> etree.XMLParser:
    return etree.XMLParser(resolve_entities=False, no_network=True, remove_blank_text=True)


def _key(element: etree._Element) -> tuple[str | None, ...]:
    return tuple(element.get(name) for name in ("site", "level", "name"))


def _written(learned: LearnedAction) -> etree._Element:
    element = etree.Element(
        "action",
        {
            "name": learned.name,
            "level": learned.level,
            "action": learned.action,
            "site": learned.site,
            "method": learned.method.value,
            "failure": learned.failure,
            "before": str(learned.before),
            "after": str(learned.after),
            "confidence": f"{learned.confidence:.4f}",
            "date": learned.date.isoformat(timespec="seconds"),
        },
    )
    for url in learned.pages:
        etree.SubElement(element, "page", {"url": url})
    element.append(learned.learned.xml())
    return element


def _parsed(path: Path, schema: etree.XMLSchema) -> tuple[etree._Element | None, list[Problem]]:
    try:
        if path.stat().st_size > _LARGEST:
            return None, [Problem(str(path), 1, "the file is too large to have been written by a crawl; take it out")]
        root = etree.parse(path, _parser()).getroot()
    except (OSError, etree.XMLSyntaxError) as error:
        return None, [Problem(str(path), 1, f"the file cannot be read ({error}); take it out of the folder")]
    if root.tag != "learned" or not schema.validate(root):
        said = [Problem(str(path), error.line, error.message) for error in schema.error_log]
        return None, said or [Problem(str(path), 1, "the file must hold one <learned> element")]
    return root, []


def _read(root: etree._Element, knowledge_base: KnowledgeBase, notes: Notes) -> Iterator[LearnedAction]:
    name = root.get("application") or ""
    application = next((each for each in knowledge_base.applications if each.name == name), None)
    kind = next((each for each in knowledge_base.kinds if application and each.name == application.kind), None)
    if application is None or kind is None:
        return
    known = {(level.name, action.name) for level in application.levels for action in level.actions}
    for element in root.iterchildren("action"):
        if (element.get("level"), element.get("action")) not in known:
            continue
        before = len(notes.problems)
        read = extract(element[-1], None, kind, notes)
        if len(notes.problems) == before:
            said = _evidence(element, name)
            yield LearnedAction(
                site=said.site,
                application=name,
                level=said.level,
                action=said.action,
                name=said.name,
                learned=Learned.of(read, Support(len(said.pages), 0, said.after)),
                method=Method(said.method),
                failure=said.failure,
                pages=said.pages,
                before=said.before,
                after=said.after,
                confidence=said.confidence,
                date=datetime.fromisoformat(said.date),
            )


def _evidence(element: etree._Element, application: str) -> Evidence:
    return Evidence(
        site=element.get("site") or "",
        application=application,
        level=element.get("level") or "",
        action=element.get("action") or "",
        name=element.get("name") or "",
        method=element.get("method") or "",
        failure=element.get("failure") or "",
        pages=tuple(page.get("url") or "" for page in element.iterchildren("page")),
        before=int(element.get("before") or 0),
        after=int(element.get("after") or 0),
        confidence=float(element.get("confidence") or 0),
        date=element.get("date") or "",
    )
