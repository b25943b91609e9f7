"""Recognise the traps of a crawl: learn from its pages, and judge links by what was learned."""

import json
import re
from collections import OrderedDict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from hashlib import blake2b
from itertools import islice
from urllib.parse import unquote

import numpy as np
from numpy.typing import NDArray

from aahcrawler.traps.bloom_filters import Arrays, BloomFilters, Precedents, RecentSet, TrapDecisions, digest
from aahcrawler.traps.budgets import Budgets
from aahcrawler.traps.patterns import Trap, UrlPattern, misshapen, names_page, pattern_of
from aahcrawler.traps.session_ids import Aliases, SessionIds, Suspect
from aahcrawler.traps.sketch import Hashes, distance, fingerprint, shingle_sample, sketch
from aahcrawler.traps.soft_errors import Neighbours, SoftErrors
from aahcrawler.traps.yields import LINKED, MIN_EXPECTED, Brought, Holdings, Yields
from online_analysis.icd.sections import Traps as TrapsSection

NEW_SHARE = 0.25
"""The share of a page's content that must be new for the page to count as new; less than half of that if it is
relevant.
"""
NEW_RELEVANT_SHARE = 0.1
MIN_NEW = 2
"""The fewest new sampled shingles of a page with new content; a page has about 16."""
MIN_KNOWN = 4
"""The fewest sentences of an object that can be recognised as another version of an earlier one."""
NEW_LINKS = 5
"""How many links to pages of other patterns, never seen before, make a page worthwhile by themselves."""
ALIKE = 6
"""The most bits of 64 in which the fingerprints of near duplicates' anchor texts differ: a list with other entries
below the same words is not a duplicate.
"""
ALIKE_OF_SAME = 16
"""The same if both pages show the same web objects, because each of few anchors counts much."""
MAX_LINKS = 200_000
"""How many links are remembered: the last ones."""
MAX_TRIALS = 1_000
WAITS = 0.5
"""The largest factor for the score of a URL that gives way to others."""

_MIN_OBJECT_LENGTH, _MAX_OBJECT_LENGTH = 20, 500
"""Characters that identify the text of an object; a shorter one such as "Thanks!" identifies none."""
_LONG_ENOUGH = 8
"""A URL of this many characters does not occur in a text by chance."""
_DIGITS = b"0123456789"
_NO_DIGITS = str.maketrans("", "", "0123456789")
_MAX_VERSION_LENGTH = 20_000
_STOP = re.compile(r"[.!?\n\u3002]+")
_NONE = np.zeros(0, np.uint64)


@dataclass(frozen=True, slots=True)
class Seen:
    """A page fetched with success: its canonical URL, its pay-level domain, and its content.

    ``text`` is that of its content parts, ``other_text`` its other own text, such as the entries of a list. ``objects``
    are the texts of its web objects, ``identities`` their authors, times and texts, and ``anchors`` the texts of its
    links. ``names`` are the URLs that it gives for objects, ``files`` the URLs of pictures, sounds and films that
    belong to objects. ``openings`` are the times and first words of dated objects of sufficient length, which identify
    an object on pages that show more or less of it.
    """

    url: str
    site: str
    text: str
    other_text: str = ""
    objects: tuple[str, ...] = ()
    identities: tuple[str, ...] = ()
    relevant: bool = False
    anchors: str = ""
    names: tuple[str, ...] = ()
    files: tuple[str, ...] = ()
    openings: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class TrapVerdict:
    """The verdict on a page: ``trap`` is SOFT_404, NEAR_DUPLICATE of the page ``like``, or None for an original page.

    ``is_new``: its content is new to the crawl. ``has_objects``: some of its web objects are new, if only in author or
    date, or were known only from pages with a single object. ``is_repeat``: it has web objects, but none is new, and a
    former crawl met none of them here first. ``repeated`` are the positions of those objects of a near duplicate that
    were on earlier pages. ``probe`` is a URL that cannot exist, to be fetched because the host is suspicious; mostly
    empty. ``is_empty``: the page has nothing to judge, or only what another page shows.
    """

    trap: Trap | None = None
    like: str = ""
    is_new: bool = False
    has_objects: bool = False
    repeated: frozenset[int] = frozenset()
    probe: str = ""
    is_empty: bool = False
    is_repeat: bool = False
    is_gone: bool = False


NO_PAGE = TrapVerdict(is_empty=True)
"""The verdict on an error or a redirect."""
NO_SUCH_PAGE = TrapVerdict(is_empty=True, is_gone=True)
"""The verdict on a response that says that the page does not exist."""


class Traps:
    """What one worker knows about traps, in bounded memory of at most about 110 MB.

    It is stored for the next crawl of the definition, which fetches what was fetched, refuses what was refused, and
    treats the same pages as originals, as long as their patterns bring nothing new. Budgets start full again. Each
    worker of a crawl learns on its own, because a host is fetched from by one worker at a time, mostly the same.
    """

    def __init__(self, settings: TrapsSection) -> None:
        self._settings = settings
        self._budgets = Budgets(settings.pages)
        self._yields = Yields(settings.barren)
        self._holdings = Holdings()
        self._neighbours = Neighbours()
        self._soft_errors = SoftErrors()
        self._aliases = Aliases()
        self.sessions = SessionIds()
        """Which parts of URLs are ids of sessions."""
        self._heard = BloomFilters()
        self._links = RecentSet(MAX_LINKS)
        self._decisions = TrapDecisions()
        self._precedents = Precedents()
        self._trials: OrderedDict[str, None] = OrderedDict()
        self._gave_way = RecentSet(MAX_LINKS)
        self._viewed = RecentSet(MAX_LINKS)
        self.reopened = False
        """Whether pages were refused, since this was last set to False, whose like has brought something after that."""

    def use(self, settings: TrapsSection) -> None:
        """Use other settings from now on; what was learned stays, except refusals based on changed settings."""
        self._forget_refusals(self._settings.pages, self._settings.barren, settings)
        self._settings = settings
        self._budgets.minimum = settings.pages
        self._yields.bound = settings.barren

    def _forget_refusals(self, pages: int, barren: int, settings: TrapsSection) -> None:
        """Forget refusals that were based on limits other than the current ones."""
        for reason, before, now in ((Trap.NOVELTY, pages, settings.pages), (Trap.BARREN, barren, settings.barren)):
            if before != now:
                self._precedents.forget(reason)
                self._decisions.forget(reason)

    def admit(self, url: str, *, trusted: bool = False, via: str = "") -> Trap | None:
        """Return the trap for which a link is not followed, or a queued page not fetched; None if it is admitted.

        ``trusted`` links were selected by a navigation action of a known application: they are judged only by pages of
        their own pattern. ``via`` is the linking page: a redirect to the same page with an id does not count as known.
        Costs some microseconds.
        """
        of = self._settings
        if trap := misshapen(url, repeats=of.repeats, segments=of.segments, parameters=of.parameters):
            return trap
        if self._precedents.has_fetched(url):
            return None
        reason = self._precedent(url, trusted=trusted) or self._by_yield(url, trusted=trusted)
        if reason is not None:
            self._decisions.refuse(url, reason, trusted=trusted)
            return Trap.REPEATED if reason is Trap.BARREN and self._yields.repeats(self.barren(url)) else reason
        if of.duplicates != "skip":
            return None
        plain = self.sessions.without(url)
        if (plain not in (url, via) and self.knows(plain)) or self._aliases.has_other(url):
            return Trap.SESSION
        shorter = self.shorter(url)
        return Trap.COPY if shorter is not None and self.knows(shorter) else None

    def _by_yield(self, url: str, *, trusted: bool) -> Trap | None:
        """Return a trap if similar pages have had no new content for too long, or led to no content."""
        if self._settings.pages and self._budgets.may_refuse(_host(url)) and self._is_spent(url, trusted=trusted):
            return Trap.NOVELTY
        return Trap.BARREN if self._settings.barren and not trusted and self._is_barren(url) else None

    def _precedent(self, url: str, *, trusted: bool) -> Trap | None:
        """Return why a former crawl refused a URL, unless similar pages bring new content by now."""
        reason = self._precedents.refusal(url, trusted=trusted)
        if reason is Trap.NOVELTY and self._settings.pages and not self._budgets.brings(pattern_of(url)):
            return reason
        if reason is Trap.BARREN and self._settings.barren and not trusted and self.barren(url):
            return reason
        return None

    def knows(self, url: str) -> bool:
        """Return whether a URL was fetched or admitted before, as far as is remembered."""
        return hash(url) in self._links or self._decisions.has_fetched(url) or self._precedents.has_fetched(url)

    def decide(self, own: str, suspects: Sequence[Suspect], again: Iterable[str]) -> Sequence[str]:
        """Learn from a page's links, fetched ``again``, which suspects are session ids; return their names.

        An id in the path is not removed, because no URL works without it; instead each page is followed under one id
        only.
        """
        self.sessions.asked(own)
        found = [name for name, is_session in self.sessions.decide(own, suspects, again).items() if is_session]
        for name in filter(str.isdecimal, found):
            self._aliases.presume(own, name)
        return found

    def shorter(self, url: str) -> str | None:
        """Return the URL without a part that was found not to change the page; None if it has no such part.

        A URL that a former crawl already knew in its full form is not shortened.
        """
        shorter = self._aliases.shorter(url) if self._settings.duplicates == "skip" else None
        known = self._precedents.has_fetched
        return None if shorter is not None and known(url) and not known(shorter) else shorter

    def _is_barren(self, url: str) -> bool:
        name = self.barren(url)
        return name != "" and url not in self._trials and not self._tried(url, self._yields.trial(name))

    def _tried(self, url: str, let_through: bool) -> bool:
        """Remember a URL that is fetched as a sample although its pattern is refused; return whether it is one."""
        if let_through:
            self._trials[url] = None
            if len(self._trials) > MAX_TRIALS:
                self._trials.popitem(last=False)
        return let_through

    def barren(self, url: str) -> str:
        """Return the pattern for which a URL is refused as leading to no content; empty if there is none."""
        pattern = pattern_of(url)
        held = self._yields.barren_held(pattern) if self._holdings.holds(url) else ""
        return held or self._yields.barren(pattern)

    def worth(self, url: str) -> float:
        """Return the factor in (0, 1] for a link's score that follows from the content of similar pages.

        On a host that shows web objects elsewhere, pages without any come last.
        """
        return self._yields.worth(pattern_of(url)) * (WAITS if self._is_view(url) else 1.0)

    def _is_view(self, url: str) -> bool:
        """Return whether a URL shows a known page (not a script) in another way, such as a version or a format."""
        page, mark, _ = url.partition("?")
        return mark != "" and names_page(page) and self.knows(page)

    def gives_way(self, url: str) -> float:
        """Return the factor for the score of a URL whose turn has come; it should wait if the factor is below 1.

        Similar pages may have turned out to have less content than others after it was queued. Each URL is put back
        once.
        """
        worth = self.worth(url)
        return worth if worth <= WAITS and not self._gave_way.knows(digest(url)) else 1.0

    def _is_spent(self, url: str, *, trusted: bool) -> bool:
        budget = self._budgets.refusing(pattern_of(url), trusted=trusted)
        return budget is not None and url not in self._trials and not self._tried(url, budget.trial())

    def judge(self, seen: Seen, name: str) -> TrapVerdict:
        """Compare a page with all pages judged before, and remember it.

        ``name`` is for the URL of a probe: letters and digits that occur in no page's name. A page with web objects
        that were not seen before is an original page, whatever its other content. So is a page that was original when
        it was first seen, in this crawl or a former one.
        """
        text = _without_address(seen.text, seen.url)
        drawn, anchors = sketch(text), fingerprint(seen.anchors)
        heard = shingle_sample(f"{text} {seen.other_text}") if seen.other_text else drawn.shingle_sample
        objects, identities, files, openings, said, shingles = self._news(
            _hashes(seen.objects, seen.site),
            _identified(seen.identities, seen.site),
            _identified(seen.files, seen.site, b"file"),
            _identified(seen.openings, seen.site, b"opening"),
            _identified(_sentences(seen.objects[0]), seen.site, b"sentence") if len(seen.objects) == 1 else _NONE,
            heard,
        )
        keys = _keys(seen)
        place = self._neighbours.place(seen.url)
        was_original = place is not None and self._neighbours.is_original(place)
        has_own_objects = bool(objects.any() or files.any()) or (was_original and len(objects) > 0)
        probes = self._settings.soft_404 == "probe"
        if probes and not has_own_objects and self._soft_errors.is_like_none(seen.url, drawn):
            return TrapVerdict(Trap.SOFT_404, is_empty=True)
        self._holdings.hold(seen.url, seen.names)
        moved = self._holdings.show(seen.url, keys)
        for other, number in moved.items():
            self._yields.withdraw(pattern_of(other), number)
        has_own_objects = has_own_objects or bool(moved)
        are_begun = 0 < len(seen.objects) == len(openings) and not openings.any()
        is_known = are_begun or _says_known(said)
        has_texts = bool((objects.any() and not is_known) or files.any() or moved)
        has_objects = has_texts or bool(identities.any() and not is_known)
        is_new = _says_new(shingles, relevant=seen.relevant) or has_texts
        verdict = TrapVerdict(
            is_new=is_new, has_objects=has_objects, is_repeat=bool(keys) and not (has_objects or was_original)
        )
        like = self._neighbours.nearest(seen.site, drawn, before=place)
        if not has_own_objects:
            repeated = frozenset(number for number, is_new in enumerate(identities) if not is_new)
            bits = ALIKE_OF_SAME if 0 < len(repeated) == len(identities) else ALIKE
            is_near = like is not None and like.is_near
            is_copy = like is not None and is_near and not was_original and distance(anchors, like.anchors) <= bits
            original = like.url if like is not None and is_copy else self._neighbours.copied(place)
            if original:
                trap = Trap.NEAR_DUPLICATE if self._settings.duplicates == "skip" else None
                verdict = replace(
                    verdict, trap=trap, like=original, is_new=False, repeated=repeated, is_empty=not has_objects
                )
            elif is_near:
                verdict = replace(verdict, repeated=repeated)
        self._neighbours.add(seen.url, seen.site, drawn, anchors, verdict.like)
        if place is not None:  # What it tells of others was learned when it was first seen.
            return verdict
        if like is None or has_own_objects:
            self._aliases.unlearn(seen.url, self._decisions.has_fetched)
            return verdict
        if verdict.like:
            self._aliases.learn(seen.url, verdict.like)
        return replace(verdict, probe=self._soft_errors.suspect(seen.url, name)) if probes else verdict

    def judge_file(self, text: str) -> TrapVerdict:
        """Compare the running text of a file that is no page with everything read before, and remember it.

        A file without new text is empty: it shows pages in another format, such as an export.
        """
        is_new = _says_new(self._heard.new(shingle_sample(text)), relevant=False)
        return TrapVerdict(is_new=is_new, is_empty=not is_new)

    def _news(self, *groups: Hashes) -> Sequence[NDArray[np.bool_]]:
        """Add groups of hashes, all at once; return, for each group, whether each hash was unknown."""
        new = self._heard.new(np.concatenate(groups))
        return np.split(new, np.cumsum([len(group) for group in groups[:-1]]))

    def probed(self, url: str, text: str | None) -> None:
        """Process the text of the response to a probe; None means that its status reported a missing page."""
        self._soft_errors.answered(url, None if text is None else sketch(_without_address(text, url)))

    def fetched(self, url: str, verdict: TrapVerdict, links: Iterable[str], *, is_page: bool = True) -> str:
        """Record the verdict on a fetched page, and the ``links`` that are followed from it.

        An error or a redirect shows nothing (``NO_PAGE``). An image, a document or another file is no page
        (``is_page``), and says nothing about its pattern unless it was judged and is empty. Return the pattern that
        this page shows to lead to no content; mostly empty.
        """
        was_refused = self._refuses(url)
        barren = self._learned(url, verdict, links, is_page=is_page)
        self.reopened = self.reopened or (was_refused and not self._refuses(url))
        return barren

    def _refuses(self, url: str) -> bool:
        """Return whether similar pages have had no new content for too long, or led to none, samples apart."""
        is_spent = self._settings.pages > 0 and self._budgets.refusing(pattern_of(url)) is not None
        return is_spent or (self._settings.barren > 0 and self.barren(url) != "")

    def _learned(self, url: str, verdict: TrapVerdict, links: Iterable[str], *, is_page: bool) -> str:
        pattern = pattern_of(url)
        self._decisions.fetch(url)
        unseen = [link for link in links if not self._links.knows(hash(link)) and not self._precedents.knows(link)]
        kept = 0
        if verdict.trap is None and not verdict.is_new:
            promises = (self._budgets.promise(pattern_of(link), pattern) for link in unseen)
            kept = sum(1 for _ in islice(filter(None, promises), NEW_LINKS))
        self._budgets.charge(pattern, is_new=verdict.is_new, promises=kept / NEW_LINKS)
        brought, share = self._brought(pattern, verdict, unseen, is_viewed=digest(url) in self._viewed)
        for link in unseen:
            self._yields.expect(pattern_of(link))
        self._yields.count(pattern, shows=verdict.has_objects)
        page, is_view, _ = url.partition("?")
        if is_view and names_page(page):
            self._viewed.knows(digest(page))
        if not is_page and (verdict is NO_PAGE or not verdict.is_empty):
            return ""
        if self._holdings.holds(url):
            self._yields.note_held(pattern, brought)
            return ""
        return self._yields.note(pattern, brought, share)

    def unchanged(self, url: str) -> None:
        """Record that a page still has the content it had in a former crawl."""
        self._neighbours.confirm(url)

    def _brought(
        self, pattern: UrlPattern, verdict: TrapVerdict, unseen: Sequence[str], *, is_viewed: bool
    ) -> tuple[Brought, float]:
        """Return what kind of content a page brought, and how much that counts, in [0, 1].

        Links to pages like itself, or like others without content, are not new. The target of a redirect is new,
        because it is a page of its own. A page that ``is_viewed``, of which another version was fetched before, repeats
        nothing.
        """
        if verdict.has_objects:
            return Brought.CONTENT, 1.0
        others = [other for link in unseen if (other := pattern_of(link)) != pattern]
        expected = sum(map(self._yields.rate, others))
        if expected >= MIN_EXPECTED:
            return Brought.CONTENT, min(1.0, expected / LINKED)
        if (unseen and verdict is NO_PAGE) or any(map(self._yields.is_open, others)):
            return Brought.LINKS, 1.0
        if is_viewed and verdict is not NO_PAGE and not verdict.is_gone:
            return Brought.LINKS, 1.0
        if verdict.is_repeat:
            return Brought.REPEATED, 1.0
        if verdict.is_empty:
            return (Brought.GONE if verdict.is_gone else Brought.NOTHING), 1.0
        return (Brought.NEWS if verdict.is_new else Brought.TEXT), 1.0

    # Kept from one start to the next

    def state(self) -> Arrays:
        """Return what was learned as arrays, without the links, which will count as new once more."""
        tables = {
            "settings": (self._settings.pages, self._settings.barren),
            "budgets": self._budgets.state(),
            "hosts": self._soft_errors.state(),
            "aliases": self._aliases.state(),
            "yields": self._yields.state(),
            "sessions": self.sessions.state(),
        }
        text = np.frombuffer(json.dumps(tables, separators=(",", ":")).encode(), np.uint8)
        urls = {**self._decisions.state(), **self._precedents.state(), "aliases": self._aliases.pages()}
        shown = {**self._neighbours.state(), **self._heard.state(), **self._holdings.state()}
        return {"tables": text, **urls, **shown}

    def restore(self, state: Arrays) -> None:
        """Restore a result of ``state``. Raises ``ValueError``, and changes nothing, if it is invalid."""
        budgets, soft_errors, aliases = Budgets(self._settings.pages), SoftErrors(), Aliases()
        yields, sessions = Yields(self._settings.barren), SessionIds()
        try:
            tables = json.loads(state["tables"].tobytes())
            pages, barren = tables["settings"]
            budgets.restore(tables["budgets"])
            soft_errors.restore(tables["hosts"])
            aliases.restore(tables["aliases"], state["aliases"])
            yields.restore(tables["yields"])
            sessions.restore(tables["sessions"])
            neighbours, heard = Neighbours.restored(state), BloomFilters.restored(state)
            decisions, precedents = TrapDecisions.restored(state), Precedents.restored(state)
            holdings = Holdings.restored(state)
        except (ValueError, KeyError, TypeError, AttributeError) as error:
            raise ValueError(f"it is no state of traps ({error!r})") from error
        self._budgets, self._soft_errors, self._aliases, self._yields = budgets, soft_errors, aliases, yields
        self._neighbours, self._heard, self.sessions = neighbours, heard, sessions
        self._decisions, self._precedents, self._holdings = decisions, precedents, holdings
        self._forget_refusals(pages, barren, self._settings)

    def inherit(self, state: Arrays) -> None:
        """Add what a worker of a former crawl of the definition knew, given its ``state``.

        Budgets are left out: those of this crawl are full. Raises ``ValueError``, and changes nothing, if it is
        invalid.
        """
        other = Traps(self._settings)
        other.restore(state)
        other._precedents.join(other._decisions)
        self._precedents.join_all(other._precedents.state())
        tables = json.loads(state["tables"].tobytes())
        self._soft_errors.join(tables["hosts"])
        self._aliases.join(tables["aliases"], state["aliases"])
        self._yields.join(tables["yields"])
        self.sessions.join(tables["sessions"])
        self._neighbours.join(state)
        self._neighbours.begin()
        self._heard.join(state)
        self._holdings.join(state)


def _says_new(shingles: NDArray[np.bool_], *, relevant: bool) -> bool:
    """Return whether enough of a page's sampled shingles are new."""
    new = int(np.count_nonzero(shingles))
    return new >= MIN_NEW and new >= len(shingles) * (NEW_RELEVANT_SHARE if relevant else NEW_SHARE)


def _says_known(sentences: NDArray[np.bool_]) -> bool:
    """Return whether enough sentences are known for the object to be another version of an earlier one."""
    return len(sentences) >= MIN_KNOWN and int(np.count_nonzero(sentences)) < len(sentences) * NEW_SHARE


def _sentences(text: str) -> Sequence[str]:
    """Return the first sentences of a text that have some length, each once, without digits and white space."""
    letters = ("".join(each.split()).translate(_NO_DIGITS) for each in _STOP.split(text[:_MAX_VERSION_LENGTH]))
    return list(dict.fromkeys(each for each in letters if len(each) >= _MIN_OBJECT_LENGTH))


def _host(url: str) -> str:
    return url.split("/", 3)[2]


def _hashes(texts: Sequence[str], site: str) -> Hashes:
    """Return a hash of each text of some length, without its digits and white space; each once.

    The same text has different hashes on different sites, so that the content of one site does not count against
    another.
    """
    found = {
        int.from_bytes(
            blake2b(
                "".join(text[:_MAX_OBJECT_LENGTH].split()).encode("utf-8", "replace").translate(None, _DIGITS),
                digest_size=8,
                salt=_salt(site),
            ).digest()
        )
        for text in texts
        if len(text) >= _MIN_OBJECT_LENGTH
    }
    return np.fromiter(found, np.uint64, len(found))


def _keys(seen: Seen) -> Sequence[int]:
    """Return a hash of each object of a page, based on its text if that is distinctive; each once."""
    pairs = zip(seen.objects, seen.identities, strict=False)
    hashes = [(_hashes((text,), seen.site), who) for text, who in pairs]
    return list(
        dict.fromkeys(int((found if len(found) else _identified((who,), seen.site))[0]) for found, who in hashes)
    )


def _salt(site: str) -> bytes:
    return blake2b(site.encode("utf-8", "replace"), digest_size=blake2b.SALT_SIZE).digest()


def _identified(identities: Sequence[str], site: str, kind: bytes = b"identity") -> Hashes:
    """Return a hash of each identity on a site, or name of another ``kind``; they differ from hashes of texts."""
    found = [
        int.from_bytes(blake2b(each.encode("utf-8", "replace"), digest_size=8, salt=_salt(site), person=kind).digest())
        for each in identities
    ]
    return np.array(found, np.uint64)


def _without_address(text: str, url: str) -> str:
    """Remove a page's own URL from its text, because error pages often repeat it."""
    path = url.split("/", 3)[3]
    for name in (url, path, path.partition("?")[0].rstrip("/").rpartition("/")[2]):
        if len(name) >= _LONG_ENOUGH:
            text = text.replace(name, "").replace(unquote(name), "")
    return text
