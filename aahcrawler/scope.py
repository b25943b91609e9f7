"""The scope of a crawl: the URLs that it may fetch."""

from collections.abc import Callable, Container, Mapping, Sequence
from dataclasses import dataclass
from fnmatch import translate
from re import IGNORECASE
from re import compile as compiled
from typing import Final, Literal, Protocol
from urllib.parse import unquote_plus, urlsplit

from aahcrawler import urls
from aahcrawler.exclusions import Exclusions
from aahcrawler.tallies import CountedName
from aahcrawler.tombstones import TakenDown
from aahcrawler.urls import FORM_HOP, MAX_LENGTH, is_reserved, posted_by, queue_of, without_session
from online_analysis.analysers.spam import SpamHosts
from online_analysis.icd import Icd
from online_analysis.icd.scoping import Canonical, Facts, ScopeRules
from online_analysis.url_patterns import UrlPattern, first_match

RULE: Final = "rule:"
"""The prefix of the reasons that are rules of ``scope.rules``; the rule's name follows."""
SCOPE: Final = "scope:"
"""What the reasons begin with for which a URL is blocked that was queued when the scope changed."""


class Refusal(CountedName):
    """The reasons why a URL is not fetched, apart from the definition's own rules. Refusals are counted by reason."""

    SCHEME = "scheme", "no web page, such as a mail address"
    """The URL is not an http or https URL."""
    TOO_LONG = "too_long", "the URL is too long"
    """The URL has more characters than any URL of a page."""
    TAKEN_DOWN = "taken_down", "taken out of the archive"
    """It was taken out of the crawl's archive (``aah remove``)."""
    EXCLUDED = "excluded", "excluded by the institution"
    """A line of ``exclusions.txt``, beside the folders of crawls, matches it."""
    FORM = "form", "given by forms with method post, which sources.forms leaves unsent"
    """It is what a form gives that is sent with method post, and ``sources.forms`` is off, or no form led to it."""
    SPAM = "spam", "on the list of spam hosts"
    """Its host is on the ICD's list of spam hosts."""
    DENIED = "denied", "excluded by scope.deny"
    """A pattern of ``scope.deny`` matches it."""
    NOT_DUE = "not_due", "known, and not due to be visited again"
    """The page is known, and its rhythm leaves it alone in this crawl (``aah crawl --revisits``)."""
    OTHER_SITE = "other_site", "on other sites than the seeds"
    """The URL is on another pay-level domain than the seeds."""
    NOT_ALLOWED = "not_allowed", "not among what scope.allow admits"
    """No pattern of ``scope.allow`` matches it, and there are some."""
    TOO_DEEP = "too_deep", "too many links away from a seed"
    """The URL is more links away from a seed than ``scope.depth``, or its domain's depth, says."""
    LANGUAGE = "language", "in another language"
    """The page is in another language than those of ``scope.languages``."""


class SourceRefusal(CountedName):
    """The reasons why a URL is not fetched because of where it was found, whatever the scope."""

    NOT_VOUCHED = "not_vouched", "in a sitemap that may not speak for the host"
    """A sitemap lists it that is neither on its host nor named by that host's robots.txt."""
    TOO_MANY_SITEMAPS = "too_many_sitemaps", "sitemaps beyond those that are read"
    """It is a sitemap beyond those of its host that are read, or one of an index of indexes."""
    LISTED_LINKS = "listed_links", "pages of links that a complete listing makes needless"
    """A complete listing names it, and it is a page of links, which the listing makes needless."""
    NOFOLLOW = "nofollow", "marked as not to be followed"
    """A page asks robots not to follow its link, and the definition obeys that (``politeness.nofollow``)."""
    OFF_TOPIC = "off_topic", "on pages that are not relevant enough"
    """The page with the link scores less than a page must for its links to be followed (``scoring.follow``)."""
    SOURCE = "source", "in feeds or documents that are not to be followed"
    """The URL is in a feed or document, and the definition forbids following these (``sources``)."""


class Candidate(Protocol):
    """A URL that may be fetched, such as an offer or a lease.

    ``url`` is canonical, ``queue`` its pay-level domain (``urls.queue_of``), ``depth`` the number of links from a seed;
    a redirect target has the depth of its redirect. ``via`` is the page that leads to the URL, ``path`` the hops from a
    seed to it, both empty for a seed.
    """

    @property
    def url(self) -> str: ...  # noqa: D102
    @property
    def queue(self) -> str: ...  # noqa: D102
    @property
    def depth(self) -> int: ...  # noqa: D102
    @property
    def kind(self) -> str: ...  # noqa: D102
    @property
    def via(self) -> str: ...  # noqa: D102
    @property
    def path(self) -> str: ...  # noqa: D102


@dataclass(frozen=True, slots=True)
class ExternalUrl:
    """A candidate from outside of the crawl, of which only the URL is known."""

    url: str
    queue: str
    depth: int = 0
    kind: Literal["page", "requisite"] = "page"
    via: str = ""
    path: str = ""


class Scope:
    """The scope of one ICD. It is immutable: the same URL always gets the same answer."""

    def __init__(
        self,
        icd: Icd,
        queue_of: Callable[[str], str] = queue_of,
        taken_down: TakenDown | None = None,
        exclusions: Exclusions | None = None,
        resting: Container[str] = (),
    ) -> None:
        """Take the scope's parts; ``resting`` are the canonical URLs of known pages that this crawl does not visit."""
        self.taken_down = taken_down or TakenDown()
        self.exclusions = exclusions or Exclusions()
        self.resting = resting
        self._seeds = frozenset(map(queue_of, icd.starts))
        self._sends_forms = icd.sources.forms == "safe"
        self._anywhere = icd.scope.sites == "anywhere"
        self._allow = tuple(map(UrlPattern.parse, icd.scope.allow))
        self._deny = tuple(map(UrlPattern.parse, icd.scope.deny))
        self._spam = SpamHosts(icd.scoring.spam_hosts) if icd.scoring.spam_hosts else None
        self._depth = icd.scope.depth
        self._politeness = icd.politeness
        self._languages = frozenset(icd.scope.languages)
        self._rules = ScopeRules(icd.scope.rules) if icd.scope.rules else None
        self.drops_sessions = icd.scope.canonical.sessions == "drop"
        self.spelling = Spelling(icd.scope.canonical)
        """The canonical form of each URL, which everything offered to the frontier has."""

    def admit(self, candidate: Candidate, language: str | None = None) -> str | None:
        """Return None if a URL may be fetched, else the reason why not.

        The reason is a ``Refusal``, or ``RULE`` followed by the name of a rule. If several apply, the language is
        given, else the first in the order of ``Refusal``, rules last. ``language`` is that of the page which leads to
        the URL, None if unknown. Page requisites often lie on other hosts; so limits on sites, languages and depth,
        ``scope.allow``, and rules that require something do not apply to them.
        """
        is_page = candidate.kind == "page"
        refusal = self._foreign(language) if is_page and self._languages else None
        refusal = refusal or self._forbidden(candidate.url)
        if refusal is None and is_reserved(candidate.url):
            refusal = self._posted(candidate)
        if refusal is None and is_page:
            refusal = self._beyond(candidate)
        if refusal is None and self._rules is not None:
            return self._by_rule(self._rules, candidate, language)
        return refusal

    def admit_type(self, lease: Candidate, media_type: str) -> str | None:
        """Return None if a response of a media type may be kept and followed, else the rule that forbids it.

        ``media_type`` is type and subtype, such as ``text/html``.
        """
        rules = self._rules
        if rules is None or not rules.ask_type or not media_type:
            return None
        return self._by_rule(rules, lease, None, media_type)

    @property
    def asks_type(self) -> bool:
        """Return whether answers have to be judged by their type."""
        return self._rules is not None and self._rules.ask_type

    def is_of_seeds(self, queue: str) -> bool:
        """Return whether a pay-level domain is that of a seed."""
        return queue in self._seeds

    def names(self, url: str, word: str) -> bool:
        """Return whether ``scope.allow`` asks for a word in URLs: a pattern that contains it matches the URL."""
        return any(word in pattern.text.lower() and pattern.matches(url) for pattern in self._allow)

    def _foreign(self, language: str | None) -> Refusal | None:
        if language is not None and language.lower().partition("-")[0] not in self._languages:
            return Refusal.LANGUAGE
        return None

    def _forbidden(self, url: str) -> Refusal | None:
        if not url.startswith(("http://", "https://")):
            return Refusal.SCHEME
        if len(url) > MAX_LENGTH:
            return Refusal.TOO_LONG
        if self.taken_down.covers(url):
            return Refusal.TAKEN_DOWN
        if self.exclusions.covers(url):
            return Refusal.EXCLUDED
        if self._spam is not None and (urlsplit(url).hostname or "") in self._spam:
            return Refusal.SPAM
        return Refusal.DENIED if self._deny and first_match(self._deny, url) else None

    def _posted(self, candidate: Candidate) -> Refusal | None:
        return None if self._sends_forms and candidate.path[-1:].upper() == FORM_HOP else Refusal.FORM

    def _beyond(self, candidate: Candidate) -> Refusal | None:
        if candidate.url in self.resting:
            return Refusal.NOT_DUE
        if not self._anywhere and candidate.queue not in self._seeds:
            return Refusal.OTHER_SITE
        if self._allow and not first_match(self._allow, candidate.url):
            return Refusal.NOT_ALLOWED
        if self._depth is not None and candidate.depth > self._depth:
            return Refusal.TOO_DEEP
        return self._too_deep_for_its_domain(candidate) if self._politeness.domains else None

    def _too_deep_for_its_domain(self, candidate: Candidate) -> Refusal | None:
        most = self._politeness.of(urlsplit(candidate.url).hostname or "")[1].depth
        return Refusal.TOO_DEEP if most is not None and candidate.depth > most else None

    def _by_rule(
        self, rules: ScopeRules, candidate: Candidate, language: str | None, media_type: str | None = None
    ) -> str | None:
        facts = Facts(
            candidate.url,
            candidate.queue in self._seeds,
            candidate.depth,
            candidate.path,
            candidate.via,
            language,
            media_type,
            candidate.kind == "requisite",
        )
        name = rules.refusal(facts)
        return None if name is None else f"{RULE}{name}"


Step = Callable[[str], str]


class Spelling:
    """Rewrite canonical URLs by the rules of ``scope.canonical``. It is immutable: a URL always gets the same form.

    >>> Spelling(Canonical(drop=("utm_*",), www={"a.test": "drop"}))("http://www.a.test/?utm_source=x&b=1")
    'http://a.test/?b=1'
    """

    def __init__(self, wanted: Canonical) -> None:
        steps: list[Step] = []
        if wanted.sessions == "drop":
            steps.append(without_session)
        if wanted.drop or wanted.sort:
            steps.append(_Query(wanted.drop, is_sorted=wanted.sort))
        if wanted.index:
            steps.append(_Index(wanted.index))
        if wanted.lower_case:
            steps.append(_LowerCase(wanted.lower_case))
        if wanted.www:
            steps.append(_Www(wanted.www))
        self._steps = tuple(steps)

    def __call__(self, url: str) -> str:
        """Return the form of a URL that ``urls.canonicalize`` has returned. Applying it twice changes nothing."""
        for step in self._steps if posted_by(url) is None else ():  # What a form sends is not to be changed.
            url = step(url)
        return url

    def url(self, text: str) -> str | None:
        """Canonicalize a text and return its form; None if it is no http(s) URL."""
        url = urls.canonicalize(text)
        return None if url is None else self(url)


class _Query:
    """Remove query parameters by name, and sort the others by name."""

    def __init__(self, dropped: Sequence[str], *, is_sorted: bool) -> None:
        self._drops = compiled("|".join(map(translate, dropped)), IGNORECASE).match if dropped else None
        self._is_sorted = is_sorted

    def __call__(self, url: str) -> str:
        address, mark, query = url.partition("?")
        if not mark:
            return url
        kept = query.split("&")
        if self._drops is not None:
            kept = [each for each in kept if not self._drops(_name(each))]
        if self._is_sorted and all("=" in each for each in kept):
            kept.sort(key=_name)
        return f"{address}?{'&'.join(kept)}" if kept else address


def _name(parameter: str) -> str:
    return unquote_plus(parameter.partition("=")[0])


class _Index:
    """Remove file names such as ``index.html`` that stand for their folder, unless a query follows."""

    def __init__(self, names: Sequence[str]) -> None:
        self._endings = tuple(f"/{name.lower()}" for name in names)

    def __call__(self, url: str) -> str:
        ending = url[url.rfind("/") :]
        is_path = url.rfind("/") > url.find("://") + 2
        return url[: -len(ending) + 1] if is_path and ending.lower() in self._endings else url


class _LowerCase:
    """Lower-case the paths of hosts that ignore case."""

    def __init__(self, hosts: Sequence[str]) -> None:
        self._hosts = tuple(UrlPattern.parse(f"host:{host}") for host in hosts)

    def __call__(self, url: str) -> str:
        if not first_match(self._hosts, url):
            return url
        path, mark, query = url.partition("?")
        return f"{path.lower()}{mark}{query}"


class _Www:
    """Remove ``www.`` from some hosts' names, and add it to others'."""

    def __init__(self, wanted: Mapping[str, str]) -> None:
        self._added = frozenset(host for host, what in wanted.items() if what == "add")
        self._dropped = frozenset(f"www.{host}" for host, what in wanted.items() if what == "drop")

    def __call__(self, url: str) -> str:
        scheme, _, rest = url.partition("://")
        host = urls.origin(url)[len(scheme) + 3 :].partition(":")[0]
        if host in self._added:
            return f"{scheme}://www.{rest}"
        return f"{scheme}://{rest[4:]}" if host in self._dropped else url
