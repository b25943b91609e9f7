"""Say which browser is to be started, and within which bounds."""

from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import Literal


class Isolation(StrEnum):
    """What keeps the browser from the network, besides its own settings. The values are words for ``crawl.json``."""

    NAMESPACE = "network namespace"
    RULES = "proxy and resolver rules"


@dataclass(frozen=True, slots=True)
class BrowserSettings:
    """How browsers are started.

    ``executable`` is a path or a name on ``PATH``; without one Chromium is looked for. ``profile_folder`` is where each
    browser gets a folder of its own, which is removed when it ends; where the account that the browser runs under could
    not enter it, the system's folder for temporary files is taken instead, and for sockets where its path is long.
    ``slots`` is how many listening sockets it can connect to. ``memory_bytes`` bounds all of its processes together:
    the largest process of a page is ended first, and the browser where there is none. ``isolation`` is ``namespace`` or
    ``rules``, and nothing else will do; or ``auto``: a namespace where one may be made, else rules.
    """

    executable: str = ""
    profile_folder: Path = Path("/tmp")  # noqa: S108    # Folders of its own within: mode 700, of a random name.
    slots: int = 4
    memory_bytes: int = 1_500_000_000
    isolation: Literal["auto", "namespace", "rules"] = "auto"
