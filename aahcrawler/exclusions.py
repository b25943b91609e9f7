"""URLs that an institution has excluded from all of its crawls: the file ``exclusions.txt`` beside their folders."""

from dataclasses import dataclass
from pathlib import Path

from aahcrawler.layout import EXCLUSIONS
from aahcrawler.segments import DamageError
from aahcrawler.tallies import mistakes_told
from online_analysis.url_patterns import UrlPattern, UrlPatternError, first_match


@dataclass(frozen=True, slots=True)
class Exclusions:
    """The URLs that no crawl of a folder of crawls may take, from sites or from archives.

    Hosts include all hosts below them. The file has a pattern a line, as ``scope.deny`` has them; ``#`` and what
    follows it after a blank is a comment.
    """

    hosts: frozenset[str] = frozenset()
    patterns: tuple[UrlPattern, ...] = ()

    @classmethod
    def of(cls, crawl: Path) -> "Exclusions":
        """Return those that hold for the crawl in a folder, none where there is no file.

        Raise ``DamageError`` with the mistakes where the file cannot be read, so that nothing is crawled against it.
        """
        return cls.read(crawl.absolute().parent)

    @classmethod
    def read(cls, place: Path) -> "Exclusions":
        """Return those of a folder that holds crawls, as ``of`` does."""
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
