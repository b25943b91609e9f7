"""Promote learned actions and signs: write them into the file of their application, with a test.

An extraction or navigation action becomes a variant of its level, a sign one more sign of its level or application.
The file is changed as text, so that everything else in it stays as it is, comments included.
"""

import re
import shutil
import tempfile
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import count
from pathlib import Path

from lxml import etree

from aahcrawler.adaptation.store.learned import Learned, LearnedAction, LearnedLinks, LearnedSign
from aahcrawler.authoring.insertion import Insertion, PromotionError, is_anywhere
from aahcrawler.authoring.page_capture import Captured, Wish, capture
from aahcrawler.authoring.promotion_proof import prove, taken_for
from aahcrawler.authoring.xml_spans import Span, root_of
from aahcrawler.page import Page
from knowledge_base.file_selection import SHIPPED, chosen_files
from knowledge_base.loader import LoadError, load
from knowledge_base.matching import Sight
from knowledge_base.model import Application, Extract, KnowledgeBase, Navigate, Strength, Variant
from knowledge_base.selectors import Selector

__all__ = ["Compared", "Promoted", "PromotionError", "chosen", "compared", "described", "promote"]


@dataclass(frozen=True, slots=True)
class Compared:
    """A part of an action: in the application's file, and as learned."""

    part: str
    before: tuple[str, ...]
    after: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Promoted:
    """The file with the learned item, and the page saved as its test, None if none was available.

    ``variant`` is empty for items outside of variants.
    """

    file: Path
    variant: str
    captured: Captured | None


def compared(learned: Learned, knowledge_base: KnowledgeBase) -> tuple[Compared, ...]:
    """Return the parts of a learned item that differ from those it replaces."""
    application = next((each for each in knowledge_base.applications if each.name == learned.application), None)
    before = dict(_replaced_parts(learned, application)) if application is not None else {}
    after = dict(_learned_parts(learned))
    rows = (Compared(part, before.get(part, ()), after.get(part, ())) for part in dict.fromkeys((*after, *before)))
    return tuple(row for row in rows if row.before != row.after)


def described(learned: Learned) -> Iterator[str]:
    """Yield lines for people on a learned item and the quality of its evidence."""
    sure = f"{learned.method}, confidence {learned.confidence:.2f}, {learned.date:%Y-%m-%d %H:%M}"
    match learned:
        case LearnedSign():
            of = f"sign of level {learned.level}" if learned.level else "sign of the application"
            yield f"{learned.name}: {learned.application}, {of}, on {learned.site}"
            yield f"  on {len(learned.pages)} pages, and on none of {learned.others} of other levels; {sure}"
        case LearnedAction() | LearnedLinks():
            what = "objects" if isinstance(learned, LearnedAction) else "links"
            place = f"level {learned.level}, action {learned.action}"
            yield f"{learned.name}: {learned.application}, {place}, on {learned.site}"
            yield (
                f"  {learned.failure}: {learned.before} {what} on {len(learned.pages)} pages with the file's action, "
                f"{learned.after} with this one; {sure}"
            )


def chosen(learnt: Sequence[Learned], name: str, application: str, site: str) -> Learned:
    """Return the only learned item of that name. Raises `PromotionError` if there is none or several."""
    found = [
        each
        for each in learnt
        if each.name == name and application in ("", each.application) and site in ("", each.site)
    ]
    if len(found) == 1:
        return found[0]
    if not found:
        known = ", ".join(sorted({each.name for each in learnt})) or "nothing at all"
        raise PromotionError(f"nothing was learned under the name {name}; there is {known}")
    several = "; ".join(f"--application {each.application!r} --site {each.site}" for each in found)
    raise PromotionError(f"several are called {name}; add one of: {several}")


def promote(learned: Learned, pages: Sequence[Page], folders: Sequence[Path], variant: str = "") -> Promoted:
    """Write a learned item into its application's file in the last of the folders, and save a page as its test.

    ``pages`` are the available ones of the evidence; the first of them that is of a level is saved. Actions of one
    level that were learned on one site go into one variant if the template is the same, as far as the pages show signs
    of it, and no other name is given. If that folder has no file of the application, the file in use is copied there
    first. Nothing is written if the knowledge base would be invalid, would read any of the pages differently from the
    learned action, or a saved page differently from now. Raises `PromotionError`, `LoadError` and
    `aahcrawler.authoring.page_capture.CaptureError`.
    """
    if folders[-1] == SHIPPED and not _is_ours(SHIPPED):
        raise PromotionError(
            "the files that ship belong to the installed package; name a folder of your own: --kb shipped:FOLDER"
        )
    source, known = _file_of(learned.application, folders), load(*folders)
    insertion = _insertion(learned, pages, known, source, variant)
    text = insertion.into(source.read_bytes())
    prove(_trial(text, source, folders), known, insertion, pages, folders)
    target = folders[-1] / "applications" / source.name
    target.parent.mkdir(parents=True, exist_ok=True)
    part = target.with_suffix(".part")
    part.write_bytes(text)
    part.replace(target)
    wish = Wish(application=learned.application, name=insertion.test, replace=True)
    after = load(*folders)
    page = next((page for page in pages if taken_for(page, after)[1]), None)
    return Promoted(target, insertion.variant, capture(page, after, folders, wish) if page is not None else None)


def _insertion(
    learned: Learned, pages: Sequence[Page], knowledge_base: KnowledgeBase, source: Path, variant: str
) -> Insertion:
    application = knowledge_base.application(learned.application)
    if isinstance(learned, LearnedSign):
        return Insertion(source, learned, strength=_strength(learned))
    unseen = any(not _is_of_level(page, learned, knowledge_base) for page in pages)
    if isinstance(learned, LearnedLinks) and is_anywhere(learned):
        return Insertion(source, learned, unseen=unseen)
    replaced = _replaced(learned, application) if isinstance(learned, LearnedAction) else None
    level = next((each for each in application.levels if each.name == learned.level), None)
    there = {each.name: each for each in level.variants} if level is not None else {}
    name = variant or _free_name(learned, there, pages, source)
    signed = bool(pages) and name in there and all(_is_shown(there[name], page) for page in pages)
    return Insertion(source, learned, name, signed, unseen, replaced)


def _free_name(
    learned: LearnedAction | LearnedLinks, there: Mapping[str, Variant], pages: Sequence[Page], source: Path
) -> str:
    """Return a variant's name after its site, with a number if that name belongs to another template.

    A variant belongs to another template if it has such an action already, or if none of the pages has a sign of it.
    """
    first = re.sub(r"[^a-z0-9-]+", "-", f"learned-{learned.site}".lower()).strip("-")
    names = (first if number == 1 else f"{first}-{number}" for number in count(1))
    level = root_of(source.read_bytes()).named("level", learned.level)
    return next(name for name in names if name not in there or _may_join(learned, level, there[name], pages))


def _may_join(
    learned: LearnedAction | LearnedLinks, level: Span | None, variant: Variant, pages: Sequence[Page]
) -> bool:
    written = level.named("variant", variant.name) if level is not None else None
    tag = "extract" if isinstance(learned, LearnedAction) else "navigate"
    if written is None or written.named(tag, learned.action) is not None:
        return False
    return any(_is_shown(variant, page) for page in pages)


def _is_shown(variant: Variant, page: Page) -> bool:
    return any(Sight(page).meets(when) for when in variant.when)


def _strength(learned: LearnedSign) -> Strength:
    """Return the strength of a sign: one that names the software suffices alone, of others two are needed."""
    named = re.sub(r"[^a-z0-9]", "", learned.application.lower())
    letters = re.sub(r"[^a-z0-9]", "", learned.expression.css.lower())
    return Strength.STRONG if named in letters else Strength.HINT


def _is_of_level(page: Page, learned: LearnedAction | LearnedLinks, knowledge_base: KnowledgeBase) -> bool:
    """Return whether a page is recognised as one of the level; a new design may have changed the level's signs."""
    application, level = taken_for(page, knowledge_base)
    if application != learned.application:
        raise PromotionError(
            f"{page.url} shows no sign of {learned.application} any more; promote a sign of it that was learned, or "
            "add a <pattern> to its file that fits the page, then promote again"
        )
    return level == learned.level


def _is_ours(folder: Path) -> bool:
    """Return whether the files that ship are those of a working copy."""
    return (folder.parent / "pyproject.toml").exists()


def _replaced(learned: LearnedAction, application: Application) -> Extract | None:
    level = next((each for each in application.levels if each.name == learned.level), None)
    named = (action for action in level.actions if action.name == learned.action) if level is not None else ()
    return next((action for action in named if isinstance(action, Extract)), None)


def _replaced_parts(learned: Learned, application: Application) -> Iterator[tuple[str, tuple[str, ...]]]:
    level = next((each for each in application.levels if each.name == learned.level), None)
    match learned:
        case LearnedAction():
            replaced = _replaced(learned, application)
            yield from _parts(replaced) if replaced is not None else ()
        case LearnedLinks() if level is not None:
            named = (each for each in level.actions if isinstance(each, Navigate) and each.name == learned.action)
            sources = (source.selector for action in named for source in action.sources)
            yield "links", _shown(sources)
        case LearnedSign():
            signs = level.when if level is not None else application.patterns
            yield "sign", _shown(sign.selector for sign in signs if sign.selector is not None)


def _learned_parts(learned: Learned) -> Iterator[tuple[str, tuple[str, ...]]]:
    match learned:
        case LearnedAction():
            yield from _parts(learned.wrapper.action)
        case LearnedLinks():
            documented = " (documented URLs)" if learned.documented else ""
            yield "links", tuple(f"{each}{documented}" for each in _shown((learned.expression.selector,)))
        case LearnedSign():
            yield "sign", _shown((learned.expression.selector,))


def _parts(action: Extract) -> Iterator[tuple[str, tuple[str, ...]]]:
    yield "item", _shown(action.items)
    if action.identity is not None:
        yield "identity", _shown(action.identity.selectors)
    if action.parent is not None:
        yield "parent", _shown(action.parent.selectors)
    fields: dict[str, tuple[str, ...]] = {}
    for field in action.fields:
        fields[field.name] = (*fields.get(field.name, ()), *_shown(field.selectors))
    yield from fields.items()


def _shown(selectors: Iterable[Selector]) -> tuple[str, ...]:
    return tuple(f"{each.css or each.source}{f' @{each.attribute}' if each.attribute else ''}" for each in selectors)


def _file_of(application: str, folders: Sequence[Path]) -> Path:
    for file in chosen_files(folders).applications:
        if etree.parse(file).getroot().get("name") == application:
            return file
    raise PromotionError(f"no file of {', '.join(map(str, folders))} describes {application}")


def _trial(text: bytes, source: Path, folders: Sequence[Path]) -> KnowledgeBase:
    """Load the knowledge base as it would be."""
    with tempfile.TemporaryDirectory(prefix="aah-") as temporary:
        trial = Path(temporary) / "kb"
        (trial / "applications").mkdir(parents=True)
        shutil.copytree(SHIPPED / "kinds", trial / "kinds")
        (trial / "applications" / source.name).write_bytes(text)
        try:
            return load(*folders, trial)
        except LoadError as error:
            raise PromotionError(f"the file would not be valid with this:\n{error}") from error
