"""Marks the words on a page that somebody looked for, without any script in it."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from lxml.etree import _Element as Element
from lxml.etree import iterwalk

from aahcrawler.page.text import UNREAD

Span = tuple[int, int]
FindWords = Callable[[str, str], Sequence[Span]]
"""Returns where in a text what somebody looks for stands, by the query: spans in their order, which do not overlap."""
FIRST_WORD: Final = "aah-word"
"""The id of the first mark."""
MAX_WORDS: Final = 2_000
"""Marks of a page; of more the first ones are made."""
MAX_TEXT: Final = 2_000_000
"""Letters of a page in which words are looked for."""
_WITHOUT: Final = UNREAD | {"svg", "math", "select", "option", "textarea", "title", "iframe", "object", "button"}
"""Elements in which no other may stand, or whose text is no text of the page."""
_STYLE: Final = "background:#ffe066!important;color:#111!important;outline:1px solid #7a5c00!important"


def no_words(_query: str, _text: str) -> Sequence[Span]:
    """Find nothing."""
    return ()


@dataclass(frozen=True, slots=True)
class _Text:
    """A text of a tree: that at the beginning of an element, or behind it (``is_tail``)."""

    element: Element
    is_tail: bool
    text: str


def mark_words(tree: Element, find: Callable[[str], Sequence[Span]]) -> int:
    """Mark what ``find`` finds in the text of a page, and return how many marks there are.

    It is given the texts that a reader sees, each behind a line break: a word that markup parts is not found.
    """
    texts = [*_texts(tree)]
    spans = iter(sorted(find("\n".join(each.text for each in texts)))[:MAX_WORDS])
    span, begin, number = next(spans, None), 0, 0
    for each in texts:
        end, within = begin + len(each.text), list[Span]()
        while span is not None and span[0] < end:
            if span[0] >= begin and span[1] <= end:
                within.append((span[0] - begin, span[1] - begin))
            span = next(spans, None)
        if within:
            _mark(each, within, is_first=not number)
            number += len(within)
        begin = end + 1
    return number


def _texts(tree: Element) -> Iterator[_Text]:
    """Yield the texts of a page that a reader sees, in document order."""
    body = tree.find("body")
    left, walk = MAX_TEXT, iterwalk(tree if body is None else body, events=("start", "end", "comment", "pi"))
    for event, node in walk:
        is_read = event == "start" and isinstance(node.tag, str) and node.tag not in _WITHOUT
        if event == "start" and not is_read:
            walk.skip_subtree()
            continue
        text = node.text if event == "start" else node.tail if node is not body else None
        if text and not text.isspace():
            left -= len(text)
            if left < 0:
                return
            yield _Text(node, event != "start", text)


def _mark(text: _Text, spans: Sequence[Span], *, is_first: bool) -> None:
    element, whole = text.element, text.text
    before, last = whole[: spans[0][0]], element
    for number, (begin, end) in enumerate(spans):
        mark = element.makeelement("mark", {"style": _STYLE})
        if is_first and not number:
            mark.set("id", FIRST_WORD)
        mark.text = whole[begin:end]
        if number or text.is_tail:
            last.tail = None  # What follows an element would stay behind the mark.
            last.addnext(mark)
            last.tail = before
        else:
            element.text = before
            element.insert(0, mark)
        following = spans[number + 1][0] if number + 1 < len(spans) else len(whole)
        before, last = whole[end:following], mark
    last.tail = before
