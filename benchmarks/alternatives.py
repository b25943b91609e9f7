"""Splits an expression into its alternatives: the branches of its unions at any depth."""

from collections.abc import Callable, Iterator

_OPENING, _CLOSING = "([", ")]"

Keep = Callable[[str], bool]
"""Says of an expression, which holds one branch in place of a union, whether that branch is to stay."""


def pruned(expression: str, sign: str, keep: Keep) -> str:
    """Return an expression without the branches of its unions that are not to stay, empty where none is left.

    ``sign`` parts the branches: ``|`` in XPath, ``,`` in CSS. Of a union within brackets of which nothing would be
    left, everything is kept.

    >>> pruned("//a | (//b | //c)[1]", "|", lambda branch: "c" in branch)
    '(//c)[1]'
    """
    return _pruned(expression, sign, keep).strip()


def alternatives(expression: str, sign: str) -> tuple[str, ...]:
    """Return the expressions to try for `pruned`, each once.

    >>> alternatives("//a | (//b | //c)[1]", "|")
    ('//a', '(//b | //c)[1]', '(//b)[1]', '(//c)[1]')
    """
    asked: dict[str, None] = {}

    def note(branch: str) -> bool:
        asked[branch] = None
        return True

    pruned(expression, sign, note)
    return tuple(asked)


def _pruned(expression: str, sign: str, keep: Keep) -> str:
    kept = [branch for branch in _split(expression, sign) if keep(branch.strip())]
    joint = ", " if sign == "," else f" {sign} "
    return joint.join(_inside(branch.strip(), sign, keep) for branch in kept)


def _inside(branch: str, sign: str, keep: Keep) -> str:
    """Prune the unions within the brackets of one branch, from its end to its start."""
    for start, end in reversed(list(_brackets(branch))):
        inner = branch[start:end]
        if sign not in inner:
            continue
        before, after = branch[:start], branch[end:]
        parts = _split(inner, sign)

        def whole(part: str, before: str = before, after: str = after) -> bool:
            return keep(f"{before}{part}{after}")

        left = _pruned(inner, sign, whole) if len(parts) > 1 else _inside(inner, sign, whole)
        branch = before + (left or inner) + after
    return branch


def _split(text: str, sign: str) -> list[str]:
    """Split at a sign that stands within no brackets and no string."""
    found, start = [], 0
    for place, character, depth in _signs(text):
        if character == sign and depth == 0 and text[place + 1 : place + 2] != "=":
            found.append(text[start:place])
            start = place + 1
    return [*found, text[start:]]


def _brackets(text: str) -> Iterator[tuple[int, int]]:
    """Yield the insides of the outermost brackets."""
    start = 0
    for place, character, depth in _signs(text):
        if character in _OPENING and depth == 0:
            start = place + 1
        elif character in _CLOSING and depth == 1:
            yield start, place


def _signs(text: str) -> Iterator[tuple[int, str, int]]:
    """Yield each sign outside of strings with its place and how many brackets are open before it."""
    depth, quote = 0, ""
    for place, character in enumerate(text):
        if quote:
            quote = "" if character == quote else quote
        elif character in "'\"":
            quote = character
        else:
            yield place, character, depth
            depth += (character in _OPENING) - (character in _CLOSING)
