"""Find the references of an object's text: the targets of its links, the pictures it shows, and what it plays."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import islice

from lxml.etree import _Element as Element

from aahcrawler.helper.extraction.extraction import Extracted
from aahcrawler.helper.links.junk_urls import junk_reason
from aahcrawler.helper.links.navigation import Links
from aahcrawler.page import requisites
from aahcrawler.webobject import Reference, Value, WebObject
from knowledge_base.model import Application, PageLevel

LINKS, IMAGES, MEDIA = "links", "images", "media"
_READ = ("a", "area", "img", "video", "audio")
MOST = 500
"""Links, pictures, and films and sounds, of one object that are kept."""


@dataclass(frozen=True)
class References:
    """Reads the references of objects on one page.

    ``application`` and ``level`` are those of the page, None if they are not known; ``own`` is the URL of the first
    page if the page is one of several.
    """

    links: Links
    own: str
    application: Application | None = None
    level: PageLevel | None = None

    def added(self, extracted: Iterable[Extracted]) -> tuple[Extracted, ...]:
        """Return objects with their links, images and media, except those that the knowledge base already defines."""
        return tuple(
            replace(each, object=self.of(each.object, each.body, each.without)) if each.body else each
            for each in extracted
        )

    def of(self, web_object: WebObject, body: Sequence[Element], without: Iterable[Element] = ()) -> WebObject:
        """Return an object with the links, images and media in the elements of its body, without some parts of them."""
        left_out = {found for part in without for found in part.iter(*_READ)}
        found = [each for part in body for each in part.iter(*_READ) if each not in left_out]
        if not found:
            return web_object
        read = {
            LINKS: _each(self._addresses(each for each in found if each.tag in ("a", "area"))),
            IMAGES: _each(self._files(requisites.shown_by(each) for each in found if each.tag == "img")),
            MEDIA: _each(self._files(requisites.played_by(each) for each in found if each.tag in ("video", "audio"))),
        }
        new = {name: values for name, values in read.items() if values and name not in web_object.properties}
        return replace(web_object, properties={**web_object.properties, **new}) if new else web_object

    def _addresses(self, anchors: Iterable[Element]) -> Iterator[str]:
        ignored = self.links.ignored
        for anchor in anchors:
            url = self.links.resolve(anchor.get("href"))
            if url is None or ignored.covers(anchor):
                continue
            address = self._near(url) if self.links.is_here(url) else self._far(url)
            if address is not None:
                yield address

    def _near(self, url: str) -> str | None:
        """Return the form of a URL of the same site; None for the page's own thread and where no page is."""
        if self.application is None:
            return url if url not in (self.own, self.links.page.url) and junk_reason(url) is None else None
        verdict = self.links.sites.verdict(self.application, url)
        whole = self.links.sites.whole(self.level, verdict.url) if self.level is not None else verdict.url
        return verdict.url if verdict.reason is None and self.own not in (whole, verdict.url) else None

    def _far(self, url: str) -> str:
        """Return the form of a URL elsewhere, canonical if the application of its site is known."""
        application = self.links.sites.application(url)
        return url if application is None else self.links.sites.verdict(application, url).url

    def _files(self, references: Iterable[str | None]) -> Iterator[str]:
        for reference in references:
            url = self.links.sites.resolve(self.links.page.base_url, reference) if reference else None
            if url is not None:
                yield url


def _each(addresses: Iterator[str]) -> tuple[Value, ...]:
    return tuple(map(Reference, islice(dict.fromkeys(addresses), MOST)))
