"""Web objects of a page of no known application: what it declares, its article, and the records it repeats."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from hashlib import sha256

from lxml.etree import _Element as Element

from aahcrawler.induction.article_text import ArticleText, article_text
from aahcrawler.induction.finding import find_records
from aahcrawler.induction.headings import heading_target, page_heading
from aahcrawler.induction.main_part import MainPart, main_part
from aahcrawler.induction.merging import completed, merged, paired
from aahcrawler.induction.model import Byline, Nature, Record, RecordSet, Region
from aahcrawler.induction.surroundings import Surroundings
from aahcrawler.page import Page, claims, generic
from aahcrawler.page.schemaorg import items
from aahcrawler.page.text import excerpt, fold
from aahcrawler.urls import queue_of, resolve
from aahcrawler.webobject import Person, Reference, Value, WebObject

LEAST_RUNNING = 500
"""The weight of running text that makes a page an article without a date or an author."""

LEAST_DATED = 120
"""The weight of text that makes an article of what has a date or an author."""

OUTWEIGHS = 3
"""How many times the running text of posts that of an article is that they are no comments on."""

LEAST_LETTERS = 40
"""The letters of text that a page has at least that calls itself an article."""


@dataclass(frozen=True)
class Reading:
    """What was found on one page: its sets of records, its article if it is one, and the objects made of these.

    ``bodies`` are the regions that the texts of objects stand in, by the objects' IRIs, where that is known.
    """

    sets: tuple[RecordSet, ...]
    article: MainPart | None
    objects: tuple[WebObject, ...]
    bodies: Mapping[str, Region] = field(default_factory=dict)


def read(page: Page) -> Reading:
    """Read an HTML page. One object is claimed once; lists yield none."""
    where = Surroundings.of(page)
    sets = find_records(where)
    given = items(page)
    says = claims.says_article(page, given)
    withheld = not says and _is_withheld(page, where)
    teasers = frozenset(
        item.element for item in given if item.element is not None and claims.leads_elsewhere(page, item)
    )
    part = main_part(where.outline, where.shown, sets, where.names)
    text = None
    if part is not None and not withheld and not _holds_posts(where, part, sets) and not _lies_in(part, teasers):
        text = article_text(page, where, part)
    article = None
    if part is not None and text is not None:
        is_one = text.letters >= LEAST_LETTERS if says else _is_article(page, where, part, text, sets)
        article = part if is_one else None
    content = text.plain if text is not None and article is not None else ""
    beside = withheld or (article is not None and _outweighs(where, article, sets))
    posts = (
        []
        if beside
        else [each for each in sets if each.nature is Nature.POSTS and not _is_preview(where, article, each)]
    )
    declared = claims.declared(page, given, content, generic.title(page))
    first = declared[0].object if declared else None
    whole = first if first is not None and first.type in ("article", "post") else None
    bodies: dict[str, Region] = {}
    found: list[WebObject] = [each.object for each in declared]
    if whole is None and article is not None:
        whole = _article_object(page, article, content)
        found.insert(0, whole)
        bodies[whole.iri] = article.body
    elif whole is not None and article is not None and text is not None and whole.iri == claims.permalink(page):
        whole = completed(whole, _article_object(page, article, content))
        whole = found[0] = _with_body(whole, text.agreed_with(str(whole.first("body") or "")))
        bodies[whole.iri] = article.body
    for each in posts:
        if any(_stands_in(record.element, teasers) for record in each.records):
            continue
        induced = _records(page, each, whole, _heading(where, each))
        pairs = paired(declared, each.records)
        if _has_gaps(declared, pairs):
            found.extend(one for number, one in induced.items() if number not in pairs.values())
        found = merged(found, declared, pairs, induced)
        names = [(number, one.iri) for number, one in induced.items()]
        names += [(number, declared[place].object.iri) for place, number in pairs.items()]
        bodies |= {name: body for number, name in names if (body := each.records[number].body) is not None}
    return Reading(sets, article, tuple({each.iri: each for each in reversed(found)}.values())[::-1], bodies)


def _has_gaps(declared: Sequence[claims.Claim], pairs: Mapping[int, int]) -> bool:
    """Say whether records that are declared nowhere are objects of their own.

    Comments declared in a script are all there are; so are those of the markup, unless they are among these records.
    """
    comments = [each for each in declared if each.object.type == "comment" and each.item is not None]
    if any(each.item is not None and each.item.element is None for each in comments):
        return False
    return not comments or bool(pairs)


def _stands_in(element: Element, teasers: frozenset[Element]) -> bool:
    return bool(teasers) and (element in teasers or not teasers.isdisjoint(element.iterancestors()))


def _lies_in(article: MainPart, teasers: frozenset[Element]) -> bool:
    """Say whether the text of what looks like an article is that of teasers."""
    return any(
        _stands_in(element, teasers) or not teasers.isdisjoint(element.iter()) for element in article.body.elements
    )


def _holds_posts(where: Surroundings, part: MainPart, sets: Sequence[RecordSet]) -> bool:
    """Say whether posts are what a page is about, not an article that they may be comments on."""
    posts = [where.outline.places[each.records[0].element] for each in sets if each.nature is Nature.POSTS]
    return bool(posts) and not _outweighs(where, part, sets) and (not _is_signed(part) or min(posts) < part.place)


def _outweighs(where: Surroundings, part: MainPart, sets: Sequence[RecordSet]) -> bool:
    """Say whether a page is about what its heading names, beside which some short posts stand: messages, sources."""
    outline = where.outline
    posts = [record for each in sets if each.nature is Nature.POSTS for record in each.records]
    running = sum(outline.running(outline.places[element]) for record in posts for element in record.elements)
    before = any(outline.places[record.element] < part.place for record in posts)
    return bool(part.title) and part.running > OUTWEIGHS * running and (before or not _is_signed(part))


def _is_signed(part: MainPart) -> bool:
    return part.date is not None or part.author is not None


def _is_article(
    page: Page, where: Surroundings, part: MainPart, text: ArticleText, sets: Sequence[RecordSet]
) -> bool:
    """Say whether the main part of a page is an article rather than what stands around a list or a form."""
    running = max(part.running, text.running)
    if running < (LEAST_DATED if _is_signed(part) and part.title else LEAST_RUNNING) or text.linked > running:
        return False
    outline = where.outline
    led = [record for each in sets if not each.aside for record in each.records if record.target is not None]
    if sum(outline.running(outline.places[record.element]) for record in led) > running:
        return False
    if where.writing is not None and where.writing < part.place:
        return False
    if claims.is_row_of_teasers(page, text.whole):
        return False
    return not _leads_away(where, part) and not claims.is_front_page(page)


def _leads_away(where: Surroundings, part: MainPart) -> bool:
    """Say whether what looks like an article is the only entry of a list: its heading leads to a page of its own."""
    outline = where.outline
    title = fold(where.names.title).casefold()
    first = part.holder if part.heading is None else max(part.holder, part.heading)
    for place in range(first, min(outline.ends[part.holder], part.place + 1)):
        if outline.tags[place] not in ("h1", "h2", "h3", "h4"):
            continue
        text = fold(excerpt(outline.elements[place], 300)).casefold()
        target = heading_target(outline, place, where.names.base)
        if (
            target
            and text
            and text not in title
            and target not in where.names.own
            and queue_of(target) == where.names.queue
        ):
            return True
    return False


def _is_withheld(page: Page, where: Surroundings) -> bool:
    """Say whether a page asks not to be indexed and does not call itself the address of its content either."""
    robots = claims.meta(page).get("robots", "").lower()
    return "noindex" in robots and not where.names.canonical


def _is_preview(where: Surroundings, article: MainPart | None, each: RecordSet) -> bool:
    """Say whether records stand below a form to write in, as in a form to answer them."""
    outline = where.outline
    first = outline.places[each.records[0].element]
    if article is not None:
        return False
    return where.writing is not None and where.writing < first


def _with_body(whole: WebObject, body: str) -> WebObject:
    return replace(whole, properties={**whole.properties, "body": (body,)})


def _article_object(page: Page, article: MainPart, content: str) -> WebObject:
    iri = claims.permalink(page)
    author = _person(page, article.author)
    return claims.undeclared(
        page,
        iri,
        content,
        article.title or generic.title(page),
        author,
        article.date.moment if article.date else None,
    )


def _heading(where: Surroundings, each: RecordSet) -> str:
    outline = where.outline
    places = [outline.places[element] for record in each.records for element in record.elements]
    found = page_heading(outline, where.names, min(places), ())
    return found[0] if found else where.names.title


def _records(page: Page, each: RecordSet, whole: WebObject | None, heading: str) -> dict[int, WebObject]:
    """Return the objects that records are, by their places in the set."""
    page_iri = claims.permalink(page)
    iris: list[str] = []
    found: dict[int, WebObject] = {}
    for number, record in enumerate(each.records):
        body = record.body.plain() if record.body else ""
        iri = _iri(page_iri, record, body)
        iris.append(iri)
        if not body:
            continue
        author = _person(page, record.author)
        first = whole is None and number == 0
        title = record.title or (heading if first else "")
        properties: dict[str, tuple[Value, ...]] = {
            "title": (title,) if title else (),
            "author": (author,) if author else (),
            "date": (record.date.moment,) if record.date else (),
            "body": (body,),
            "url": (Reference(iri),),
            "parent": (Reference(iris[record.parent]),) if record.parent is not None else (),
        }
        kind = "comment" if whole is not None else "post" if first else "reply"
        given: Mapping[str, tuple[Value, ...]] = {name: values for name, values in properties.items() if values}
        found[number] = WebObject(iri, kind, page.url, given, whole.iri if whole else page_iri)
    return found


def _iri(page_iri: str, record: Record, body: str) -> str:
    """Name a record by its own permalink, else by its fragment of the page, else by what it says."""
    if record.permalink:
        return record.permalink
    if record.key:
        return f"{page_iri}#{record.key}"
    said = "\n".join(
        (record.author.name if record.author else "", str(record.date.moment) if record.date else "", body)
    )
    return f"{page_iri}#{sha256(said.encode()).hexdigest()[:16]}"


def _person(page: Page, byline: Byline | None) -> Person | None:
    if byline is None:
        return None
    return Person(fold(byline.name), resolve(page.base_url, byline.href) if byline.href else None)
