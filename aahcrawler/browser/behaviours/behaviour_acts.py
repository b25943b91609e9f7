"""Have the acts done in a page: small calls of a library that lies in the isolated world of each document."""

import json
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path

from aahcrawler.browser.behaviours.acting_page import ActingPage, PageLostError
from knowledge_base.behaviours import Behaviour, Step

_FOLDER = Path(__file__).parent
_PARTS = ("seeing.js", "keeping.js", "acting.js")
_ABSENT = "absent"

Found = Mapping[str, object]


class PageActs:
    """The acts on one page. Raises what ``ActingPage.evaluate`` raises."""

    def __init__(self, page: ActingPage) -> None:
        self._page = page

    async def take(self, act: str, said: Mapping[str, object] | None = None, frame: str = "") -> Found:
        """Do one act of the library and return what it found; the library is put into a document that has it not."""
        call = f"globalThis.aahActs?.{act} instanceof Function ? aahActs.{act}({json.dumps(said or {})}) : '{_ABSENT}'"
        found = await self._page.evaluate(call, frame)
        if found == _ABSENT:
            await self._page.evaluate(_library(), frame)
            found = await self._page.evaluate(call, frame)
        if found == _ABSENT:
            raise PageLostError
        return found if isinstance(found, Mapping) else {}


def meant(behaviour: Behaviour, step: Step) -> dict[str, object]:
    """Return what an act is told of its step."""
    return {
        "selectors": [{"css": each.css, "xpath": each.source} for each in step.selectors],
        "words": plain_words(step.words),
        "never": plain_words(behaviour.never),
    }


def plain_words(words: Sequence[str]) -> list[str]:
    """Return words as the library compares them: letters alone, single blanks.

    >>> plain_words(["no, thanks", "don't accept"])
    ['no thanks', 'don t accept']
    """
    return [" ".join("".join(each if _is_letter(each) else " " for each in word.lower()).split()) for word in words]


def number_in(found: Found, name: str) -> int:
    """Return a number that an act found, 0 where it is none."""
    value = found.get(name)
    return int(value) if isinstance(value, int | float) else 0


def _is_letter(sign: str) -> bool:
    return sign.isalpha() or not (sign.isascii() or sign.isnumeric() or not sign.isprintable() or sign in _SIGNS)


_SIGNS = "’‘“”«»¿¡…–—、。，！？：；（）「」・،؟"


@cache
def _library() -> str:
    parts = "\n".join((_FOLDER / name).read_text(encoding="utf-8") for name in _PARTS)
    return f"(() => {{ 'use strict';\n{parts}\nglobalThis.aahActs = acts;\n return true; }})()"
