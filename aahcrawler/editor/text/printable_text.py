"""Text of others as people may be shown it: no sign that a terminal obeys, and one line where one is meant."""

MAX_LINE_LENGTH = 1_000
"""Characters of a line at most."""


def printable(text: str) -> str:
    r"""Return a text with a space in the place of each sign that cannot be printed.

    >>> printable("Ada\x1b[31m")
    'Ada [31m'
    """
    return "".join(sign if sign.isprintable() else " " for sign in text)


def plain_line(text: str) -> str:
    r"""Return a text as one line without control characters, and not too long.

    >>> plain_line("Ada\n\x1b[31m  Lovelace")
    'Ada [31m Lovelace'
    """
    return " ".join(printable(text[: 4 * MAX_LINE_LENGTH]).split())[:MAX_LINE_LENGTH]


def an(noun: str) -> str:
    """Return a noun with its article.

    >>> an("article"), an("post")
    ('an article', 'a post')
    """
    return f"{'an' if noun[:1].lower() in 'aeiou' else 'a'} {noun}"
