"""Pages and answers of the cases."""

from collections.abc import Iterable, Mapping
from random import Random
from typing import Final

from benchmarks.exact_server import HTML, Framing, Reply, reply
from benchmarks.wildweb.case import KEYWORD

_WHO: Final = ("pilot", "keeper", "captain", "warden", "baker", "painter", "carpenter", "doctor")
_DID: Final = ("counted", "mended", "painted", "remembered", "described", "sold", "moved", "found")
_WHAT: Final = ("nets", "barrels", "lamps", "ropes", "letters", "maps", "stones", "boats", "bells", "charts")
_WHEN: Final = ("before the storm", "after the long winter", "as soon as the fog had gone", "without a word")


def prose(name: str, sentences: int = 4) -> str:
    """Return English sentences about the harbour, the same for the same name."""
    chance = Random(name)
    return " ".join(
        f"The {chance.choice(_WHO)} of the {KEYWORD} {chance.choice(_DID)} {chance.randint(2, 90)} of the old "
        f"{chance.choice(_WHAT)}, and the {chance.choice(_WHO)} {chance.choice(_DID)} some {chance.choice(_WHAT)} "
        f"{chance.choice(_WHEN)}."
        for _ in range(sentences)
    )


def document(title: str, body: str, head: str = "", lang: str = "en") -> str:
    """Return an HTML document without a declaration of its charset."""
    return f'<!DOCTYPE html><html lang="{lang}"><head><title>{title}</title>{head}</head><body>{body}</body></html>'


def text_page(title: str, more: str = "", head: str = "") -> str:
    """Return a document with a heading, three paragraphs of its own and ``more``."""
    said = "".join(f"<p>{prose(f'{title} {n}')}</p>" for n in range(3))
    return document(title, f"<h1>{title}</h1>{said}{more}", head)


def html(text: str | bytes, *fields: tuple[str, str], status: int = 200) -> Reply:
    """Return an answer of HTML in UTF-8."""
    return reply(text, HTML, *fields, status=status)


def plain_page(title: str, more: str = "") -> Reply:
    """Return a page with a text."""
    return html(text_page(title, more))


def links(targets: Iterable[str], words: str = "more of it") -> str:
    """Return a list of links, each with words of its own; targets stand in attributes as they are given."""
    return (
        "<ul>" + "".join(f'<li><a href="{each}">{words}, part {n}</a></li>' for n, each in enumerate(targets)) + "</ul>"
    )


def front(title: str, targets: Iterable[str], head: str = "") -> Reply:
    """Return a page with a text and links."""
    return html(text_page(title, links(targets), head))


def plain_pages(targets: Iterable[str]) -> Mapping[str, Reply]:
    """Return a page with a text of its own for each target."""
    return {
        each: plain_page(f"The page {number} of {each}".replace("&", "and").replace("<", ""))
        for number, each in enumerate(targets, 1)
    }


def bare(status: int, *fields: tuple[str, str], body: str | bytes = "") -> Reply:
    """Return an answer with no other fields than these, given as Latin-1; it ends with the connection."""
    content = body.encode() if isinstance(body, str) else body
    return Reply((content,) if content else (), status, fields, Framing.CLOSE)


def redirect(location: str, status: int = 302) -> Reply:
    """Return a redirect to bytes, given as Latin-1."""
    return Reply((), status, (("Location", location),))


def typed(body: str | bytes, media_type: str | None, *fields: tuple[str, str]) -> Reply:
    """Return an answer of a media type, None where the server names none."""
    content = body.encode() if isinstance(body, str) else body
    named = () if media_type is None else (("Content-Type", media_type),)
    return Reply((content,), 200, (*named, *fields))


def picture(name: str) -> Reply:
    """Return a small picture that no other one equals."""
    return typed(b"GIF89a\x01\x00\x01\x00\x00\x00\x00;" + name.encode(), "image/gif")
