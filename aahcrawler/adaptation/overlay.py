"""The files of learned items: a folder with one file for each application, in the format of the knowledge base.

Every worker of a crawl writes to the same folder and reads from it, so that each uses what the others have learned. A
crawl never changes the files that ship; with ``aah kb promote`` a person adds to them.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from hashlib import sha256
from pathlib import Path
from typing import TypedDict

from filelock import FileLock
from lxml import etree

from aahcrawler.adaptation.learned import (
    DECISIONS,
    Decision,
    Decisions,
    Learned,
    LearnedAction,
    LearnedLinks,
    LearnedSign,
)
from aahcrawler.segments import no_link
from aahcrawler.wrapper_induction.examples import Method
from aahcrawler.wrapper_induction.robust_paths import Expression
from aahcrawler.wrapper_induction.wrapper import Support, Wrapper
from knowledge_base.loader import SCHEMA
from knowledge_base.model import Action, Application, Kind, KnowledgeBase, PageLevel
from knowledge_base.parsing.attributes import selector
from knowledge_base.parsing.extraction_actions import extract, navigate
from knowledge_base.xml_reader import Notes, Problem

"""The folder for learned files in the folder of a crawl."""
_LOCK = ".lock"
_MAX_BYTES = 16 << 20


@dataclass(frozen=True, slots=True)
class Evidence:
    """The evidence in the file for a learned action, link or sign; see `aahcrawler.adaptation.learned.Learned`.

    ``action`` is empty for signs, ``level`` for those of applications. ``before`` and ``after`` count objects or links;
    for a sign ``before`` counts the pages of other levels without it, ``after`` those that have it. ``date`` is ISO
    8601.
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
    kind: str = "action"
    """``action`` (of extraction), ``links`` or ``sign``."""
    decision: Decision | None = None
    """What people decided about it, None as long as nobody has."""


class Overlay:
    """The learned actions, links and signs of one crawl. Safe for several processes at once."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def keep(self, learned: Learned) -> Path:
        """Write a learned item to its application's file, in place of the one with the same name, site and level.

        Returns the file.

        The file is replaced as a whole, so that a reader sees the old one or the new one. Unreadable parts of the old
        one are kept beside it as ``.broken``. Raises ``OSError`` if the disk refuses.
        """
        self._folder.mkdir(parents=True, exist_ok=True)
        path = self._folder / _file_name(learned.application)
        with FileLock(self._folder / _LOCK):
            root = _root(path, learned.application)
            written = _written(learned)
            for element in root.findall(str(written.tag)):
                if _key(element) == _key(written):
                    root.remove(element)
            root.append(written)
            etree.indent(root)
            part = path.with_suffix(".part")
            with open(part, "wb", opener=no_link) as file:
                file.write(etree.tostring(root, encoding="utf-8", xml_declaration=True) + b"\n")
            part.replace(path)
        return path

    def actions(self, knowledge_base: KnowledgeBase) -> tuple[tuple[LearnedAction, ...], tuple[Problem, ...]]:
        """Return the extraction actions among the results of `learned`, and the errors in the files."""
        found, problems = self.learned(knowledge_base)
        return tuple(each for each in found if isinstance(each, LearnedAction)), problems

    def learned(self, knowledge_base: KnowledgeBase) -> tuple[tuple[Learned, ...], tuple[Problem, ...]]:
        """Return the learned items about applications of a knowledge base, and the errors in the files.

        Unreadable items are left out and reported; items about applications, levels or actions that are not known any
        more are left out silently, since another knowledge base may know them.
        """
        found: list[Learned] = []
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
        """Return the readable evidence with what was decided, without comparison with a knowledge base."""
        schema = etree.XMLSchema(etree.parse(SCHEMA))
        roots = (_parsed(path, schema)[0] for path in sorted(self._folder.glob("*.xml")))
        found = (
            _evidence(element, root.get("application") or "")
            for root in roots
            if root is not None
            for element in root.iterchildren("action", "links", "sign")
        )
        decisions = tuple(Decisions(self._folder).latest().values())
        return tuple(_decided(each, decisions) for each in found)

    def stamp(self) -> tuple[tuple[str, int, int], ...]:
        """Return something that differs once a file has changed, or a decision was made."""
        try:
            files = (*sorted(self._folder.glob("*.xml")), *self._folder.glob(DECISIONS))
            statuses = [(path.name, path.stat()) for path in files]
        except OSError:
            return ()
        return tuple((name, status.st_mtime_ns, status.st_size) for name, status in statuses)


def _decided(each: Evidence, decisions: Sequence[Decision]) -> Evidence:
    place = (each.application, each.level, each.name, each.site)
    about = (decision for decision in decisions if decision.is_about(place, each.date))
    return replace(each, decision=max(about, key=lambda decision: decision.when, default=None))


def _file_name(application: str) -> str:
    """Return a safe file name; names that only differ in characters that file names cannot contain get different ones.

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


def _written(learned: Learned) -> etree._Element:
    if isinstance(learned, LearnedSign):
        sign = etree.Element("when", learned.expression.attributes())
        return _element("sign", learned, {"others": str(learned.others)}, sign)
    counted = {"before": str(learned.before), "after": str(learned.after)}
    tag = "action" if isinstance(learned, LearnedAction) else "links"
    return _element(tag, learned, {"action": learned.action, "failure": learned.failure, **counted}, learned.xml())


def _element(tag: str, learned: Learned, more: dict[str, str], content: etree._Element) -> etree._Element:
    given = {
        "name": learned.name,
        "level": learned.level,
        "site": learned.site,
        "method": learned.method.value,
        **more,
        "confidence": f"{learned.confidence:.4f}",
        "date": learned.date.isoformat(timespec="seconds"),
    }
    element = etree.Element(tag, {name: value for name, value in given.items() if value})
    for url in learned.pages:
        etree.SubElement(element, "page", {"url": url})
    element.append(content)
    return element


def _parsed(path: Path, schema: etree.XMLSchema) -> tuple[etree._Element | None, list[Problem]]:
    try:
        if path.stat().st_size > _MAX_BYTES:
            return None, [Problem(str(path), 1, "the file is too large to have been written by a crawl; take it out")]
        root = etree.parse(path, _parser()).getroot()
    except (OSError, etree.XMLSyntaxError) as error:
        return None, [Problem(str(path), 1, f"the file cannot be read ({error}); take it out of the folder")]
    if root.tag != "learned" or not schema.validate(root):
        problems = [Problem(str(path), error.line, error.message) for error in schema.error_log]
        return None, problems or [Problem(str(path), 1, "the file must hold one <learned> element")]
    return root, []


def _read(root: etree._Element, knowledge_base: KnowledgeBase, notes: Notes) -> Iterator[Learned]:
    name = root.get("application") or ""
    application = next((each for each in knowledge_base.applications if each.name == name), None)
    kind = next((each for each in knowledge_base.kinds if application and each.name == application.kind), None)
    if application is None or kind is None:
        return
    for element in root.iterchildren("action", "links", "sign"):
        before = len(notes.problems)
        read = _learned(element, _evidence(element, name), application, kind, notes)
        if read is not None and len(notes.problems) == before:
            yield read


def _learned(
    element: etree._Element, evidence: Evidence, application: Application, kind: Kind, notes: Notes
) -> Learned | None:
    """Read a learned item, None if it is about a level or an action that the application does not have."""
    level = next((each for each in application.levels if each.name == evidence.level), None)
    if level is None:
        return _read_sign(element, evidence, notes) if element.tag == "sign" and not evidence.level else None
    if element.tag == "sign":
        return _read_sign(element, evidence, notes)
    if all(action.name != evidence.action for action in _actions_of(level)):
        return None
    return (
        _read_links(element, evidence, level, notes)
        if element.tag == "links"
        else _read_action(element, evidence, kind, notes)
    )


def _actions_of(level: PageLevel) -> Iterator[Action]:
    yield from level.actions
    for variant in level.variants:
        yield from variant.actions


class _Common(TypedDict):
    """The common fields of all learned items; see `aahcrawler.adaptation.learned.LearnedOnSite`."""

    site: str
    application: str
    level: str
    name: str
    method: Method
    pages: tuple[str, ...]
    confidence: float
    date: datetime


def _common(evidence: Evidence) -> _Common:
    return {
        "site": evidence.site,
        "application": evidence.application,
        "level": evidence.level,
        "name": evidence.name,
        "method": Method(evidence.method),
        "pages": evidence.pages,
        "confidence": evidence.confidence,
        "date": datetime.fromisoformat(evidence.date),
    }


def _read_action(element: etree._Element, evidence: Evidence, kind: Kind, notes: Notes) -> LearnedAction:
    return LearnedAction(
        **_common(evidence),
        action=evidence.action,
        failure=evidence.failure,
        before=evidence.before,
        after=evidence.after,
        wrapper=Wrapper(extract(element[-1], None, kind, notes), Support(len(evidence.pages), 0, evidence.after)),
    )


def _read_links(element: etree._Element, evidence: Evidence, level: PageLevel, notes: Notes) -> LearnedLinks | None:
    read = navigate(element[-1], None, notes)
    if len(read.sources) != 1 or all(action.name != evidence.action for action in level.actions):
        return None
    (source,) = read.sources
    return LearnedLinks(
        **_common(evidence),
        action=evidence.action,
        failure=evidence.failure,
        before=evidence.before,
        after=evidence.after,
        to=read.to,
        expression=Expression.of(source.selector),
        documented=source.documented,
    )


def _read_sign(element: etree._Element, evidence: Evidence, notes: Notes) -> LearnedSign:
    return LearnedSign(
        **_common(evidence), expression=Expression.of(selector(element[-1], notes)), others=evidence.before
    )


def _evidence(element: etree._Element, application: str) -> Evidence:
    pages = tuple(page.get("url") or "" for page in element.iterchildren("page"))
    is_sign = element.tag == "sign"
    return Evidence(
        site=element.get("site") or "",
        application=application,
        level=element.get("level") or "",
        action=element.get("action") or "",
        name=element.get("name") or "",
        method=element.get("method") or "",
        failure=element.get("failure") or "",
        pages=pages,
        before=int(element.get("others" if is_sign else "before") or 0),
        after=len(pages) if is_sign else int(element.get("after") or 0),
        confidence=float(element.get("confidence") or 0),
        date=element.get("date") or "",
        kind=str(element.tag),
    )
