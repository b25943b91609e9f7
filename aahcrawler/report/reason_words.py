"""Says in words what pages are for, why links were not followed and URLs not fetched."""

from collections.abc import Mapping

from aahcrawler.scope import Refusal, SourceRefusal
from aahcrawler.streams import StreamNote
from aahcrawler.traps.path_shape import Trap

ROLES: Mapping[str, str] = {"intermediate": "leads to content", "terminal": "has content"}
"""What a level of pages is for, by the name of its role in the knowledge base."""
_WORDS: Mapping[str, str] = {
    Refusal.SCHEME: "no web page, such as a mail address",
    Refusal.TOO_LONG: "the URL is too long",
    Refusal.TAKEN_DOWN: "taken out of the archive",
    Refusal.SPAM: "on the list of spam hosts",
    Refusal.DENIED: "excluded by scope.deny",
    Refusal.OTHER_SITE: "on other sites than the seeds",
    Refusal.NOT_ALLOWED: "not among what scope.allow admits",
    Refusal.TOO_DEEP: "too many links away from a seed",
    Refusal.LANGUAGE: "in another language",
    SourceRefusal.NOT_VOUCHED: "in a sitemap that may not speak for the host",
    SourceRefusal.TOO_MANY_SITEMAPS: "sitemaps beyond those that are read",
    SourceRefusal.LISTED_LINKS: "pages of links that a complete listing makes needless",
    Refusal.FORM: "given by forms with method post, which sources.forms leaves unsent",
    SourceRefusal.NOFOLLOW: "marked as not to be followed",
    SourceRefusal.SOURCE: "in feeds or documents that are not to be followed",
    Trap.REPEATING: "parts of the path repeat",
    Trap.SEGMENTS: "the path has too many parts",
    Trap.PARAMETERS: "the URL has too many parameters",
    Trap.NOVELTY: "pages like these brought nothing new",
    Trap.BARREN: "pages like these led to no content",
    Trap.REPEATED: "pages like these show only what other pages show",
    Trap.COPY: "the same page without a part of the URL that changes nothing",
    Trap.SESSION: "known pages under another session",
    Trap.NEAR_DUPLICATE: "on a copy of another page",
    Trap.SOFT_404: "on a page that says that it is not there",
    "robots": "robots.txt forbids it",
    "address": "in a private network",
    "domain_pages": "beyond the pages that politeness.domains grants",
    "domain_bytes": "beyond the bytes that politeness.domains grants",
    "ignored": "a Scrapy middleware does not want it",
    "requisites_per_page": "images, styles and other files of one page beyond limits.requisites_per_page",
    "requisites_per_style_sheet": "files of one style sheet beyond limits.requisites_per_style_sheet",
    "parts_per_stream": "parts of one stream of film or sound beyond limits.parts_per_stream",
    "requisite_file_bytes": "files larger than limits.requisite_file_bytes",
    "requisite_bytes": "images, styles and other files beyond limits.requisite_bytes",
}


def in_words(counts: Mapping[str, int]) -> Mapping[str, int]:
    """Return counts by reason with the reasons in words, each with the name that ``crawl.json`` has for it.

    >>> in_words({"too_deep": 3, "rule:no calendars": 1})
    {'too many links away from a seed (too_deep)': 3, 'rule:no calendars': 1}
    >>> in_words({"scheme:ftp": 2})
    {'by ftp, which the crawler does not speak (scheme:ftp)': 2}
    """
    return {_with_words(reason): number for reason, number in counts.items()}


def _with_words(reason: str) -> str:
    group, _, scheme = reason.partition(":")
    if group == Refusal.SCHEME and scheme:
        return f"by {scheme}, which the crawler does not speak ({reason})"
    return f"{_WORDS[reason]} ({reason})" if reason in _WORDS else reason


_OF_STREAMS: Mapping[str, str] = {
    StreamNote.READ: "manifests that were read",
    StreamNote.LEFT_OUT: "that offer other qualities or languages, of which one was chosen",
    StreamNote.LIVE: "that go on: what they named at that moment is kept",
    StreamNote.PROTECTED: "that need a licence: not fetched",
    StreamNote.CUT: "with more parts than are read",
    StreamNote.UNREADABLE: "that break their format: no part is fetched",
}


def of_streams(counts: Mapping[str, int]) -> Mapping[str, int]:
    """Return counts of manifests of streams by what there is to tell of them, in words."""
    return {f"{_OF_STREAMS.get(note, note)} ({note})": number for note, number in counts.items()}
