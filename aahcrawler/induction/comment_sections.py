"""Find the sections of a page with readers' comments, by their names and by headings that count comments."""

import re
from bisect import bisect_left
from collections.abc import Iterator, Sequence, Set
from dataclasses import dataclass

from aahcrawler.induction.outline import Outline
from aahcrawler.induction.shown_dates import ShownDate
from aahcrawler.page.text import BLOCKS, excerpt

MAX_SECTIONS = 20
"""The most sections of one page: a list of many texts with comments is no article."""

MAX_HEADING_LENGTH = 80

_HEADINGS = frozenset({"h1", "h2", "h3", "h4", "h5", "h6"})
_COUNTING = _HEADINGS | {"p", "div", "legend", "summary"}
_HIGHEST = 2
_COMMENTS = (
    r"(?:web)?mentions|(?:user)?comments|replies|responses|reactions|remarks|discussion|guestbook|kommentare|"
    r"kommentarer|antworten|reaktionen|commentaires|réactions|reponses|comentarios|respuestas|commenti|risposte|"
    r"reacties|komentarze|komentare|kommentit|yorumlar"
)
_CALLED = re.compile(
    rf"(?:(?!no|has|with|allow|recent|latest|last|toggle|show|hide|view|link|num|count)[a-z]+[-_]+)*(?:{_COMMENTS})"
    r"(?:[-_]+(?:area|block|body|box|container|content|holder|inner|items|list|main|panel|region|root|section|thread|"
    r"tree|wrap|wrapper))*|comment-?(?:list|area|section|thread|block|tree|wrap|wrapper|container)s?|disqus_thread|"
    r"isso-thread",
    re.IGNORECASE,
)
_NOUN = (
    r"(?:web)?mentions?|comments?|replies|reply|responses?|reactions?|remarks?|answers?|discussion|feedback|"
    r"kommentare?|kommentarer|antwort(?:en)?|reaktion(?:en)?|commentaires?|réponses?|réactions?|comentarios?|"
    r"comentários?|respuestas?|respostas?|commenti?o?|rispost[ae]|reacties?|antwoorden|komentarz[ey]?|komentáře?|"
    r"kommentti|kommentit|kommenttia|svar|yorum(?:lar)?|комментари\w*|ответ\w*|коментар\w*|σχόλι\w*"
)
_HEADED = re.compile(
    rf"\W*(?:(?:user|reader)s?['’]?\s)?(?:{_NOUN})\W*(?:\d{{1,6}}\W*)?$|\W*(?:\d{{1,6}}|one|no)\s(?:\w+\s){{0,2}}?(?:{_NOUN})\b"
    r"|\W*\d*\s?(?:评论|回复|留言|則留言|条评论|条回复|コメント|件のコメント|댓글)",
    re.IGNORECASE,
)
_COUNTED = re.compile(r"\W*(\d{1,4})\s+[^\W\d_]+(?:\s[^\W\d_]+){0,2}\W*|[^\W\d_]+(?:\s[^\W\d_]+)?\W+(\d{1,4})\W*")


@dataclass(frozen=True, slots=True)
class CommentSection:
    """A range of a page that contains comments: the places from ``first`` up to, but without, ``end``.

    ``told`` is the number of comments that its heading gives; None if it gives none.
    """

    first: int
    end: int
    told: int | None = None

    def covers(self, place: int) -> bool:
        """Return whether an element lies in the section."""
        return self.first <= place < self.end


def comment_sections(outline: Outline, shown: Sequence[ShownDate], headed: Sequence[int]) -> tuple[CommentSection, ...]:
    """Return the sections that contain comments, in document order; none lies within another.

    A section is an element named comments, or what follows a heading with that meaning, or with a count of what
    follows: ``3 remarks`` above three elements of one shape. It contains a date and no first-level heading, and comes
    after the first of the headings that name the page (``headed``).
    """
    dated = [each.place for each in shown]
    called = frozenset(token for token in outline.frequency if _CALLED.fullmatch(token))
    found: list[CommentSection] = []
    place = 0
    while place < len(outline.elements) and len(found) < MAX_SECTIONS:
        section = _section(outline, place, dated, called)
        if section is not None and _holds_comments(outline, section, dated, headed):
            found.append(section)
            place = section.end
        else:
            place += 1
    return tuple(found)


def _holds_comments(outline: Outline, section: CommentSection, dated: Sequence[int], headed: Sequence[int]) -> bool:
    if not _dates_in(dated, section) or (headed and min(headed) >= section.first):
        return False
    return "h1" not in outline.tags[section.first : section.end]


def _dates_in(dated: Sequence[int], section: CommentSection) -> Sequence[int]:
    return dated[bisect_left(dated, section.first) : bisect_left(dated, section.end)]


def _section(outline: Outline, place: int, dated: Sequence[int], called: Set[str]) -> CommentSection | None:
    """Return the section that an element is, or whose heading it is; ``called`` are classes that mean comments."""
    element = outline.elements[place]
    is_called = not called.isdisjoint(outline.tokens[place]) or _CALLED.fullmatch(element.get("id") or "")
    if is_called and outline.tags[place] not in ("a", "span", "li", "article"):
        return CommentSection(place, outline.ends[place])
    if outline.tags[place] not in _COUNTING or not _is_short(outline, place):
        return None
    text = excerpt(element, MAX_HEADING_LENGTH + 1)
    known, counted = _HEADED.match(text), _COUNTED.fullmatch(text)
    if known is None and counted is None:
        return None
    is_heading = outline.tags[place] in _HEADINGS
    if not is_heading and known is None and any(outline.frequency[token] > 1 for token in outline.tokens[place]):
        return None  # Each post of a thread may count what people think of it.
    section = _below(outline, place, dated)
    told = int(counted[1] or counted[2]) if counted is not None else None
    alike = _alike(outline, section, dated)
    if told is not None and told == len(alike) and 2 * sum(map(outline.running, alike)) >= _running(outline, section):
        return CommentSection(section.first, section.end, told) if told > 1 or is_heading or known is not None else None
    return CommentSection(section.first, section.end, told) if known is not None and is_heading else None


def _running(outline: Outline, section: CommentSection) -> int:
    tops = (each for each in outline.children(max(outline.parents[section.first], 0)) if section.covers(each))
    return sum(map(outline.running, tops))


def _is_short(outline: Outline, place: int) -> bool:
    shown = outline.free(place) + outline.linked(place)
    inner = range(place + 1, outline.ends[place])
    if not 2 <= shown <= MAX_HEADING_LENGTH or any(outline.tags[each] in BLOCKS for each in inner):
        return False
    return outline.tags[place] in _HEADINGS or not outline.linked(place)


def _below(outline: Outline, place: int, dated: Sequence[int]) -> CommentSection:
    """Return the section below a heading: the rest of its parent up to the next such heading that contains a date."""
    heading = place
    for _ in range(_HIGHEST):
        above = outline.parents[heading]
        if above < 0 or _dates_in(dated, CommentSection(outline.ends[heading], outline.ends[above])):
            break
        heading = above
    above = outline.parents[heading]
    end = outline.ends[above] if above >= 0 else outline.ends[heading]
    following = (each for each in outline.children(above) if each > heading) if above >= 0 else iter(())
    same = (each for each in following if outline.tags[each] == outline.tags[place] and outline.tags[each] in _HEADINGS)
    return CommentSection(place, next(same, end))


def _alike(outline: Outline, section: CommentSection, dated: Sequence[int]) -> Sequence[int]:
    """Return the elements with a date, of the outermost shape that repeats; a single one if none repeats."""
    dates = _dates_in(dated, section)
    if not dates:
        return ()
    above = [each for each in (dates[0], *outline.ancestors(dates[0])) if section.covers(each)]
    by_shape: dict[object, list[int]] = {}
    for each in _around(outline, dates, section):
        by_shape.setdefault(_shape(outline, each), []).append(each)
    repeated = (alike for each in reversed(above) if len(alike := by_shape[_shape(outline, each)]) > 1)
    return next(repeated, above[-1:])


def _around(outline: Outline, dates: Sequence[int], section: CommentSection) -> Iterator[int]:
    """Yield the elements in a section that are or contain dates, each once."""
    seen: set[int] = set()
    for date in dates:
        for each in (date, *outline.ancestors(date)):
            if each in seen or not section.covers(each):
                break
            seen.add(each)
            yield each


def _shape(outline: Outline, place: int) -> tuple[str, tuple[str, ...]]:
    return outline.tags[place], outline.tokens[place][:1]


def lone_comment(outline: Outline, section: CommentSection, shown: Sequence[ShownDate]) -> int | None:
    """Return the place of the only comment of a section; None if there are several, or their number is unclear."""
    dated = [each.place for each in shown]
    dates = _dates_in(dated, section)
    if not dates or len(dates) > 3 or section.told not in (None, 1) or len(_alike(outline, section, dated)) > 1:
        return None
    root = dates[0]
    while outline.parents[root] > section.first and section.covers(outline.parents[root]):
        if outline.contains(outline.parents[root], section.first):
            break
        root = outline.parents[root]
    root = _narrowed(outline, root)
    return root if root != section.first and all(outline.contains(root, each) for each in dates) else None


def _narrowed(outline: Outline, place: int) -> int:
    """Return the innermost descendant with all of an element's text, stopping at the first one with an identifier."""
    while True:
        shown = outline.free(place) + outline.linked(place)
        inner = [each for each in outline.children(place) if outline.free(each) + outline.linked(each) == shown]
        if len(inner) != 1 or outline.elements[place].get("id") or outline.tags[inner[0]] in ("p", "span", "a"):
            return place
        place = inner[0]
