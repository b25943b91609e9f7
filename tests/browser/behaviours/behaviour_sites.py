"""Pages whose content comes as a person scrolls and clicks, written after the ways in which libraries make lists."""

import json
from collections.abc import Mapping
from pathlib import Path

from tests.browser.visiting import HOME, Answer, Given

POSTS = 40
"""How many posts the lists have."""

_PAGES = Path(__file__).parent / "pages"
_PICTURE = '<svg xmlns="http://www.w3.org/2000/svg" width="300" height="200"><rect width="300" height="200"/></svg>'


def site(front: str) -> Mapping[str, Answer]:
    """Return a site with one of the pages as its front page, the posts that it asks for, and pictures."""
    posts = {f"{HOME}more?from={begin}": _numbers(begin) for begin in range(POSTS + 1)}
    pictures = {f"{HOME}{number}.svg": Given(_PICTURE, "image/svg+xml") for number in range(5)}
    return {HOME: (_PAGES / f"{front}.html").read_text(encoding="utf-8"), **posts, **pictures}


def _numbers(begin: int) -> Given:
    return Given(json.dumps(list(range(begin, min(POSTS, begin + 10)))), "application/json", seconds=0.03)
