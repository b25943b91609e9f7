"""Decide whether a page is about one article, and find the article's text."""

import re
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from heapq import nlargest
from itertools import accumulate, islice
from urllib.parse import urlsplit

from lxml.etree import _Element as Element

from aahcrawler.induction.article_text import ArticleText, apart_from, article_text, entries_of, structure_text
from aahcrawler.induction.candidates import called_record, is_of
from aahcrawler.induction.comment_sections import CommentSection
from aahcrawler.induction.headings import heading_target, is_front
from aahcrawler.induction.main_part import MainPart, main_part
from aahcrawler.induction.outline import Extents, Outline
from aahcrawler.induction.prepared_page import PreparedPage, text_below, text_headings
from aahcrawler.induction.record_sets import Nature, NoObject, Record, RecordSet
from aahcrawler.induction.teaser_detection import dated_entries
from aahcrawler.induction.text_lines import RUNNING, letters
from aahcrawler.page import Page, claims, generic
from aahcrawler.page.schemaorg import Item
from aahcrawler.page.text import bare, excerpt, fold
from aahcrawler.urls import queue_of

MIN_RUNNING = 500
"""The weight of running text that makes a page an article without a date or an author."""

MIN_TITLED = 250
"""The weight of running text from which the main part is an article, if the page's heading names it."""

MIN_DATED = 120
"""The weight of text from which the main part is an article, if it has a heading, and a date or an author."""

SHORT_TITLED, SHORT_DATED = 180, 80
"""The same two weights if the page has no longer text and its URL no query, as the URLs of tools have."""

MIN_VERSES = 120
"""The fewest letters of an article that consists of short lines."""

MIN_COMMENTED = 20
"""The fewest letters of text below the page's heading that make an article if readers comment on it."""

MOSTLY_LISTED, MAX_OF_ONE = 0.5, 0.75
"""The share of a text in list entries that makes the page a list, and the largest share that one of them may have."""

MIN_LINKS, ALL_LINKS = 5, 0.9
"""A text is a list if it has at least this many lines of links, with at least this share of its letters."""

NEARLY_ALL = 0.9
"""The share of all text that one unsigned record must have for the records not to be contributions."""

MORE = 1.1
"""How many times as many sentences the page's structure must give as the text read among comments to be used instead.
"""

MIN_LETTERS = 40
"""The fewest letters of text on a page that declares itself an article."""

OUTWEIGHS = 3
"""If the posts' running text is this many times the article's, the posts are not comments on it."""

SURE, DOUBTFUL = 0.9, 0.82
"""Records with this confidence are not parts of one text that mentions dates and people: without URLs on the page, and
with URLs."""

MOSTLY_ADDRESSED = 0.6
"""If this share of posts have an identifier, a text that contains them consists of them."""

_FEW = 3
"""The most records above comments that may be parts of a text."""
_HEADINGS = frozenset({"h1", "h2", "h3", "h4"})
_MAX_HEADING_LENGTH = 300
_COMMENTS = re.compile(r"comment|kommentar", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Article:
    """The article that a page is about: its place and its text."""

    part: MainPart
    text: ArticleText


@dataclass(frozen=True, slots=True)
class JudgedArticle:
    """What a page with repeated structure is about. ``sets`` are its records, ``posts`` those that are objects.

    ``reason`` says why there is neither an article nor a post; None where there is one.
    """

    sets: tuple[RecordSet, ...]
    article: Article | None
    posts: tuple[RecordSet, ...]
    reason: NoObject | None = None


def judge(page: Page, prepared: PreparedPage, sets: tuple[RecordSet, ...], given: Sequence[Item]) -> JudgedArticle:
    """Return the article of a page, if there is one, and the records that are posts or comments, as `_judge` does.

    A page without running text may have one of short lines, or be a ticket of a few words.
    """
    judged = _judge(page, prepared, sets, given)
    if judged.reason not in (NoObject.NO_TEXT, NoObject.LITTLE_TEXT):
        return judged
    short = _verses(page, prepared, judged.sets) or _few_words(prepared, judged.sets)
    return judged if short is None else JudgedArticle(judged.sets, short, ())


def _judge(page: Page, prepared: PreparedPage, sets: tuple[RecordSet, ...], given: Sequence[Item]) -> JudgedArticle:
    """Return the article of a page, if there is one, and the records that are posts or comments.

    ``given`` are the items that the page declares. A page that declares itself an article counts as one if it has any
    text. A page that asks not to be indexed is an article if its text is long and has a heading, and it declares no
    other URL for its content; but not if it is a query whose links are not to be followed. Posts alone on such a page
    are mostly copies, as on print views.
    """
    says = claims.says_article(page, given)
    withheld = not says and _is_withheld(page, prepared)
    alone = tuple(each for each in sets if each.alone)
    if alone or (withheld and sets):
        posts = tuple(
            each for each in sets if each.alone or (each.nature is Nature.POSTS and _is_thread(prepared, each))
        )
        return JudgedArticle(
            sets, None, () if withheld else posts if alone else (), NoObject.WITHHELD if withheld else None
        )
    sets = tuple(each for each in sets if each.nature is Nature.POSTS or len(each.records) > 1)
    sets = tuple(each for each in sets if each.nature is Nature.TEASERS or not _are_unsigned(prepared, each))
    part, text = None, None
    loose = [
        each
        for each in sets
        if each.nature is Nature.POSTS
        and _section(prepared, each) is None
        and (_are_above_comments(prepared, each, sets) or (_is_loose(each) and not _are_signed_apart(each)))
    ]
    if loose:
        kept = tuple(each for each in sets if each not in loose)
        part = main_part(prepared.outline, prepared.shown, kept, prepared.names, prepared.labels)
        text = article_text(page, prepared, part) if part is not None else None
        sets = kept if text is not None and _is_of_text(loose, text) else sets
    if not loose or any(each in sets for each in loose):
        part, text = main_part(prepared.outline, prepared.shown, sets, prepared.names, prepared.labels), None
    posts = tuple(each for each in sets if each.nature is Nature.POSTS)
    reason = NoObject.NO_TEXT if part is None else NoObject.LIST
    if part is not None and not _holds_posts(prepared, part, posts) and not _lies_in(part, teasers_of(page, given)):
        read = apart_from(text or article_text(page, prepared, part), prepared.outline, _labelled(prepared))
        taken = _taken(prepared, sets)
        text = apart_from(read, prepared.outline, taken)
        if text is not read:
            text = _own(text, read, apart_from(structure_text(prepared, part), prepared.outline, taken))
        if says and text is read:
            objection = _objection_to_said(prepared, part, text)
        else:
            text, objection = _best_text(page, prepared, part, text, sets)
            if withheld and not _is_proven(page, prepared, part, text):
                objection = NoObject.WITHHELD
        if objection is None:
            below = (each for each in posts if not _is_beside(prepared, part, each) and not _is_split_off(each, text))
            return JudgedArticle(sets, Article(part, text), tuple(below))
        reason = objection
    posts = () if withheld else tuple(each for each in posts if not _is_preview(prepared, each))
    return JudgedArticle(sets, None, posts, None if posts else NoObject.WITHHELD if withheld else reason)


def _own(text: ArticleText, read: ArticleText, structure: ArticleText) -> ArticleText:
    """Return the text of an article that was read together with comments on it, which often quote it.

    ``text`` is what remains of ``read`` without the comments. If that is less than half, or the text by the page's
    ``structure`` contains it and more sentences, the comments were mistaken for the article, and the structure's text
    is used.
    """
    if text.letters < MOSTLY_LISTED * read.letters:
        return structure if structure.letters >= text.letters else text
    whole = structure.holds((text.plain,)) and structure.sentences > MORE * text.sentences
    return structure if whole else text


def _is_loose(each: RecordSet) -> bool:
    """Return whether records may be parts of one text, because the evidence for records is weak."""
    addressed = any(record.key or record.permalink for record in each.records)
    return each.confidence < (DOUBTFUL if addressed else SURE)


def _are_above_comments(prepared: PreparedPage, each: RecordSet, sets: Sequence[RecordSet]) -> bool:
    """Return whether a few records are above a section of comments, without permalinks or authors with a page.

    Sources and meetings that a text lists by date look like that.
    """
    if len(each.records) > _FEW or any(
        record.permalink or (record.author is not None and (record.author.href or record.author.labelled))
        for record in each.records
    ):
        return False
    end = max(end for record in each.records for _, end in _extents(prepared, record))
    return any(end <= section.first and _is_told(prepared, section, sets) for section in prepared.sections)


def _are_unsigned(prepared: PreparedPage, each: RecordSet) -> bool:
    """Return whether most records have no author and no date with a URL: parts of a text, such as days of a diary.

    Also True for several records without authors, one of which has nearly all of their text.
    """
    if each.confidence >= DOUBTFUL or is_of(prepared.outline, each, prepared.shapes) or _section(prepared, each):
        return False
    told = [
        record.author is not None
        or (bool(record.key or record.permalink) and record.date is not None and record.date.told is not None)
        for record in each.records
    ]
    sizes = [letters(record.body.plain()) if record.body is not None else 0 for record in each.records]
    is_one = len(sizes) > 1 and max(sizes) >= NEARLY_ALL * sum(sizes)
    return 2 * sum(told) <= len(told) or (is_one and not any(record.author for record in each.records))


def _are_signed_apart(each: RecordSet) -> bool:
    """Return whether all records show a date and an author outside of their texts, and not all the same ones.

    A text that mentions dates and people does so within its sentences.
    """
    marks = [(record.author, record.date, record.body) for record in each.records]
    named = [
        (author.name, date.read.moment)
        for author, date, body in marks
        if author is not None
        and date is not None
        and body is not None
        and not any(_lies_within(mark.element, body.elements) for mark in (author, date))
    ]
    authors, moments = ({mark[at] for mark in named} for at in (0, 1))
    return len(named) == len(marks) and len(moments) > 1 and len(authors) > 1


def _lies_within(element: Element, others: Sequence[Element]) -> bool:
    """Return whether an element is one of others or a descendant of one."""
    return any(above in others for above in (element, *element.iterancestors()))


def _is_thread(prepared: PreparedPage, each: RecordSet) -> bool:
    """Return whether records are certainly posts: several, most of them with URLs on the page, or of a known shape.

    A single record counts, too, if its identifier calls it a post and it has an author and a date, unless it has the
    page's heading, because software also calls articles posts.
    """
    if is_of(prepared.outline, each, prepared.shapes):
        return True
    if len(each.records) == 1 and each.confidence >= SURE:
        record = each.records[0]
        is_signed = record.author is not None and record.date is not None
        return is_signed and bool(called_record(record.element)) and not _is_headed(prepared, record)
    addressed = sum(bool(record.key or record.permalink) for record in each.records)
    is_told = addressed >= MOSTLY_ADDRESSED * len(each.records) or _are_signed_apart(each)
    return len(each.records) > 1 and each.confidence >= SURE and is_told


def _is_headed(prepared: PreparedPage, record: Record) -> bool:
    """Return whether a record contains the page's heading: its only first-level one, or one that its title repeats."""
    outline, title = prepared.outline, bare(prepared.names.title)
    places = (place for first, end in _extents(prepared, record) for place in range(first, end))
    headings = [place for place in places if outline.tags[place] in _HEADINGS]
    if outline.tags.count("h1") == 1 and any(outline.tags[place] == "h1" for place in headings):
        return True
    return any((text := bare(_heading_text(prepared, place))) and text in title for place in headings)


def _section(prepared: PreparedPage, each: RecordSet) -> CommentSection | None:
    """Return the section of comments that contains the records."""
    return prepared.section_of(element for record in each.records for element in record.elements)


def _taken(prepared: PreparedPage, sets: Sequence[RecordSet]) -> Sequence[tuple[int, int]]:
    """Return the extents that are not text of an article: comments, and certain posts."""
    proven = [each for each in sets if each.nature is Nature.POSTS and _is_thread(prepared, each)]
    places = [extent for each in proven for record in each.records for extent in _extents(prepared, record)]
    places += [extent for each in proven for extent in _heading_of(prepared, each)]
    return (*places, *((each.first, each.end) for each in prepared.sections if _is_told(prepared, each, sets)))


def _heading_of(prepared: PreparedPage, each: RecordSet) -> Iterator[tuple[int, int]]:
    """Yield the extent of the heading directly above some records, which announces them: ``History``."""
    outline = prepared.outline
    first = min(outline.places[record.element] for record in each.records)
    number = outline.number_of_piece(first) - 1
    owner = outline.pieces[number].owner if number >= 0 else 0
    heading = next((at for at in (owner, *outline.ancestors(owner)) if outline.tags[at] in _HEADINGS), None)
    if heading is not None and bare(_heading_text(prepared, heading)) not in bare(prepared.names.title):
        yield heading, outline.ends[heading]


def _labelled(prepared: PreparedPage) -> Sequence[tuple[int, int]]:
    """Return the extents of blocks of labels and values, which are not text of an article."""
    return [(place, prepared.outline.ends[place]) for place in prepared.labels]


def _extents(prepared: PreparedPage, record: Record) -> Sequence[tuple[int, int]]:
    """Return the extent of each element of a record: its first place, and the place after its last."""
    places = [prepared.outline.places[element] for element in record.elements]
    return [(place, prepared.outline.ends[place]) for place in places]


def _is_told(prepared: PreparedPage, section: CommentSection, sets: Sequence[RecordSet]) -> bool:
    """Return whether records were found in a section of comments."""
    return any(_section(prepared, each) == section for each in sets if each.nature is Nature.POSTS)


def _is_of_text(loose: Sequence[RecordSet], text: ArticleText) -> bool:
    """Return whether the text of an article contains that of the records and more."""
    bodies = [record.body.plain() for each in loose for record in each.records if record.body is not None]
    return text.holds(bodies) and text.letters > sum(map(letters, bodies))


def _is_split_off(each: RecordSet, text: ArticleText) -> bool:
    """Return whether records are parts of an article's text: it contains theirs, and not all have an author."""
    return any(record.author is None for record in each.records) and _is_of_text((each,), text)


def teasers_of(page: Page, given: Sequence[Item]) -> frozenset[Element]:
    """Return the elements that a page marks up as teasers."""
    found = (item.element for item in given if item.element is not None and claims.leads_elsewhere(page, item))
    return frozenset(element for element in found if element is not None)


def stands_in(element: Element, teasers: frozenset[Element]) -> bool:
    """Return whether an element is a teaser, or lies in one."""
    return bool(teasers) and (element in teasers or not teasers.isdisjoint(element.iterancestors()))


def _lies_in(article: MainPart, teasers: frozenset[Element]) -> bool:
    """Return whether the text of a supposed article consists of teasers."""
    return any(
        stands_in(element, teasers) or not teasers.isdisjoint(element.iter()) for element in article.body.elements
    )


def _holds_posts(prepared: PreparedPage, part: MainPart, posts: Sequence[RecordSet]) -> bool:
    """Return whether a page is about the posts, not about an article that they may be comments on."""
    rivals = [each for each in posts if not _are_comments(each) and _section(prepared, each) is None]
    if not rivals or (part.title and part.running > OUTWEIGHS * _running(prepared, rivals)):
        return False
    if not part.title and _running(prepared, rivals) > OUTWEIGHS * part.running:
        return True
    return not _is_signed(part) or min(prepared.outline.places[each.records[0].element] for each in rivals) < part.place


def _are_comments(each: RecordSet) -> bool:
    """Return whether the page calls the container of records comments."""
    around = (each.container, *each.container.iterancestors())
    return any(_COMMENTS.search(f"{element.get('class') or ''} {element.get('id') or ''}") for element in around)


def _is_beside(prepared: PreparedPage, part: MainPart, each: RecordSet) -> bool:
    """Return whether posts are independent of an article beside them (messages, sources), not its comments."""
    before = any(prepared.outline.places[record.element] < part.place for record in each.records)
    return before and bool(part.title) and part.running > OUTWEIGHS * _running(prepared, (each,))


def _running(prepared: PreparedPage, posts: Sequence[RecordSet]) -> int:
    """Return the weight of the running text of posts."""
    elements = (element for each in posts for record in each.records for element in record.elements)
    return sum(prepared.outline.running(prepared.outline.places[element]) for element in elements)


def _is_signed(part: MainPart) -> bool:
    return part.date is not None or part.author is not None


def _objection_to_said(prepared: PreparedPage, part: MainPart, text: ArticleText) -> NoObject | None:
    """Return why a page that declares itself an article is not one; None if it is."""
    if text.letters < MIN_LETTERS:
        return NoObject.LITTLE_TEXT
    return NoObject.LIST if _is_of_teasers(prepared, part, text) else None


def _without_objection(
    page: Page, prepared: PreparedPage, part: MainPart, text: ArticleText, sets: Sequence[RecordSet]
) -> tuple[ArticleText, NoObject | None]:
    """Return the page's own part of a text, and why that is not an article; None if it is."""
    own = _own_text(prepared, part, text, sets)
    return (text, NoObject.LIST) if own is None else (own, _objection(page, prepared, part, own, sets))


def _objection(
    page: Page, prepared: PreparedPage, part: MainPart, text: ArticleText, sets: Sequence[RecordSet]
) -> NoObject | None:
    """Return why the main part of a page is not an article but part of a list or a form; None if it is an article."""
    running = max(part.running, text.running)
    # What a script would show stands in a template or in ``noscript``, and has no weight on the page.
    if part.title and running < MIN_RUNNING <= text.sentences:
        running = text.sentences
    if part.title and _is_commented(prepared, part, sets):
        return None if text.letters >= MIN_COMMENTED else NoObject.LITTLE_TEXT
    least = MIN_RUNNING if not part.title else MIN_DATED if _is_signed(part) else MIN_TITLED
    least_sentences = least / 2 if _is_signed(part) and not part.title else least
    if running < least or text.linked > running or text.sentences < least_sentences:
        return NoObject.LIST if claims.heads_teasers(page) else NoObject.LITTLE_TEXT
    if _is_of_links(prepared, text):
        return NoObject.LIST
    if prepared.writing is not None and prepared.writing < part.place and _stands_below(prepared, text):
        return NoObject.FORM
    if claims.is_front_page(page) and text.sentences < MIN_TITLED:
        return NoObject.FRONT_PAGE
    return None


def _verses(page: Page, prepared: PreparedPage, sets: Sequence[RecordSet]) -> Article | None:
    """Return the article of a page that consists of short lines, as poems and glossaries do; None if there is none.

    It has the page's heading, and no form to write in is above it.
    """
    outline = prepared.outline
    if claims.is_front_page(page) or claims.heads_teasers(page) or not outline.count_short_lines():
        return None
    part = main_part(outline, prepared.shown, sets, prepared.names, prepared.labels)
    if part is None or not part.title or part.running < MIN_VERSES:
        return None
    taken = (*_labelled(prepared), *_taken(prepared, sets))
    text = apart_from(structure_text(prepared, part), outline, taken)
    if text.letters < MIN_VERSES or text.linked > text.letters or _is_of_links(prepared, text):
        return None
    return None if _stands_below(prepared, text) else Article(part, text)


def _few_words(prepared: PreparedPage, sets: Sequence[RecordSet]) -> Article | None:
    """Return the article of a ticket of a few words, found below a label of its own, beside labelled values."""
    outline = prepared.outline
    valued = Extents(_labelled(prepared))
    below = [text_below(outline, place) for place in text_headings(outline)]
    below = [(first, end) for first, end in below if first and not valued.cover(first)]
    if not prepared.labels or len(below) != 1:
        return None
    first, end = below[0]
    outline.count_as_running(first, end)
    part = main_part(outline, prepared.shown, sets, prepared.names, prepared.labels)
    if part is None or not part.title or not _is_ticket(prepared, part):
        return None
    around = ((0, first), (end, len(outline.tags)))
    text = apart_from(structure_text(prepared, part), outline, (*around, *_taken(prepared, sets)))
    return Article(part, text) if text.letters and text.linked <= text.letters else None


def _stands_below(prepared: PreparedPage, text: ArticleText) -> bool:
    """Return whether most of a text is below the form to write in, such as the rules of an editor."""
    if prepared.writing is None:
        return False
    above = apart_from(text, prepared.outline, ((prepared.writing, len(prepared.outline.tags)),))
    return 2 * above.letters < text.letters


def _best_text(
    page: Page, prepared: PreparedPage, part: MainPart, text: ArticleText, sets: Sequence[RecordSet]
) -> tuple[ArticleText, NoObject | None]:
    """Return the best text of an article, and why it is none: as extracted, by its structure, or a short one."""
    own, objection = _without_objection(page, prepared, part, text, sets)
    if objection is not NoObject.LITTLE_TEXT:
        return own, objection
    taken = (*_labelled(prepared), *_taken(prepared, sets))
    shown = apart_from(structure_text(prepared, part), prepared.outline, taken)
    longer, objection = _without_objection(page, prepared, part, shown, sets)
    if objection is NoObject.LITTLE_TEXT and longer.letters >= MIN_COMMENTED and _is_ticket(prepared, part):
        return longer, None
    if objection is NoObject.LITTLE_TEXT and _is_short(page, prepared, part, text):
        return text, None
    return longer, objection


def _is_short(page: Page, prepared: PreparedPage, part: MainPart, text: ArticleText) -> bool:
    """Return whether a text is a short article: a news item, or the free beginning of a paid text."""
    least = SHORT_DATED if part.date is not None else SHORT_TITLED
    is_tool = bool(urlsplit(prepared.names.here).query) or claims.is_front_page(page) or claims.heads_teasers(page)
    is_text = bool(part.title) and text.sentences >= least and text.linked <= text.letters
    return is_text and not is_tool and not _is_of_links(prepared, text) and not _stands_below(prepared, text)


def _is_ticket(prepared: PreparedPage, part: MainPart) -> bool:
    """Return whether a text of any length is that of a ticket: signed, dated, with labelled values beside it."""
    return bool(prepared.labels) and part.author is not None and part.date is not None


def _is_commented(prepared: PreparedPage, part: MainPart, sets: Sequence[RecordSet]) -> bool:
    """Return whether readers comment on a text: a section below it has comments."""
    told = [each for each in prepared.sections if _is_told(prepared, each, sets)]
    return bool(told) and part.place < told[0].first


def _without_entries(prepared: PreparedPage, text: ArticleText, sets: Sequence[RecordSet]) -> ArticleText:
    """Return a text without the entries of a list.

    The whole text is returned if less than half would remain, or if one entry has most of the entries' text.
    """
    listed = [each for each in sets if each.nature is Nature.TEASERS and not each.aside]
    entries = [_extents(prepared, record) for each in listed for record in each.records]
    entries += [
        (extent,) for extent in dated_entries(prepared.outline, {each.place for each in prepared.shown}, prepared.names)
    ]
    left = apart_from(text, prepared.outline, [extent for entry in entries for extent in entry])
    taken = text.letters - left.letters
    if taken < MOSTLY_LISTED * text.letters:
        return text
    largest = nlargest(_MAX_LOOKED_AT, entries, key=lambda entry: sum(end - first for first, end in entry))
    pieces = (text.letters - apart_from(text, prepared.outline, entry).letters for entry in largest)
    return left if all(piece <= MAX_OF_ONE * taken for piece in pieces) else text


def _is_of_links(prepared: PreparedPage, text: ArticleText) -> bool:
    """Return whether most lines of a text are links with a few words beside them, such as a date."""
    lines, held = entries_of(text, prepared.outline)
    return lines >= MIN_LINKS and held >= ALL_LINKS * text.letters


_MAX_LOOKED_AT = 30
"""How many extents are searched for parts of a text: each search passes over the page."""


def _own_text(
    prepared: PreparedPage, part: MainPart, text: ArticleText, sets: Sequence[RecordSet]
) -> ArticleText | None:
    """Return a text without the entries of a list, which are below headings that link to other pages of the site.

    None if the text consists of the only entry, or mostly of several entries. Text beside several entries is a text of
    its own if it is long and has the page's heading.
    """
    extents = _led_extents(prepared, part)
    own = apart_from(text, prepared.outline, extents)
    looked_at = extents[:_MAX_LOOKED_AT]
    entries = (each for each in looked_at if apart_from(text, prepared.outline, (each,)).letters < text.letters)
    are_several = len(tuple(islice(entries, 2))) > 1
    if own.letters >= (MOSTLY_LISTED if are_several else 1 - ALL_LINKS) * text.letters:
        own = _without_entries(prepared, text, sets)
        if own is text:
            return text
    return own if part.title and own.sentences >= MIN_RUNNING else None


def _led_extents(prepared: PreparedPage, part: MainPart) -> Sequence[tuple[int, int]]:
    """Return the extents of text below headings that link to other pages of the site.

    An extent ends at the next heading, and with the element that contains both heading and text. Some headings have no
    text below them: those above the heading of the text itself, consecutive ones, those of its author, and those in a
    box of their own that interrupts a text.
    """
    outline, title = prepared.outline, fold(prepared.names.title).casefold()
    first = part.heading if part.heading is not None and part.heading < part.place else 0
    headings = [place for place, tag in enumerate(outline.tags) if tag in _HEADINGS and place >= first]
    author = outline.places.get(part.author.element, -1) if part.author is not None else -1
    led = [
        place
        for place, target in _led(prepared, first, len(outline.tags))
        if queue_of(target) == prepared.names.queue
        and _heading_text(prepared, place).casefold() not in title
        and not outline.contains(place, author)
    ]
    long = _long_before(outline)
    found: list[tuple[int, int]] = []
    for number, place in enumerate(led):
        following = bisect_right(headings, place)
        end = headings[following] if following < len(headings) else len(outline.tags)
        branch = place
        above = outline.parents[place]
        while above >= 0 and long[outline.ends[above]] - long[above] == long[outline.ends[place]] - long[place]:
            branch, above = above, outline.parents[above]
        alone = sum(outline.contains(branch, each) for each in led[max(0, number - 1) : number + 2]) == 1
        if alone and above >= 0 and not _interrupts(outline, branch, place, long, found):
            found.append((place, min(end, outline.ends[above])))
    return found


def _interrupts(
    outline: Outline, branch: int, heading: int, long: Sequence[int], led: Sequence[tuple[int, int]]
) -> bool:
    """Return whether a box with nothing but a heading interrupts a text, which continues after it."""
    if branch == heading or outline.tags[branch] == "header":
        return False
    before = max((end for _, end in led), default=0)
    siblings = (child for child in outline.children(outline.parents[branch]) if before <= child < branch)
    return any(long[outline.ends[child]] > long[child] for child in siblings)


def _long_before(outline: Outline) -> Sequence[int]:
    """Return for each place the number of long pieces of text in the elements before it."""
    count = [0] * len(outline.elements)
    for piece in outline.pieces:
        count[piece.owner] += piece.weight >= RUNNING
    return (0, *accumulate(count))


def _is_of_teasers(prepared: PreparedPage, part: MainPart, text: ArticleText) -> bool:
    """Return whether nearly all of a text is short pieces below headings that link to other pages of the site."""
    extents = _led_extents(prepared, part)
    if apart_from(text, prepared.outline, extents).letters >= text.letters / 10:
        return False
    pieces = (text.letters - apart_from(text, prepared.outline, (extent,)).letters for extent in extents)
    return max(pieces) < MIN_RUNNING


def _led(prepared: PreparedPage, first: int, end: int) -> Iterator[tuple[int, str]]:
    """Yield the places of headings in a range that lead to other pages, and the URLs of these pages."""
    outline, names = prepared.outline, prepared.names
    for place in range(first, end):
        target = heading_target(outline, place, names.base) if outline.tags[place] in _HEADINGS else None
        if target and target not in names.own and not is_front(target):
            yield place, target


def _heading_text(prepared: PreparedPage, place: int) -> str:
    return fold(excerpt(prepared.outline.elements[place], _MAX_HEADING_LENGTH))


def _is_withheld(page: Page, prepared: PreparedPage) -> bool:
    """Return whether a page asks not to be indexed and does not declare its own URL as that of its content."""
    robots = claims.meta(page).get("robots", "").lower()
    return "noindex" in robots and not prepared.names.canonical


def _is_proven(page: Page, prepared: PreparedPage, part: MainPart, text: ArticleText) -> bool:
    """Return whether a text is an article although its page asks not to be indexed.

    Software also asks this for copies, which declare the URL of the original, and for tools such as histories, which
    are queries whose links are not to be followed.
    """
    is_copy = bool(prepared.names.own - {prepared.names.here})
    least = MIN_TITLED if _is_signed(part) else MIN_RUNNING
    is_tool = bool(urlsplit(prepared.names.here).query) and generic.forbids_following(page)
    return bool(part.title) and text.sentences >= least and not is_copy and not is_tool


def _is_preview(prepared: PreparedPage, each: RecordSet) -> bool:
    """Return whether records are below a form to write in, such as a reply form, on a page without an article."""
    return prepared.writing is not None and prepared.writing < prepared.outline.places[each.records[0].element]
