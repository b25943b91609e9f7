"""Find on pages what tells ids of sessions from ids of content."""

from collections.abc import Sequence

from aahcrawler import urls
from aahcrawler.frontier.hops import redirects_in_a_row
from aahcrawler.frontier.protocol import Lease
from aahcrawler.page import Page
from aahcrawler.page.onward import location
from aahcrawler.page.titles import head_title
from aahcrawler.posted_forms import posted_by
from aahcrawler.sessions import without_session
from aahcrawler.traps.session_ids import SessionIds, Suspect, may_hold_id

MAX_REFERENCES = 10_000
"""The references of a page that are looked at."""


def suspects(page: Page, sessions: SessionIds) -> Sequence[Suspect]:
    """Return what may be ids of sessions in the links of a page; empty for what is none, and where none may be."""
    if not (page.is_html and 200 <= page.status < 300):
        return ()
    references = _references(page)
    if not any(map(may_hold_id, references)) or not sessions.is_due(page.url):
        return ()
    return sessions.suspects(page.url, _resolved(page, references))


def page_to_ask(page: Page, lease: Lease, found: Sequence[Suspect]) -> str:
    """Return the URL to ask for once more: the page's, or that which redirects to it where its own has the id already.

    Empty where nothing is suspected, and where neither would tell: who asks with an id is given the same again. What
    was sent by a form is not sent twice.
    """
    if posted_by(lease.url) is not None:
        return ""
    redirecting = lease.via if redirects_in_a_row(lease.path) else ""
    for url in filter(None, (page.url, redirecting) if found else ()):
        if urls.origin(url) == urls.origin(page.url) and not any(each.value in url for each in found):
            return url
    return ""


def links_of(again: Page, page: Page) -> Sequence[str]:
    """Return where the answer leads that a page, or what redirects to it, was given ``again``.

    That is nowhere for a page that shows something else by now, and for an error.
    """
    if (target := location(again.url, again.status, again.headers)) is not None:
        return (without_session(target),)
    if again.is_html and again.status < 300 and again.url == page.url and head_title(again) == head_title(page):
        return _resolved(again, _references(again))
    return ()


def _references(page: Page) -> Sequence[str]:
    written = (element.get("href") or element.get("src") for element in page.tree.iter("a", "area", "frame", "iframe"))
    return tuple(dict.fromkeys(each for each in written if each and not each.startswith("#")))[:MAX_REFERENCES]


def _resolved(page: Page, references: Sequence[str]) -> Sequence[str]:
    found = (urls.resolve(page.base_url, each) for each in references)
    return tuple(dict.fromkeys(without_session(each) for each in found if each is not None))
