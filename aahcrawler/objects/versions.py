"""Compares the objects of a page between two captures of it, and names their versions.

Only changes made by a person count as edits: of title, text, author, date, tags, images or links. White space, scores,
counters, profile URLs and whatever else a page shows of an object may change without an edit.
"""

import re
import unicodedata
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, time
from hashlib import sha256
from types import MappingProxyType
from typing import Final, Self
from urllib.parse import quote, urlsplit

from aahcrawler.objects.nquads import iri, site_of
from aahcrawler.objects.vocabulary import VERSION
from aahcrawler.webobject import Person, Reference, Value, WebObject

_SHOWN_BY_TEMPLATES: Final = ("title", "author", "date", "links", "description", "tag", "tags")
_MIN_TELLING: Final = 40
"""The letters of a text from which on it tells an object from the others of its page."""
_RECORD: Final = "urn:uuid:"
_INVISIBLE: Final = dict.fromkeys((0xAD, 0x200B, 0x2060, 0xFEFF))
_TELLING: Final = ("author", "date", "body")
"""The properties that tell an object from all others, whatever it is called."""
_PICTURE: Final = re.compile(
    r"[^/]+\.(?:avif|bmp|gif|jpe?g|jfif|m4v|mov|mp4|ogv|png|svg|tiff?|webm|webp)$", re.IGNORECASE
)

_Telling = tuple[Callable[[WebObject], object], bool]
"""What tells an object, and whether it does so only where no other object of the page has the same."""


@dataclass(frozen=True, slots=True)
class Changes:
    """The IRIs of a page's objects that are new, edited, and gone since a former capture."""

    added: tuple[str, ...] = ()
    edited: tuple[str, ...] = ()
    deleted: tuple[str, ...] = ()

    def __bool__(self) -> bool:
        """Return whether anything changed."""
        return bool(self.added or self.edited or self.deleted)

    def __and__(self, other: Self) -> Self:
        """Return the changes that are in both.

        >>> Changes(added=("a", "b")) & Changes(added=("b",), edited=("a",))
        Changes(added=('b',), edited=(), deleted=())
        """
        return replace(
            self,
            added=tuple(name for name in self.added if name in other.added),
            edited=tuple(name for name in self.edited if name in other.edited),
            deleted=tuple(name for name in self.deleted if name in other.deleted),
        )


def compare(former: Sequence[WebObject], now: Sequence[WebObject]) -> Changes:
    """Return the changes from the objects of one capture of a page to those of the next (ARCOMEM, section 4.1).

    Added and edited objects come in the order of ``now``, deleted ones in that of ``former``. Objects are matched by
    their IRIs, after ``carried`` has restored the IRIs by which they were known. A title, author, date or links that
    all objects had before and none has now, or the reverse, is a change of the template, not an edit. Both captures
    must have been read with the same knowledge base; otherwise a field that only one of them could find is taken for an
    edit.
    """
    before = {each.iri: each for each in reversed(former)}
    after = {each.iri: each for each in reversed(carried(former, now))}
    of_template = {
        kind: _of_template(
            [(before[name], each) for name, each in after.items() if name in before and each.type == kind]
        )
        for kind in {each.type for each in after.values()}
    }
    return Changes(
        added=tuple(name for name in reversed(after) if name not in before),
        edited=tuple(
            name
            for name, each in reversed(after.items())
            if name in before and is_edited(before[name], each, of_template[each.type])
        ),
        deleted=tuple(name for name in reversed(before) if name not in after),
    )


def carried(former: Sequence[WebObject], now: Sequence[WebObject]) -> tuple[WebObject, ...]:
    """Return the objects of a page under the IRIs that they had in a former capture of it.

    An object with an unknown IRI is taken for a former one that is gone if author and content are the same or, where no
    other fits, if author and time, text, or former URL are the same: some pages renumber their objects, some change
    their URLs. The same is done where an IRI now names another object, because a page numbers its objects and an
    earlier one is gone; a new object under a used IRI gets an IRI of its own. The ``url`` stays that of today, and
    references to objects are updated.
    """
    names = _known_as(former, now)
    return tuple(_under(names, each) for each in now) if names else tuple(now)


def _known_as(former: Sequence[WebObject], now: Sequence[WebObject]) -> dict[str, str]:
    """Return the former IRIs of objects whose IRIs have changed."""
    before, after = {each.iri: each for each in former}, {each.iri: each for each in now}
    renumbered = _renumbered(before, after)
    gone = [each for name, each in before.items() if (name not in after or name in renumbered) and _has_text(each)]
    new = [each for name, each in after.items() if name not in before or name in renumbered]
    names: dict[str, str] = {}
    tellings: list[_Telling] = [(identity, False), (_content, False), (_moment_of, True), (_body, True)]
    for telling, alone in tellings if renumbered else [*tellings, (_address, False)]:
        waiting: dict[object, list[str]] = {}
        for each in gone:
            waiting.setdefault(telling(each), []).append(each.iri)
        counts = Counter(map(telling, new))
        for each in new:
            said = telling(each)
            is_told = not alone or (counts[said] == 1 and len(waiting.get(said, ())) == 1)
            if said is not None and is_told and waiting.get(said):
                names[each.iri] = waiting[said].pop(0)
        gone = [each for each in gone if each.iri not in names.values()]
        new = [each for each in new if each.iri not in names]
    return names | {each.iri: _of_its_own(each) for each in new if each.iri in before}


def _renumbered(before: Mapping[str, WebObject], after: Mapping[str, WebObject]) -> frozenset[str]:
    """Return the IRIs that name another object than before, as happens where a page numbers its objects.

    It is proved by one IRI that now names an object known by another IRI. Then every IRI whose text and time or author
    differ from before is included.
    """
    known = {identity(each): name for name, each in before.items() if _has_text(each)}
    other = {name for name in before.keys() & after.keys() if _is_another(before[name], after[name])}
    proven = any(known.get(identity(after[name]), name) != name for name in other)
    return frozenset(other) if proven else frozenset()


def _is_another(former: WebObject, now: WebObject) -> bool:
    """Return whether two objects are not versions of one: the text differs, and so does its time or author."""
    if not (_has_text(former) and _has_text(now)) or _read(former, "body") == _read(now, "body"):
        return False
    return any(
        _read(former, name) and _read(now, name) and _differs(name, _read(former, name), _read(now, name))
        for name in ("author", "date")
    )


def _of_its_own(web_object: WebObject) -> str:
    """Return an IRI made from an object's content, where its own IRI names another object."""
    page, _, fragment = web_object.iri.partition("#")
    return f"{page}#{fragment}-{sha256(identity(web_object).encode()).hexdigest()[:16]}"


def _under(names: Mapping[str, str], each: WebObject) -> WebObject:
    """Return an object with its former IRI, and its references to others with theirs."""
    parents = tuple(
        Reference(names.get(value.url, value.url)) if isinstance(value, Reference) else value
        for value in each.properties.get("parent", ())
    )
    properties = {**each.properties, "parent": parents} if parents else each.properties
    part_of = names.get(each.part_of, each.part_of) if each.part_of is not None else None
    return replace(each, iri=names.get(each.iri, each.iri), properties=properties, part_of=part_of)


def identity(web_object: WebObject) -> str:
    """Return author, time and content as one text, which is the same for an object under another IRI on another page.

    >>> one = WebObject("urn:x", "post", "http://a.test/", {"body": ("Hello  there",), "author": (Person("Ann"),)})
    >>> identity(one) == identity(WebObject("urn:y", "reply", "http://a.test/?p=1", one.properties))
    True
    """
    return repr(tuple([_read(web_object, name) for name in _TELLING]))


def is_edited(former: WebObject, now: WebObject, leaving_out: frozenset[str] = frozenset()) -> bool:
    """Return whether one version of an object is an edit of another, without regard to some fields.

    >>> one = WebObject("urn:x", "post", "http://a.test/", {"body": ("Hello  there",), "likes": (1,)})
    >>> is_edited(one, WebObject("urn:x", "post", "http://a.test/?page=2", {"body": ("Hello there",), "likes": (9,)}))
    False
    """
    return any(_is_edited_in(name, former, now) for name in _COUNTED if name not in leaving_out)


def edited_fields(former: WebObject, now: WebObject) -> frozenset[str]:
    """Return the names of the properties by which one version of an object is an edit of another."""
    return frozenset(name for name in _COUNTED if _is_edited_in(name, former, now))


def _is_edited_in(name: str, former: WebObject, now: WebObject) -> bool:
    return former.properties.get(name) != now.properties.get(name) and _differs(
        name, _read(former, name), _read(now, name)
    )


def _of_template(pairs: Sequence[tuple[WebObject, WebObject]]) -> frozenset[str]:
    """Return the fields that all objects of a kind on a page had before and none has now, or the reverse.

    A redesign hides or shows them; nobody edits all objects at once.
    """
    return frozenset(
        name
        for name in _SHOWN_BY_TEMPLATES
        if {(name in before.properties, name in now.properties) for before, now in pairs} - {(False, False)}
        in ({(True, False)}, {(False, True)})
    )


def version(capture: str, web_object: str) -> str:
    """Return the IRI of an object's version in one capture; ``capture`` is the id of the WARC response record.

    >>> version("urn:uuid:7f1c", "http://a.test/t/1#p2")
    'urn:aahcrawler:version:7f1c:http%3A%2F%2Fa.test%2Ft%2F1%23p2'
    """
    return f"{VERSION}{quote(capture.removeprefix(_RECORD), safe='')}:{quote(iri(web_object)[1:-1], safe='')}"


def _address(web_object: WebObject) -> object:
    address = web_object.first("url")
    return address.url if isinstance(address, Reference) else None


def _moment_of(web_object: WebObject) -> object:
    """Return an object's author and time to the minute; None where either is unknown, or only the day is given."""
    author, date = _read(web_object, "author"), web_object.first("date")
    is_told = isinstance(date, datetime) and not date.microsecond and date.time() != time.min
    return (author, _read(web_object, "date")) if author and is_told else None


def _differs(name: str, former: tuple[str, ...], now: tuple[str, ...]) -> bool:
    """Return whether values differ in a way that counts.

    Templates often show recent dates as "3 hours ago". A redesign may show dates to the minute or the day that were
    shown to the second before.
    """
    if name != "date":
        return former != now
    if not (former and now):
        return False
    return len(former) != len(now) or not all(map(_is_same_moment, former, now))


def _is_same_moment(one: str, other: str) -> bool:
    """Return whether two times agree to the minute or the day, where one of them is given no more precisely."""
    try:
        first, second = datetime.fromisoformat(one), datetime.fromisoformat(other)
    except ValueError:
        return one == other
    if time.min in (first.time(), second.time()):
        return first.date() == second.date() or first == second
    if 0 in (first.second, second.second):
        return first.replace(second=0) == second.replace(second=0)
    return first == second


def _has_text(web_object: WebObject) -> bool:
    return "body" in web_object.properties


def _body(web_object: WebObject) -> object:
    """Return the text of an object; None where it is so short that other objects may have the same text."""
    body = _read(web_object, "body")
    return body if sum(map(len, body)) >= _MIN_TELLING else None


def _content(web_object: WebObject) -> tuple[object, ...]:
    return tuple(_read(web_object, name) for name in ("body", "title", "author"))


def _read(web_object: WebObject, name: str) -> tuple[str, ...]:
    """Return the values of a property in comparable form, sorted where their order does not matter."""
    reading = _COUNTED[name]
    site = site_of(web_object.source_url)
    read = [text for value in web_object.properties.get(name, ()) if (text := reading(value, site))]
    return tuple(read) if reading is _text else tuple(sorted(read))


def _text(value: Value, site: str) -> str:
    """Fold white space, and drop invisible characters."""
    if isinstance(value, Person | Reference | datetime):
        return _named(value, site)
    written = str(value)
    if not written.isascii():
        written = unicodedata.normalize("NFC", written.translate(_INVISIBLE))
    return " ".join(written.split())


def _named(value: Value, site: str) -> str:
    """Return the name of a person, since the URLs of profiles change."""
    match value:
        case Person(name):
            return _text(name, site)
        case Reference(address):
            return address
        case datetime():
            return _moment(value, site)
        case _:
            return _text(value, site)


def _moment(value: Value, site: str) -> str:
    """Return a time.

    Empty where it has fractions of a second, since "3 hours ago" is computed from the time of the fetch.
    """
    if isinstance(value, datetime):
        return "" if value.microsecond else value.isoformat()
    return _text(value, site)


def _tag(value: Value, site: str) -> str:
    return _named(value, site).casefold()


def _link(value: Value, site: str) -> str:
    """Return the URL of a link; without its query if on the page's own site, as that may hold sessions and tokens."""
    address = _named(value, site)
    return address.partition("?")[0] if site and site_of(address) == site else address


def _picture(value: Value, site: str) -> str:
    """Return the file name of a picture, where it has one, since hosts, sizes and signatures change."""
    address = _named(value, site)
    try:
        named = _PICTURE.search(urlsplit(address).path)
    except ValueError:
        named = None
    return named[0] if named else _link(value, site)


_OF_TICKETS: Final = ("status", "resolution", "priority", "severity", "milestone", "component", "version")
"""What a tracker says of a ticket: to change it is what trackers are for."""

_COUNTED: Final[Mapping[str, Callable[[Value, str], str]]] = MappingProxyType(
    {
        "title": _text,
        "body": _text,
        "description": _text,
        "author": _named,
        "date": _moment,
        "tag": _tag,
        "tags": _tag,
        "image": _picture,
        "images": _picture,
        "video": _picture,
        "media": _picture,
        "links": _link,
        "owner": _named,
        **dict.fromkeys(_OF_TICKETS, _text),
    }
)
"""The properties whose change is an edit, with the part of a value that counts; see ``docs/vocabulary.md``."""
