"""Shapes of URLs: the parts of a URL on which the results of an application's URL rules depend.

The rules give the same results for all URLs of one shape, so they have to be applied to one of them only. Forums have
as many URLs as posts, but a handful of shapes.
"""

from collections.abc import Iterator

from knowledge_base.model import Application
from knowledge_base.url_rules import LONGEST, ParsedUrl, UrlRule

Shape = tuple[str, tuple[str, ...]]
"""The path, and for each raw parameter in its order the parts that rules read."""


class Shapes:
    """Computes the shapes of URLs for the rules of one application."""

    def __init__(self, application: Application) -> None:
        rules = tuple(_rules(application))
        self._looks_at_all = any(rule.query is not None for rule in rules)
        wanted = [each for rule in rules for each in rule.present]
        wanted += [(rule.parameter, rule.value) for rule in application.drops.rules if rule.parameter]
        self._looks_at_all |= any("*" in name and value != "*" for name, value in wanted)
        self._valued = frozenset(name for name, value in wanted if value != "*")

    def of(self, url: ParsedUrl) -> Shape | None:
        """Return the shape of a URL; None where the rules have to be applied to the URL itself."""
        if self._looks_at_all or len(url.path) + sum(map(len, url.query)) > LONGEST // 2:
            return None
        return url.path, tuple(map(self.part, url.query))

    def part(self, parameter: str) -> str:
        """Return the parts of a raw parameter that matter to rules: its name, and its value if needed."""
        name, separator, _ = parameter.partition("=")
        is_plain = separator and name not in self._valued and "%" not in name and "+" not in name
        return name + separator if is_plain else parameter


def _rules(application: Application) -> Iterator[UrlRule]:
    for avoid in application.avoid.rules:
        yield avoid.rule
    for drop in application.drops.rules:
        yield drop.where
    for level in application.levels:
        yield from level.addresses
