"""The text and links of one page, split into the parts that analysers look at (ARCOMEM, section 4.2)."""

from dataclasses import dataclass
from datetime import datetime
from typing import Literal

PartRole = Literal["content", "sidebar", "navigation"]
SourceKind = Literal["", "feed", "document"]
LevelRole = Literal["intermediate", "terminal"]


@dataclass(frozen=True, slots=True)
class DocumentPart:
    """A region of the page that is analysed by itself.

    ``content`` is the subject matter of the page: a post, an article, a comment, or the main content as a whole. A
    ``sidebar`` is a block of links beside it, such as related articles, an archive, tags or a blogroll. ``navigation``
    are the entries of a list that leads to pages of their own. Menus, advertising, footers and other boilerplate are in
    no part. ``text`` is plain text with white space folded, never empty. ``author`` is the name of the author of a
    ``content`` part, empty where that is not known.
    """

    role: PartRole
    text: str
    author: str = ""


@dataclass(frozen=True, slots=True)
class Outlink:
    """A link of the page. ``url`` is absolute and canonical.

    ``context`` is the plain text of the paragraph (or list item, cell, heading) around the anchor, anchor included; of
    the link of a list's entry, the entry's first paragraph. ``part`` indexes ``Document.parts``, None where the link
    stands in none of them. ``action`` names the navigation action of the knowledge base that chose the link, None for a
    link of the content or of a page of unknown application. ``leads_to`` is the role of the page level that the action
    leads to, None without an action. ``place`` is the path of tags from the root of the page to the link, each with its
    first class, without digits: ``html/body/div.post/p/a``. It is empty for a link without an element, such as one that
    an action made. ``hidden`` tells that the page's markup hides it from readers: by an attribute ``hidden`` or an
    inline style. ``date`` is the time, aware, at which its target was published or changed, where a feed or a sitemap
    gives it. ``nofollow`` tells that the link is marked as not to be followed (``rel=nofollow``). ``changefreq`` is how
    often a sitemap says that the target changes, empty where none does.
    """

    url: str
    anchor: str
    context: str = ""
    part: int | None = None
    action: str | None = None
    place: str = ""
    leads_to: LevelRole | None = None
    hidden: bool = False
    date: datetime | None = None
    nofollow: bool = False
    changefreq: str = ""


@dataclass(frozen=True, slots=True)
class Times:
    """What is known of when a page was, beside its date of publication; all moments are aware and in UTC.

    ``captured`` is the moment of its capture; of a page taken from an archive (``memento``) that is its
    Memento-Datetime (RFC 7089), not the moment at which the archive was asked. ``modified`` is what the site itself
    said of its last change (``Last-Modified``), ``shown`` the date of the text that the page is about, as its content
    shows it; None where there is none.
    """

    captured: datetime
    memento: bool = False
    modified: datetime | None = None
    shown: datetime | None = None


@dataclass(frozen=True, slots=True)
class Document:
    """A page as analysers see it. ``language`` is an ISO 639-1 code; ``published`` is aware and in UTC.

    ``application``, ``kind`` and ``level`` are names of the knowledge base (an application, its kind, its page level),
    empty where none was recognised. ``rest`` is text that belongs to the page's content and is in no part, such as an
    introduction to a list of posts; it is mostly empty. ``source`` is ``feed`` or ``document`` (such as PDF) for a
    document that is not a page. ``times`` is None where nothing is known of its capture.
    """

    url: str
    language: str | None
    title: str
    parts: tuple[DocumentPart, ...]
    outlinks: tuple[Outlink, ...]
    published: datetime | None = None
    application: str = ""
    kind: str = ""
    level: str = ""
    rest: str = ""
    source: SourceKind = ""
    times: Times | None = None

    @property
    def text(self) -> str:
        """The title and the text of all parts and of ``rest``, a line for each block; boilerplate is not included."""
        return "\n".join(filter(None, (self.title, *[part.text for part in self.parts], self.rest)))
