"""Spares pages on which looking for something would be in vain."""

from dataclasses import dataclass

FREE = 3
"""Failures in a row before the first page is spared."""
MOST_PAUSE = 64


@dataclass(slots=True)
class Backoff:
    """Spares exponentially more pages after each failure, from the fourth in a row on, up to `MOST_PAUSE`."""

    left: int = 0
    pause: int = 0
    failures: int = 0

    def allows(self) -> bool:
        """Return whether to try on this page; a page that is spared counts down."""
        if self.left:
            self.left -= 1
            return False
        return True

    def failed(self) -> None:
        """Try less often."""
        self.failures += 1
        if self.failures > FREE:
            self.pause = min(MOST_PAUSE, max(1, 2 * self.pause))
        self.left = self.pause

    def succeeded(self) -> None:
        """Try on the next page again."""
        self.left = self.pause = self.failures = 0
