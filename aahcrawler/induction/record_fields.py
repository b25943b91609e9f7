"""Extracts the authors, dates and titles of records, each from the same place in all of them."""

import re
from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from itertools import pairwise
from string import digits
from typing import NamedTuple
from urllib.parse import urlsplit

from lxml.etree import _Element as Element

from aahcrawler.induction.field_labels import (
    BESIDE,
    LINK_WORDS,
    FieldLabel,
    field_of,
    is_clause,
    is_turn,
    label_of,
    name_in,
    names_nobody,
    split_label,
    text_before,
    without_byline_words,
)
from aahcrawler.induction.headings import heading_text
from aahcrawler.induction.outline import Outline, weight
from aahcrawler.induction.record_bodies import Content, RecordPart, Slot
from aahcrawler.induction.record_sets import Byline
from aahcrawler.induction.shown_dates import ShownDate, is_of_change
from aahcrawler.page.text import excerpt, fold

MAX_NAME_LENGTH = 60
_MAX_BYLINE_LENGTH = 150
MAX_PLACES = 400
"""The most elements of one record that are examined for its author."""

_HEADINGS = ("h1", "h2", "h3", "h4", "h5", "h6")
_MAX_IN_NAME = 12
"""The most elements that a name consists of, its own among them."""
_NAME_TAGS = frozenset(
    {
        "a",
        "span",
        "strong",
        "b",
        "cite",
        "em",
        "i",
        "address",
        "dt",
        "td",
        "th",
        "div",
        "p",
        "li",
        "small",
        "h2",
        "h3",
        "h4",
        "h5",
        "h6",
        "font",
        "header",
        "dd",
        "summary",
        "bdi",
    }
)
_USER_WORD = re.compile(
    r"(?:^|[-_])(?:author|authors|username|user|poster|postername|nickname|nick|fn|byline|by|creator|commenter|member|"
    r"profilelink|displayname|screenname|handle|vcard|hcard|p-author|persona?|autor|auteur|autore)(?:$|[-_])|"
    r"author|username|nickname",
    re.IGNORECASE,
)
_USER_ADDRESS = re.compile(
    r"(?:^|[/?&=;:_.-])(?:user|users|u|uid|userid|user_id|member|members|memberlist|profile|profiles|people|person|author|"
    r"authors|autor|auteur|creator|benutzer|mitglied|membre|utilisateur|usuario|utente|account|accounts|channel|@[\w.-]+|~[\w.-]+)(?=[/?&=;:_.@-]|$|\d)",
    re.IGNORECASE,
)
_DEED_TO_USER = re.compile(
    r"find[-_]?(?:user|member|posts|threads|all)|(?:action|do|mode)=(?:find|send|mail|email|contact|pm)|showposts|"
    r"send[-_]?(?:pm|mail|email|message)|(?:^|[/_])(?:private|compose|emailuser|emailmember)(?:[/._?]|$)",
    re.IGNORECASE,
)
"""Addresses of what one may do about a person, such as to find all posts or to send a message."""
_FILED = frozenset({"tag", "category", "bookmark"})
_FILED_WORD = re.compile(r"(?:^|[-_])(?:tag|category|categories)(?:$|[-_])", re.IGNORECASE)
_FILED_WORDS = """
in under unter dans sous en onder i w v category categories categoría kategorie rubrik rubrique tag tags tagged
"""
_FILED_UNDER = frozenset(_FILED_WORDS.split())
"""Words before the name of a category."""
_FILED_ADDRESS = re.compile(r"/(?:tags?|category|categories|kategorie|kategorien|rubrik|rubrique)/", re.IGNORECASE)
_NOWHERE = ("#", "javascript:")
_BUTTON_WORD = re.compile(r"(?:^|[-_])(?:btns?|buttons?)(?:$|[-_])", re.IGNORECASE)
_REPLY = re.compile(
    r"^(?:\s*(?:re|aw|sv|rif|odp|antw|antwort|ref|vs|回复|答复|re\^\d+)\s*(?:\[\d+\])?\s*[:：])+\s*", re.IGNORECASE
)
_NAME_WORD = re.compile(
    r"(?:^|[-_])(?:username|usernick|nick|nickname|fn|postername|displayname|screenname|authorname)(?:$|[-_])"
    r"|(?:user|author|poster|display|screen)[-_]name",
    re.IGNORECASE,
)
"""What an element is called that shows the name of a person and nothing else."""
_SEPARATORS = re.compile(r"[/?&=;~@]+")
_LETTER = re.compile(r"[^\W\d_]")
_DIGITS = re.compile(r"\d+")
_LABELLED = 2.5
"""What a label before a name is worth: ``Author:``; one of something else, as ``Owned by:``, forbids it."""
_NUMBER_OF_POST = re.compile(r"^\W*[(\[#]\s*\d+(?:\.\d+)*\s*[)\]:.]?\s+")
"""The number of a post before the name of who wrote it: ``(2) By Ann``, ``#3 Ann``."""
_OWN_LINK = re.compile(rf"\W*(?:{LINK_WORDS})\W*", re.IGNORECASE)
_TIME_OF_DAY = re.compile(r"\W*\d{1,2}[:.h]\d{2}(?::\d{2})?\W*(?:[ap]\W?m\W*)?", re.IGNORECASE)
_ADDRESS = re.compile(
    r"\s*[<(\[]?\s*[^\s<>()]+(?:@|\s(?:at|\(at\)|\[at\])\s|%40)[^\s<>()]+\s*[>)\]]?\s*|\s*<[^<>]*>?\s*", re.IGNORECASE
)
"""An address of mail beside a name, also one that is written so that no machine finds it."""
_COUNT = re.compile(r"[^\W\d_]\s*[:\uff1a]\s*\d|^\W*\d[\d.,]*\+?\s+[^\W\d_]+(?:\s[^\W\d_]+)?\W*$")


def may_be_name(text: str) -> bool:
    """Return whether a text could be a person's name, by its letters and length; a text that counts things is not.

    >>> may_be_name("Ann Boyd"), may_be_name("Posts: 22 Joined: Jan 2022"), may_be_name("12"), may_be_name("3 replies")
    (True, False, False, False)
    """
    return weight(text) <= MAX_NAME_LENGTH and bool(_LETTER.search(text)) and not _COUNT.search(text)


def subject(title: str) -> str:
    """Return a title in lower case without marks of replies.

    >>> subject("Re: Re: The Harbour")
    'the harbour'
    """
    return fold(_REPLY.sub("", title)).casefold()


class ShownName(NamedTuple):
    """A name on the page: its text, the place of its element, and its link."""

    text: str
    place: int
    href: str | None
    number: int


@dataclass
class Fields:
    """The fields of the parts of one set, apart from their bodies, by number; missing ones have no entry."""

    dates: dict[int, ShownDate] = field(default_factory=dict)
    names: dict[int, ShownName] = field(default_factory=dict)
    titles: dict[int, tuple[str, int]] = field(default_factory=dict)

    def beside(self, number: int) -> frozenset[int]:
        """Return the places in a part that hold its date, author and title."""
        found = [self.dates[number].place] if number in self.dates else []
        found += [self.names[number].place] if number in self.names else []
        found += [self.titles[number][1]] if number in self.titles else []
        return frozenset(found)


def read_fields(content: Content, shown: Sequence[ShownDate], page_title: str = "") -> Fields:
    """Find dates, authors and titles of parts; ``page_title`` is that of their page."""
    fields = read_unsigned(content, shown, page_title)
    sign(fields, content, shown)
    return fields


def read_unsigned(content: Content, shown: Sequence[ShownDate], page_title: str = "") -> Fields:
    """Find dates and titles of parts, which takes a tenth of the time that their authors take."""
    dated = frozenset(each.place for each in shown)
    return Fields(choose_dates(content, shown), titles=_titles(content, subject(page_title), dated))


def sign(fields: Fields, content: Content, shown: Sequence[ShownDate]) -> None:
    """Add the authors of parts to their dates and titles."""
    fields.names = _Names(content, fields, frozenset(each.place for each in shown)).choose()


def choose_dates(content: Content, shown: Sequence[ShownDate]) -> dict[int, ShownDate]:
    """Return the date of each part: from the place that most have, whose dates differ and follow one another."""
    by_slot: dict[Slot, dict[int, ShownDate]] = defaultdict(dict)
    at = {each.place: each for each in shown if not is_of_change(content.outline, each)}
    for number, part in enumerate(content.parts):
        for place in part.places(content.outline):
            if place in at:
                by_slot[content.slots.get(place, ())].setdefault(number, at[place])
    if not by_slot:
        return {}
    slots = sorted(by_slot, key=lambda slot: -_date_score(by_slot[slot], len(content.parts)))
    chosen: dict[int, ShownDate] = {}
    for slot in slots:
        for number, each in by_slot[slot].items():
            chosen.setdefault(number, each)
    return chosen


def _date_score(found: Mapping[int, ShownDate], records: int) -> float:
    moments = [found[number].moment for number in sorted(found)]
    coverage = len(found) / records
    differing = len(set(moments)) / len(moments)
    steps = list(pairwise(moments))
    rising = sum(first <= second for first, second in steps)
    falling = sum(first >= second for first, second in steps)
    ordered = max(rising, falling) / len(steps) if steps else 0.5
    timed = sum(each.read.timed for each in found.values()) / len(found)
    declared = sum(each.declared for each in found.values()) / len(found)
    vague = sum(each.read.vague for each in found.values()) / len(found)
    guessed = sum(each.read.lacks_year for each in found.values()) / len(found)
    return 3 * coverage - 2 * vague - guessed + differing + 1.5 * ordered + 0.6 * timed + 0.4 * declared


def _titles(content: Content, page_title: str, dated: Collection[int]) -> dict[int, tuple[str, int]]:
    """Return for each part the text that repeats the page's title (``Re: The harbour``), else its first heading.

    What heads most parts alike (``Comments``) is no title of any.
    """
    found: dict[int, tuple[str, int]] = {}
    for number, part in enumerate(content.parts):
        title = _title(content.outline, part, page_title, dated)
        if title is not None:
            found[number] = title
    counted = Counter(text for text, _ in found.values())
    shared = {text for text, times in counted.items() if times > 1 and times >= 0.6 * len(content.parts)}
    return {number: each for number, each in found.items() if each[0] not in shared or subject(each[0]) in page_title}


def _is_byline(outline: Outline, place: int, dated: Collection[int]) -> bool:
    """Return whether a heading shows who wrote when: it has a date, and words of bylines beside it or a link."""
    return any(each in dated for each in range(place, outline.ends[place]))


def _title(outline: Outline, part: RecordPart, page_title: str, dated: Collection[int]) -> tuple[str, int] | None:
    heading: tuple[str, int] | None = None
    for place in part.places(outline):
        is_heading = outline.tags[place] in _HEADINGS
        shown = outline.free(place) + outline.linked(place)
        if not 2 <= shown <= 600 or not (is_heading or outline.tags[place] in ("a", "strong", "b", "span")):
            continue
        text = outline.once(place, heading_text)
        called = outline.once(place, _subject_of)
        if len(called) >= 4 and called in page_title:
            return text, place
        if is_heading and heading is None and _LETTER.search(text) and not _is_byline(outline, place, dated):
            heading = (text, place)
    return heading


def _subject_of(outline: Outline, place: int) -> str:
    return subject(outline.once(place, heading_text))


@dataclass
class _Names:
    """Looks for the place at which the parts name their authors."""

    content: Content
    fields: Fields
    dated: frozenset[int]

    def choose(self) -> dict[int, ShownName]:
        slots: dict[Slot, dict[int, ShownName]] = defaultdict(dict)
        turns: dict[Slot, dict[int, ShownName]] = defaultdict(dict)
        for number, part in enumerate(self.content.parts):
            for name in self._possible(number, part):
                label = _label(self.content.outline, name.place)
                slot = (*self.content.slots.get(name.place, ()), label or "")
                if label in (None, FieldLabel.AUTHOR):
                    slots[slot].setdefault(number, name)
                elif is_turn(self.content.outline.once(name.place, text_before)):
                    turns[slot].setdefault(number, name)
        return self._best(slots) or self._best(turns) or self._beside_dates()

    def _best(self, slots: Mapping[Slot, dict[int, ShownName]]) -> dict[int, ShownName]:
        """Return the names of the places that most likely show authors, none where no place does."""
        ranked = sorted(((self._score(found), slot) for slot, found in slots.items()), reverse=True)
        good = [(score, slot) for score, slot in ranked if score >= 3.0]
        chosen: dict[int, ShownName] = {}
        best = [slot for score, slot in good if score >= 0.75 * good[0][0]]
        for slot in best:
            for number, name in slots[slot].items():
                chosen.setdefault(number, name)
        kin: dict[int, list[ShownName]] = defaultdict(list)
        for slot, found in slots.items():
            if any(_are_kin(slot, each) for each in best):
                for number in found.keys() - chosen.keys():
                    kin[number].append(found[number])
        chosen |= {number: names[0] for number, names in kin.items() if len({name.text for name in names}) == 1}
        return {number: self._narrowed(name) for number, name in chosen.items()}

    def _narrowed(self, name: ShownName) -> ShownName:
        """Leave out text beside a linked name, such as a rank: ``Ann Boyd Junior Member``."""
        outline = self.content.outline
        inner = range(name.place + 1, outline.ends[name.place])
        links = [place for place in inner if outline.tags[place] == "a" and self._names_somebody(place)]
        texts = {outline.once(place, _name) for place in links}
        if len(texts) != 1 or not (text := texts.pop()) or len(text) + 2 > len(name.text) or text not in name.text:
            return name
        return ShownName(text, links[0], outline.elements[links[0]].get("href"), name.number)

    def _names_somebody(self, place: int) -> bool:
        href = self.content.outline.elements[place].get("href")
        text = excerpt(self.content.outline.elements[place], MAX_NAME_LENGTH + 1)
        return bool(href and _is_user_address(href) and _LETTER.search(text))

    def _possible(self, number: int, part: RecordPart) -> Iterator[ShownName]:
        outline = self.content.outline
        dated = self.fields.dates.get(number)
        tried = 0
        for place in part.places_among(outline, outline.once(0, _name_places)):
            if dated is not None and outline.contains(place, dated.place):
                continue
            if not self.dated.isdisjoint(range(place, outline.ends[place])):
                continue
            if outline.parents[place] in self.dated and outline.tags[outline.parents[place]] in ("time", "a"):
                continue
            tried += 1
            if tried > MAX_PLACES:
                return
            text = outline.once(place, _name)
            if not text or (dated is not None and outline.contains(dated.place, place) and text in dated.text):
                continue
            yield ShownName(text, place, outline.once(place, _address), number)

    def _score(self, found: Mapping[int, ShownName]) -> float:
        outline, records = self.content.outline, len(self.content.parts)
        texts = Counter(name.text for name in found.values())
        coverage = len(found) / records
        if _are_numbered(texts) and not any(outline.once(name.place, _names_user) for name in found.values()):
            return 0.0
        if self._lead_apart(found):
            return 0.0
        hrefs = {name.href for name in found.values()}
        alone = len(texts) == 1 and (records >= 4 or len(hrefs) > 1)
        if coverage < 0.5 or (alone and not (len(hrefs) == 1 and all(map(self._is_user, found.values())))):
            return 0.0
        score = 2.0 * coverage
        score += 2.0 * _share(found, lambda name: bool(name.href and _is_user_address(name.href)))
        score += 2.0 * _share(found, lambda name: outline.once(name.place, _names_user))
        score += _LABELLED * _share(found, lambda name: is_labelled(outline, name))
        score += 0.8 * _share(found, lambda name: name.href is not None and not name.href.startswith("#"))
        score += 1.0 * _share(found, self._is_near_date)
        score += 0.5 if 1 < len(texts) < len(found) else 0.0
        score += 0.5 * _share(found, self._is_in_byline)
        score -= 2.0 * _share(found, lambda name: name.text.endswith(":") or name.text.startswith("#"))
        score -= 3.0 * _share(found, self._is_title)
        score -= 0.02 * sum(map(len, texts)) / len(texts)
        return score

    def _lead_apart(self, found: Mapping[int, ShownName]) -> bool:
        """Return whether the same text links to a page of its own in most of its places: a title, and no name."""
        led: dict[str, list[str]] = defaultdict(list)
        for name in found.values():
            if name.href and not name.href.startswith("#") and not names_author(self.content.outline, name.place):
                led[name.text].append(name.href)
        repeated = [hrefs for hrefs in led.values() if len(hrefs) > 1]
        return sum(len(set(hrefs)) == len(hrefs) for hrefs in repeated) > len(repeated) / 2

    def _is_user(self, name: ShownName) -> bool:
        """Return whether a name leads to a page of a person and is called one, as on the page of one author's posts."""
        called = self.content.outline.once(name.place, _names_user)
        return called and bool(name.href and _is_user_address(name.href))

    def _is_near_date(self, name: ShownName) -> bool:
        outline = self.content.outline
        dated = self.fields.dates.get(name.number)
        if dated is None:
            return False
        above = outline.common(name.place, dated.place)
        return above >= 0 and outline.depths[name.place] - outline.depths[above] <= 3 and outline.free(above) < 200

    def _is_in_byline(self, name: ShownName) -> bool:
        """Return whether a name and the date have a line to themselves, but for words such as ``remarked on``."""
        outline = self.content.outline
        dated = self.fields.dates.get(name.number)
        above = outline.common(name.place, dated.place) if dated is not None else -1
        if above < 0 or dated is None or outline.free(above) + outline.linked(above) > _MAX_BYLINE_LENGTH:
            return False
        own = (name.place, dated.place)
        others = [each for each in outline.pieces_of(above) if not any(outline.contains(at, each.owner) for at in own)]
        return bool(others) and all(names_nobody(each.text.replace(dated.text, " ")) for each in others)

    def _is_title(self, name: ShownName) -> bool:
        outline = self.content.outline
        title = self.fields.titles.get(name.number)
        if title is None or not (outline.contains(title[1], name.place) or self._wraps(name, title)):
            return False
        if name_in(title[0]) != name.text and len(name.text) < 0.5 * len(title[0]):
            return False
        by = "author" in (outline.elements[name.place].get("rel") or "").split()
        by = by or (title[1] == name.place and outline.once(name.place, _names_user))
        return not by and not (name.href and _is_user_address(name.href))

    def _wraps(self, name: ShownName, title: tuple[str, int]) -> bool:
        """Return whether an element around a title shows nothing else."""
        return self.content.outline.contains(name.place, title[1]) and subject(name.text) == subject(title[0])

    def _stands_in_line(self, place: int, holder: int) -> bool:
        """Return whether an element is a word or more of the line that its parent is."""
        outline = self.content.outline
        return outline.parents[place] == holder and outline.tags[place] in ("b", "strong", "cite", "em", "i", "bdi")

    def _beside_dates(self) -> dict[int, ShownName]:
        """Read names from the text in one element with the date: ``Ann Boyd on 12 May:``."""
        outline = self.content.outline
        found: dict[int, ShownName] = {}
        for number, dated in self.fields.dates.items():
            for holder in (dated.place, outline.parents[dated.place]):
                if holder < 0 or number in found:
                    continue
                for piece in outline.pieces_of(holder):
                    inside = piece.owner == holder or self._stands_in_line(piece.owner, holder)
                    if not inside or (dated.declared and holder == dated.place) or piece.owner in self.dated - {holder}:
                        continue
                    text = _beside(piece.text, dated.text)
                    if text and weight(text) <= MAX_NAME_LENGTH:
                        found.setdefault(number, ShownName(text, holder, None, number))
        return _without_common_words(found)


def _are_kin(one: Slot, other: Slot) -> bool:
    """Return whether two trails, labels last, differ only in the classes of one element above their target.

    The head of a first post often has a class of its own.

    >>> _are_kin(("li0", "div0", "b.user", ""), ("li0", "div.head", "b.user", ""))
    True
    >>> _are_kin(("li0", "div0", "b.place", ""), ("li0", "div0", "b.user", ""))
    False
    """
    if len(one) != len(other) or one[-2:] != other[-2:]:
        return False
    differing = [pair for pair in zip(one, other, strict=True) if pair[0] != pair[1]]
    return len(differing) == 1 and len({step.partition(".")[0].rstrip(digits) for step in differing[0]}) == 1


def _beside(text: str, date: str) -> str:
    """Return the name before the date in a line, else the one behind it; "" where there is none.

    >>> _beside("(2) By Ann Boyd on 12 May 2021 in reply to", "12 May 2021"), _beside("9 May 2021 by jo", "9 May 2021")
    ('Ann Boyd', 'jo')
    """
    for words in text.split(date, 1):
        name = name_in(_NUMBER_OF_POST.sub("", words))
        if name and _LETTER.search(name) and not is_clause(name) and field_of(name) is None:
            return name
    return ""


def _label(outline: Outline, place: int) -> FieldLabel | None:
    return outline.once(place, label_of)


def is_labelled(outline: Outline, name: ShownName) -> bool:
    """Return whether a label before a name calls it an author's."""
    return _label(outline, name.place) is FieldLabel.AUTHOR


def labelled_name(outline: Outline, blocks: Iterable[int]) -> ShownName | None:
    """Return the first name in blocks of labels and values that a label calls an author's: ``Reporter: Ann``."""
    for place in (each for block in blocks for each in range(block, outline.ends[block])):
        if outline.tags[place] in _NAME_TAGS and _label(outline, place) is FieldLabel.AUTHOR:
            name = name_at(outline, place, 0)
            if name is not None:
                return name
    return None


def labelled_date(outline: Outline, blocks: Iterable[int], shown: Sequence[ShownDate]) -> ShownDate | None:
    """Return the first date in blocks of labels and values that a label calls that of the writing: ``Created``."""
    for block in blocks:
        for each in shown:
            is_within = outline.contains(block, each.place)
            if is_within and field_of(outline.once(each.place, text_before)) is FieldLabel.DATE:
                return each
    return None


def _are_numbered(texts: Collection[str]) -> bool:
    """Return whether texts differ in their numbers alone: ``msg14 (view)``, ``msg15 (view)``."""
    return len(texts) > 1 and len({_DIGITS.sub("", text) for text in texts}) == 1


def _without_common_words(found: Mapping[int, ShownName]) -> dict[int, ShownName]:
    """Take the words off that all names begin or end with."""
    words = {number: name.text.split() for number, name in found.items()}
    if len({name.text for name in found.values()}) > 1:
        for at in (0, -1):
            while all(len(each) > 1 for each in words.values()) and len({each[at] for each in words.values()}) == 1:
                for each in words.values():
                    del each[at]
    if len(found) >= 3 and len({" ".join(each) for each in words.values()}) == 1:
        return {}
    return {number: ShownName(" ".join(words[number]), name.place, name.href, number) for number, name in found.items()}


def _name_places(outline: Outline, _: int) -> Sequence[int]:
    """Return the places of elements that are small enough for a name."""
    return [
        place
        for place, tag in enumerate(outline.tags)
        if tag in _NAME_TAGS
        and outline.ends[place] - place <= _MAX_IN_NAME
        and outline.free(place) + outline.linked(place) <= 2 * MAX_NAME_LENGTH
    ]


def name_at(outline: Outline, place: int, number: int) -> ShownName | None:
    """Return the name shown by an element, for the record with that number; None if it shows none."""
    text = outline.once(place, _name)
    return ShownName(text, place, outline.once(place, _address), number) if text else None


def _name(outline: Outline, place: int) -> str:
    """Return the text of an element that may be a person's name, empty if it cannot be one."""
    shown = _without_label(excerpt(outline.elements[place], 2 * MAX_NAME_LENGTH + 1))
    if len(shown) > 2 * MAX_NAME_LENGTH or shown.endswith(("…", "...")):
        return ""
    if _TIME_OF_DAY.fullmatch(shown) or _OWN_LINK.fullmatch(shown) or _is_label(outline, place, shown):
        return ""
    text = name_in(shown)
    if text != shown or not _LETTER.search(text):
        text = _marked_name(outline, place, shown) or text
    elif not may_be_name(text) or (is_clause(text) and not names_author(outline, place)):
        return ""
    is_possible = weight(text) <= MAX_NAME_LENGTH and not _COUNT.search(text) and _is_named(outline, place, text)
    return text if is_possible and not (_is_filed(outline, place) or _is_button(outline, place)) else ""


def _is_label(outline: Outline, place: int, shown: str) -> bool:
    """Return whether an element shows the label of a field, and no name that a page marks as one."""
    return field_of(shown) is not None and not _address(outline, place) and not outline.once(place, _names_user)


def _without_label(shown: str) -> str:
    """Return a text without the label of an author before it, and without an address of mail beside a name.

    >>> _without_label("From: Ann Boyd <ann@a.test>"), _without_label("ann at a.test (Ann Boyd)")
    ('Ann Boyd', 'Ann Boyd')
    """
    field, value = split_label(shown)
    value = value if field is FieldLabel.AUTHOR else shown
    name = _ADDRESS.sub(" ", value).strip() if "@" in value or " at " in value or "<" in value else value
    if name[:1] in ("(", '"', "'") and name[-1:] in (")", '"', "'"):
        name = name[1:-1].strip()
    return name if _LETTER.search(name) else value


def _is_named(outline: Outline, place: int, text: str) -> bool:
    """Return whether a text has a letter, or the page says in so many words that it is a person's name."""
    if _LETTER.search(text) or not text:
        return bool(text)
    if _is_called_name(outline, place):
        return True
    is_marked = _leads_to_user(outline, place) and outline.once(place, _names_user)
    return is_marked and (not any(map(str.isdigit, text)) or outline.once(place, _is_by_author))


def _is_by_author(outline: Outline, place: int) -> bool:
    """Return whether an element is called an author itself, and not what counts something of one."""
    element = outline.elements[place]
    return "author" in (element.get("class") or "").split() or "author" in (element.get("rel") or "").split()


def _is_called_name(outline: Outline, place: int) -> bool:
    """Return whether an element itself is called the name of a person."""
    element = outline.elements[place]
    return element.get("itemprop") in ("author", "creator") or any(map(_NAME_WORD.search, outline.tokens[place]))


def _leads_to_user(outline: Outline, place: int) -> bool:
    href = outline.once(place, _address)
    return bool(href and _is_user_address(href))


def names_author(outline: Outline, place: int) -> bool:
    """Return whether an element is called one of a person, or leads to a page of a person."""
    return outline.once(place, _names_user) or _leads_to_user(outline, place)


def _marked_name(outline: Outline, place: int, shown: str) -> str:
    """Return the text of an element that the page marks as a person's name, with all of its signs; empty for others.

    People call themselves ``a`` or ``-=[X]=-``. A word of bylines is a name only where its link says so.
    """
    called, leads = outline.once(place, _names_user), _leads_to_user(outline, place)
    if not (called or leads):
        return ""
    name = without_byline_words(shown).rstrip(",:;|")
    if name or " " in shown:
        return name
    href = (outline.once(place, _address) or "").casefold()
    is_address = shown.casefold() in _SEPARATORS.split(href) or shown.casefold() in BESIDE
    return shown if len(shown) == 1 or (leads and (called or is_address)) else ""


def is_marked(author: Byline) -> bool:
    """Return whether a page says of a name that it is a person's, whatever signs it has: by its link, or its class."""
    element = author.element
    relations = (element.get("rel") or "").lower().split()
    if "author" in relations or (author.href and _is_user_address(author.href)):
        return True
    named = any(_USER_WORD.search(word) for word in (element.get("class") or "").split())
    return " " not in author.name and (named or element.get("itemprop") in ("author", "creator", "name"))


def _share(found: Mapping[int, ShownName], holds: Callable[[ShownName], bool]) -> float:
    return sum(map(holds, found.values())) / len(found)


def _address(outline: Outline, place: int) -> str | None:
    element = outline.elements[place]
    if element.tag == "a":
        return element.get("href")
    above = outline.parents[place]
    if above >= 0 and outline.tags[above] == "a":
        return outline.elements[above].get("href")
    inner = next(element.iter("a"), None)
    return inner.get("href") if inner is not None else None


def _is_user_address(href: str) -> bool:
    return _is_short_user_address(href[:500])


@lru_cache(maxsize=4_096)
def _is_short_user_address(href: str) -> bool:
    try:
        parts = urlsplit(href)
    except ValueError:  # A bracket stands in the host.
        return False
    address = f"{parts.path}?{parts.query}"
    return bool(_USER_ADDRESS.search(address)) and not _DEED_TO_USER.search(address)


def _is_filed(outline: Outline, place: int) -> bool:
    """Return whether a link is a category of a record or leads to the record itself, and so names no person."""
    links = [each for each in (place, outline.parents[place]) if each >= 0 and outline.tags[each] == "a"]
    links = links or [each for each in range(place + 1, outline.ends[place]) if outline.tags[each] == "a"]
    rels = {word for each in links for word in (outline.elements[each].get("rel") or "").lower().split()}
    if not links or "author" in rels:
        return False
    if outline.leading_word(links[0]) in _FILED_UNDER:
        return True
    return not _FILED.isdisjoint(rels) or any(
        any(map(_FILED_WORD.search, outline.tokens[each]))
        or _FILED_ADDRESS.search((outline.elements[each].get("href") or "")[:500])
        for each in links
    )


def _is_button(outline: Outline, place: int) -> bool:
    """Return whether an element, or its parent, is a control without a URL, and so names no person."""
    if outline.once(place, _names_user):
        return False
    around = [outline.elements[each] for each in (place, outline.parents[place]) if each >= 0]
    inner = [each for each in outline.elements[place].iter("a") if each is not outline.elements[place]]
    return any(
        each.get("role") == "button"
        or each.get("onclick") is not None
        or (each.tag == "a" and (each.get("href") or "#").strip().lower().startswith(_NOWHERE))
        for each in (*around, *inner[:1])
    ) or any(_are_of_button(outline.tokens[each]) for each in (place, outline.parents[place]) if each >= 0)


@lru_cache(maxsize=10_000)
def _are_of_button(words: tuple[str, ...]) -> bool:
    return any(map(_BUTTON_WORD.search, words))


def _names_user(outline: Outline, place: int) -> bool:
    for each in (place, outline.parents[place]):
        if each < 0:
            break
        element = outline.elements[each]
        if element.get("itemprop") in ("author", "creator") or "author" in (element.get("rel") or "").split():
            return True
        if _are_of_user(outline.tokens[each]) or any(map(_USER_WORD.search, _data_words(element))):
            return True
    return False


@lru_cache(maxsize=10_000)
def _are_of_user(words: tuple[str, ...]) -> bool:
    return any(map(_USER_WORD.search, words))


def _data_words(element: Element) -> Iterator[str]:
    """Yield the words in attributes for scripts: the attributes' names, and values that are names."""
    for name in map(str, element.keys()):
        if name.startswith("data-"):
            yield name[5:]
            value = element.get(name) or ""
            if weight(value) <= MAX_NAME_LENGTH:
                yield from value.split()
