"""The shape of URLs of one sort, as a file of the knowledge base writes it."""

import re
from collections.abc import Sequence
from dataclasses import dataclass

from knowledge_base.url_rules import PathGlob, QueryGlob, UrlRule

FILE = re.compile(r"[A-Za-z][A-Za-z_-]*\.(?:php\d?|html?|aspx?|jsp|cgi|pl|do)")
SAFE = re.compile(r"[A-Za-z0-9_.~!$()+,;=:@|-]*")
"""Characters that a rule contains unescaped; blanks separate, quotation marks end, and others are wildcards."""
NAME = re.compile(r"[A-Za-z0-9_.~-]+")
"""Names of parameters that a rule can name."""


@dataclass(frozen=True, slots=True)
class Shape:
    """The common form of URLs of one sort: a glob of the path, and the parameters present."""

    path: str
    parameters: tuple[str, ...] = ()
    query: str = ""

    @property
    def rule(self) -> UrlRule:
        """The rule as the knowledge base applies it, other parameters allowed."""
        pairs = (part.partition("=") for part in self.parameters)
        present = tuple((name, value if sign else "*") for name, sign, value in pairs)
        return UrlRule(PathGlob(self.path), present, query=QueryGlob(self.query) if self.query else None)

    def attributes(self) -> dict[str, str]:
        """Return the attributes for a file."""
        given = {"path": self.path, "parameters": " ".join(self.parameters), "query": self.query}
        return {name: value for name, value in given.items() if value}


def anywhere(parts: Sequence[str]) -> str:
    """Write the parts of a path so that they fit wherever the software is installed, if a word or file says enough.

    >>> anywhere(("forum", "#-*", "")), anywhere(("#", "*", "")), anywhere(("board", "topic.php"))
    ('**/forum/#-*/', '/#/*/', '**/topic.php')
    """
    if FILE.fullmatch(parts[-1]):
        return f"**/{parts[-1]}"
    if len([part for part in parts if part]) > 1 and parts[0].isalpha():
        return "/".join(("**", *parts))
    return "/" + "/".join(parts)
