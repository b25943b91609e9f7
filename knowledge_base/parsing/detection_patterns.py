"""Parses the detection patterns, listings and behaviours of an application's file."""

import re
from collections.abc import Collection, Iterable, Sequence

import ada_url
from lxml import etree

from knowledge_base.behaviours import USUAL_MOST, Act, Behaviour, BehaviourStep
from knowledge_base.model import PAGE_NUMBER, Listing, Navigate, PageLevel, Pattern, Signal, Strength
from knowledge_base.parsing.attributes import Notes, has_expression, names_url, selector, text, url_rule, words, yes
from knowledge_base.parsing.levels import no_such_level
from knowledge_base.selectors import MIN_LITERAL_LENGTH, required_literals, safe_literal

_NAMED = (
    Signal.HOST,
    Signal.GENERATOR,
    Signal.SCRIPT,
    Signal.LINK,
    Signal.HEADER,
    Signal.COOKIE,
    Signal.TEXT,
)


def pattern(element: etree._Element, notes: Notes) -> Pattern:
    """Read one sign of an application."""
    given = [signal for signal in _NAMED if text(element, signal.value)]
    if has_expression(element):
        given.append(Signal.SELECTOR)
    if names_url(element):
        given.append(Signal.URL)
    if len(given) != 1:
        wanted = "css, xpath, host, generator, script, link, header, cookie, text or a URL"
        notes.add(element, f"a sign needs exactly one of {wanted}; write several pattern elements for several signs")
        return Pattern(Signal.TEXT, Strength.HINT, "")
    signal = given[0]
    strength = Strength[text(element, "strength").upper()]
    cite = text(element, "cite")
    match signal:
        case Signal.HOST:
            return Pattern(signal, strength, cite, _host(element, notes))
        case Signal.SELECTOR:
            return _selector_pattern(element, strength, cite, notes)
        case Signal.URL:
            rule = url_rule(element, notes)
            return Pattern(signal, strength, cite, rule=rule, literals=_literals(element, (), notes))
        case _:
            return _text_pattern(element, signal, strength, cite, notes)


def _host(element: etree._Element, notes: Notes) -> str:
    """Return a host in the form of canonical URLs, without ``www.``, and with ``*.`` where its subdomains are meant."""
    written = text(element, "host")
    star = "*." if written.startswith("*.") else ""
    name = written.removeprefix("*.")
    if "://" in name or set("/?#@*\\").intersection(name) or not name:
        advice = "the name alone, such as example.org or *.example.org, without http:// and without slashes"
        notes.add(element, f"{written} is no host; write {advice}")
        return ""
    try:
        return star + ada_url.URL(f"http://{name}/").host.removeprefix("www.")
    except ValueError:
        notes.add(element, f"{written} is no host; a host has letters, digits, hyphens and dots: example.org")
        return ""


def _selector_pattern(element: etree._Element, strength: Strength, cite: str, notes: Notes) -> Pattern:
    compiled = selector(element, notes)
    literals = _literals(element, required_literals(compiled.source), notes)
    return Pattern(Signal.SELECTOR, strength, cite, selector=compiled, literals=literals)


def _text_pattern(element: etree._Element, signal: Signal, strength: Strength, cite: str, notes: Notes) -> Pattern:
    name = ""
    value = text(element, signal.value)
    if signal is Signal.HEADER:
        name, value = value.lower(), text(element, "value")
    literal = safe_literal(max(value.split("*"), key=len) if value else name)
    return Pattern(signal, strength, cite, value, name, literals=_literals(element, (literal,), notes))


def _literals(element: etree._Element, derived: tuple[str, ...], notes: Notes) -> tuple[str, ...]:
    explicit = text(element, "literal")
    literals = (safe_literal(explicit),) if explicit else derived
    if not literals or any(len(literal) < MIN_LITERAL_LENGTH for literal in literals):
        notes.add(
            element,
            "no text can be told that stands in every page this sign matches; add literal= with at least "
            f"{MIN_LITERAL_LENGTH} plain letters or digits of the page's source",
        )
    return literals


_BLANK = re.compile(r"[\s#]")
_ELSEWHERE = re.compile(r"//|[^/?{]*:")


def listings(root: etree._Element, notes: Notes) -> tuple[Listing, ...]:
    """Read the listings of an application in their order; mistakes are noted."""
    return tuple(
        _listing(child, words(parent, "when-none"), notes)
        for parent in root.iterchildren("listings")
        for child in parent.iterchildren("listing")
    )


def check_actions(root: etree._Element, levels: Sequence[PageLevel], notes: Notes) -> None:
    """Record what listings require of levels and these lack: ``start``, or actions."""
    starts = [level for level in levels if level.start]
    known = {action.name for level in starts for action in level.actions if isinstance(action, Navigate)}
    for parent in root.iterchildren("listings"):
        if not starts:
            message = 'nothing says what listings are relative to; write start="yes" at the level of the front page'
            notes.add(parent, message)
            return
        for name in words(parent, "when-none"):
            if name not in known:
                has = ", ".join(sorted(known)) or "none"
                notes.add(parent, f"when-none: no level with start has a navigate action {name}; they have {has}")


def _listing(element: etree._Element, when_none: tuple[str, ...], notes: Notes) -> Listing:
    kind = text(element, "kind")
    found = Listing(
        text(element, "name"),
        "sitemap" if kind == "sitemap" else "feed" if kind == "feed" else "page",
        text(element, "address"),
        int(text(element, "from") or 1),
        int(text(element, "step") or 1),
        text(element, "order") == "oldest-first",
        when_none,
        text(element, "cite"),
    )
    _check_address(element, found, notes)
    _check_paging(element, found, notes)
    return found


def _check_address(element: etree._Element, listing: Listing, notes: Notes) -> None:
    written = listing.address.replace(PAGE_NUMBER, "")
    if set("{}").intersection(written):
        notes.add(element, f"of names in braces a listing knows {PAGE_NUMBER} alone, the number of its page")
    if _BLANK.search(written):
        notes.add(element, "a URL has no blanks and no #; write %20 for a blank and take out what # begins")
    if _ELSEWHERE.match(listing.address):
        notes.add(element, "a listing is on the application's own site; write its URL from the root on: feed/")


def _check_paging(element: etree._Element, listing: Listing, notes: Notes) -> None:
    if not listing.is_paged:
        for name in ("from", "step", "order"):
            if text(element, name):
                message = f"{name} is for listings of several pages; write {PAGE_NUMBER} in the URL or take it out"
                notes.add(element, message)
    elif listing.kind == "page":
        message = f"a listing of this kind lists everything at once; write the URL without {PAGE_NUMBER}"
        notes.add(element, message)
    if listing.step < 1 or listing.start < 0:
        notes.add(element, "pages are counted upwards: from is at least 0 and step at least 1")


_BETWEEN = re.compile(r"[;\n]")


def behaviours(root: etree._Element, notes: Notes) -> tuple[Behaviour, ...]:
    """Read the behaviours of a file in their order; mistakes are noted."""
    return tuple(_behaviour(child, notes) for child in root.iterchildren("behaviour"))


def check_application(root: etree._Element, levels: Collection[str], notes: Notes) -> None:
    """Record behaviours for levels that the application does not have, and attributes only for general behaviours."""
    for element in root.iterchildren("behaviour"):
        _check_always(element, notes)
        for name in words(element, "level"):
            if name not in levels:
                notes.add(element, no_such_level(name, levels))


def check_general(root: etree._Element, notes: Notes) -> None:
    """Record behaviours that name levels in a file without levels: that of a kind, or of unknown pages."""
    for element in root.iterchildren("behaviour"):
        if root.tag == "kind":
            _check_always(element, notes)
        if text(element, "level"):
            notes.add(element, "levels are of applications, and this file describes none; take level out")


def _check_always(element: etree._Element, notes: Notes) -> None:
    if text(element, "always"):
        notes.add(element, "always is for behaviours in unknown-pages.xml; take it out")


def _behaviour(element: etree._Element, notes: Notes) -> Behaviour:
    steps = tuple(_step(child, notes) for child in element.iterchildren(*Act))
    if not steps:
        notes.add(element, f"this behaviour does nothing; write one of <{'>, <'.join(Act)}> into it")
    return Behaviour(
        text(element, "name"),
        steps,
        levels=frozenset(words(element, "level")),
        allows=frozenset(words(element, "allows")),
        never=_said(element.iterchildren("never")),
        always=yes(element, "always"),
        cite=text(element, "cite"),
    )


def _step(element: etree._Element, notes: Notes) -> BehaviourStep:
    act = Act(str(element.tag))
    given = (selector(element, notes),) if has_expression(element) else ()
    said = _said(element.iterchildren("words"))
    if act is Act.CLICK and not (given or said):
        notes.add(element, "nothing says what is to be clicked; write css, xpath, or <words> of a button for more")
    return BehaviourStep(act, given, int(text(element, "most") or USUAL_MOST), float(text(element, "pause") or 0), said)


def _said(elements: Iterable[etree._Element]) -> tuple[str, ...]:
    """Return the words in some elements, divided by semicolons or lines, in lower case with single blanks."""
    found = (" ".join(part.split()).lower() for each in elements for part in _BETWEEN.split(each.text or ""))
    return tuple(dict.fromkeys(filter(None, found)))
