"""Gather what happens during a visit, bounded."""

from collections import Counter

from aahcrawler.browser.visits.rendered_page import ConsoleLine

CONSOLE_LINES = 200
TEXT_CHARACTERS = 1_000
LEADS = 200
URL_CHARACTERS = 4_000


class VisitTally:
    """What a page said, where it wanted to go, and what it was refused."""

    def __init__(self) -> None:
        self.refused = Counter[str]()
        self._console: list[ConsoleLine] = []
        self._leads: dict[str, None] = {}

    @property
    def console(self) -> tuple[ConsoleLine, ...]:
        """The first ``CONSOLE_LINES`` lines of the console."""
        return tuple(self._console)

    @property
    def leads_to(self) -> tuple[str, ...]:
        """The first ``LEADS`` addresses that scripts wanted to go to, each once."""
        return tuple(self._leads)

    def refuse(self, reason: str) -> None:
        """Count something that did not pass."""
        self.refused[reason] += 1

    def say(self, level: str, text: str, source: str = "") -> bool:
        """Keep a line of the console; return whether there is room for more."""
        if len(self._console) < CONSOLE_LINES:
            text, source = unicode_text(text[:TEXT_CHARACTERS]), unicode_text(source[:TEXT_CHARACTERS])
            self._console.append(ConsoleLine(level, text, source))
        return len(self._console) < CONSOLE_LINES

    def lead(self, url: str) -> None:
        """Keep an address of the web that a script wanted to go to."""
        if url.startswith(("http://", "https://")) and len(url) <= URL_CHARACTERS and len(self._leads) < LEADS:
            self._leads[unicode_text(url)] = None


def unicode_text(text: str) -> str:
    """Return text of a page as it can be written: scripts make strings that are no Unicode."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    return text
