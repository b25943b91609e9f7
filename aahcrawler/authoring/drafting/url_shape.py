"""The shape of URLs of one sort, as a file of the knowledge base writes it."""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from knowledge_base.url_rules import ParsedUrl, PathGlob, QueryGlob, UrlRule

FILE = re.compile(r"[A-Za-z][A-Za-z_-]*\.(?:php\d?|html?|aspx?|jsp|cgi|pl|do)")
SCRIPT = re.compile(r"[A-Za-z][A-Za-z_-]*\.(?:php\d?|aspx?|jsp|cgi|pl|do)")
INDEX = re.compile(r"(?:index|default)\.(?:php\d?|html?|aspx?|jsp|cgi|pl)")
"""The file that a server shows for a folder."""
SAFE = re.compile(r"[A-Za-z0-9_.~!$()+,;=:@|-]*")
"""Characters that a rule contains unescaped; blanks separate, quotation marks end, and others are wildcards."""
NAME = re.compile(r"[A-Za-z0-9_.~-]+")
"""Names of parameters that a rule can name."""


@dataclass(frozen=True, slots=True)
class Shape:
    """The common form of URLs of one sort: a glob of the path, and the parameters present; some are absent."""

    path: str
    parameters: tuple[str, ...] = ()
    query: str = ""
    absent: tuple[str, ...] = ()

    @property
    def rule(self) -> UrlRule:
        """The rule as the knowledge base applies it, other parameters allowed."""
        pairs = (part.partition("=") for part in self.parameters)
        present = tuple((name, value if sign else "*") for name, sign, value in pairs)
        query = QueryGlob(self.query) if self.query else None
        return UrlRule(PathGlob(self.path), present, frozenset(self.absent), query=query)

    def address(self, optional: Iterable[str] = ()) -> UrlRule:
        """Return the rule of URLs that are documented: no parameters but those of the shape and the optional ones."""
        return replace(self.rule, allowed=frozenset(optional))

    def attributes(self) -> dict[str, str]:
        """Return the attributes for a file."""
        parameters, absent = " ".join(self.parameters), " ".join(self.absent)
        given = {"path": self.path, "parameters": parameters, "query": self.query, "absent": absent}
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


def literal(address: ParsedUrl) -> Shape | None:
    """Return the shape of a single URL, nothing left open; None if it has signs that mean something in a rule."""
    pairs = tuple(f"{name}={value}" for name, value in address.parameters.items())
    if not SAFE.fullmatch("".join(address.segments)) or not all(SAFE.fullmatch(pair) for pair in pairs):
        return None
    return Shape("/" + "/".join(address.segments), pairs)
