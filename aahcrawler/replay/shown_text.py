"""Text of unknown origin, written so that what is in it can be seen."""

import re
from html import escape

_UNSEEN = re.compile(
    "[\x00-\x1f\x7f-\x9f\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f\u2028-\u202e\u2060-\u206f"
    "\u3164\ud800-\udfff\ufe00-\ufe0f\ufeff\uffa0\ufff0-\ufffb\U000e0000-\U000e0fff]"
)


def shown(text: str, most: int = 300) -> str:
    r"""Return a text in one line with its control characters, direction marks and unseen signs spelled out.

    One that is longer than ``most`` characters is cut, which three dots say.

    >>> shown("a\u202eb\n")
    'a⟨U+202E⟩b⟨U+000A⟩'
    """
    cut = text if len(text) <= most else text[: most - 1] + "…"
    return _UNSEEN.sub(lambda match: f"⟨U+{ord(match[0]):04X}⟩", cut)


def markup_of(text: str, most: int = 300) -> str:
    """Return the same as HTML, for text and for attribute values; it does not change the direction around it."""
    return escape(shown(text, most), quote=True)
