"""The sites that there are to measure."""

from typing import Final

from benchmarks.browser.site import Choice
from benchmarks.browser.sites import (
    forum,
    mixed,
    shell,
    timeline,
    worker,
)

CHOICES: Final = (
    Choice("forum", forum.opened),
    Choice("scroll", timeline.plain),
    Choice("virtual", timeline.virtual),
    Choice("shell", shell.opened),
    Choice("shell-https", shell.opened, secure=True),
    Choice("worker", worker.reading),
    Choice("search", worker.searching),
    Choice("mixed", mixed.opened),
)
