"""Find the guesses of drafts that nobody has confirmed."""

import re
from collections.abc import Iterator
from dataclasses import dataclass

from lxml import etree

from aahcrawler.authoring.check_findings import Finding, warning
from aahcrawler.authoring.file_lines import ApplicationFile, Place, element_place
from knowledge_base.loader import LARGEST_FILE

MOST_NAMED = 3
MOST_TOLD = 20
"""Guesses left in a finished file that are told one by one."""
_GUESS = re.compile(r"\s*guess:\s*(.*?)\s*", re.DOTALL)
_IMPORTANCE = ("pattern", "when", "address", "item", "identity", "navigate", "body", "url", "paging", "drop")
"""What a mistake in costs most comes first: whose page it is, then which pages are found, then what is read of them."""
_LONGEST = 100


@dataclass(frozen=True, slots=True)
class _Guess:
    place: Place
    said: str
    weight: int


def open_guesses(file: ApplicationFile) -> Iterator[Finding]:
    """Yield what is left to confirm: once for a draft, for each guess in a file that is no draft any more."""
    guesses = sorted(_guesses(file), key=lambda guess: guess.weight)
    if (file.root.get("draft") or "").strip() == "yes":
        yield warning(file.place(), _of_draft(guesses), is_guess=True)
        return
    for guess in sorted(guesses, key=lambda guess: guess.place.line)[:MOST_TOLD]:
        told = f"this is still marked as a guess ({guess.said}): confirm or correct it, then remove the mark"
        yield warning(guess.place, told, is_guess=True)
    if len(guesses) > MOST_TOLD:
        told = f'{len(guesses)} guesses are left; write draft="yes" until they are confirmed'
        yield warning(file.place(), told, is_guess=True)


def _of_draft(guesses: list[_Guess]) -> str:
    if not guesses:
        return 'this is a draft, and no guess is left in it; take draft="yes" out'
    first = "; ".join(f"line {guess.place.line} ({guess.said})" for guess in guesses[:MOST_NAMED])
    number = "1 guess" if len(guesses) == 1 else f"{len(guesses)} guesses"
    more = ", most important first" if len(guesses) > 1 else ""
    return (
        f"this is a draft: {number} nobody has confirmed{more}: {first}{'; ...' if len(guesses) > MOST_NAMED else ''}. "
        'Confirm or correct each, remove its mark, then take draft="yes" out'
    )


def _guesses(file: ApplicationFile) -> Iterator[_Guess]:
    parser = etree.XMLParser(resolve_entities=False, no_network=True, load_dtd=False)
    try:
        with file.path.open("rb") as opened:
            root = etree.fromstring(opened.read(LARGEST_FILE), parser)
    except (OSError, etree.XMLSyntaxError):
        return
    for comment in root.iter(etree.Comment):
        found = _GUESS.fullmatch(comment.text or "")
        if found is not None:
            about = next((each for each in comment.itersiblings() if isinstance(each.tag, str)), comment.getparent())
            element = root if about is None else about
            said = " ".join(found[1].split())
            said = said if len(said) <= _LONGEST else f"{said[:_LONGEST]}..."
            yield _Guess(Place(str(file.path), element.sourceline or 0, element_place(element)), said, _weight(element))


def _weight(element: etree._Element) -> int:
    """Return the rank of a guess by the part of the file that it is about."""
    for each in (element, *element.iterancestors()):
        word = "body" if each.tag == "field" and each.get("name") == "body" else str(each.tag)
        if word in _IMPORTANCE:
            return _IMPORTANCE.index(word)
    return len(_IMPORTANCE)
