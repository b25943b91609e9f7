"""The ways in which a learned item can become part of a file, those that change least first.

An application has few templates and many sites. What was learned on one site belongs to the existing action, or to a
variant of its level for the site's template; a new variant is made only if neither fits.
"""

import re
from collections.abc import Callable, Container, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import count
from urllib.parse import urlsplit

from aahcrawler.adaptation.learned import Learned, LearnedAction, LearnedLinks, LearnedSign
from aahcrawler.editor.drafting.web_commonplaces import is_commonplace
from aahcrawler.editor.repairs.insertion import (
    InPlace,
    Insertion,
    PromotionError,
    action_place,
    is_anywhere,
    joined,
    level_place,
    with_alternatives,
    with_fallback,
    with_link_alternative,
    with_pattern,
    with_signs,
    with_variant,
)
from aahcrawler.editor.text.entry_text import EntryText
from aahcrawler.page import Page
from aahcrawler.wrapper_induction.robust_paths import Expression
from knowledge_base.matching import Sight
from knowledge_base.model import Action, Application, Extract, PageLevel, Signal, Strength, Variant

OTHERWISE = "redesigned"
MAX_NAME_LENGTH = 40
_FOLDERS = re.compile(
    r"(/(?:themes?|skins?|styles?|templates?|layouts?)/)([A-Za-z][A-Za-z0-9_-]{2,39})/", re.IGNORECASE
)
_PLAIN = re.compile(r"[A-Za-z][A-Za-z0-9 ._-]{1,60}")
_PLAIN_CLASS = re.compile(r"[A-Za-z][A-Za-z0-9_-]{1,60}")
_COMMON = frozenset(
    {
        *("all", "assets", "base", "build", "common", "css", "default", "dist", "fonts", "global", "icons", "images"),
        *("img", "lib", "main", "media", "public", "shared", "static", "style", "styles", "template", "templates"),
        *("theme", "themes", "vendor"),
    }
)
"""Folders that say nothing of the theme in them."""
_SAYS_THEME = re.compile(r"theme|skin|template|layout", re.IGNORECASE)
_CLASS = re.compile(r"[.#]([A-Za-z][A-Za-z0-9_-]+)|['\" ]([A-Za-z][A-Za-z0-9_-]{2,})['\" ]")
_MIN_PAGES = 3
_Found = tuple[str, Expression | None]
"""A name with the sign of it."""


@dataclass(frozen=True, slots=True)
class Template:
    """A template: its name, and a sign that all of its pages show, None if there is no such sign."""

    name: str
    sign: Expression | None = None


def template_of(
    learned: Learned, pages: Sequence[Page], others: Sequence[Page], templates: Container[str] = ()
) -> Template:
    """Return the template of some pages; ``others`` are saved pages of the application.

    A name that occurs on these as well is not the template's, unless the file has a variant for it (``templates``); nor
    is a part of the site's own name. Without any name, it is called `OTHERWISE`.
    """
    for name, sign in _candidates(learned, pages, others, templates):
        cleaned = _cleaned(name)
        if len(cleaned) >= _MIN_PAGES and not _is_of_site(cleaned, learned, pages):
            return Template(cleaned, sign)
    return Template(OTHERWISE)


def _candidates(
    learned: Learned, pages: Sequence[Page], others: Sequence[Page], templates: Container[str]
) -> Iterator[_Found]:
    themes = _shared([_themes(page) for page in pages])
    generators = _shared([_generators(page, learned.application) for page in pages])
    classes = _shared([_body_classes(page) for page in pages])
    shown = {name.lower() for page in others for name, _ in (*_themes(page), *_body_classes(page))}
    known = {name for name in shown if _cleaned(name) not in templates}
    yield from (found for found in themes if found[0].lower() not in known)
    yield from generators
    new = [found for found in classes if found[0].lower() not in known and not re.search(r"\d", found[0])]
    yield from (found for found in new if _SAYS_THEME.search(found[0]))
    yield from ((name, None) for name in _item_names(learned))
    yield from new


def _shared(found: Sequence[Iterable[_Found]]) -> list[_Found]:
    """Return what occurs on all pages, in the order of the first."""
    lists = [list(dict.fromkeys(each)) for each in found]
    return [one for one in lists[0] if all(one in other for other in lists[1:])] if lists else []


def _themes(page: Page) -> Iterator[_Found]:
    for element in page.tree.iter("link", "script"):
        attribute = "href" if element.tag == "link" else "src"
        for folder, name in _FOLDERS.findall(element.get(attribute) or ""):
            if name.lower() not in _COMMON:
                yield name, Expression(xpath=f"//{element.tag!s}[contains(@{attribute}, '{folder}{name}/')]")


def _generators(page: Page, application: str) -> Iterator[_Found]:
    """Yield what generators there are beside the application itself, without their versions."""
    for meta in page.tree.iter("meta"):
        kind = (meta.get("name") or "").lower()
        if kind in ("generator", "theme", "template"):
            name = re.split(r"\s+v?\d|[;(]", meta.get("content") or "")[0].strip()
            if _PLAIN.fullmatch(name) and _cleaned(application) not in _cleaned(name):
                yield name, Expression(css=f"meta[name='{meta.get('name')}'][content^='{name}']")


def _body_classes(page: Page) -> Iterator[_Found]:
    body = page.tree.find("body")
    for name in (body.get("class") or "").split() if body is not None else ():
        if _PLAIN_CLASS.fullmatch(name):
            yield name, Expression(css=f"body.{name}")


def _item_names(learned: Learned) -> Iterator[str]:
    """Yield the classes and ids by which what was learned is found."""
    match learned:
        case LearnedAction():
            sources = [selector.css or selector.source for selector in learned.wrapper.action.items]
        case LearnedLinks():
            sources = [learned.expression.css or learned.expression.xpath]
        case _:
            sources = [learned.expression.css or learned.expression.xpath]
    for source in sources:
        yield from (one or other for one, other in _CLASS.findall(source))


def _cleaned(name: str) -> str:
    """Return a name as files write names of variants.

    >>> _cleaned("Twenty_Twenty-Four ")
    'twenty-twenty-four'
    """
    spelled = re.sub(r"[^a-z0-9]+", "-", name.lower()).strip("-")
    return re.sub(r"^[^a-z]+", "", spelled)[:MAX_NAME_LENGTH].strip("-")


def _is_of_site(name: str, learned: Learned, pages: Sequence[Page]) -> bool:
    """Return whether a name is, or holds, a part of the site's host but for its suffix and common words."""
    hosts = {learned.site.partition(":")[0], *(urlsplit(page.url).hostname or "" for page in pages)}
    labels = {label for host in hosts for label in host.split(".")[:-1] if len(label) >= _MIN_PAGES and label != "www"}
    parts = set(name.split("-"))
    return any(
        label == name or label in parts or (len(label) > MAX_NAME_LENGTH // 8 and label in name) for label in labels
    )


@dataclass(frozen=True, slots=True)
class Surroundings:
    """The file that a learned item is to become part of: its text and the application it defines.

    ``pages`` are the pages of the evidence, each with level and variant by which it is read now; ``others`` are saved
    pages of the application.
    """

    text: EntryText
    application: Application
    pages: tuple[tuple[Page, str, str], ...]
    others: tuple[Page, ...]

    @property
    def evidence(self) -> tuple[Page, ...]:
        """The pages of the evidence."""
        return tuple(page for page, _, _ in self.pages)


def ways(learned: Learned, around: Surroundings, variant: str = "") -> Iterator[Insertion]:
    """Yield the ways in which a learned item can become part of a file; with ``variant``, only as a part of that.

    Raises `PromotionError` where the file has no such level.
    """
    if isinstance(learned, LearnedSign) and not learned.level:
        yield _as_pattern(learned)
        return
    if around.text.place(level_place(learned.level)) is None:
        raise PromotionError(
            f"the file of {learned.application} has no level {learned.level} of its own: it takes that from a "
            "file that it extends. Accept what was learned for that application, or write the level into this file"
        )
    if isinstance(learned, LearnedSign):
        edit = partial(with_signs, place=level_place(learned.level), signs=[learned.expression], learned=learned)
        yield Insertion(learned, f"as one more sign of level {learned.level}", learned.name, edit)
        return
    unseen = any(level != learned.level for _, level, _ in around.pages)
    for way in _ways_in_place(learned, around, variant):
        yield _seen(way, learned) if unseen else way


def _as_pattern(learned: LearnedSign) -> Insertion:
    """Return the way to add a sign of the application: one that names the software suffices, of others two do."""
    named = re.sub(r"[^a-z0-9]", "", learned.application.lower())
    letters = re.sub(r"[^a-z0-9]", "", learned.expression.css.lower())
    strength = Strength.STRONG if named in letters else Strength.HINT
    said = f"as one more sign of the application ({strength.name.lower()})"
    return Insertion(learned, said, learned.name, partial(with_pattern, learned=learned, strength=strength))


def _ways_in_place(learned: InPlace, around: Surroundings, variant: str) -> Iterator[Insertion]:
    if isinstance(learned, LearnedLinks) and is_anywhere(learned):
        if around.text.place(f"{level_place(learned.level)}/navigate[{learned.name}]") is not None:
            raise PromotionError(f"level {learned.level} has an action {learned.name} already; rename that one first")
        said = f"as links that are followed where {learned.action} finds none"
        yield Insertion(learned, said, learned.name, partial(with_fallback, learned=learned))
        return
    level = next((each for each in around.application.levels if each.name == learned.level), None)
    if level is None:
        return
    templates = {each.name for known in around.application.levels for each in known.variants}
    template = template_of(learned, around.evidence, around.others, templates)
    signs = _signs(learned, template)
    if variant:
        yield _in_variant(learned, around, level, variant, signs)
        return
    yield from _alternatives(learned, around, level, template.name)
    yield from _signed(learned, around, level, signs)
    there = [each for each in level.variants if _may_join(learned, around, each)]
    yield from (_in_variant(learned, around, level, each.name, signs) for each in there)
    names = (template.name if number == 1 else f"{template.name}-{number}" for number in count(1))
    taken = {each.name for each in level.variants}
    yield _in_variant(learned, around, level, next(name for name in names if name not in taken), signs)


def _signs(learned: InPlace, template: Template) -> tuple[Expression, ...]:
    """Return the signs of a variant: what the action finds or, where any page may have that, the sign of its template.

    An action may find the ``main`` of a page, which pages of all templates have.
    """
    signs = learned.signs()
    if template.sign is not None and any(is_commonplace(Signal.SELECTOR, each.css or each.xpath) for each in signs):
        return (template.sign,)
    return signs


def _alternatives(learned: InPlace, around: Surroundings, level: PageLevel, template: str) -> Iterator[Insertion]:
    """Yield the way that appends the learned selectors to the action that reads these pages now."""
    variants = {name for _, _, name in around.pages}
    if len(variants) != 1:
        return
    (name,) = variants
    if name and around.text.place(action_place(learned, name)) is None:
        name = ""
    actions = next((each.actions for each in level.variants if each.name == name), level.actions)
    there = _named(actions, learned)
    at = action_place(learned, name)
    if there is None or around.text.place(at) is None:
        return
    edit: Callable[[EntryText], EntryText | None]
    if isinstance(learned, LearnedLinks):
        edit = partial(with_link_alternative, place=at, learned=learned)
    elif isinstance(there, Extract):
        edit = partial(with_alternatives, place=at, learned=learned, action=there)
    else:
        return
    if edit(around.text) is None:
        return
    of = f"variant {name} of level {level.name}" if name else f"level {level.name}"
    said = f"as one more place where the action {learned.action} of {of} looks"
    yield Insertion(learned, said, template, lambda text: edit(text) or text)


def _signed(
    learned: InPlace, around: Surroundings, level: PageLevel, signs: Sequence[Expression]
) -> Iterator[Insertion]:
    """Yield the ways that make an existing variant apply to the pages, by one more sign."""
    for variant in level.variants:
        written = around.text.place(action_place(learned, variant.name)) is not None
        if not written or all(_is_shown(variant, page) for page in around.evidence):
            continue
        at = f"{level_place(level.name)}/variant[{variant.name}]"
        edit = partial(with_signs, place=at, signs=signs, learned=learned)
        said = f"as one more sign of the variant {variant.name} of level {level.name}"
        yield Insertion(learned, said, variant.name, edit, variant.name)


def _may_join(learned: InPlace, around: Surroundings, variant: Variant) -> bool:
    """Return whether a variant lacks such an action, and the pages show a sign of it."""
    at = f"{level_place(learned.level)}/variant[{variant.name}]"
    if around.text.place(at) is None or around.text.place(action_place(learned, variant.name)) is not None:
        return False
    return any(_is_shown(variant, page) for page in around.evidence)


def _in_variant(
    learned: InPlace, around: Surroundings, level: PageLevel, name: str, signs: Sequence[Expression]
) -> Insertion:
    """Return the way to make it an action of a variant, which is new or there already. Raises `PromotionError`."""
    replaced = _named(level.actions, learned)
    replaced = replaced if isinstance(replaced, Extract) else None
    there = next((each for each in level.variants if each.name == name), None)
    if there is None:
        edit = partial(with_variant, learned=learned, name=name, replaced=replaced, signs=signs)
        return Insertion(learned, f"as a new variant {name} of level {level.name}", name, edit, name)
    if around.text.place(action_place(learned, name)) is not None:
        raise PromotionError(
            f"the variant {name} of level {level.name} has an action {learned.action} already; choose another name "
            "with --as, or leave --as away"
        )
    is_signed = bool(around.pages) and all(_is_shown(there, page) for page in around.evidence)
    edit = partial(joined, learned=learned, name=name, replaced=replaced, signs=() if is_signed else signs)
    return Insertion(learned, f"as one more action of the variant {name} of level {level.name}", name, edit, name)


def _seen(way: Insertion, learned: InPlace) -> Insertion:
    """Return a way extended by signs of the level, as the pages show none of the present ones."""

    def edit(text: EntryText) -> EntryText:
        return with_signs(way.edit(text), level_place(learned.level), learned.signs(), learned)

    return Insertion(learned, f"{way.said}, with a sign of the level", way.template, edit, way.variant)


def _is_shown(variant: Variant, page: Page) -> bool:
    """Return whether a page shows a sign of a variant."""
    return any(map(Sight(page).meets, variant.when))


def _named(actions: Sequence[Action], learned: InPlace) -> Action | None:
    return next((action for action in actions if action.name == learned.action), None)
