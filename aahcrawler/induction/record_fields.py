"""Extract the authors, dates and titles of records, each from the same place in all of them."""

import re
from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from string import digits

from aahcrawler.induction.field_labels import (
    FieldLabel,
    field_of,
    is_clause,
    is_turn,
    name_in,
    names_nobody,
    text_before,
)
from aahcrawler.induction.headings import heading_text
from aahcrawler.induction.outline import Outline, weight
from aahcrawler.induction.record_bodies import Content, RecordPart, Slot
from aahcrawler.induction.shown_dates import ShownDate, is_of_change
from aahcrawler.induction.shown_names import (
    LETTER,
    MAX_NAME_LENGTH,
    ShownName,
    address_at,
    is_labelled,
    is_user_address,
    label_at,
    name_places,
    names_author,
    names_user,
    shown_name,
)
from aahcrawler.page.text import excerpt, fold

_MAX_BYLINE_LENGTH = 150
MAX_PLACES = 400
"""How many elements of one record are examined for its author."""

_HEADINGS = ("h1", "h2", "h3", "h4", "h5", "h6")
_REPLY = re.compile(
    r"^(?:\s*(?:re|aw|sv|rif|odp|antw|antwort|ref|vs|回复|答复|re\^\d+)\s*(?:\[\d+\])?\s*[:：])+\s*", re.IGNORECASE
)
_DIGITS = re.compile(r"\d+")
_LABELLED = 2.5
"""The score of a label before a name: ``Author:``; a label of another field, such as ``Owned by:``, excludes it."""
_NUMBER_OF_POST = re.compile(r"^\W*[(\[#]\s*\d+(?:\.\d+)*\s*[)\]:.]?\s+")
"""The number of a post before the name of its author: ``(2) By Ann``, ``#3 Ann``."""


def subject(title: str) -> str:
    """Return a title in lower case without marks of replies.

    >>> subject("Re: Re: The Harbour")
    'the harbour'
    """
    return fold(_REPLY.sub("", title)).casefold()


@dataclass
class Fields:
    """The fields of the parts of one set, except their bodies, by number; missing ones have no entry."""

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
    """Find dates and titles of parts, which takes a tenth of the time needed for their authors."""
    dated = frozenset(each.place for each in shown)
    return Fields(choose_dates(content, shown), titles=_titles(content, subject(page_title), dated))


def sign(fields: Fields, content: Content, shown: Sequence[ShownDate]) -> None:
    """Add the authors of parts to ``fields``, which has their dates and titles."""
    fields.names = _Names(content, fields, frozenset(each.place for each in shown)).choose()


def choose_dates(content: Content, shown: Sequence[ShownDate]) -> dict[int, ShownDate]:
    """Return the date of each part, from the place that most parts have and whose dates differ and are in order."""
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

    A heading that most parts share (``Comments``) is not a title.
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
    """Return whether a heading shows author and date: it has a date, and words of bylines or a link beside it."""
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
        if is_heading and heading is None and LETTER.search(text) and not _is_byline(outline, place, dated):
            heading = (text, place)
    return heading


def _subject_of(outline: Outline, place: int) -> str:
    return subject(outline.once(place, heading_text))


@dataclass
class _Names:
    """Finds the place at which the parts name their authors."""

    content: Content
    fields: Fields
    dated: frozenset[int]

    def choose(self) -> dict[int, ShownName]:
        slots: dict[Slot, dict[int, ShownName]] = defaultdict(dict)
        turns: dict[Slot, dict[int, ShownName]] = defaultdict(dict)
        for number, part in enumerate(self.content.parts):
            for name in self._possible(number, part):
                label = label_at(self.content.outline, name.place)
                slot = (*self.content.slots.get(name.place, ()), label or "")
                if label in (None, FieldLabel.AUTHOR):
                    slots[slot].setdefault(number, name)
                elif is_turn(self.content.outline.once(name.place, text_before)):
                    turns[slot].setdefault(number, name)
        return self._best(slots) or self._best(turns) or self._beside_dates()

    def _best(self, slots: Mapping[Slot, dict[int, ShownName]]) -> dict[int, ShownName]:
        """Return the names at the places that most likely show authors; none if no place does."""
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
        texts = {outline.once(place, shown_name) for place in links}
        if len(texts) != 1 or not (text := texts.pop()) or len(text) + 2 > len(name.text) or text not in name.text:
            return name
        return ShownName(text, links[0], outline.elements[links[0]].get("href"), name.number)

    def _names_somebody(self, place: int) -> bool:
        href = self.content.outline.elements[place].get("href")
        text = excerpt(self.content.outline.elements[place], MAX_NAME_LENGTH + 1)
        return bool(href and is_user_address(href) and LETTER.search(text))

    def _possible(self, number: int, part: RecordPart) -> Iterator[ShownName]:
        outline = self.content.outline
        dated = self.fields.dates.get(number)
        tried = 0
        for place in part.places_among(outline, outline.once(0, name_places)):
            if dated is not None and outline.contains(place, dated.place):
                continue
            if not self.dated.isdisjoint(range(place, outline.ends[place])):
                continue
            if outline.parents[place] in self.dated and outline.tags[outline.parents[place]] in ("time", "a"):
                continue
            tried += 1
            if tried > MAX_PLACES:
                return
            text = outline.once(place, shown_name)
            if not text or (dated is not None and outline.contains(dated.place, place) and text in dated.text):
                continue
            yield ShownName(text, place, outline.once(place, address_at), number)

    def _score(self, found: Mapping[int, ShownName]) -> float:
        outline, records = self.content.outline, len(self.content.parts)
        texts = Counter(name.text for name in found.values())
        coverage = len(found) / records
        if _are_numbered(texts) and not any(outline.once(name.place, names_user) for name in found.values()):
            return 0.0
        if self._lead_apart(found):
            return 0.0
        hrefs = {name.href for name in found.values()}
        alone = len(texts) == 1 and (records >= 4 or len(hrefs) > 1)
        if coverage < 0.5 or (alone and not (len(hrefs) == 1 and all(map(self._is_user, found.values())))):
            return 0.0
        score = 2.0 * coverage
        score += 2.0 * _share(found, lambda name: bool(name.href and is_user_address(name.href)))
        score += 2.0 * _share(found, lambda name: outline.once(name.place, names_user))
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
        """Return whether equal texts link to different pages in most places, so that they are titles, not names."""
        led: dict[str, list[str]] = defaultdict(list)
        for name in found.values():
            if name.href and not name.href.startswith("#") and not names_author(self.content.outline, name.place):
                led[name.text].append(name.href)
        repeated = [hrefs for hrefs in led.values() if len(hrefs) > 1]
        return sum(len(set(hrefs)) == len(hrefs) for hrefs in repeated) > len(repeated) / 2

    def _is_user(self, name: ShownName) -> bool:
        """Return whether a name leads to a person's page and is marked as a name, as on one author's list of posts."""
        called = self.content.outline.once(name.place, names_user)
        return called and bool(name.href and is_user_address(name.href))

    def _is_near_date(self, name: ShownName) -> bool:
        outline = self.content.outline
        dated = self.fields.dates.get(name.number)
        if dated is None:
            return False
        above = outline.common(name.place, dated.place)
        return above >= 0 and outline.depths[name.place] - outline.depths[above] <= 3 and outline.free(above) < 200

    def _is_in_byline(self, name: ShownName) -> bool:
        """Return whether a name and the date are alone in a line, except for words such as ``remarked on``."""
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
        by = by or (title[1] == name.place and outline.once(name.place, names_user))
        return not by and not (name.href and is_user_address(name.href))

    def _wraps(self, name: ShownName, title: tuple[str, int]) -> bool:
        """Return whether an element around a title shows nothing else."""
        return self.content.outline.contains(name.place, title[1]) and subject(name.text) == subject(title[0])

    def _stands_in_line(self, place: int, holder: int) -> bool:
        """Return whether an element is some words of the line that its parent is."""
        outline = self.content.outline
        return outline.parents[place] == holder and outline.tags[place] in ("b", "strong", "cite", "em", "i", "bdi")

    def _beside_dates(self) -> dict[int, ShownName]:
        """Read names from text in the element of the date: ``Ann Boyd on 12 May:``."""
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

    The header of a first post often has a class of its own.

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
    """Return the name before the date in a line, else the one after it; "" if there is none.

    >>> _beside("(2) By Ann Boyd on 12 May 2021 in reply to", "12 May 2021"), _beside("9 May 2021 by jo", "9 May 2021")
    ('Ann Boyd', 'jo')
    """
    for words in text.split(date, 1):
        name = name_in(_NUMBER_OF_POST.sub("", words))
        if name and LETTER.search(name) and not is_clause(name) and field_of(name) is None:
            return name
    return ""


def labelled_date(outline: Outline, blocks: Iterable[int], shown: Sequence[ShownDate]) -> ShownDate | None:
    """Return the first date in blocks of labels and values whose label means the time of writing: ``Created``."""
    for block in blocks:
        for each in shown:
            is_within = outline.contains(block, each.place)
            if is_within and field_of(outline.once(each.place, text_before)) is FieldLabel.DATE:
                return each
    return None


def _are_numbered(texts: Collection[str]) -> bool:
    """Return whether texts differ only in their numbers: ``msg14 (view)``, ``msg15 (view)``."""
    return len(texts) > 1 and len({_DIGITS.sub("", text) for text in texts}) == 1


def _without_common_words(found: Mapping[int, ShownName]) -> dict[int, ShownName]:
    """Remove the words with which all names begin or end."""
    words = {number: name.text.split() for number, name in found.items()}
    if len({name.text for name in found.values()}) > 1:
        for at in (0, -1):
            while all(len(each) > 1 for each in words.values()) and len({each[at] for each in words.values()}) == 1:
                for each in words.values():
                    del each[at]
    if len(found) >= 3 and len({" ".join(each) for each in words.values()}) == 1:
        return {}
    return {number: ShownName(" ".join(words[number]), name.place, name.href, number) for number, name in found.items()}


def _share(found: Mapping[int, ShownName], holds: Callable[[ShownName], bool]) -> float:
    return sum(map(holds, found.values())) / len(found)
