"""Find a page's location on its site: its own URL, and whether it is the first page of several."""

from dataclasses import dataclass

from aahcrawler import urls
from aahcrawler.page import Page, jsontree
from knowledge_base.model import Application, PageLevel
from knowledge_base.selectors import Node, SourceLiterals
from knowledge_base.url_rules import ParsedUrl

MAX_TRIES = 16
"""Nodes of one selector that are tried for a value; the right one is among the first."""


@dataclass(frozen=True, slots=True)
class PageLocation:
    """The location of a page: ``own`` is the URL of the first page, by which the whole is named."""

    page: Page
    url: str
    own: ParsedUrl
    is_first: bool
    literals: SourceLiterals

    @classmethod
    def of(
        cls,
        page: Page,
        application: Application,
        level: PageLevel,
        literals: SourceLiterals,
        own: ParsedUrl | None = None,
    ) -> "PageLocation":
        """Say where a page stands; ``own`` is the URL by which it names itself, None where it does not."""
        here = application.canonical(ParsedUrl.parse(page.url))
        own = own or level.first_page(here)
        is_first = (here.path, here.query) == (own.path, own.query)
        return cls(page, here.url, own, is_first, literals)


def named_address(page: Page, application: Application, level: PageLevel) -> ParsedUrl | None:
    """Find out under which URL of its site the page names itself; None where it tells none of its level."""
    host = _host_of(ParsedUrl.parse(page.url))
    for selector in level.own:
        for node in selector.nodes(page.tree, page.elements)[:MAX_TRIES]:
            address = _address(node, page, application, level)
            if address is not None and _host_of(address) == host:
                return address
    return None


def address_text(node: Node) -> str:
    """Return the reference in a node, as written: an element's ``href``, the text of a value of JSON.

    For a body, that is its first link: in JSON it was text.
    """
    if isinstance(node, str):
        return node
    if node.get("href") is None and node.getroottree().getroot().tag == jsontree.ROOT:
        return (node.text or "").strip()
    link = node if node.tag != "body" else next(node.iter("a"), node)
    return link.get("href") or ""


def _address(node: Node, page: Page, application: Application, level: PageLevel) -> ParsedUrl | None:
    url = urls.resolve(page.base_url, address_text(node))
    address = level.first_page(application.canonical(ParsedUrl.parse(url))) if url else None
    return address if address is not None and _is_meant(address, page, application, level) else None


def _is_meant(address: ParsedUrl, page: Page, application: Application, level: PageLevel) -> bool:
    """Say whether a page may go by a URL: one of its level, and for JSON that of the page it stands for."""
    if page.is_json:
        return application.level_of(address) is not None
    return not level.addresses or level.documents(address)


def _host_of(address: ParsedUrl) -> str:
    return address.prefix.partition("://")[2].removeprefix("www.")
