"""Select the objects that a page of no known application declares and that may be believed."""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from hashlib import sha256
from itertools import islice
from urllib.parse import urlsplit

from lxml.etree import iterwalk

from aahcrawler.page import Page, dates, schemaorg
from aahcrawler.page.schemaorg import Item, items
from aahcrawler.page.text import bare, excerpt, fold
from aahcrawler.urls import canonicalize, origin, queue_of, resolve
from aahcrawler.webobject import Person, Reference, Value, WebObject
from online_analysis.media_types import type_by_url

LONG_LINE = 80
"""A line of at least so many characters counts as running text; menus, teasers' titles and captions are shorter."""

MANY_TEASERS = 2
"""From so many headings that link away and have running text below them, a page is a list."""

DATE_NAMES = (
    "article:published_time",
    "og:article:published_time",
    "datepublished",
    "dcterms.created",
    "dcterms.issued",
    "dc.date.issued",
    "dcterms.date",
    "dc.date",
    "parsely-pub-date",
    "sailthru.date",
    "pubdate",
    "publish-date",
    "date",
)
"""Names of ``meta`` elements that give a publication date, the more exact ones first."""

_VAGUE = frozenset({"dcterms.date", "dc.date", "date"})
_PAGES = frozenset({"WebPage", "AboutPage", "ItemPage", "FAQPage", "ContactPage"})
_MAX_HEADING_LENGTH = 320
_DAY = re.compile(r"/((?:19|20)\d\d)[/-]?(0[1-9]|1[0-2])[/-]?(0[1-9]|[12]\d|3[01])(?=[/_.-]|$)")
_SITES = frozenset({"WebSite", "Organization", "NewsMediaOrganization", "Blog"})
_MIN_TEXT_LENGTH = 40
"""The fewest characters of text that an object described by a page has."""
_MIN_LABEL_LENGTH = 3
"""The fewest letters of a part of a host's name that name its site: people have shorter names by chance."""
_TELLING = 12
"""Characters of a headline that no other page of the site has in its title by chance."""
_AUTHOR_NAMES = ("author", "article:author", "dcterms.creator", "dc.creator", "parsely-author", "sailthru.author")
_NOBODY = re.compile(r"(?:wp-?)?admin(?:istrator)?|root|webmaster|\S+(?:@|\[at\]|\(at\))\S+", re.IGNORECASE)
_FRONT_PAGE = re.compile(r"/(?:(?:index|default|home)\.\w+)?")
_ARTICLES = re.compile(r"\w*Article|BlogPosting|Report")
_POSTS = frozenset({"DiscussionForumPosting", "SocialMediaPosting", "Question"})
_COMMENTS = frozenset({"Comment", "Answer"})
_COMMENT_ROLES = frozenset({"comment", "suggestedAnswer", "acceptedAnswer"})


def meta(page: Page) -> Mapping[str, str]:
    """Return the first content of each name, property or itemprop of the ``meta`` elements, names lower-cased."""
    return page.once(_meta)


def _meta(page: Page) -> Mapping[str, str]:
    found: dict[str, str] = {}
    for element in page.tree.iter("meta"):
        content = fold(element.get("content") or "")
        for name in (element.get("property"), element.get("name"), element.get("itemprop")):
            if name and content:
                found.setdefault(name.strip().lower(), content)
    return found


def played(page: Page) -> str | None:
    """Return the URL of the film, else the sound, that a page declares by OpenGraph; players are no files."""
    found = meta(page)
    for kind in ("video", "audio"):
        media_type = found.get(f"og:{kind}:type", "").lower()
        for name in (f"og:{kind}:secure_url", f"og:{kind}:url", f"og:{kind}"):
            url = resolve(page.base_url, found[name]) if name in found else None
            if url is not None and (media_type or type_by_url(url) or "").startswith(f"{kind}/"):
                return url
    return None


def permalink(page: Page) -> str:
    """Return the URL the page gives itself (``rel=canonical``, then ``og:url``) within its site, else its URL.

    Templates that name the front page on every page are not believed.
    """
    return page.once(_permalink)


def _permalink(page: Page) -> str:
    own = canonicalize(page.url) or page.url
    links = [
        link.get("href") for link in page.tree.iter("link") if "canonical" in (link.get("rel") or "").lower().split()
    ]
    for given in (*links, meta(page).get("og:url")):
        url = resolve(page.base_url, given) if given else None
        if url and queue_of(url) == queue_of(own) and url.rstrip("/") != origin(url):
            return url
    return own


@dataclass(frozen=True, slots=True)
class Claim:
    """An object that a page declares, and the item that declares it; ``own`` if that gives it a URL."""

    object: WebObject
    item: Item | None = None
    own: bool = True


def declared(page: Page, given: Sequence[Item], content: str, title: str) -> tuple[Claim, ...]:
    """Return the objects that an HTML page declares itself, each IRI once, the page's own work first."""
    iri = permalink(page)
    works = [item for item in given if kind_of(item) and not leads_elsewhere(page, item)]
    main = _main_work(works, page, content.split("\n"))
    claimed: dict[int, WebObject] = {}
    if main is not None:
        claimed[id(main)] = _work(page, main, iri, main.lines("articleBody", "text") or content, title)
    whole = next(iter(claimed.values())).iri if claimed else None
    for work in works:
        if work is not main and (body := work.lines("articleBody", "text")):
            claimed[id(work)] = _work(page, work, _identity(work, page, body), body, "")
    _claim_comments(page, given, whole, claimed)
    by_id = {id(item): item for item in given}
    found = [Claim(each, by_id[key], _is_addressed(page, by_id[key], each)) for key, each in claimed.items()]
    found.extend(Claim(each) for each in _media(page, given, whole))
    found.extend(Claim(each) for each in _described(page, given, whole))
    return tuple({each.object.iri: each for each in reversed(found)}.values())[::-1]


def _is_addressed(page: Page, item: Item, claimed: WebObject) -> bool:
    """Return whether an object is named by a URL that was declared, or is the page's own."""
    return claimed.iri == permalink(page) or claimed.iri == _declared_address(item, page)


def work_of(page: Page) -> Item | None:
    """Return the first item that declares a work which is not a teaser of another page, None if there is none."""
    return next((each for each in page.once(items) if kind_of(each) and not leads_elsewhere(page, each)), None)


def leads_elsewhere(page: Page, item: Item) -> bool:
    """Return whether an item marked up on the page is the teaser of a work that has a page of its own."""
    if item.element is None or not kind_of(item) or item.role == "mainEntity":
        return False
    address = _address(page, item)
    if address is None or address in {permalink(page), canonicalize(page.url), page.url}:
        return False
    return not _names(page, item)


def _names(page: Page, item: Item) -> bool:
    """Return whether the headline of an item is the page's title, or a part of it."""
    headline = item.text("headline", "name").casefold()
    return len(headline) >= _TELLING and headline in page.once(_own_titles)


def _own_titles(page: Page) -> str:
    """Return the titles that a page gives itself, in lower case, a line each."""
    titles = (excerpt(element, _MAX_HEADING_LENGTH) for element in page.tree.iter("title"))
    return "\n".join((*titles, meta(page).get("og:title", ""))).casefold()


def _address(page: Page, item: Item) -> str | None:
    """Return the URL of a work that is marked up: its own, else where its headline leads; without a fragment."""
    given = item.url(page.base_url, "url", "mainEntityOfPage", "@id")
    if given is None or given == permalink(page):
        for heading in item.element.iter("h1", "h2", "h3", "h4") if item.element is not None else ():
            links = (link.get("href") for link in heading.iter("a"))
            given = next((url for href in links if href and (url := resolve(page.base_url, href))), None) or given
            break
    return given


def says_article(page: Page, given: Sequence[Item] = ()) -> bool:
    """Return whether a page declares, in meta elements or an item, that it is an article and its publication date."""
    found = meta(page)
    if found.get("og:type", "").lower() == "article" and "article:published_time" in found:
        return True
    own = {permalink(page), canonicalize(page.url), page.url}
    dated = (item for item in given if kind_of(item) == "article" and item.text("datePublished"))
    return any(item.url(page.base_url, "mainEntityOfPage", "url", "@id") in own or _names(page, item) for item in dated)


def is_front_page(page: Page) -> bool:
    """Return whether a page is the first one of its site."""
    return is_front(canonicalize(page.url) or "")


def is_front(url: str) -> bool:
    """Return whether a URL is that of the first page of its site."""
    return _FRONT_PAGE.fullmatch(url, len(origin(url))) is not None


def is_row_of_teasers(page: Page, lines: Sequence[str]) -> bool:
    """Return whether running text follows several headings that link to other pages, or all of it follows one."""
    leads_away = page.once(_headings)
    before = teased = teasers = 0
    below = False
    for line in lines:
        if line in leads_away:
            below = leads_away[line]
        elif len(line) >= LONG_LINE:
            before += 0 if below or teasers else len(line)
            teased += len(line) if below or teasers else 0
            teasers += below
            below = False
    return teasers >= MANY_TEASERS or (teasers > 0 and before < teased / 10)


def heads_teasers(page: Page) -> bool:
    """Return whether several headings of a page link to other pages of its site."""
    return sum(page.once(_headings).values()) >= MANY_TEASERS


def _headings(page: Page) -> Mapping[str, bool]:
    """Return for each heading whether it links to another page of the site except its front page."""
    own = {canonicalize(page.url), permalink(page)}
    found: dict[str, bool] = {}
    walk = iterwalk(page.tree, events=("start",), tag=("h1", "h2", "h3", "h4"))
    for _, heading in walk:
        walk.skip_subtree()  # Headings within headings are the same text again, and again for each of a thousand.
        above = heading.getparent()
        link = above if above is not None and above.tag == "a" else next(heading.iter("a"), None)
        target = resolve(page.base_url, link.get("href") or "") if link is not None else None
        away = target is not None and target not in own and not is_front(target)
        text = excerpt(heading, _MAX_HEADING_LENGTH)
        found[text] = away and found.get(text, True)
    return found


def kind_of(item: Item) -> str:
    """Return the object type of a work, or "" if it is none."""
    if any(_ARTICLES.fullmatch(name) for name in item.types):
        return "article"
    return "post" if not _POSTS.isdisjoint(item.types) else ""


def _main_work(works: Sequence[Item], page: Page, lines: Sequence[str]) -> Item | None:
    own = {permalink(page), canonicalize(page.url)}
    named = [(work, work.url(page.base_url, "mainEntityOfPage", "url", "@id")) for work in works]
    matching = [work for work, url in named if url in own]
    if matching:
        own_text = matching[0].lines("articleBody", "text")
        return matching[0] if own_text or not (is_front_page(page) or is_row_of_teasers(page, lines)) else None
    if len(works) == 1 and named[0][1] is None and works[0].role in ("", "mainEntity"):
        return works[0]
    called = [work for work in works if work.role in ("", "mainEntity") and _names(page, work)]
    is_list = is_front_page(page) or is_row_of_teasers(page, lines)
    return called[0] if len({work.text("headline", "name") for work in called}) == 1 and not is_list else None


def _identity(item: Item, page: Page, text: str) -> str:
    """Return an item's own URL, else one within the page: of its element, else one that its text makes."""
    address = _declared_address(item, page)
    if address is not None:
        return address
    if item.element is not None and (key := item.element.get("id")):
        return f"{permalink(page)}#{key}"
    return f"{permalink(page)}#{sha256(text.encode()).hexdigest()[:16]}"


def _declared_address(item: Item, page: Page) -> str | None:
    for name in ("@id", "url"):
        given = next((value for value in item.values(name) if isinstance(value, str)), None)
        url = resolve(page.base_url, given) if isinstance(given, str) else None
        fragment = given.partition("#")[2] if isinstance(given, str) else ""
        if url and (fragment or url != permalink(page)):
            return f"{url}#{fragment}" if fragment else url
    return None


def _work(page: Page, item: Item, iri: str, body: str, title: str) -> WebObject:
    found = meta(page)
    people = tuple(each for each in item.people(page.base_url, "author", "creator") if _is_author(page, each.name))
    facts = _Facts(
        title=item.text("headline", "name") or (title and found.get("og:title", title)),
        people=people or _meta_people(page),
        moment=item.text("datePublished", "dateCreated", "uploadDate"),
        body=body,
        url=iri,
    )
    return _object(page, iri, kind_of(item), facts)


def undeclared(
    page: Page, iri: str, content: str, title: str, author: Person | None, moment: datetime | None
) -> WebObject:
    """Return the article that a page plainly is; an author in its meta elements comes before the one that was found.

    A date that was found is replaced by the date in the page's URL if they are of different days.
    """
    addressed = address_date(page)
    if addressed and moment and abs(datetime.fromisoformat(addressed) - moment) > timedelta(days=2):
        moment = None
    facts = _Facts(
        title=title,
        people=_meta_people(page) or ((author,) if author else ()),
        moment=(moment.isoformat() if moment else "") or next(time_elements(page), "") or addressed,
        body=content,
        url=iri,
    )
    return _object(page, iri, "article", facts)


def _claim_comments(page: Page, given: Sequence[Item], whole: str | None, claimed: dict[int, WebObject]) -> None:
    """Add the comments to ``claimed``; each is part of the object around it, else of the page's only object."""
    for item in given:
        text = item.lines("text", "articleBody", "description") if not _COMMENTS.isdisjoint(item.types) else ""
        if not text or (item.role and item.role not in _COMMENT_ROLES) or _is_of_faq(item):
            continue
        people = item.people(page.base_url, "author", "creator")
        moment = item.text("datePublished", "dateCreated")
        holder = claimed.get(id(item.holder))
        part_of = holder.iri if holder else whole
        key = "\n".join((text, moment, part_of or "", *(person.name for person in people)))
        facts = _Facts(item.text("name", "headline"), people, moment, text, part_of=part_of)
        claimed[id(item)] = _object(page, _identity(item, page, key), "comment", facts)


def _is_of_faq(item: Item) -> bool:
    """Return whether an answer is one that the site gives itself, in a list of questions (``FAQPage``)."""
    question = item.holder
    return question is not None and question.holder is not None and "FAQPage" in question.holder.types


def _media(page: Page, given: Sequence[Item], holder: str | None) -> Iterator[WebObject]:
    """Yield videos and sounds, and the image of a page that is about one image; other images are decoration."""
    for item in given:
        if "VideoObject" in item.types and item.role in ("", "video", "mainEntity", "associatedMedia"):
            kind = "video"
        elif "AudioObject" in item.types and item.role in ("", "audio", "mainEntity", "associatedMedia"):
            kind = "audio"
        elif "ImageObject" in item.types and holder is None and not item.listed and item.role in ("", "mainEntity"):
            kind = "image"
        else:
            continue
        address = item.url(page.base_url, "contentUrl", "embedUrl", "url")
        name = item.text("name", "caption", "headline")
        if address or name:
            facts = _Facts(
                title=name,
                people=item.people(page.base_url, "author", "creator"),
                moment=item.text("uploadDate", "datePublished", "dateCreated"),
                body=item.lines("description"),
                url=address,
                part_of=holder,
                media=item.url(page.base_url, "contentUrl"),
            )
            yield _object(page, _identity(item, page, address or name), kind, facts)


def _described(page: Page, given: Sequence[Item], holder: str | None) -> Iterator[WebObject]:
    """Yield recipes, events and other things that a page describes itself, not those of pages that it links to."""
    for item in given:
        kind = schemaorg.kind_of(item)
        if not kind or item.role not in ("", "mainEntity", "mainEntityOfPage"):
            continue
        address = _address(page, item)
        elsewhere = address is not None and address.partition("#")[0] not in {permalink(page), canonicalize(page.url)}
        text = schemaorg.described_text(item)
        if (elsewhere and not _names(page, item)) or len(text) < _MIN_TEXT_LENGTH:
            continue
        facts = _Facts(
            title=item.text("name", "headline"),
            people=item.people(page.base_url, "author", "creator", "organizer"),
            moment=item.text("datePublished", "startDate", "dateCreated"),
            body=text,
            url=permalink(page),
            part_of=holder,
        )
        yield _object(page, f"{permalink(page)}#{kind}-{sha256(text.encode()).hexdigest()[:16]}", kind, facts)


@dataclass(frozen=True, slots=True)
class _Facts:
    """The known facts of an object, as text; a fact that is not known is empty."""

    title: str
    people: tuple[Person, ...]
    moment: str
    body: str
    url: str | None = None
    part_of: str | None = None
    media: str | None = None


def _object(page: Page, iri: str, kind: str, facts: _Facts) -> WebObject:
    moment = _moment(page, facts.moment, ahead=kind == "event") if facts.moment else None
    properties: dict[str, tuple[Value, ...]] = {
        "title": (facts.title,) if facts.title else (),
        "author": facts.people,
        "date": (moment,) if moment else (),
        "body": (facts.body,) if facts.body else (),
        "url": (Reference(facts.url),) if facts.url else (),
        "media": (Reference(facts.media),) if facts.media else (),
    }
    given = {name: values for name, values in properties.items() if values}
    return WebObject(iri, kind, page.url, given, facts.part_of)


def _moment(page: Page, text: str, *, ahead: bool) -> datetime | None:
    """Return the date and time that a page declares; only those of an event may lie after the capture."""
    return dates.parse(text, now=page.fetched_at, language=page.language, order=page.order, ahead=ahead)


@dataclass(frozen=True, slots=True)
class Publication:
    """The declared publication times of a page; ``vague`` are the values of names that stand for any date."""

    certain: tuple[datetime, ...]
    vague: tuple[datetime, ...]


def publication_moments(page: Page, item: Item | None = None) -> Publication:
    """Return the publication times that a page declares, none after the capture; ``item`` declares its text."""
    found = meta(page)
    pages = (each for each in page.once(items) if not _PAGES.isdisjoint(each.types))
    texts = [item.text("datePublished", "dateCreated", "uploadDate")] if item is not None else []
    texts += [found[name] for name in DATE_NAMES if name in found and name not in _VAGUE]
    texts += [each.text("datePublished") for each in islice(pages, 1)]
    vague = [found[name] for name in DATE_NAMES if name in found and name in _VAGUE]
    return Publication(_moments(page, texts), _moments(page, vague))


def _moments(page: Page, texts: Iterable[str]) -> tuple[datetime, ...]:
    read = (_moment(page, text, ahead=False) for text in texts if text)
    return tuple(moment for moment in read if moment is not None)


def publication_date(found: Mapping[str, str]) -> str:
    """Return the text of the best publication date among meta elements, empty if there is none."""
    return next((found[name] for name in DATE_NAMES if name in found), "")


def address_date(page: Page) -> str:
    """Return the day that is a part of the page's URL, in ISO 8601 with its zone; empty if there is none."""
    match = _DAY.search(urlsplit(page.url).path)
    try:
        moment = datetime(int(match[1]), int(match[2]), int(match[3]), tzinfo=UTC) if match else None
    except ValueError:
        return ""
    return moment.isoformat() if moment is not None and moment <= page.fetched_at else ""


def site_names(page: Page) -> frozenset[str]:
    """Return the names that a page gives for its site and its publisher, in lower case without spaces and signs.

    The part that the titles of the site have in common is one of its names.
    """
    names = [meta(page).get("og:site_name", ""), meta(page).get("application-name", "")]
    for item in page.once(items):
        names += [item.text("publisher")]
        names += [item.text("name")] if not _SITES.isdisjoint(item.types) else []
    host = (urlsplit(page.url).hostname or "").removeprefix("www.")
    labels = (label for label in host.split(".")[:-1] if len(label) >= _MIN_LABEL_LENGTH)
    return page.shared_titles.union(filter(None, (*map(bare, names), bare(host), *map(bare, labels))))


def time_elements(page: Page) -> Iterator[str]:
    """Yield the times of ``time`` elements in the page's first article, or in its main element if it has no article."""
    holder = next(page.tree.iter("article"), None)
    if holder is None:
        holder = next(page.tree.iter("main"), None)
    if holder is not None:
        yield from (moment for element in holder.iter("time") if (moment := element.get("datetime")))


def _meta_people(page: Page) -> tuple[Person, ...]:
    found = meta(page)
    names = (found[name] for name in _AUTHOR_NAMES if name in found and "://" not in found[name])
    return tuple(Person(name) for name in names if _is_author(page, name))[:1]


def _is_author(page: Page, name: str) -> bool:
    """Return whether a declared name may be a person's: not the site's, a URL, or an administrator account's."""
    return bare(name) not in page.once(site_names) and _NOBODY.fullmatch(name.strip()) is None
