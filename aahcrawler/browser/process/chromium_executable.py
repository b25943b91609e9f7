"""Find the system's Chromium, and define the settings with which a browser is started."""

import importlib.util
import os
import shutil
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import Literal

NAMED = "AAH_CHROMIUM"
_NAMES = ("chromium", "chromium-browser", "google-chrome-stable", "google-chrome")
_LIBRARIES = ("/usr/lib", "/usr/lib64")
_EXTRA = ("cryptography", "h11")


def require_extra() -> None:
    """Raise ``BrowserUnavailableError`` if the system or the installed packages cannot run any browser."""
    if sys.platform != "linux":
        raise BrowserUnavailableError("Pages in a browser need Linux, which can shut a browser off from the network.")
    missing = [name for name in _EXTRA if importlib.util.find_spec(name) is None]
    if missing:
        raise BrowserUnavailableError(
            f"Pages in a browser need {' and '.join(missing)}: install the extra (pip install 'aahcrawler[browser]')."
        )


def find_chromium(named: str = "", environment: Mapping[str, str] = os.environ) -> Path:
    """Return an executable: ``named``, else that of ``AAH_CHROMIUM``, else one on ``PATH``.

    Raises ``BrowserUnavailableError`` if there is none.
    """
    wanted = named or environment.get(NAMED, "")
    names = (wanted,) if wanted else _NAMES
    for name in names:
        found = shutil.which(name, path=environment.get("PATH"))
        if found is not None:
            return _program(Path(found))
    if wanted:
        raise BrowserUnavailableError(
            f"{wanted} is no executable: name Chromium's own, by its path or as it is on PATH."
        )
    raise BrowserUnavailableError(
        "There is no Chromium: install it (Debian and Ubuntu: apt-get install chromium), "
        f"or name its executable in {NAMED}."
    )


def _program(found: Path) -> Path:
    """Return the program that a distribution's start script runs, because the script adds settings and extensions."""
    with found.open("rb") as opened:
        if opened.read(2) != b"#!":
            return found
    program = next((path for library in _LIBRARIES if (path := Path(library, found.name, found.name)).is_file()), found)
    return program if os.access(program, os.X_OK) else found


class BrowserUnavailableError(Exception):
    """Raised when no browser could be started. The message tells people the reason and the remedy."""


class Isolation(StrEnum):
    """How the browser is kept from the network, besides its own settings. The values are words for ``crawl.json``."""

    NAMESPACE = "network namespace"
    RULES = "proxy and resolver rules"


@dataclass(frozen=True, slots=True)
class BrowserSettings:
    """How browsers are started.

    ``executable`` is a path or a name on ``PATH``; without one Chromium is searched for. ``profile_folder`` is where
    each browser gets a folder of its own, which is removed when it ends; if the browser's account could not enter it,
    the system's folder for temporary files is used instead, and for sockets also if its path is too long. ``slots`` is
    the number of listening sockets it can connect to. ``memory_bytes`` limits all of its processes together: beyond it,
    the largest process of a page is ended first, or the browser if there is none. ``isolation`` is ``namespace`` or
    ``rules``, which are then required, or ``auto``: a namespace if one can be made, else rules.
    """

    executable: str = ""
    profile_folder: Path = Path("/tmp")  # noqa: S108    # Folders of its own within: mode 700, of a random name.
    slots: int = 4
    memory_bytes: int = 1_500_000_000
    isolation: Literal["auto", "namespace", "rules"] = "auto"
