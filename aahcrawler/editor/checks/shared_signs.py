"""Find signs of applications that pages of other software show as well."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from aahcrawler.editor.checks.check_findings import Finding, is_read_off, warning
from aahcrawler.editor.drafting.web_commonplaces import commonplace_in
from aahcrawler.editor.pages.saved_pages import SavedPage
from aahcrawler.editor.text.file_lines import FileLines
from knowledge_base.matching import Detector, Sight
from knowledge_base.model import Application, KnowledgeBase, Pattern, Strength
from knowledge_base.pattern_filter import Candidates

_MOST_NAMED = 3


@dataclass(frozen=True)
class _Shown:
    """The signs of an application that a page of another software shows."""

    page: SavedPage
    signs: tuple[Pattern, ...]

    @property
    def is_strong(self) -> bool:
        """Whether one of them alone is enough to take the page for one of the application."""
        return any(sign.strength > Strength.HINT for sign in self.signs)

    @property
    def claims(self) -> bool:
        """Whether they are enough to take the page for one of the application."""
        return len(self.signs) > 1 or self.is_strong


def shared_signs(knowledge_base: KnowledgeBase, places: FileLines, pages: Iterable[SavedPage]) -> Iterator[Finding]:
    """Yield the signs that are on saved pages of other applications, or of none, and would claim such a page.

    One hint that others share decides nothing, and neither do several that one other application has as well: software
    descends from software. Applications that extend one another share their signs. Rivals for a page are passed over:
    what they claim as strongly as one another is told elsewhere.
    """
    chosen = knowledge_base.applications
    candidates, detector = Candidates(chosen), Detector(knowledge_base)
    related = {each.name: _related(each.name, places) for each in chosen}
    shown: dict[Application, list[_Shown]] = {}
    for page in pages:
        sight = Sight(page.page)
        for application, signs in candidates.on(sight.front, sight.body).items():
            if page.expected.application in related[application.name] or _is_in_folder_of(page, application, places):
                continue
            seen = _Shown(page, tuple(sign for sign in signs if sight.shows(sign)))
            if seen.claims and application.name not in detector.detect(page.page).rivals:
                shown.setdefault(application, []).append(seen)
    for application, seen_on in shown.items():
        others = {each.page.expected.application for each in seen_on}
        if None in others or len(others) > 1 or any(each.is_strong for each in seen_on):
            yield from _findings(application, places, seen_on)


def common_signs(application: Application, places: FileLines) -> Iterator[Finding]:
    """Yield the signs of an application that all sorts of software have, such as a favicon.

    Where somebody says where the software writes a sign, the name may well be a common one.
    """
    for number, sign in enumerate(application.patterns):
        reason = commonplace_in(sign) if not sign.cite or is_read_off(sign.cite) else ""
        if reason:
            place, words = places.pattern(application.name, number)
            yield warning(
                place, f"{reason} ({words}); take it out, or write what only {application.name} has, such as its name"
            )


def _findings(application: Application, places: FileLines, shown: Iterable[_Shown]) -> Iterator[Finding]:
    numbers = {sign: number for number, sign in enumerate(application.patterns)}
    by_sign: dict[Pattern, list[SavedPage]] = {}
    for each in shown:
        for sign in each.signs:
            by_sign.setdefault(sign, []).append(each.page)
    for sign in sorted(by_sign, key=numbers.__getitem__):
        place, words = places.pattern(application.name, numbers[sign])
        yield warning(
            place,
            f"other software shows this sign as well ({words}): {_named(by_sign[sign])}; write what only "
            f"{application.name} has, such as its generator or a part of the name of its own files"
            + ("" if sign.strength is Strength.HINT else ', or make it a hint: strength="hint"'),
        )


def _related(name: str, places: FileLines) -> frozenset[str]:
    """Return the applications whose pages may show the signs of one: those that it extends, or that extend it."""
    own = {file.name for file in places.chain(name)}
    extending = {file.name for file in places.files if name in {each.name for each in places.chain(file.name)}}
    return frozenset({name, *own, *extending})


def _is_in_folder_of(page: SavedPage, application: Application, places: FileLines) -> bool:
    """Return whether a page is saved with an application, though it is expected to be recognised as none."""
    return page.file.parent.name == Path(places.application(application.name).file).stem


def _named(pages: Iterable[SavedPage]) -> str:
    by_application: dict[str, SavedPage] = {}
    for each in pages:
        by_application.setdefault(each.expected.application or "none", each)
    named = [
        f"the saved page {page.name} of {'no application' if name == 'none' else name}"
        for name, page in by_application.items()
    ]
    more = f" and pages of {len(named) - _MOST_NAMED} more" if len(named) > _MOST_NAMED else ""
    return ", ".join(named[:_MOST_NAMED]) + more
