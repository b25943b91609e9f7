"""Find the line of a robots.txt that decides on one address (RFC 9309)."""

import re
from collections.abc import Iterator
from dataclasses import dataclass

LARGEST = 512 * 1024
"""Bytes of a robots.txt that are read; RFC 9309 asks for at least 500 KiB."""

_LINE = re.compile(r"\s*(user-agent|allow|disallow)\s*:(.*)", re.IGNORECASE)
_ESCAPE = re.compile(r"%([0-9a-fA-F]{2})")
_UNRESERVED = re.compile(r"[A-Za-z0-9._~-]")


@dataclass(frozen=True, slots=True)
class RobotsRule:
    """An Allow or Disallow line; ``line`` counts from 1."""

    line: int
    allows: bool
    path: str

    def __str__(self) -> str:
        return f"line {self.line}, {'Allow' if self.allows else 'Disallow'}: {self.path}"


def denial(body: bytes, target: str, product: str) -> RobotsRule | None:
    r"""Return the line that denies a path with its query to a crawler called ``product``; None if it may be read.

    The groups that name the crawler count, else those of ``*``; the longest fitting rule prevails, and of equally
    long ones the one that allows.

    >>> str(denial(b"User-agent: *\nDisallow: /private", "/private/a", "Ours"))
    'line 2, Disallow: /private'
    """
    groups = tuple(_groups(body[:LARGEST].decode("utf-8-sig", "replace")))
    product = product.lower()
    ours = [rule for agents, rules in groups if product in agents for rule in rules]
    if not any(product in agents for agents, _ in groups):
        ours = [rule for agents, rules in groups if "*" in agents for rule in rules]
    path = _normal(target)
    fitting = [rule for rule in ours if rule.path and _fits(_normal(rule.path), path)]
    best = max(fitting, key=lambda rule: (len(_normal(rule.path)), rule.allows), default=None)
    return best if best is not None and not best.allows else None


def _groups(text: str) -> Iterator[tuple[frozenset[str], tuple[RobotsRule, ...]]]:
    agents: set[str] = set()
    rules: list[RobotsRule] = []
    for number, line in enumerate(text.splitlines(), 1):
        match = _LINE.match(line.partition("#")[0])
        if match is None:
            continue
        name, value = match[1].lower(), match[2].strip()
        if name != "user-agent":
            rules.append(RobotsRule(number, name == "allow", value))
            continue
        if rules:
            yield frozenset(agents), tuple(rules)
            agents, rules = set(), []
        agents.add("*" if value == "*" else value.partition("/")[0].rstrip(" *").lower())
    yield frozenset(agents), tuple(rules)


def _normal(path: str) -> str:
    """Return a path without needless escapes, and the other escapes in capitals."""

    def plain(match: re.Match[str]) -> str:
        sign = chr(int(match[1], 16))
        return sign if _UNRESERVED.match(sign) else match[0].upper()

    escaped = "".join(sign if sign.isascii() else "".join(f"%{byte:02X}" for byte in sign.encode()) for sign in path)
    return _ESCAPE.sub(plain, escaped)


def _fits(rule: str, path: str) -> bool:
    """Return whether a path matches a rule; takes time linear in the path for each star of the rule."""
    anchored = rule.endswith("$")
    first, *others = rule.removesuffix("$").split("*")
    if not path.startswith(first):
        return False
    at = len(first)
    for number, part in enumerate(others, 1):
        if anchored and number == len(others):
            return path.endswith(part) and len(path) - len(part) >= at
        found = path.find(part, at)
        if found < 0:
            return False
        at = found + len(part)
    return not anchored or at == len(path)
