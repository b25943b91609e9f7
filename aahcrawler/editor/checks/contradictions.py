"""Find what is wrong with valid files by themselves: contradictions, and guesses that nobody has confirmed."""

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import product
from re import sub

from lxml import etree

from aahcrawler.editor.checks.check_findings import Finding, error, warning
from aahcrawler.editor.pages.saved_pages import SavedPage
from aahcrawler.editor.text.file_lines import ApplicationFile, FileLines, TextPlace, element_place
from knowledge_base.loader import MAX_FILE_SIZE
from knowledge_base.matching import Detector
from knowledge_base.model import Application, Condition, Navigate, PageLevel
from knowledge_base.url_rules import AvoidRule, ParsedUrl

_HOST = "http://site.test"
_SEGMENTS = ("", "a/b")
"""The replacements with which the two stars of a glob are tried."""
_MAX_EXAMPLES = 16
MAX_NAMED = 3
MAX_TOLD = 20
"""Guesses left in a finished file that are told one by one."""
_GUESS = re.compile(r"\s*guess:\s*(.*?)\s*", re.DOTALL)
_IMPORTANCE = ("pattern", "when", "address", "item", "identity", "navigate", "body", "url", "paging", "drop")
"""What a mistake in costs most comes first: whose page it is, then which pages are found, then what is read of them."""
_LONGEST = 100


def contradictions(application: Application, places: FileLines, shown: Iterable[str]) -> Iterator[Finding]:
    """Yield the contradictions in one application; ``shown`` are its levels that have a saved page."""
    hidden = {}
    for number, level in enumerate(application.levels):
        earlier = next((other for other in application.levels[:number] if _covers(other, level)), None)
        if earlier is not None:
            hidden[level.name] = earlier.name
            message = (
                f"level {level.name} is never reached, because {earlier.name} before it fits whenever it does; "
                "put the narrower one first, or add an unless to the first"
            )
            yield error(places.level(application.name, level.name), message)
    yield from _dead_ends(application, places, hidden, frozenset(shown))
    yield from _swallowed(application, places)


def rivalries(detector: Detector, saved: Sequence[SavedPage], places: FileLines) -> Iterator[Finding]:
    """Yield the saved pages that two applications claim with equal strength."""
    for page in saved:
        rivals = detector.detect(page.page).rivals
        if rivals:
            owner = page.expected.application if page.expected.application in rivals else rivals[0]
            others = " and ".join(rival for rival in rivals if rival != owner)
            message = (
                f"the saved page {page.name} is claimed by {owner} and as strongly by {others}; "
                "make a sign of one of them weaker, or add one that only its own pages have"
            )
            yield error(places.application(owner), message)


def _covers(earlier: PageLevel, later: PageLevel) -> bool:
    """Return whether the earlier level fits wherever the later one does, judging by their conditions."""
    excluded = all(
        any((_wider(mine, theirs) and _wider(theirs, mine)) for theirs in later.unless) for mine in earlier.unless
    )
    return (
        bool(later.when) and excluded and all(any(_wider(one, other) for one in earlier.when) for other in later.when)
    )


def _wider(one: Condition, other: Condition) -> bool:
    """Return whether a condition holds wherever another one does."""
    if one.rule is not None and one.rule != other.rule:
        return False
    return one.selector is None or (other.selector is not None and one.selector.source == other.selector.source)


def _dead_ends(
    application: Application, places: FileLines, hidden: dict[str, str], shown: frozenset[str]
) -> Iterator[Finding]:
    for level in application.levels:
        for action in level.actions:
            if not isinstance(action, Navigate) or action.pages:
                continue
            target = application.level(action.to)
            place = places.action(application.name, level.name, action.name)
            if action.to in hidden:
                message = f"{action.name} leads to level {action.to}, which {hidden[action.to]} hides; see there"
                yield warning(place, message)
            elif not target.addresses and target.name not in shown:
                yield warning(
                    place,
                    f"{action.name} leads to level {action.to}, which has no <address> and no saved page: nothing "
                    "shows that it is ever reached; add <address> to it, or save a page of it with aah kb capture",
                )


def _swallowed(application: Application, places: FileLines) -> Iterator[Finding]:
    asked = _asked_for(application)
    for level in application.levels:
        found = places.level_element(application.name, level.name)
        if found is None or level.name in asked:
            continue
        file, element = found
        for address in element.iterchildren("address"):
            rules = [_refusal(application, level, example) for example in _examples(address)]
            rule = rules[0] if rules and all(rule is not None for rule in rules) else None
            if rule is not None:
                message = (
                    f"level {level.name} documents this URL, but an avoid rule ({rule.reason}{_where(rule)}) "
                    "refuses all such URLs; narrow the rule with parameters or absent, or take one of them out"
                )
                yield error(file.place(address), message)


def _asked_for(application: Application) -> frozenset[str]:
    """Return the levels that requests and forms lead to: rules that refuse links to them are meant."""
    actions = (action for level in application.levels for action in level.actions)
    return frozenset(
        action.to for action in actions if isinstance(action, Navigate) and (action.requests or action.forms)
    )


def _where(rule: AvoidRule) -> str:
    return f", path {rule.rule.path.source}" if rule.rule.path is not None else ""


def _refusal(application: Application, level: PageLevel, example: ParsedUrl) -> AvoidRule | None:
    """Return the rule that refuses an example of a level; None also where the example is none after all."""
    canonical = application.canonical(example)
    return application.refusal(canonical) if level.documents(canonical) else None


def _examples(address: etree._Element) -> Iterator[ParsedUrl]:
    """Yield URLs that an ``address`` element describes."""
    parameters = [
        f"{name}={_filled(value) if sign else '1'}"
        for name, sign, value in (part.partition("=") for part in (address.get("parameters") or "").split())
    ]
    query = address.get("query")
    shown = [_filled(query)] if query else []
    parts = (address.get("path") or "**").lstrip("/").split("/")
    choices = [_SEGMENTS if part == "**" else (_filled(part),) for part in parts]
    for chosen, _ in zip(product(*choices), range(_MAX_EXAMPLES), strict=False):
        last = chosen[-1]
        path = "/" + "/".join([*(part for part in chosen[:-1] if part), last])
        yield ParsedUrl.parse(f"{_HOST}{path}{'?' if parameters or shown else ''}{'&'.join([*shown, *parameters])}")


def _filled(glob: str) -> str:
    """Return a text that a glob fits.

    >>> _filled("topic-*-#.h?m[lx]")
    'topic-a1-12.haml'
    """
    glob = sub(r"\[!?(.)[^]]*\]", r"\1", glob)
    return glob.replace("*", "a1").replace("#", "12").replace("?", "a")


__all__ = ["contradictions", "rivalries"]


@dataclass(frozen=True, slots=True)
class _Guess:
    place: TextPlace
    said: str
    weight: int


def open_guesses(file: ApplicationFile) -> Iterator[Finding]:
    """Yield what is left to confirm: once for a draft, for each guess in a file that is no draft any more."""
    guesses = sorted(_guesses(file), key=lambda guess: guess.weight)
    if (file.root.get("draft") or "").strip() == "yes":
        yield warning(file.place(), _of_draft(guesses), is_guess=True)
        return
    for guess in sorted(guesses, key=lambda guess: guess.place.line)[:MAX_TOLD]:
        told = f"this is still marked as a guess ({guess.said}): confirm or correct it, then remove the mark"
        yield warning(guess.place, told, is_guess=True)
    if len(guesses) > MAX_TOLD:
        told = f'{len(guesses)} guesses are left; write draft="yes" until they are confirmed'
        yield warning(file.place(), told, is_guess=True)


def _of_draft(guesses: list[_Guess]) -> str:
    if not guesses:
        return 'this is a draft, and no guess is left in it; take draft="yes" out'
    first = "; ".join(f"line {guess.place.line} ({guess.said})" for guess in guesses[:MAX_NAMED])
    number = "1 guess" if len(guesses) == 1 else f"{len(guesses)} guesses"
    more = ", most important first" if len(guesses) > 1 else ""
    return (
        f"this is a draft: {number} nobody has confirmed{more}: {first}{'; ...' if len(guesses) > MAX_NAMED else ''}. "
        'Confirm or correct each, remove its mark, then take draft="yes" out'
    )


def _guesses(file: ApplicationFile) -> Iterator[_Guess]:
    parser = etree.XMLParser(resolve_entities=False, no_network=True, load_dtd=False)
    try:
        with file.path.open("rb") as opened:
            root = etree.fromstring(opened.read(MAX_FILE_SIZE), parser)
    except (OSError, etree.XMLSyntaxError):
        return
    for comment in root.iter(etree.Comment):
        found = _GUESS.fullmatch(comment.text or "")
        if found is not None:
            about = next((each for each in comment.itersiblings() if isinstance(each.tag, str)), comment.getparent())
            element = root if about is None else about
            said = " ".join(found[1].split())
            said = said if len(said) <= _LONGEST else f"{said[:_LONGEST]}..."
            yield _Guess(
                TextPlace(str(file.path), element.sourceline or 0, element_place(element)), said, _weight(element)
            )


def _weight(element: etree._Element) -> int:
    """Return the rank of a guess by the part of the file that it is about."""
    for each in (element, *element.iterancestors()):
        word = "body" if each.tag == "field" and each.get("name") == "body" else str(each.tag)
        if word in _IMPORTANCE:
            return _IMPORTANCE.index(word)
    return len(_IMPORTANCE)
