"""Which URLs a crawl may fetch: judged here alone, for seeds, links, redirects and requisites alike."""

from collections.abc import Callable
from enum import StrEnum
from urllib.parse import urlsplit

from aahcrawler.urls import MAX_LENGTH, queue_of
from online_analysis.analysers.spam import SpamHosts
from online_analysis.icd import Icd
from online_analysis.url_patterns import UrlPattern, first_match


class Refusal(StrEnum):
    """Why a URL is not fetched, or a page not followed. Whoever is refused counts it by this reason."""

    SCHEME = "scheme"
    """It is no http or https address."""
    TOO_LONG = "too_long"
    """It has more characters than any URL of a page."""
    SPAM = "spam"
    """Its host is on the ICD's list of spam hosts."""
    DENIED = "denied"
    """A pattern of ``scope.deny`` matches it."""
    OTHER_SITE = "other_site"
    """It is on another pay-level domain than the seeds."""
    NOT_ALLOWED = "not_allowed"
    """No pattern of ``scope.allow`` matches it, and there are some."""
    TOO_DEEP = "too_deep"
    """It is more than ``scope.depth`` links away from a seed."""
    LANGUAGE = "language"
    """The page is in another language than those of ``scope.languages``."""


class Scope:
    """The scope of one ICD. It holds no state: the same URL always gets the same answer."""

    def __init__(self, icd: Icd, queue_of: Callable[[str], str] = queue_of) -> None:
        self._sites = None if icd.scope.sites == "anywhere" else frozenset(map(queue_of, icd.seeds))
        self._allow = tuple(map(UrlPattern.parse, icd.scope.allow))
        self._deny = tuple(map(UrlPattern.parse, icd.scope.deny))
        self._spam = SpamHosts(icd.scoring.spam_hosts)
        self._depth = icd.scope.depth
        self._languages = frozenset(icd.scope.languages)

    def admit(self, url: str, queue: str, depth: int = 0) -> Refusal | None:
        """Return why a page must not be fetched, or None when it may be.

        ``url`` is canonical, ``queue`` its pay-level domain (``urls.queue_of``), ``depth`` counts links from a seed;
        a redirect has the depth of what redirected. Of several reasons the first in the order of Refusal is given.
        """
        refusal = self.admit_requisite(url)
        if refusal is not None:
            return refusal
        if self._sites is not None and queue not in self._sites:
            return Refusal.OTHER_SITE
        if self._allow and not first_match(self._allow, url):
            return Refusal.NOT_ALLOWED
        if self._depth is not None and depth > self._depth:
            return Refusal.TOO_DEEP
        return None

    def admit_requisite(self, url: str) -> Refusal | None:
        """Return why an image, style sheet or script of an archived page must not be fetched, or None.

        Requisites often lie on other hosts, so sites, ``allow`` and depth do not bind them.
        """
        if not url.startswith(("http://", "https://")):
            return Refusal.SCHEME
        if len(url) > MAX_LENGTH:
            return Refusal.TOO_LONG
        if (urlsplit(url).hostname or "") in self._spam:
            return Refusal.SPAM
        return Refusal.DENIED if first_match(self._deny, url) else None

    def admit_language(self, language: str | None) -> Refusal | None:
        """Return LANGUAGE for a page whose links must not be followed; a page of unknown language is admitted."""
        if self._languages and language is not None and language.lower().partition("-")[0] not in self._languages:
            return Refusal.LANGUAGE
        return None
