"""The sites that there are to measure."""

from typing import Final

from benchmarks.browser.site import Choice
from benchmarks.browser.sites import (
    docsify,
    forum,
    isso,
    mixed,
    pictures,
    player,
    shell,
    timeline,
    verdaccio,
    wiki,
    worker,
)

CHOICES: Final = (
    Choice("forum", forum.opened),
    Choice("scroll", timeline.plain),
    Choice("virtual", timeline.virtual),
    Choice("shell", shell.opened),
    Choice("shell-https", shell.opened, secure=True),
    Choice("pictures", pictures.opened),
    Choice("player", player.opened),
    Choice("worker", worker.reading),
    Choice("search", worker.searching),
    Choice("mixed", mixed.opened, mixed=True),
    Choice("docsify", docsify.history),
    Choice("docsify-hash", docsify.hashed),
    Choice("verdaccio", verdaccio.opened),
    Choice("isso", isso.opened),
    Choice("wiki", wiki.opened, held_out=True),
)
