"""Find the system's Chromium."""

import importlib.util
import os
import shutil
import sys
from collections.abc import Mapping
from pathlib import Path

from aahcrawler.browser.process.browser_unavailable import BrowserUnavailableError

NAMED = "AAH_CHROMIUM"
_NAMES = ("chromium", "chromium-browser", "google-chrome-stable", "google-chrome")
_LIBRARIES = ("/usr/lib", "/usr/lib64")
_EXTRA = ("cryptography", "h11")


def require_extra() -> None:
    """Raise ``BrowserUnavailableError`` where this system, or what is installed, allows no browser at all."""
    if sys.platform != "linux":
        raise BrowserUnavailableError("Pages in a browser need Linux, which can shut a browser off from the network.")
    missing = [name for name in _EXTRA if importlib.util.find_spec(name) is None]
    if missing:
        raise BrowserUnavailableError(
            f"Pages in a browser need {' and '.join(missing)}: install the extra (pip install 'aahcrawler[browser]')."
        )


def find_chromium(named: str = "", environment: Mapping[str, str] = os.environ) -> Path:
    """Return an executable: the one that is named, else that of ``AAH_CHROMIUM``, else one on ``PATH``.

    Raise ``BrowserUnavailableError`` where there is none.
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
    """Return what a distribution's start script starts: it adds settings of its own, and extensions."""
    with found.open("rb") as opened:
        if opened.read(2) != b"#!":
            return found
    program = next((path for library in _LIBRARIES if (path := Path(library, found.name, found.name)).is_file()), found)
    return program if os.access(program, os.X_OK) else found
