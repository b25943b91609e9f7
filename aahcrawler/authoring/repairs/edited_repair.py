"""A learned item with other expressions: what a person corrected before it is accepted."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from lxml import etree

from aahcrawler.adaptation.store.learned import Learned, LearnedAction, LearnedLinks, LearnedSign
from aahcrawler.authoring.editing.edit_error import EditError
from aahcrawler.authoring.editing.edits import Edit, apply
from aahcrawler.authoring.editing.entry_text import EntryText
from aahcrawler.authoring.repairs.repair_list import Repair, RepairError
from aahcrawler.wrapper_induction.robust_paths import Expression
from aahcrawler.wrapper_induction.wrapper import Wrapper
from knowledge_base.parsing.attributes import selector
from knowledge_base.parsing.extraction_actions import extract
from knowledge_base.parsing.navigation_actions import navigate
from knowledge_base.xml_reader import Notes


def xml_of(learned: Learned) -> bytes:
    """Return what was learned as a file would write it: an ``extract``, a ``navigate``, or a ``when``."""
    written = (
        etree.Element("when", learned.expression.attributes()) if isinstance(learned, LearnedSign) else learned.xml()
    )
    etree.indent(written)
    return etree.tostring(written)


def edited(repair: Repair, edits: Sequence[Edit]) -> Repair:
    """Return a repair with edits, whose places begin at the learned element: ``field[title]/select[1]``.

    Raises `RepairError` where they cannot be made, or the result cannot be used.
    """
    if not edits:
        return repair
    try:
        text = apply(EntryText(xml_of(repair.learned)), edits)
    except EditError as error:
        raise RepairError(str(error)) from error
    element = etree.fromstring(text.data, etree.XMLParser(resolve_entities=False, no_network=True, load_dtd=False))
    notes = Notes(Path(repair.learned.name))
    changed = _read(repair, element, notes)
    if notes.problems:
        raise RepairError("; ".join(problem.message for problem in notes.problems))
    return replace(repair, learned=changed)


def _read(repair: Repair, element: etree._Element, notes: Notes) -> Learned:
    learned = repair.learned
    match learned:
        case LearnedSign():
            return replace(learned, expression=Expression.of(selector(element, notes)))
        case LearnedLinks():
            read = navigate(element, None, notes)
            if len(read.sources) != 1:
                raise RepairError("learned links have one <select>; keep it at one")
            (source,) = read.sources
            return replace(learned, to=read.to, expression=Expression.of(source.selector), documented=source.documented)
        case LearnedAction():
            application = repair.knowledge_base.application(learned.application)
            kind = next(kind for kind in repair.knowledge_base.kinds if kind.name == application.kind)
            action = extract(element, None, kind, notes)
            return replace(learned, wrapper=Wrapper(action, learned.wrapper.support))
