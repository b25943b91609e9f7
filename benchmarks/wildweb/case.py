"""A case: a small site, what is right of a crawl of it, and the responses that sites consist of."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from random import Random
from typing import Final

from benchmarks.exact_server import HTML, Framing, Reply, Request, reply

Page = Reply | Callable[[Request], Reply]
"""A response, or a function that makes one for a request."""
Site = Mapping[str, Page] | Callable[[Request], Reply]
"""Responses by target, the query included, or a function that responds to all requests."""


def host_of(name: str) -> str:
    """Return the host of a case's site."""
    return f"{name}.example"


@dataclass(frozen=True, slots=True)
class WantedObject:
    """An object that a crawl must find, identified by words of its body and its page.

    ``dates`` are beginnings of ISO 8601, any of which is right; None among them means that it may have no date.
    ``authors`` are judged likewise, if there are any. ``title`` is a part of its title.
    """

    page: str
    says: str
    dates: tuple[str | None, ...] = (None,)
    authors: tuple[str | None, ...] = ()
    title: str = ""


@dataclass(frozen=True, slots=True)
class WantedPage:
    """What must be read on a page: a part of its title, and the number of its objects, None for any number."""

    page: str
    title: str = ""
    objects: int | None = None


@dataclass(frozen=True, slots=True)
class Case:
    """A site, and what is right of a crawl of it. Pages are given by targets, or by complete URLs on other hosts.

    ``others`` are further hosts below its own. ``wanted`` are the targets that must be requested, and one of each of
    ``one_of``; ``may`` is a regular expression of those that may be. Any other request is invented. If a target has an
    id that is no part of the page, ``same_page`` returns it without the id, and at most ``with_ids`` targets may be
    requested with one. ``gives`` says whether the seeds lead to pages; the crawl's verdicts on them must agree. ``icd``
    is added to the definition. A case that is ``alone`` has a crawl of its own, whose exit code counts.
    """

    kind: str
    name: str
    site: Site
    wanted: Sequence[str] = ()
    one_of: Sequence[Sequence[str]] = ()
    may: str = ""
    objects: Sequence[WantedObject] = ()
    pages: Sequence[WantedPage] = ()
    seeds: Sequence[str] = ("/",)
    others: Sequence[str] = ()
    same_page: Callable[[str], str] | None = None
    with_ids: int = 10
    gives: bool = True
    icd: str = ""
    alone: bool = False

    @property
    def host(self) -> str:
        """The host of the site."""
        return host_of(self.name)

    @property
    def hosts(self) -> tuple[str, ...]:
        """All hosts of the site."""
        return (self.host, *(f"{other}.{self.host}" for other in self.others))

    def url(self, target: str) -> str:
        """Return the URL of a target; a complete URL is returned unchanged."""
        return target if target.startswith("http://") else f"http://{self.host}{target}"

    def respond(self, request: Request) -> Reply | None:
        """Return the response to a request, None if there is no such page. Targets on other hosts are complete URLs."""
        if callable(self.site):
            return self.site(request)
        host = request.field("Host").partition(":")[0].lower()
        target = request.target if host == self.host else f"http://{host}{request.target}"
        page = self.site.get(target)
        return page(request) if callable(page) else page


KEYWORD: Final = "harbour"
"""The keyword of the crawls."""


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
    """Return a document with a heading, three different paragraphs, and ``more``."""
    said = "".join(f"<p>{prose(f'{title} {n}')}</p>" for n in range(3))
    return document(title, f"<h1>{title}</h1>{said}{more}", head)


def html(text: str | bytes, *fields: tuple[str, str], status: int = 200) -> Reply:
    """Return an HTML response in UTF-8."""
    return reply(text, HTML, *fields, status=status)


def plain_page(title: str, more: str = "") -> Reply:
    """Return a page with a text."""
    return html(text_page(title, more))


def links(targets: Iterable[str], words: str = "more of it") -> str:
    """Return a list of links, each with different words; targets are put into attributes unchanged."""
    return (
        "<ul>" + "".join(f'<li><a href="{each}">{words}, part {n}</a></li>' for n, each in enumerate(targets)) + "</ul>"
    )


def front(title: str, targets: Iterable[str], head: str = "") -> Reply:
    """Return a page with a text and links."""
    return html(text_page(title, links(targets), head))


def plain_pages(targets: Iterable[str]) -> Mapping[str, Reply]:
    """Return, for each target, a page with a text of its own."""
    return {
        each: plain_page(f"The page {number} of {each}".replace("&", "and").replace("<", ""))
        for number, each in enumerate(targets, 1)
    }


def bare(status: int, *fields: tuple[str, str], body: str | bytes = "") -> Reply:
    """Return a response with only these header fields, given as Latin-1; it ends with the connection."""
    content = body.encode() if isinstance(body, str) else body
    return Reply((content,) if content else (), status, fields, Framing.CLOSE)


def redirect(location: str, status: int = 302) -> Reply:
    """Return a redirect to raw bytes, given as Latin-1."""
    return Reply((), status, (("Location", location),))


def typed(body: str | bytes, media_type: str | None, *fields: tuple[str, str]) -> Reply:
    """Return a response with a media type, None for a server that names none."""
    content = body.encode() if isinstance(body, str) else body
    named = () if media_type is None else (("Content-Type", media_type),)
    return Reply((content,), 200, (*named, *fields))


def picture(name: str) -> Reply:
    """Return a small picture that differs from all others."""
    return typed(b"GIF89a\x01\x00\x01\x00\x00\x00\x00;" + name.encode(), "image/gif")
