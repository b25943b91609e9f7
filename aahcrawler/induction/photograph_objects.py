"""Make web objects of the photographs of a page, and of the album that they are in."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Final

from aahcrawler.induction.captions import Caption
from aahcrawler.induction.galleries import Gallery, Photograph
from aahcrawler.induction.pictures import Picture
from aahcrawler.page import Page, claims
from aahcrawler.webobject import Person, Reference, Value, WebObject

_TYPES: Final = {"image": "photo", "video": "video", "audio": "audio"}


def photograph_objects(page: Page, shown: Gallery) -> tuple[WebObject, ...]:
    """Return the objects of a gallery: the page's own one first, an album or a photograph, then those of an album.

    A photograph without a page of its own is named by its file (``photograph_iri``), so that it is one object on
    whatever pages it stands. An album about which nothing is written is no object.
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
    """Return the IRI of a photograph that has no page of its own, by its file."""
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
