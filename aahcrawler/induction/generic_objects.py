"""Make web objects of a page of no known application: declared ones, its article, and its repeated records."""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC
from functools import partial
from hashlib import sha256
from itertools import pairwise
from typing import Final

from lxml.etree import _Element as Element

from aahcrawler.induction import datelines
from aahcrawler.induction.article import MIN_RUNNING, Article, JudgedArticle, judge, stands_in, teasers_of
from aahcrawler.induction.candidates import listed_shapes, shapes_of
from aahcrawler.induction.captions import Caption
from aahcrawler.induction.field_labels import FieldLabel, labelled_title
from aahcrawler.induction.galleries import Gallery, Photograph, gallery
from aahcrawler.induction.headings import page_heading
from aahcrawler.induction.paging import is_continued
from aahcrawler.induction.pictures import Picture
from aahcrawler.induction.prepared_page import PreparedPage
from aahcrawler.induction.record_finding import records
from aahcrawler.induction.record_sets import Byline, NoObject, Record, RecordSet, Region
from aahcrawler.induction.script_data import script_text
from aahcrawler.induction.shown_names import is_marked
from aahcrawler.page import Page, claims, generic, schemaorg, tiddlers
from aahcrawler.page.claims import Claim
from aahcrawler.page.record_shape import RecordShape
from aahcrawler.page.schemaorg import Item, items
from aahcrawler.page.text import bare, excerpt, fold
from aahcrawler.page.titles import subject_of, title_of, without_number
from aahcrawler.urls import resolve
from aahcrawler.webobject import Person, Reference, Value, WebObject

_NEAR = 4
_MAX_BYLINE_LENGTH = 200
_MAX_WORDS = 6
_AUTHOR = re.compile(
    r"author|autor|byline|writer|verfasser|redakt|journalist|vcard|contributor|(?:posted|submitted)[-_]?by|"
    r"(?:^|\s)(?:by|submitted)(?:\s|$)",
    re.IGNORECASE,
)
_BY = re.compile(
    r"\W*(?:submitted by|by|von|por|par|di|door|av|af|przez|autor|author|posted by|written by)\b\W", re.IGNORECASE
)
_NUMBERED = re.compile(r"\W*[^\W\d_]*\W*\d+\W*")
_NO_NAME = re.compile(r"[*@?!:/\d]|…|\.\.\.")


@dataclass(frozen=True)
class GenericReading:
    """The results for one page: its sets of records, its article if it is one, and the objects made of these.

    ``shapes`` are those of the records that are objects, ``listed`` those of entries of lists. ``bodies`` has the
    regions with the texts of objects, by the objects' IRIs, if known. ``lines`` are the digests of the article's lines,
    including those that other pages repeat. ``reason`` says why there are no objects; None if there are some.
    """

    sets: tuple[RecordSet, ...]
    article: Article | None
    objects: tuple[WebObject, ...]
    shapes: tuple[RecordShape, ...] = ()
    listed: tuple[RecordShape, ...] = ()
    bodies: Mapping[str, Region] = field(default_factory=dict)
    lines: tuple[int, ...] = ()
    reason: NoObject | None = None


def read_objects(page: Page) -> GenericReading:
    """Read an HTML page. Each object is returned once; lists yield none. A wiki in one page has what its store holds.

    If induction fails, the objects are those that the page declares; if these cannot be read either, there are none.
    """
    stored = page.attempt("stored entries", lambda: tiddlers.objects(page), tuple[WebObject, ...])
    if stored:
        return GenericReading((), None, stored)
    declared = partial(
        page.attempt, "declared objects", lambda: _declared_alone(page), lambda: GenericReading((), None, ())
    )
    return page.attempt("objects", lambda: _read(page), declared)


def _declared_alone(page: Page) -> GenericReading:
    found = claims.declared(page, page.once(items), "", generic.title(page))
    return GenericReading((), None, tuple(each.object for each in found))


def _read(page: Page) -> GenericReading:
    prepared = page.once(PreparedPage.of)
    given = page.once(items)
    sets = page.attempt("records", lambda: page.once(records), tuple[RecordSet, ...])
    shown = page.attempt("photographs", lambda: _gallery(page, prepared, sets, given), lambda: None)
    judged = _judged(page, prepared, shown.sets if shown is not None else sets, given, shown)
    article = judged.article
    lines = article.text.digests if article is not None else ()
    if article is not None:
        article = replace(article, text=article.text.apart_from_repeated(page.repeated_lines))
    declared = page.attempt(
        "declared objects",
        lambda: claims.declared(page, given, article.text.plain if article else "", generic.title(page)),
        tuple[claims.Claim, ...],
    )
    first = declared[0].object if declared else None
    whole = first if first is not None and first.type in ("article", "post") else None
    bodies: dict[str, Region] = {}
    found: list[WebObject] = [each.object for each in declared]
    if whole is None and article is not None:
        whole = _article_object(page, article)
        found.insert(0, whole)
        bodies[whole.iri] = article.part.body
    elif whole is not None and article is not None and _is_of_page(page, whole, article):
        whole = completed(whole, _article_object(page, article))
        item = declared[0].item
        is_shown = item is not None and item.element is not None
        whole = found[0] = _with_body(whole, article.text.agreed_with(str(whole.first("body") or ""), shown=is_shown))
        bodies[whole.iri] = article.part.body
    if shown is not None and shown.has_objects:
        pictured = photograph_objects(page, shown)
        found = [*pictured, *(each for each in found if each.type != "image")]
        whole = next((one for one in pictured if one.iri == claims.permalink(page)), whole)
        bodies |= {photograph_iri(each.picture): Region(each.elements) for each in shown.photographs}
    elif whole is not None and whole.iri == claims.permalink(page):
        whole = found[0] = _settled(
            page, prepared, whole, next((each.item for each in declared if each.object.iri == whole.iri), None)
        )
    if not found and not judged.posts and judged.reason in (NoObject.NO_TEXT, NoObject.LITTLE_TEXT):
        found += _of_scripts(page)
    continued = is_continued(page)
    teasers = teasers_of(page, given)
    above: dict[Element, str] = {}
    for each in judged.posts:
        if any(stands_in(record.element, teasers) for record in each.records):
            continue
        heading = "" if continued else _heading(page, prepared, each)
        induced = _records(page, each, whole, heading, above, continued=continued)
        continued = continued or each.alone
        above |= {element: one.iri for n, one in induced.items() for element in each.records[n].elements}
        pairs = paired(declared, each.records)
        if _has_gaps(declared, pairs):
            found.extend(one for number, one in induced.items() if number not in pairs.values())
        found = merged(found, declared, pairs, induced)
        names = [(number, one.iri) for number, one in induced.items()]
        names += [(number, declared[place].object.iri) for place, number in pairs.items()]
        bodies |= {name: body for number, name in names if (body := each.records[number].body) is not None}
    distinct = tuple({each.iri: each for each in reversed(found)}.values())[::-1]
    shapes = shapes_of(prepared.outline, judged.posts)
    listed = listed_shapes(prepared.outline, judged.sets)
    return GenericReading(
        judged.sets, article, distinct, shapes, listed, bodies, lines, None if distinct else judged.reason
    )


def _gallery(page: Page, prepared: PreparedPage, sets: Sequence[RecordSet], given: Sequence[Item]) -> Gallery | None:
    """Return the photographs of a page that declares no text of its own."""
    if claims.says_article(page, given) or claims.work_of(page) is not None or any(map(schemaorg.kind_of, given)):
        return None
    return gallery(page, prepared, sets)


def _is_of_page(page: Page, declared: WebObject, article: Article) -> bool:
    """Return whether a declared work is the article of the page: by its URL, else by its title."""
    if declared.iri.partition("#")[0] == claims.permalink(page):
        return True
    title, heading = (fold(str(each)).casefold() for each in (declared.first("title") or "", article.part.title))
    return bool(title) and title in (heading, fold(generic.title(page)).casefold())


def _has_gaps(declared: Sequence[claims.Claim], pairs: Mapping[int, int]) -> bool:
    """Return whether records that are not declared are objects of their own.

    Comments declared in a script are complete; so are those in the markup, unless they are among these records.
    """
    comments = [each for each in declared if each.object.type == "comment" and each.item is not None]
    if any(each.item is not None and each.item.element is None for each in comments):
        return False
    return not comments or bool(pairs)


def _judged(
    page: Page, prepared: PreparedPage, sets: tuple[RecordSet, ...], given: Sequence[Item], shown: Gallery | None
) -> JudgedArticle:
    """Judge whether a page has an article; a page that shows photographs, or continues an album, has none."""
    if shown is not None and (shown.has_objects or is_continued(page)):
        return JudgedArticle(shown.sets, None, shown.comments, NoObject.LIST)
    return page.attempt("article", lambda: judge(page, prepared, sets, given), lambda: JudgedArticle(sets, None, ()))


def _of_scripts(page: Page) -> Iterator[WebObject]:
    """Yield the article if it is only in the data of scripts."""
    text = page.attempt("data of scripts", lambda: script_text(page, MIN_RUNNING), str)
    if text:
        yield claims.undeclared(page, claims.permalink(page), text, title_of(page, ""), None, None)


def _settled(page: Page, prepared: PreparedPage, whole: WebObject, item: Item | None) -> WebObject:
    """Return the page's object with the title and date decided by what the page shows and declares."""
    labelled = _labelled_title(prepared)
    title = without_number(page, labelled or title_of(page, str(whole.first("title") or "")))
    date = datelines.published(page, prepared, title, item)
    kept = {name: each for name, each in whole.properties.items() if name != "title"}
    given: Mapping[str, tuple[Value, ...]] = {"title": (title,) if title else (), "date": (date,) if date else ()}
    return replace(whole, properties={**kept, **{name: each for name, each in given.items() if each}})


def _labelled_title(prepared: PreparedPage) -> str:
    """Return the title that a label on the page names; one above a text in the same table is accepted in any case."""
    beside = [each.place for each in prepared.texts if FieldLabel.TITLE in each.told]
    title = labelled_title(prepared.outline, (*beside, *prepared.labels), prepared.names.title)
    return title or labelled_title(prepared.outline, beside, prepared.names.title, is_sure=True)


def _with_body(whole: WebObject, body: str) -> WebObject:
    return replace(whole, properties={**whole.properties, "body": (body,)})


def is_byline(author: Byline) -> bool:
    """Return whether a name near an article is marked as its author: by its markup, its link or a word."""
    element = author.element
    around = (element, *element.iterancestors())[:_NEAR]
    marks = " ".join(f"{each.get(name) or ''}" for each in around for name in ("class", "id", "rel", "itemprop"))
    nearby = excerpt(around[min(1, len(around) - 1)], _MAX_BYLINE_LENGTH)
    marked = author.labelled or _AUTHOR.search(f"{marks} {author.href or ''}") is not None
    marked = marked or _BY.match(nearby) is not None
    if not marked or len(author.name.split()) > _MAX_WORDS:
        return False
    return _NO_NAME.search(author.name) is None or is_marked(author)


def _article_object(page: Page, article: Article) -> WebObject:
    part = article.part
    author = _person(page, part.author) if part.author is not None and is_byline(part.author) else None
    moment = part.date.told if part.date is not None and part.date.read.names_day else None
    title = part.title or generic.title(page)
    return claims.undeclared(page, claims.permalink(page), article.text.plain, title, author, moment)


def _heading(page: Page, prepared: PreparedPage, each: RecordSet) -> str:
    """Return the subject of a page's records: the heading above them, else the subject in the page's title."""
    outline = prepared.outline
    if labelled := _labelled_title(prepared):
        return without_number(page, labelled)
    places = [outline.places[element] for record in each.records for element in record.elements]
    found = page_heading(outline, prepared.names, min(places), ())
    if found and bare(found[0]) != bare(prepared.names.title):
        return without_number(page, found[0])
    return subject_of(page, prepared.names.title)


def _records(
    page: Page,
    each: RecordSet,
    whole: WebObject | None,
    heading: str,
    above: Mapping[Element, str],
    *,
    continued: bool = False,
) -> dict[int, WebObject]:
    """Return the objects made of records, by their positions in the set; if a thread continues, all are replies.

    ``above`` are the IRIs of records by their elements: a record within one of them answers it.
    """
    page_iri = claims.permalink(page)
    iris: list[str] = []
    found: dict[int, WebObject] = {}
    opening = _opening(each.records)
    for number, record in enumerate(each.records):
        body = record.body.plain() if record.body else ""
        iri = _iri(page_iri, record, body)
        iris.append(iri)
        if not body:
            continue
        author = _person(page, record.author)
        parent = iris[record.parent] if record.parent is not None else _answered(record, above)
        first = whole is None and number == opening and not continued and parent is None
        title = record.title or (heading if first and not _is_number_of_page(heading) else "")
        properties: dict[str, tuple[Value, ...]] = {
            "title": (title,) if title else (),
            "author": (author,) if author else (),
            "date": (record.date.told,) if record.date and record.date.told else (),
            "body": (body,),
            "url": (Reference(iri),),
            "parent": (Reference(parent),) if parent is not None else (),
        }
        kind = "comment" if whole is not None else "post" if first else "reply"
        given: Mapping[str, tuple[Value, ...]] = {name: values for name, values in properties.items() if values}
        found[number] = WebObject(iri, kind, page.url, given, whole.iri if whole else page_iri)
    return found


def _is_number_of_page(title: str) -> bool:
    """Return whether a title is a word and a number, which name no subject: ``Message 17``."""
    return _NUMBERED.fullmatch(title) is not None


def _opening(records: Sequence[Record]) -> int:
    """Return the index of the record to which the others reply: the first, or the last if the newest come first."""
    moments = [record.date.told for record in records if record.date is not None and record.date.told is not None]
    falls = len(moments) == len(records) > 1 and all(first >= second for first, second in pairwise(moments))
    return len(records) - 1 if falls and moments[0] > moments[-1] else 0


def _answered(record: Record, above: Mapping[Element, str]) -> str | None:
    """Return the IRI of the record in which this one lies; None if it lies in none."""
    return next((above[each] for each in record.element.iterancestors() if each in above), None) if above else None


def _iri(page_iri: str, record: Record, body: str) -> str:
    """Return the IRI of a record: its own permalink, else its fragment of the page, else one made from its text."""
    if record.permalink:
        return record.permalink
    if record.key:
        return f"{page_iri}#{record.key}"
    joined = "\n".join(
        (
            record.author.name if record.author else "",
            str(record.date.told.astimezone(UTC)) if record.date and record.date.told else "",
            body,
        )
    )
    return f"{page_iri}#{sha256(joined.encode()).hexdigest()[:16]}"


def _person(page: Page, byline: Byline | None) -> Person | None:
    if byline is None:
        return None
    return Person(fold(byline.name), resolve(page.base_url, byline.href) if byline.href else None)


COMPARED = 200
"""How many characters of two texts are compared."""


def paired(declared: Sequence[Claim], records: Sequence[Record]) -> dict[int, int]:
    """Return the record of each declared object that has one, both by their positions; each record once.

    They are the same if the declaration is on the record, within it or directly around it alone, or else if their texts
    are the same.
    """
    holders = {element: number for number, record in enumerate(records) for element in record.elements}
    inside = _inside(holders)
    by_text: dict[str, int] = {}
    for each, record in enumerate(records):
        if record.body is not None and (text := _compared(record.body.plain())):
            by_text.setdefault(text, each)
    found: dict[int, int] = {}
    taken: set[int] = set()
    for place, claim in enumerate(declared):
        if claim.item is None:
            continue
        body = claim.object.first("body")
        element = claim.item.element
        same_text = by_text.get(_compared(body)) if isinstance(body, str) else None
        standing = _record_at(element, holders, inside) if element is not None else None
        number = next((one for one in (standing, same_text) if one is not None and one not in taken), None)
        if number is not None:
            found[place] = number
            taken.add(number)
    return found


def merged(
    found: Sequence[WebObject],
    declared: Sequence[Claim],
    pairs: Mapping[int, int],
    induced: Mapping[int, WebObject],
) -> list[WebObject]:
    """Return the found objects, with declared ones completed by their records.

    An object that declares no URL of its own gets the record's, and so do references to it.
    """
    renamed: dict[str, str] = {}
    by_iri: dict[str, tuple[Claim, WebObject]] = {}
    for place, number in pairs.items():
        if number in induced:
            claim = declared[place]
            by_iri[claim.object.iri] = (claim, induced[number])
            if not claim.own:
                renamed[claim.object.iri] = induced[number].iri
            else:
                renamed[induced[number].iri] = claim.object.iri
    result: list[WebObject] = []
    for each in found:
        known = by_iri.get(each.iri)
        whole = completed(each, known[1]) if known is not None else each
        part_of = renamed.get(whole.part_of, whole.part_of) if whole.part_of else None
        result.append(_renamed(replace(whole, iri=renamed.get(whole.iri, whole.iri), part_of=part_of), renamed))
    return result


def completed(declared: WebObject, induced: WebObject) -> WebObject:
    """Return a declared object, completed with the properties that only the induced one has."""
    properties = {**induced.properties, **declared.properties}
    return replace(declared, properties=properties, part_of=declared.part_of)


def _renamed(each: WebObject, renamed: Mapping[str, str]) -> WebObject:
    properties = {
        name: tuple(
            Reference(renamed.get(value.url, value.url)) if isinstance(value, Reference) else value for value in values
        )
        if name in ("parent", "url")
        else values
        for name, values in each.properties.items()
    }
    return replace(each, properties=properties)


def _inside(holders: Mapping[Element, int]) -> dict[Element, int | None]:
    """Return for elements directly around records which record each contains; None if it contains several."""
    found: dict[Element, int | None] = {}
    for element, number in holders.items():
        above = element.getparent()
        if above is not None:
            found[above] = number if found.get(above, number) == number else None
    return found


def _record_at(element: Element, holders: Mapping[Element, int], inside: Mapping[Element, int | None]) -> int | None:
    around = (holders[above] for above in (element, *element.iterancestors()) if above in holders)
    exact = holders.get(element)
    return exact if exact is not None else inside.get(element) if element in inside else next(around, None)


def _compared(text: str) -> str:
    return fold(text)[:COMPARED].casefold()


_TYPES: Final = {"image": "photo", "video": "video", "audio": "audio"}


def photograph_objects(page: Page, shown: Gallery) -> tuple[WebObject, ...]:
    """Return the objects of a gallery: first the page's own one, an album or a photograph, then those of an album.

    A photograph without a page of its own is identified by its file (``photograph_iri``), so that it is one object on
    whatever pages it appears. An album about which nothing is written is not an object.
    """
    iri = claims.permalink(page)
    found: list[WebObject] = []
    if shown.own is not None:
        media = (Reference(shown.own.picture.file or shown.own.picture.shown),)
        own = _own(page, iri, "photo", shown.own.caption)
        found.append(replace(own, properties={**own.properties, "media": media}))
    elif shown.about is not None:
        found.append(_own(page, iri, "gallery", shown.about))
    found.extend(_photograph(page, iri, each) for each in shown.photographs)
    return tuple({each.iri: each for each in reversed(found)}.values())[::-1]


def photograph_iri(picture: Picture) -> str:
    """Return the IRI of a photograph that has no page of its own, made from its file."""
    return f"{picture.file}#photograph"


def _own(page: Page, iri: str, kind: str, caption: Caption) -> WebObject:
    author = Person(caption.author) if caption.author else None
    return replace(claims.undeclared(page, iri, caption.body, caption.title, author, caption.date), type=kind)


def _photograph(page: Page, holder: str, each: Photograph) -> WebObject:
    caption = each.caption
    properties: dict[str, tuple[Value, ...]] = {
        "title": (caption.title,) if caption.title else (),
        "author": (Person(caption.author),) if caption.author else (),
        "date": (caption.date,) if caption.date is not None else (),
        "body": (caption.body,),
        "url": (Reference(holder),),
        "media": (Reference(each.picture.file or each.picture.shown),),
    }
    given: Mapping[str, tuple[Value, ...]] = {name: values for name, values in properties.items() if values}
    return WebObject(photograph_iri(each.picture), _TYPES[each.picture.kind], page.url, given, holder)
