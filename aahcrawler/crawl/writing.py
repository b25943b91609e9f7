"""Files that are replaced whole."""

import os
from pathlib import Path


def write_whole(path: Path, text: str) -> None:
    """Replace a file so that a reader, or a restart after a crash, sees the old text or the new, never half."""
    part = path.with_name(path.name + ".part")
    with part.open("w", encoding="utf-8") as file:
        file.write(text)
        file.flush()
        os.fsync(file.fileno())
    part.replace(path)
