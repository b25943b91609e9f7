"""Compare the values of a page's objects with those that a former crawl found at the same URL.

An action that still finds something may find another thing than before: the day's heading in place of the title. A
different value may have been edited as well, so that only a repair strategy which finds the former values on the page
can decide.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import datetime, time

from lxml.etree import _Element as Element

from aahcrawler.adaptation.detection.failure_detection import Trouble, bare, body_of, body_text, of_action
from aahcrawler.helper.assistance import Failure
from aahcrawler.helper.extraction.extraction import BODY, Extracted
from aahcrawler.page.text import fold, plain_text
from aahcrawler.webobject import Person, Value, WebObject
from aahcrawler.wrapper_induction.examples import LabelledExample, LabelledObject
from knowledge_base.model import Extract

COMPARED = ("title", "author", "date", BODY)
MISSED = 0.1
"""The share of a page's objects that may miss a value they had."""
DIFFERENT = 0.5
"""The share of a page's objects that must have another value than they had: people edit one text or another."""
LONGER, FEW_SIGNS = 0.03, 12
"""The most by which the length of a text may differ from the former one, as a share of it or in characters."""
MAX_LINE_LENGTH, MAX_WORDS_OF_LABEL = 120, 6
"""The most characters of a line about author and date, and the most words of a label of the template."""
SURE = 3
"""The number of objects of one page with former values beside other ones from which an edit is ruled out."""


def compared(action: Extract, found: Sequence[Extracted], former: Sequence[WebObject]) -> Trouble | None:
    """Return the fields of a page's objects that differ from the former values; None if hardly any does."""
    known = of_action(action, former)
    pairs = [(now, before) for now, before in matched(found, known) if before is not None]
    fields = [wanted.name for wanted in action.fields if wanted.name in COMPARED]
    other = frozenset(name for name in fields if pairs and _is_other(name, pairs))
    if not other:
        return None
    detail = f"{' and '.join(sorted(other))} not as before"
    return Trouble(Failure.CHANGED_SHAPE, detail, other, certain=False, remembered=True)


def _is_other(name: str, pairs: Sequence[tuple[Extracted, WebObject]]) -> bool:
    """Return whether so many objects miss a value, or have another one, that it is worth a look."""
    both = [(now.object.first(name), before.first(name)) for now, before in pairs]
    had = [(now, before) for now, before in both if before is not None]
    missing = sum(now is None for now, _ in had)
    different = sum(now is not None and not _is_same(name, now, before) for now, before in had)
    return missing > MISSED * len(had) or different + missing >= max(1, DIFFERENT * len(had))


def matched(found: Sequence[Extracted], former: Sequence[WebObject]) -> tuple[tuple[Extracted, WebObject | None], ...]:
    """Return for each object that was found the one that it was before: of the same text, else of the same URL."""
    by_text: dict[str, list[WebObject]] = {}
    for each in former:
        by_text.setdefault(bare(body_of(each)), []).append(each)
    by_address = {each.iri: each for each in former}
    return tuple((each, _before(each.object, by_text, by_address)) for each in found)


def _before(
    now: WebObject, by_text: Mapping[str, Sequence[WebObject]], by_address: Mapping[str, WebObject]
) -> WebObject | None:
    alike = by_text.get(bare(body_of(now)), ())
    if len(alike) == 1:
        return alike[0]
    return by_address.get(now.iri)


def same(one: Value, other: Value) -> bool:
    """Return whether two values mean the same, dates as exactly as both are written.

    >>> same(Person("Ann  Boyd"), Person("Ann Boyd", "http://a.test/")), same("One", "Two")
    (True, False)
    """
    if isinstance(one, Person) and isinstance(other, Person):
        return fold(one.name).casefold() == fold(other.name).casefold()
    if isinstance(one, datetime) and isinstance(other, datetime):
        return _is_same_moment(one, other)
    if isinstance(one, str) and isinstance(other, str):
        return fold(one).casefold() == fold(other).casefold()
    return one == other


def _is_same(name: str, one: Value, other: Value) -> bool:
    """Return whether two values of a field are the same; texts may differ by a little."""
    if name != BODY or not isinstance(one, str) or not isinstance(other, str):
        return same(one, other)
    short, long = sorted((len(bare(one)), len(bare(other))))
    return long - short <= max(FEW_SIGNS, LONGER * long)


def _is_same_moment(one: datetime, other: datetime) -> bool:
    if time.min in (one.time(), other.time()):
        return one.date() == other.date()
    return one.replace(second=0, microsecond=0) == other.replace(second=0, microsecond=0)


def contradicts(found: Sequence[Extracted], example: LabelledExample, fields: frozenset[str]) -> bool:
    """Return whether an example has another value of a field than was found, or one if none was found."""
    return any(missing for _, missing in _missing(found, example, fields))


def evident(
    found: Sequence[Extracted], example: LabelledExample, fields: frozenset[str]
) -> tuple[Extracted, ...] | None:
    """Return the objects found, with the values of an example; None if that changes nothing.

    A value is replaced only if so many of the page's objects have another one that an edit is ruled out. A text is
    never replaced: an addition may belong to it.
    """
    pairs = _missing(found, example, fields - {BODY})
    changed = sum(any(each.object.first(name) is not None for name in missing) for each, missing in pairs)
    replacing = changed >= max(SURE, DIFFERENT * len(pairs))
    told = [
        (each, {name: value for name, value in missing.items() if replacing or each.object.first(name) is None})
        for each, missing in pairs
    ]
    return tuple(_with(each, missing) for each, missing in told) if any(missing for _, missing in told) else None


def differs(found: Sequence[Extracted], former: Sequence[WebObject]) -> bool:
    """Return whether any of a page's objects says other than it did before, by as little as a word."""
    return any(
        not _is_told_again(name, now.object.first(name), value)
        for now, before in matched(found, former)
        if before is not None
        for name in COMPARED
        if (value := before.first(name)) is not None
    )


def _is_told_again(name: str, now: Value | None, before: Value) -> bool:
    if name == BODY and isinstance(now, str) and isinstance(before, str):
        return bare(now) == bare(before)
    return now is not None and same(now, before)


def settled(
    found: Sequence[Extracted], former: Sequence[WebObject], example: LabelledExample
) -> tuple[Extracted, ...] | None:
    """Return the objects that a learned action found, as memory found them again; None if that changes nothing.

    ``example`` is from memory. Where the page still shows the whole text of an object, and around it nothing but what
    its template says, the text is that one, and the values are those that stood beside it and stand there still. A
    value that the page does not show any more was edited, and stays as it was found.
    """
    labelled = {text: each for each in example.objects if (text := _own_text(each))}
    told = [
        (now, _told_again(now.object, labelled.get(bare(body_of(before))) if before is not None else None))
        for now, before in matched(found, former)
    ]
    return tuple(_with(now, missing) for now, missing in told) if any(missing for _, missing in told) else None


def _told_again(now: WebObject, labelled: LabelledObject | None) -> Mapping[str, Value]:
    if labelled is None:
        return {}
    return {
        name: label.value
        for name, label in labelled.labels.items()
        if name in COMPARED and not _is_told_again(name, now.first(name), label.value)
    }


def _own_text(labelled: LabelledObject) -> str:
    """Return the text of an object without what the template says in it, empty if the object has more text.

    What its example leaves out may be a paragraph that its author added.
    """
    label = labelled.labels.get(BODY)
    if label is None:
        return ""
    author = labelled.labels.get("author")
    name = bare(author.value.name) if author is not None and isinstance(author.value, Person) else ""
    return body_text(labelled) if all(_is_of_template(part, name) for part in label.without) else ""


def _is_of_template(element: Element, author: str) -> bool:
    """Return whether an element is a label, such as that of a button, or a line with the name of the author."""
    missing = plain_text(element)
    if author and author in bare(missing) and len(missing) <= MAX_LINE_LENGTH:
        return True
    return len(missing.split()) <= MAX_WORDS_OF_LABEL and any(each.attrib for each in element.iter())


def _missing(
    found: Sequence[Extracted], example: LabelledExample, fields: frozenset[str]
) -> list[tuple[Extracted, Mapping[str, Value]]]:
    """Return for each object the values in an example that were not found."""
    by_text = {text: labelled for labelled in example.objects if (text := body_text(labelled))}
    aligned: Sequence[LabelledObject | None] = [None] * len(found)
    if len(example.objects) == len(found):
        aligned = example.objects
    pairs = [(each, by_text.get(bare(body_of(each.object)), other)) for each, other in zip(found, aligned, strict=True)]
    return [(each, _unlike(each.object, labelled, fields) if labelled is not None else {}) for each, labelled in pairs]


def _unlike(web_object: WebObject, labelled: LabelledObject, fields: frozenset[str]) -> Mapping[str, Value]:
    told = {name: labelled.labels[name].value for name in sorted(fields) if name in labelled.labels}
    return {
        name: value for name, value in told.items() if (now := web_object.first(name)) is None or not same(now, value)
    }


def _with(extracted: Extracted, missing: Mapping[str, Value]) -> Extracted:
    properties = {**extracted.object.properties, **{name: (value,) for name, value in missing.items()}}
    return replace(extracted, object=replace(extracted.object, properties=properties)) if missing else extracted
