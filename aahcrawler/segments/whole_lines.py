"""Files of lines that several programs add to, in which a crash may tear one line but costs no other."""

import os
from pathlib import Path

from aahcrawler.segments.series import no_link


def append_line(path: Path, line: str) -> int:
    """Add a line to a file and force it to the disk; return the size of the file then, in bytes.

    After a line that was torn a new one begins. Callers take care that only one of them writes.
    """
    with open(path, "ab+", opener=no_link) as file:
        torn = b""
        if file.seek(0, os.SEEK_END):
            file.seek(-1, os.SEEK_END)
            torn = b"" if file.read(1) == b"\n" else b"\n"
        file.write(torn + line.encode() + b"\n")
        file.flush()
        os.fsync(file.fileno())
        return file.tell()
