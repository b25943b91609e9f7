"""Recognises links that lead to spam, by an ICD's block list and by signs of link farms (ARCOMEM, section 4.2).

Signs count only where several agree, since a page wrongly taken for spam is lost, and pages that list links are
valuable to a focused crawl. An uncertain case gets no score.
"""

import re
from collections import Counter, OrderedDict
from collections.abc import Iterable, Sequence
from zlib import crc32

from online_analysis.aggregation import Scores
from online_analysis.document import Document, Outlink

_FOREIGN_HOSTS_OF_A_FARM = 30
_OWN_TEXT_OF_A_FARM = 6
"""Characters for each foreign link: a farm has separators between its links, and no descriptions."""
_WORDS_OF_A_KEYWORD_ANCHOR = 3
_KEYWORD_ANCHORS_OF_A_FARM = 0.8
_KEYWORD_IN_ANCHORS = 0.1
_MIN_KEYWORDS = 5
"""Fewer make one phrase, such as "visit this site", that stands beside every entry of an honest list."""
_REPETITIONS_OF_A_STUFFED_ANCHOR = 4
_MIN_OF_KEYWORD = 4
_HOSTS_A_PAGE_HIDES = 5
_PAGES_THAT_HIDE_A_HOST = 3
_MAX_HOSTS = 50_000
_BITS = 64
_OPENLY = 1 << _BITS
_WORD = re.compile(r"[^\W_]+")


class SpamHosts:
    """A set of hosts; the subdomains of a listed host are listed too."""

    def __init__(self, hosts: Iterable[str]) -> None:
        self._hosts = frozenset(hosts)

    def __len__(self) -> int:
        return len(self._hosts)

    def __contains__(self, host: str) -> bool:
        labels = host.split(".")
        return any(".".join(labels[start:]) in self._hosts for start in range(len(labels)))


class HiddenHosts:
    """Remembers hosts that are linked to only by hidden links, among the last 50,000 linked hosts.

    One visible link to a host removes it. A page that is seen twice counts once.
    """

    def __init__(self) -> None:
        self._seen: OrderedDict[str, int] = OrderedDict()

    def meet(self, page: str, *, hidden: Iterable[str], openly: Iterable[str]) -> None:
        """Record the foreign hosts that a page links to by hidden links, and those by visible ones."""
        for host in openly:
            self._seen[host] = self._seen.pop(host, 0) | _OPENLY
        bit = 1 << crc32(page.encode("utf-8", "replace")) % _BITS
        for host in hidden:
            self._seen[host] = self._seen.pop(host, 0) | bit
        while len(self._seen) > _MAX_HOSTS:
            self._seen.popitem(last=False)

    def __contains__(self, host: str) -> bool:
        pages = self._seen.get(host, 0)
        return not pages & _OPENLY and pages.bit_count() >= _PAGES_THAT_HIDE_A_HOST


class SpamAnalyser:
    """Gives 0 to links to listed hosts, to stuffed and hidden links, and to link farms; no score to all others.

    A hidden link is spam if its page hides links to five or more foreign hosts, three pages hide links to its host, and
    no page seen so far links to that host visibly; for this the analyser remembers hosts, within bounds.

    A crawl refuses listed hosts in its scope, so there no score can admit one. Unless the ICD says otherwise, its
    weight is several times that of all others together, which leaves spam a fraction of their scores.
    """

    name = "spam"

    def __init__(self, hosts: Iterable[str]) -> None:
        self._listed = SpamHosts(hosts)
        self._has_listed = len(self._listed) > 0
        self._hidden = HiddenHosts()

    def analyse(self, document: Document) -> Scores:
        """Score certain spam; the document has a score only where it is a link farm."""
        foreign = _foreign_hosts(document)
        farm = _is_farm(document, foreign)
        hides = self._meet(document, foreign)
        links = [
            0.0 if self._is_spam(link, host, of_a_farm=farm, hides=hides) else None
            for link, host in zip(document.outlinks, foreign, strict=True)
        ]
        return Scores(self.name, 0.0 if farm else None, tuple(links))

    def _meet(self, document: Document, foreign: Sequence[str]) -> bool:
        """Record the links of a page, and return whether it hides links to many hosts."""
        openly = {host for link, host in zip(document.outlinks, foreign, strict=True) if host and not link.hidden}
        hidden = set(filter(None, foreign)) - openly
        self._hidden.meet(document.url, hidden=sorted(hidden), openly=sorted(openly))
        return len(hidden) >= _HOSTS_A_PAGE_HIDES

    def _is_spam(self, link: Outlink, foreign: str, *, of_a_farm: bool, hides: bool) -> bool:
        if foreign and (of_a_farm or is_stuffed(link.anchor)):
            return True
        if self._has_listed and _host(link.url) in self._listed:
            return True
        return bool(hides and link.hidden and foreign) and foreign in self._hidden


def is_stuffed(anchor: str) -> bool:
    """Return whether an anchor repeats one keyword, four times or more.

    >>> is_stuffed("cheap pills, best pills, buy pills: pills!"), is_stuffed("Pills and how they work")
    (True, False)
    """
    if len(anchor) < _REPETITIONS_OF_A_STUFFED_ANCHOR * (_MIN_OF_KEYWORD + 1) - 1:
        return False
    words = _words(anchor)
    if len(words) < _REPETITIONS_OF_A_STUFFED_ANCHOR:
        return False
    word, number = Counter(words).most_common(1)[0]
    return number >= max(_REPETITIONS_OF_A_STUFFED_ANCHOR, len(words) / 2) and len(word) >= _MIN_OF_KEYWORD


def _is_farm(document: Document, hosts: Sequence[str]) -> bool:
    """Return whether a page exists only for its links: very many foreign hosts, no text, few words in all anchors.

    All three must hold: thirty hosts; fewer than six characters of text for each link, not counting anchors; and four
    fifths of the anchors consisting only of keywords, which are words that occur in a tenth of all anchors. In an
    honest list, each entry has a word of its own. ``hosts`` has the foreign host of each link, empty for others.
    """
    if len(hosts) < _FOREIGN_HOSTS_OF_A_FARM or len({host for host in hosts if host}) < _FOREIGN_HOSTS_OF_A_FARM:
        return False
    foreign = [link for link, host in zip(document.outlinks, hosts, strict=True) if host]
    return _own_text(document) < _OWN_TEXT_OF_A_FARM * len(foreign) and _repeat_each_other(foreign)


def _repeat_each_other(links: Sequence[Outlink]) -> bool:
    anchors = [_words(link.anchor) for link in links]
    numbers = Counter(word for anchor in anchors for word in set(anchor))
    keywords = {word for word, number in numbers.items() if number >= _KEYWORD_IN_ANCHORS * len(anchors)}
    if len(keywords) < _MIN_KEYWORDS:
        return False
    made = sum(1 for anchor in anchors if len(anchor) >= _WORDS_OF_A_KEYWORD_ANCHOR and keywords.issuperset(anchor))
    return made >= _KEYWORD_ANCHORS_OF_A_FARM * len(anchors)


def _own_text(document: Document) -> int:
    """Return the number of characters of the page's content, and of paragraphs outside of it, that are in no anchor."""
    outside = {link.context for link in document.outlinks if link.part is None}
    text = sum(len(part.text) for part in document.parts) + len(document.rest) + sum(map(len, outside))
    return max(0, text - sum(len(link.anchor) for link in document.outlinks))


def _words(text: str) -> list[str]:
    return _WORD.findall(text.casefold())


def _foreign_hosts(document: Document) -> list[str]:
    """Return the host of each link, empty where that is the page's own, or above or below it."""
    start = document.url.partition("://")
    own, here = f"{start[0]}://{start[2].partition('/')[0]}/", _host(document.url)
    return ["" if link.url.startswith(own) else _unless_own(_host(link.url), here) for link in document.outlinks]


def _host(url: str) -> str:
    """Return the host of a canonical URL, which has no user and is in small letters."""
    return url.partition("://")[2].partition("/")[0].partition(":")[0]


def _unless_own(host: str, here: str) -> str:
    one, other = (name.removeprefix("www.") for name in (host, here))
    return "" if one == other or one.endswith(f".{other}") or other.endswith(f".{one}") else host
