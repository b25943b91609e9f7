"""Pages whose content comes as a person scrolls and clicks, written after the ways in which libraries make lists."""

import json
from collections.abc import Mapping
from pathlib import Path

from tests.browser.behaviours.acting_chromium import Answer

POSTS = 40
"""How many posts the lists have."""

_PAGES = Path(__file__).parent / "pages"
_PICTURE = '<svg xmlns="http://www.w3.org/2000/svg" width="300" height="200"><rect width="300" height="200"/></svg>'


def site(front: str, **others: Answer) -> Mapping[str, Answer]:
    """Return a site with one of the pages as its front page, the posts that it asks for, and pictures."""
    pictures = {f"/{number}.svg": _PICTURE for number in range(5)}
    named = {f"/{name}": answer for name, answer in others.items()}
    return {"/": (_PAGES / f"{front}.html").read_text(encoding="utf-8"), "/more": _numbers, **pictures, **named}


def _numbers(query: str) -> str:
    begin = int(query.partition("=")[2])
    return json.dumps(list(range(begin, min(POSTS, begin + 10))))
