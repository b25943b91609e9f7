"""Takes over what a crawl has learned: an action becomes a variant of its level, with a test from its evidence.

The file of the application is changed as text, so that everything else in it stays as it is, comments included.
"""

import re
import shutil
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from lxml import etree

from aahcrawler.adaptation.cases import LearnedAction
from aahcrawler.adaptation.learner.learned import Learned
from aahcrawler.adaptation.learner.paths import Written
from aahcrawler.authoring.capture import Captured, Wish, capture
from aahcrawler.authoring.spans import inserted, root_of
from aahcrawler.helper import ApplicationAwareHelper
from aahcrawler.page import Page
from knowledge_base.folders import SHIPPED, chosen_files
from knowledge_base.loader import LoadError, load
from knowledge_base.model import Extract, KnowledgeBase


class PromotionError(Exception):
    """An action cannot be taken over; the message says why and what to do."""


@dataclass(frozen=True, slots=True)
class Compared:
    """A part of an action: what the application's file says, and what was learned in its place."""

    part: str
    before: tuple[str, ...]
    after: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Promoted:
    """The file with the new variant, and the page that was saved as its test, None where none was at hand."""

    file: Path
    variant: str
    captured: Captured | None


def compared(learned: LearnedAction, knowledge_base: KnowledgeBase) -> tuple[Compared, ...]:
    """Return the parts of a learned action that differ from those of the action it replaces."""
    replaced = _replaced(learned, knowledge_base)
    before = dict(_parts(Learned.of(replaced))) if replaced is not None else {}
    after = dict(_parts(learned.learned))
    rows = (Compared(part, before.get(part, ()), after.get(part, ())) for part in dict.fromkeys((*after, *before)))
    return tuple(row for row in rows if row.before != row.after)


def chosen(actions: Sequence[LearnedAction], name: str, application: str, site: str) -> LearnedAction:
    """Return the one action of that name. Raises `PromotionError` where there is none or several."""
    found = [
        each
        for each in actions
        if each.name == name and application in ("", each.application) and site in ("", each.site)
    ]
    if len(found) == 1:
        return found[0]
    if not found:
        known = ", ".join(sorted({each.name for each in actions})) or "nothing at all"
        raise PromotionError(f"nothing was learned under the name {name}; there is {known}")
    several = "; ".join(f"--application {each.application!r} --site {each.site}" for each in found)
    raise PromotionError(f"several actions are called {name}; add one of: {several}")


def promote(learned: LearnedAction, page: Page | None, folders: Sequence[Path], variant: str = "") -> Promoted:
    """Write a learned action into its application's file in the last of the folders, and save ``page`` as its test.

    Actions of one level that were learned on one site go into one variant, where no other name is given.
    Where that folder has no file of the application, the file that counts is copied there first. Nothing is written
    where the knowledge base with the variant is not valid, or reads the page otherwise than the crawl did. Raises
    `PromotionError`, `LoadError` and `aahcrawler.authoring.capture.CaptureError`.
    """
    if folders[-1] == SHIPPED and not _is_ours(SHIPPED):
        raise PromotionError(
            "the files that ship belong to the installed package; name a folder of your own: --kb shipped:FOLDER"
        )
    source = _file_of(learned.application, folders)
    name = variant or re.sub(r"[^a-z0-9-]+", "-", f"learned-{learned.site}".lower()).strip("-")
    unseen = page is not None and not _is_of_level(page, learned, load(*folders))
    text = _with_variant(source, learned, name, with_sign=unseen)
    _prove(text, source, folders, learned, page, name)
    target = folders[-1] / "applications" / source.name
    target.parent.mkdir(parents=True, exist_ok=True)
    part = target.with_suffix(".part")
    part.write_bytes(text)
    part.replace(target)
    wish = Wish(application=learned.application, name=f"{learned.level}-{name}", replace=True)
    return Promoted(target, name, capture(page, load(*folders), folders, wish) if page is not None else None)


def _is_of_level(page: Page, learned: LearnedAction, knowledge_base: KnowledgeBase) -> bool:
    """Say whether a page is taken for one of the level; the same design may have changed the signs of that."""
    match = ApplicationAwareHelper(knowledge_base).assist(page).match
    if match is None or match.application.name != learned.application:
        raise PromotionError(
            f"{page.url} shows no sign of {learned.application} any more; add a <pattern> to its file that fits the "
            "page, then promote again"
        )
    return match.level is not None and match.level.name == learned.level


def _is_ours(folder: Path) -> bool:
    """Say whether the files that ship are those of a working copy."""
    return (folder.parent / "pyproject.toml").exists()


def _replaced(learned: LearnedAction, knowledge_base: KnowledgeBase) -> Extract | None:
    try:
        level = knowledge_base.application(learned.application).level(learned.level)
    except KeyError:
        return None
    named = (action for action in level.actions if action.name == learned.action)
    return next((action for action in named if isinstance(action, Extract)), None)


def _parts(learned: Learned) -> Iterator[tuple[str, tuple[str, ...]]]:
    yield "item", _shown(learned.items)
    if learned.identity is not None:
        yield "identity", _shown(learned.identity.selects)
    if learned.parent is not None:
        yield "parent", _shown(learned.parent.selects)
    fields: dict[str, tuple[str, ...]] = {}
    for field in learned.fields:
        fields[field.name] = (*fields.get(field.name, ()), *_shown(field.selects))
    yield from fields.items()


def _shown(written: Sequence[Written]) -> tuple[str, ...]:
    return tuple(f"{each.css or each.xpath}{f' @{each.attribute}' if each.attribute else ''}" for each in written)


def _file_of(application: str, folders: Sequence[Path]) -> Path:
    for file in chosen_files(folders).applications:
        if etree.parse(file).getroot().get("name") == application:
            return file
    raise PromotionError(f"no file of {', '.join(map(str, folders))} describes {application}")


def _with_variant(file: Path, learned: LearnedAction, name: str, *, with_sign: bool) -> bytes:
    """Return the text of an application's file with the action in a variant of its level.

    A new variant comes first; one that is there and has no such action gets it, since one variant reads a page. With
    ``with_sign`` the signs of the action are signs of the level, too.
    """
    text = file.read_bytes()
    level = root_of(text).named("level", learned.level)
    if level is None:
        raise PromotionError(
            f"{file} has no level {learned.level} of its own (it extends another file); write the variant there by hand"
        )
    variant, sign = level.named("variant", name), next(level.all("when"), None)
    if variant is not None and variant.named("extract", learned.action) is not None:
        raise PromotionError(
            f"{file}: the variant {name} has an action {learned.action} already; choose another name with --as"
        )
    if variant is None:
        first = next(level.all("variant"), None)
        text = inserted(text, first.begin if first is not None else level.end, _variant(learned, name))
    else:
        text = inserted(text, variant.end, _action(learned))
        text = inserted(text, next(variant.all("when"), variant.parts[0]).begin, _signs(learned, 6))
    return inserted(text, sign.begin, _signs(learned, 4)) if with_sign and sign is not None else text


def _variant(learned: LearnedAction, name: str) -> bytes:
    begin = b"    " + etree.tostring(etree.Element("variant", {"name": name})).replace(b"/>", b">") + b"\n"
    return begin + _signs(learned, 6) + _action(learned) + b"    </variant>\n"


def _action(learned: LearnedAction) -> bytes:
    """Return the action as it stands in a variant, with what there is to know of it."""
    written = learned.learned.xml()
    written.set("name", learned.action)
    etree.indent(written, level=3)
    said = f"Learned on {learned.site} from {len(learned.pages)} pages ({learned.method}), {learned.date:%Y-%m-%d}."
    return f"      <!-- {said.replace('--', '-')} -->\n      ".encode() + etree.tostring(written).rstrip() + b"\n"


def _signs(learned: LearnedAction, indent: int) -> bytes:
    """Return the conditions under which a page is of the variant, one a line."""
    given = ({"css": sign.css, "xpath": sign.xpath, "cite": learned.pages[0]} for sign in learned.learned.signs())
    signs = (etree.Element("when", {key: value for key, value in each.items() if value}) for each in given)
    return b"".join(b" " * indent + etree.tostring(sign) + b"\n" for sign in signs)


def _prove(
    text: bytes, source: Path, folders: Sequence[Path], learned: LearnedAction, page: Page | None, name: str
) -> None:
    """Load the knowledge base as it would be, and read the page with it."""
    with tempfile.TemporaryDirectory(prefix="aah-") as temporary:
        trial = Path(temporary) / "kb"
        (trial / "applications").mkdir(parents=True)
        shutil.copytree(SHIPPED / "kinds", trial / "kinds")
        (trial / "applications" / source.name).write_bytes(text)
        try:
            knowledge_base = load(*folders, trial)
        except LoadError as error:
            raise PromotionError(f"the file would not be valid with this variant:\n{error}") from error
    if page is None:
        return
    found = ApplicationAwareHelper(knowledge_base).assist(page)
    types = {learned.learned.type, learned.learned.first_type or learned.learned.type}
    if not any(each.type in types for each in found.objects):
        raise PromotionError(
            f"with this variant nothing of type {' or '.join(sorted(types))} is found on {page.url}; "
            "aah kb explain says why. Nothing was changed"
        )
    if found.match is None or found.match.variant != name:
        shown = found.match.variant if found.match is not None else ""
        raise PromotionError(
            f"{page.url} is read by {f'the variant {shown}' if shown else 'the level itself'} and not by this one; "
            f"write the action there by hand, or choose that name with --as. Nothing was changed"
        )
