"""Verdicts on seeds in words for people, and the notes in the frontier from which the verdicts are derived.

A note is a count of the frontier, added in the same step that finishes the URL: all workers see it, and no crash loses
it. The name of a note is ``seed:``, its kind and the URL; a note of a redirect also has the target, after a space.

The seeds report of Heritrix and the seed status of Browsertrix give the same information as codes.
"""

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Final

from aahcrawler.scope import RULE, Refusal, SourceRefusal
from aahcrawler.tallies import NO_CAPTURE, SOURCES_UNAVAILABLE, plural
from knowledge_base.url_rules import Reason

ROBOTS: Final = "robots"
MIN_JUNK: Final = 3
"""Forms and the like stand on every page; so many that nothing stands beside look like a mistake."""
_JUNK: Final = frozenset(Reason)
_WISHED: Final = frozenset({Refusal.SCHEME, Refusal.TOO_DEEP, Refusal.LANGUAGE, Refusal.TAKEN_DOWN})
"""What the definition or somebody meant to end at, what is no page, and what has a verdict of its own."""
_WORDS: Final[Mapping[str, str]] = {
    Refusal.SCHEME: "no http or https URL",
    Refusal.TOO_LONG: "too long an address",
    Refusal.TAKEN_DOWN: "taken down",
    Refusal.EXCLUDED: "excluded by the institution",
    Refusal.NOT_DUE: "not due to be visited again",
    Refusal.FORM: "a form",
    Refusal.SPAM: "a spam host",
    Refusal.DENIED: "denied by scope.deny",
    Refusal.OTHER_SITE: "on another site than the seeds",
    Refusal.NOT_ALLOWED: "not in scope.allow",
    Refusal.TOO_DEEP: "too many links from a seed",
    Refusal.LANGUAGE: "on a page in another language",
    SourceRefusal.NOFOLLOW: "marked as not to be followed",
    SourceRefusal.OFF_TOPIC: "on a page that is not relevant enough",
    SourceRefusal.SOURCE: "of a source that is off",
    ROBOTS: "forbidden by robots.txt",
    "register": "a registration",
    "api": "an interface for programs",
    "help": "a page of help",
}
_REMEDIES: Final[Mapping[str, str]] = {
    Refusal.SCHEME: "give a page that links to web pages",
    Refusal.TOO_LONG: "look in a browser where they lead; a crawl takes no address of that length",
    Refusal.TAKEN_DOWN: "give another seed, as somebody took them out with aah remove",
    Refusal.NOT_DUE: "wait until they are due, or leave out --revisits (`pages` in a schedule)",
    Refusal.SPAM: "take their hosts off the list that scoring.spam_hosts names, where they are none of spam",
    Refusal.OTHER_SITE: "set scope.sites to anywhere, or add seeds on the sites they lead to",
    Refusal.NOT_ALLOWED: "add patterns to scope.allow that cover them",
    Refusal.FORM: "set sources.forms to safe, where the file of its application calls the form safe",
    Refusal.EXCLUDED: "ask who keeps exclusions.txt, beside the folders of crawls",
    Refusal.DENIED: "make the patterns of scope.deny narrower",
    Refusal.TOO_DEEP: "raise scope.depth",
    Refusal.LANGUAGE: "add the language to scope.languages",
    SourceRefusal.NOFOLLOW: "set politeness.nofollow to ignore",
    SourceRefusal.OFF_TOPIC: "lower scoring.follow",
    SourceRefusal.SOURCE: "set sources.feeds to linked",
    ROBOTS: "ask the site's owner, or decide on politeness.robots in the definition",
}


def main_reason(refused: Mapping[str, int], *, has_objects: bool) -> str:
    """Return the most common reason in ``refused``, which counts all links of a page by why each was refused.

    Return an empty string if such a page is no problem: a page has some links to forms, a page that ``has_objects`` may
    link only to other sites, and links that are not due were crawled before.
    """
    if refused.get(Refusal.NOT_DUE):
        return ""
    counts = {
        reason: number for reason, number in refused.items() if not (has_objects and reason == Refusal.OTHER_SITE)
    }
    reason = max(counts, key=lambda each: counts[each], default="")
    is_junk = reason in _JUNK and counts[reason] < MIN_JUNK
    return "" if is_junk or reason in _WISHED else reason


def none_followed(reason: str) -> str:
    """Return a sentence saying that no link of a page is followed, and why.

    >>> none_followed("denied")
    'none of its links is followed, most of them since they are denied by scope.deny'
    """
    return f"none of its links is followed, most of them since they are {links_in_words(reason)}"


def remedy(reason: str) -> str:
    """Return what a person can do so that links refused for this reason are followed."""
    if reason.startswith(RULE):
        return "look at scope.rules in the definition"
    return _REMEDIES.get(reason, "give scope.allow *://HOST/* and a pattern that names the word, such as *rev=*")


def links_in_words(reason: str) -> str:
    """Return why a link is avoided, in words that complete "the link is ...".

    >>> links_in_words("other_site"), links_in_words("rule:near"), links_in_words("reply-form")
    ('on another site than the seeds', 'refused by the rule near', 'a reply form')
    """
    if reason.startswith(RULE):
        return f"refused by the rule {reason.removeprefix(RULE)}"
    plain = reason.replace("-", " ").replace("_", " ")
    return _WORDS.get(reason) or f"{'an' if plain[:1] in 'aeiou' else 'a'} {plain}"


def nothing_followed(
    seeds: int, pages: int, left_out: float, follow: float | None = None, best: float | None = None
) -> str:
    """Return a warning if a crawl fetched only its seeds because they score below ``scoring.follow``; else "".

    ``left_out`` counts the links that were not followed for this reason (``SourceRefusal.OFF_TOPIC``). ``follow`` is
    the threshold and ``best`` the highest score of a page; each is omitted from the text if it is None.

    >>> nothing_followed(2, 2, 7, 0.5)
    'the seeds scored below 0.5 (scoring.follow): nothing was followed, 7 links left out; lower it, or change topic'
    >>> nothing_followed(2, 3, 7, 0.5)
    ''
    """
    if not pages or pages > seeds or not left_out:
        return ""
    bound = "scoring.follow" if follow is None else f"{follow:g} (scoring.follow)"
    told = f"nothing was followed, {plural(int(left_out), 'link')} left out; lower it, or change topic"
    scored = "" if best is None else f" {best:.3f} at most,"
    return f"the seeds scored{scored} below {bound}: {told}"


class Verdict(StrEnum):
    """What became of a seed."""

    FETCHED = "fetched"
    OFF_TOPIC = "off topic"
    """Pages of the seed's site were fetched, but none that has enough text to tell is relevant."""
    PENDING = "not fetched yet"
    """The crawl ended before the seed's turn."""
    OUT_OF_SCOPE = "out of scope"
    NAME = "name not resolved"
    REFUSED = "connection refused"
    CERTIFICATE = "certificate not accepted"
    TIMEOUT = "no answer in time"
    DISCONNECTED = "connection lost"
    NO_HTTP = "no HTTP answer"
    PRIVATE = "private network"
    PROXY = "proxy failed"
    PROXY_REFUSED = "proxy refused"
    NO_CAPTURE = "in no archive"
    """None of the archives that the definition names has it."""
    ARCHIVE = "archive not reachable"
    """An archive could not be reached, and none of those that could be reached has it."""
    ROBOTS = "robots.txt"
    ROBOTS_UNREACHABLE = "robots.txt not reachable"
    UNAUTHORIZED = "login asked for (401)"
    FORBIDDEN = "forbidden (403)"
    NOT_FOUND = "not found"
    TOO_MANY = "too many requests (429)"
    SERVER_ERROR = "server error"
    CLIENT_ERROR = "request refused"
    QUERY_REFUSED = "query refused"
    """A SPARQL endpoint takes the query of the definition for a wrong one."""
    NO_RESULTS = "no results of a query"
    """What answers at the URL of an endpoint is none: a page, say."""
    NO_ROWS = "query without rows"
    CHALLENGE = "challenge page"
    COOKIE_WALL = "cookie wall"
    CONSENT = "consent wall"
    REDIRECT_LOOP = "redirect loop"
    LOGIN = "login wall"
    AGE = "age check"
    LOGIN_FAILED = "login failed"
    """The definition says how to log in, but the site did not accept it."""
    SCRIPTS = "script-only page"
    SOFT_404 = "soft 404"
    PARKED = "parked domain"
    MAINTENANCE = "under maintenance"
    EMPTY = "empty page"
    NO_CONTENT = "no content"
    """The server sent no content, as with status 204, or with 304 to an unconditional request."""
    UNREAD = "nothing read"
    """The response is archived, but nothing was read from it and no link of it followed."""
    LINKS = "links refused"
    """The page has only links, and none of them is followed."""
    LANGUAGE = "wrong language"
    NOT_WANTED = "not wanted"
    """The URL was blocked: by an operator, a rule, a trap, or because of its file type."""
    FAILED = "failed"


GIVING: Final = frozenset({Verdict.FETCHED, Verdict.OFF_TOPIC})
"""Verdicts on seeds that gave pages."""

_ADVICE: Final = {
    Verdict.OFF_TOPIC: "look at its pages in the report, and at topic and scoring.relevant in the definition",
    Verdict.PENDING: "run the same command again, with higher limits where a limit ended the crawl",
    Verdict.OUT_OF_SCOPE: "change scope in the definition, or the seed",
    Verdict.NAME: "look for a typing error; the site may have moved or be gone",
    Verdict.REFUSED: "look whether the site answers in a browser, and whether http or https and the port are right",
    Verdict.CERTIFICATE: "look at the certificate in a browser; network.hosts in the definition can trust or accept it",
    Verdict.TIMEOUT: "try again later, or raise politeness.timeout in the definition",
    Verdict.DISCONNECTED: "try again later; the site may refuse crawlers",
    Verdict.NO_HTTP: "look whether http or https and the port are right",
    Verdict.PRIVATE: "if the host is one of yours, name its network under network.allow_private in the definition",
    Verdict.PROXY: "look into the log of the proxy; of the site nothing is known",
    Verdict.PROXY_REFUSED: "ask who runs the proxy, or name another one for the host under network.hosts",
    Verdict.NO_CAPTURE: "name more archives under captures.sources in the definition, or `live`; aah missing lists all",
    Verdict.ARCHIVE: "try again later; crawl.log says which archive could not be asked, and why",
    Verdict.ROBOTS: "ask the site's owner, or decide on politeness.robots in the definition",
    Verdict.ROBOTS_UNREACHABLE: "try again later; without its rules nothing is fetched from the site",
    Verdict.UNAUTHORIZED: "ask the site's owner for an account, and name it in network.accounts of the definition",
    Verdict.FORBIDDEN: "open it in a browser; if that works, the site refuses crawlers: ask its owner",
    Verdict.NOT_FOUND: "look for the page's new URL",
    Verdict.TOO_MANY: "raise politeness.delay in the definition, and try again later",
    Verdict.SERVER_ERROR: "try again later",
    Verdict.CLIENT_ERROR: "open the URL in a browser, and look for its right form",
    Verdict.QUERY_REFUSED: "correct sources.sparql.query by what the endpoint says, or ask for fewer rows",
    Verdict.NO_RESULTS: "look at sources.sparql.endpoint: it is to be the URL that answers queries, no page about them",
    Verdict.NO_ROWS: "the endpoint answers, and finds nothing: compare the names in the query with what it holds",
    Verdict.CHALLENGE: "the site lets browsers in only: ask its owner to let the crawler's user agent pass",
    Verdict.COOKIE_WALL: "the site asks for a cookie, and another one then: keep network.cookies on, or ask its owner",
    Verdict.CONSENT: "the site asks for consent first: look for a URL behind the question, or ask its owner",
    Verdict.REDIRECT_LOOP: "open it in a browser, and give the URL that it ends at",
    Verdict.AGE: "the site asks for the reader's age first: look for a URL behind the question, or ask its owner",
    Verdict.LOGIN: "look for pages that are public, or give network.logins an account of yours",
    Verdict.LOGIN_FAILED: "compare network.logins or network.accounts and the secrets with a login in a browser; "
    "crawl.log says what was refused",
    Verdict.SCRIPTS: "its content is made by scripts, and no browser looked at it: install Chromium and "
    "aahcrawler[browser], see `browser` in the definition, or look for a feed or a sitemap",
    Verdict.SOFT_404: "the page says that it is not there: look for its new URL",
    Verdict.PARKED: "nobody uses the domain at present: look for the site's new address",
    Verdict.MAINTENANCE: "try again later",
    Verdict.EMPTY: "open it in a browser; there is nothing on it to be read",
    Verdict.NO_CONTENT: "the server answers, and sends nothing: open it in a browser, and give the URL that it shows",
    Verdict.UNREAD: "it is archived, and leads nowhere: look at its Content-Type and at what it holds, and give a page",
    Verdict.LINKS: "look at scope in the definition",
    Verdict.LANGUAGE: "add the language to scope.languages in the definition, or choose another seed",
    Verdict.NOT_WANTED: "look at scope in the definition, and at `aah frontier counts` for the rules that hold",
    Verdict.FAILED: "look for its URL in crawl.log",
}


def advice(verdict: Verdict) -> str:
    """Return what a person can do about a verdict; empty if nothing need be done."""
    return _ADVICE.get(verdict, "")


_FAILURES: Final = {
    "resolve": Verdict.NAME,
    "address": Verdict.PRIVATE,
    "connect": Verdict.REFUSED,
    "tls": Verdict.CERTIFICATE,
    "timeout": Verdict.TIMEOUT,
    "disconnect": Verdict.DISCONNECTED,
    "protocol": Verdict.NO_HTTP,
    "proxy failed": Verdict.PROXY,
    "proxy refused": Verdict.PROXY_REFUSED,
    "headers": Verdict.NO_HTTP,
    "request": Verdict.CLIENT_ERROR,
    "login": Verdict.LOGIN_FAILED,
    "robots": Verdict.ROBOTS,
    "robots.txt": Verdict.ROBOTS_UNREACHABLE,
    NO_CAPTURE: Verdict.NO_CAPTURE,
    SOURCES_UNAVAILABLE: Verdict.ARCHIVE,
}


def of_reason(reason: str) -> Verdict:
    """Return the verdict for the reason that the frontier gives for a URL that ended without a response.

    >>> of_reason("tls").value, of_reason("status 503").value, of_reason("spool").value
    ('certificate not accepted', 'server error', 'failed')
    """
    if reason.startswith("status ") and reason[7:].isdigit():
        return of_status(int(reason[7:]))
    return _FAILURES.get(reason, Verdict.FAILED)


def in_words(reason: str) -> str:
    """Return the reason for a failed URL in words for people, or the reason itself if there are none.

    >>> in_words("resolve"), in_words("status 503"), in_words("no room")
    ('name not resolved', 'server error (503)', 'no room')
    """
    verdict = of_reason(reason)
    if verdict is Verdict.FAILED:
        return reason
    code = reason.removeprefix("status ") if reason.startswith("status ") else ""
    return f"{verdict} ({code})" if code and code not in verdict else str(verdict)


def counted_in_words(failures: Mapping[str, int]) -> Mapping[str, int]:
    """Return counts of failures by their words for people, the most common first.

    Reasons with the same words are added up.

    >>> counted_in_words({"disconnect": 1, "status 404": 2, "spool": 1})
    {'not found (404)': 2, 'connection lost': 1, 'spool': 1}
    """
    found = Counter[str]()
    for reason, number in failures.items():
        found[in_words(reason)] += number
    return dict(found.most_common())


def of_status(status: int) -> Verdict:
    """Return the verdict for an HTTP status that is an error or comes without content.

    >>> of_status(410).value, of_status(401).value
    ('not found', 'login asked for (401)')
    """
    match status:
        case 204 | 205 | 304:
            return Verdict.NO_CONTENT
        case 401 | 407:
            return Verdict.UNAUTHORIZED
        case 403 | 451:
            return Verdict.FORBIDDEN
        case 404 | 410:
            return Verdict.NOT_FOUND
        case 429:
            return Verdict.TOO_MANY
        case _:
            return Verdict.SERVER_ERROR if status >= 500 else Verdict.CLIENT_ERROR


SEED: Final = "seed"
PAGES, OBJECTS, RELEVANT, OFF_TOPIC = "site_pages", "site_objects", "site_relevant", "site_off_topic"
LINKS, FORBIDDEN, TEXTS = "site_links", "site_forbidden", "site_texts"
_REDIRECT, _WITH_COOKIE, _TRIED, _REFUSED, _CUT = "redirect", "redirect_with_cookie", "tried", "refused", "cut"


def of_page(url: str, verdict: Verdict) -> str:
    """Return the note that a URL had a response with this verdict."""
    return f"{SEED}:{verdict.name}:{url}"


def of_attempt(url: str, verdict: Verdict) -> str:
    """Return the note that a URL failed with this verdict and will be tried again."""
    return f"{SEED}:{_TRIED}:{verdict.name} {url}"


def of_cut(url: str) -> str:
    """Return the note that a response to a URL was under way when the crawl ended, and did not end in time."""
    return f"{SEED}:{_CUT}:{url}"


def of_refused_links(url: str, reason: str) -> str:
    """Return the note that a page had a response, but none of its links is followed, for this reason."""
    return f"{SEED}:{_REFUSED}:{reason} {url}"


def of_failure(url: str, reason: str, *, blocked: bool) -> str:
    """Return the note that a URL ended without a response, for the frontier's ``reason``."""
    verdict = of_reason(reason)
    return of_page(url, Verdict.NOT_WANTED if blocked and verdict is Verdict.FAILED else verdict)


def of_redirect(url: str, target: str, *, sets_cookie: bool) -> str:
    """Return the note that a URL redirects to ``target``, which is empty if the crawl does not follow the redirect."""
    return f"{SEED}:{_WITH_COOKIE if sets_cookie else _REDIRECT}:{url} {target}"


def on_site(
    site: str, objects: int, relevant: bool | None, links: int = 0, *, has_text: bool = False
) -> dict[str, float]:
    """Return the counts that a page of a seed's site adds.

    ``relevant`` is None if the page has too little text to tell. ``links`` counts its links to pages that are followed.
    ``has_text`` is True if the page has text besides its links.
    """
    counts: dict[str, float] = {f"{PAGES}:{site}": 1}
    if links:
        counts[f"{LINKS}:{site}"] = links
    if objects:
        counts[f"{OBJECTS}:{site}"] = objects
    if has_text:
        counts[f"{TEXTS}:{site}"] = 1
    if relevant is not None:
        counts[f"{RELEVANT if relevant else OFF_TOPIC}:{site}"] = 1
    return counts


def forbidden_on_site(site: str) -> dict[str, float]:
    """Return the count that a page of a seed's site adds if robots.txt forbids it."""
    return {f"{FORBIDDEN}:{site}": 1}


@dataclass(frozen=True, slots=True)
class Redirect:
    """A redirect that was noted; ``target`` is empty if it was not followed."""

    target: str
    sets_cookie: bool


@dataclass(frozen=True, slots=True)
class Trail:
    """All notes of a crawl, by URL. If a URL has several verdicts, the best one counts.

    ``attempts`` has the verdicts of attempts that were to be repeated, and ``refused`` the reason why no link of a page
    is followed. Responses to ``cut`` were under way when the crawl ended.
    """

    verdicts: Mapping[str, Verdict]
    redirects: Mapping[str, Redirect]
    attempts: Mapping[str, Verdict]
    refused: Mapping[str, str] = field(default_factory=dict)
    cut: Collection[str] = frozenset()

    @classmethod
    def of(cls, counts: Mapping[str, float]) -> "Trail":
        """Read the notes among a crawl's counts."""
        verdicts: dict[str, Verdict] = {}
        redirects: dict[str, Redirect] = {}
        attempts: dict[str, Verdict] = {}
        refused: dict[str, str] = {}
        cut: set[str] = set()
        for kind, rest in _notes(counts):
            if kind in (_REDIRECT, _WITH_COOKIE):
                url, _, target = rest.partition(" ")
                redirects[url] = Redirect(target, kind == _WITH_COOKIE)
            elif kind == _REFUSED:
                reason, _, url = rest.rpartition(" ")
                refused[url] = reason
                _note(verdicts, Verdict.LINKS.name, url)
            elif kind == _CUT:
                cut.add(rest)
            elif kind == _TRIED:
                _note(attempts, *rest.split(" ", 1))
            else:
                _note(verdicts, kind, rest)
        return cls(verdicts, redirects, attempts, refused, cut)

    def leads_to(self, url: str) -> bool:
        """Return whether a noted redirect has ``url`` as its target."""
        return any(redirect.target == url for redirect in self.redirects.values())

    def end_of(self, url: str) -> tuple[str, Verdict | None]:
        """Follow the redirects from a URL; return the last URL and its verdict, None if there is none yet."""
        met = [url]
        while (redirect := self.redirects.get(met[-1])) is not None and met[-1] not in self.verdicts:
            if not redirect.target:
                return met[-1], None
            if redirect.target in met:
                return redirect.target, self._loop(met)
            met.append(redirect.target)
        return met[-1], self.verdicts.get(met[-1])

    def _loop(self, met: Collection[str]) -> Verdict:
        sets_cookie = any(self.redirects[url].sets_cookie for url in met)
        return Verdict.COOKIE_WALL if sets_cookie else Verdict.REDIRECT_LOOP


def _notes(counts: Mapping[str, float]) -> Iterator[tuple[str, str]]:
    for name in counts:
        group, _, note = name.partition(":")
        if group == SEED:
            kind, _, rest = note.partition(":")
            yield kind, rest


def _note(verdicts: dict[str, Verdict], name: str, url: str = "") -> None:
    """Record a verdict, given by its name, unless a better one is known for the URL."""
    if name in Verdict.__members__:
        verdicts[url] = min(Verdict[name], verdicts.get(url, Verdict.FAILED), key=list(Verdict).index)


_DOUBTFUL: Final = frozenset({Verdict.CONSENT, Verdict.LOGIN, Verdict.SCRIPTS, Verdict.EMPTY, Verdict.UNREAD})
"""Verdicts by the looks of one page, which objects found on its site disprove."""
_PERHAPS_REFUSED: Final = frozenset({Verdict.FETCHED, Verdict.LINKS})
"""Verdicts on pages that were read, of which no link may be followed."""


@dataclass(frozen=True, slots=True)
class SeedResult:
    """What became of a seed. ``ended_at`` is where its redirects led, empty if it had none.

    ``pages`` and ``objects`` count those of its whole pay-level domain, which several seeds may share. ``reason`` says
    why no link of its page is followed, and is empty if some are; if the page gave nothing else, it is also the
    verdict.
    """

    url: str
    verdict: Verdict
    ended_at: str = ""
    detail: str = ""
    pages: int = 0
    objects: int = 0
    reason: str = ""

    @property
    def gave_nothing(self) -> bool:
        """Return whether the seed was tried and led to nothing on its site."""
        return self.verdict not in GIVING and self.verdict is not Verdict.PENDING

    @property
    def advice(self) -> str:
        """What a person can do about it; empty if nothing need be done."""
        is_of_links = self.reason and self.verdict in _PERHAPS_REFUSED
        return remedy(self.reason) if is_of_links else advice(self.verdict)


def seed_results(
    seeds: Mapping[str, str],
    counts: Mapping[str, float],
    site_of: Callable[[str], str],
    refusal: Callable[[str], str | None],
) -> Sequence[SeedResult]:
    """Return the result of each seed, in the order of ``seeds``.

    ``seeds`` maps each seed, as it was given, to its canonical URL, which is empty if it has none. ``counts`` are those
    of the crawl, ``site_of`` returns the pay-level domain of a URL, and ``refusal`` returns why the scope refuses a
    URL.
    """
    trail = Trail.of(counts)
    return [_result(given, url, trail, counts, site_of, refusal) for given, url in seeds.items()]


def _result(
    given: str,
    url: str,
    trail: Trail,
    counts: Mapping[str, float],
    site_of: Callable[[str], str],
    refusal: Callable[[str], str | None],
) -> SeedResult:
    end, verdict = trail.end_of(url)
    if not url or (verdict is None and (reason := refusal(url)) is not None):
        return SeedResult(given, Verdict.OUT_OF_SCOPE, detail="no http or https URL" if not url else str(reason))
    if verdict is None and end in trail.redirects:
        return SeedResult(given, Verdict.OUT_OF_SCOPE, "" if end == url else end, "it redirects out of the scope")
    sites = dict.fromkeys((site_of(url), site_of(end)))
    pages, objects, texts, relevant, off_topic = (
        sum(int(counts.get(f"{name}:{site}", 0)) for site in sites)
        for name in (PAGES, OBJECTS, TEXTS, RELEVANT, OFF_TOPIC)
    )
    detail = "" if verdict is not None else _unfinished(trail, end)
    verdict = verdict or trail.attempts.get(end, Verdict.PENDING)
    reason = (trail.refused.get(end, "") or _forbidden(sites, counts)) if pages <= 1 else ""
    if verdict in _PERHAPS_REFUSED:
        detail = none_followed(reason) if reason else ""
        verdict = Verdict.LINKS if reason and not objects and not texts else Verdict.FETCHED
    verdict = _settled(verdict, objects, off_topic > 0 == relevant)
    return SeedResult(given, verdict, "" if end == url else end, detail, pages, objects, reason)


def _unfinished(trail: Trail, url: str) -> str:
    """Return what has been tried of a URL that has no verdict yet."""
    if url in trail.cut:
        return "its answer was under way when the crawl ended, and did not end"
    return "it is to be tried again" if url in trail.attempts else ""


def _forbidden(sites: Iterable[str], counts: Mapping[str, float]) -> str:
    """Return ``ROBOTS`` if robots.txt forbids every page that a seed's page links to; else an empty string."""
    led, forbidden = (sum(counts.get(f"{name}:{site}", 0) for site in sites) for name in (LINKS, FORBIDDEN))
    return ROBOTS if 0 < led <= forbidden else ""


def _settled(verdict: Verdict, objects: int, off_topic: bool) -> Verdict:
    """Return the final verdict, given what all pages of the site showed besides the seed's own page."""
    if verdict in _DOUBTFUL and objects:
        verdict = Verdict.FETCHED
    return Verdict.OFF_TOPIC if verdict is Verdict.FETCHED and off_topic else verdict
