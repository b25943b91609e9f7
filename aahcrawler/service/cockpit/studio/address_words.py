"""The shapes of addresses in words, for people who write no globs."""

import re
from typing import Final

_PARTS: Final = re.compile(r"\*\*/|\*\*|\*|#")
_WORDS: Final = {"**/": "…/", "**": "…", "*": "‹any text›", "#": "‹number›"}


def address_words(path: str, parameters: tuple[str, ...] = (), query: str = "") -> str:
    """Return the shape of addresses as people read it.

    >>> address_words("**/topic.php", ("id", "view=print"))
    '…/topic.php with id and view=print'
    >>> address_words("/thread/#/*")
    '/thread/‹number›/‹any text›'
    """
    said = _PARTS.sub(lambda found: _WORDS[found[0]], path)
    asked = [*parameters, *([_PARTS.sub(lambda found: _WORDS[found[0]], query)] if query else [])]
    return f"{said} with {' and '.join(asked)}" if asked else said
