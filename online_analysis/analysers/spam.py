"""The block list of an ICD as an analyser (ARCOMEM, section 4.2)."""

from collections.abc import Iterable
from urllib.parse import urlsplit

from online_analysis.aggregation import Scores
from online_analysis.document import Document


class SpamHosts:
    """A set of hosts; what is below a listed host is listed too."""

    def __init__(self, hosts: Iterable[str]) -> None:
        self._hosts = frozenset(hosts)

    def __contains__(self, host: str) -> bool:
        labels = host.split(".")
        return any(".".join(labels[start:]) in self._hosts for start in range(len(labels)))


class SpamAnalyser:
    """Gives links to listed hosts 0 and is silent about all others.

    A crawl refuses listed hosts in its scope, so there no score can let one in. The analyser is for whoever scores
    pages without a scope, such as jobs over an archive: its weight is ten times the others' unless the ICD says
    otherwise, which leaves a listed host at most a sixth of what the other two give it.
    """

    name = "spam"

    def __init__(self, hosts: Iterable[str]) -> None:
        self._hosts = SpamHosts(hosts)

    def analyse(self, document: Document) -> Scores:
        """Score the links of a document; its own score is None."""
        return Scores(self.name, None, tuple(self._score(link.url) for link in document.outlinks))

    def _score(self, url: str) -> float | None:
        return 0.0 if (urlsplit(url).hostname or "") in self._hosts else None
