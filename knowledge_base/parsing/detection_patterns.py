"""Detection patterns: the signs by which an application is recognised."""

import ada_url
from lxml import etree

from knowledge_base.model import Pattern, Signal, Strength
from knowledge_base.parsing.attributes import has_expression, names_url, selector, text, url_rule
from knowledge_base.parsing.notes import Notes
from knowledge_base.selectors import SHORTEST_LITERAL, required_literals, safe_literal

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
    """Return a host as canonical URLs have it, without ``www.``, and with ``*.`` where its subdomains are meant."""
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
    if not literals or any(len(literal) < SHORTEST_LITERAL for literal in literals):
        notes.add(
            element,
            "no text can be told that stands in every page this sign matches; add literal= with at least "
            f"{SHORTEST_LITERAL} plain letters or digits of the page's source",
        )
    return literals
