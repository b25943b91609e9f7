"""The URLs that an institution excludes from all of its crawls: the file ``exclusions.txt`` beside their folders."""

from dataclasses import dataclass
from pathlib import Path

from aahcrawler.layout import EXCLUSIONS
from aahcrawler.segments import DamageError
from aahcrawler.tallies import mistakes_told
from online_analysis.url_patterns import UrlPattern, UrlPatternError, first_match


@dataclass(frozen=True, slots=True)
class Exclusions:
    """Hosts and URL patterns that no crawl may take, neither from sites nor from archives.

    A host includes all of its subdomains. The file has one pattern a line, written as in ``scope.deny``; ``#`` at the
    beginning of a line or after a blank begins a comment.
    """

    hosts: frozenset[str] = frozenset()
    patterns: tuple[UrlPattern, ...] = ()

    @classmethod
    def of(cls, crawl: Path) -> "Exclusions":
        """Return the exclusions for the crawl in a folder; empty if there is no file.

        Raise ``DamageError`` with all mistakes if the file cannot be read: no crawl may start without knowing its
        exclusions.
        """
        return cls.read(crawl.absolute().parent)

    @classmethod
    def read(cls, place: Path) -> "Exclusions":
        """Return the exclusions in a folder that holds crawls, as ``of`` does for one of them."""
        path = place / EXCLUSIONS
        try:
            text = path.read_text("utf-8-sig")
        except FileNotFoundError:
            return cls()
        except (OSError, UnicodeDecodeError) as error:
            raise DamageError(f"{path}: cannot be read ({error}); without it nobody knows what is excluded") from error
        hosts, patterns, mistakes = set[str](), list[UrlPattern](), list[str]()
        for number, line in enumerate(text.splitlines(), 1):
            written = line.split(" #", 1)[0].strip()
            if not written or written.startswith("#"):
                continue
            try:
                pattern = UrlPattern.parse(written)
            except UrlPatternError as error:
                advice = "write host:example.org, a part of URLs, or one with *"
                mistakes.append(f"{path}, line {number}: the pattern {written[:200]!r} {error}; {advice}")
                continue
            if pattern.host:
                hosts.add(pattern.host)
            else:
                patterns.append(pattern)
        if mistakes:
            raise DamageError(mistakes_told(mistakes))
        return cls(frozenset(hosts), tuple(patterns))

    def covers(self, url: str) -> bool:
        """Return whether a canonical URL is excluded."""
        if self.hosts:
            host = url.split("/", 3)[2].rpartition("@")[2].partition(":")[0] if url.count("/") > 1 else ""
            while host:
                if host in self.hosts:
                    return True
                host = host.partition(".")[2]
        return bool(self.patterns) and first_match(self.patterns, url) is not None
