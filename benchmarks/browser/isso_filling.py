"""Fills the database of Isso with comments; run by the interpreter of its environment.

    python -m benchmarks.browser.isso_filling CONFIGURATION COMMENTS.json

The comments of each page are a list of objects with ``author``, ``created`` (seconds since 1970) and ``text``.
"""

import json
import sys
from pathlib import Path

from isso import config
from isso.db import SQLite3


def main(configuration: Path, comments: Path) -> None:
    """Write the comments."""
    settings = config.load(config.default_file(), str(configuration))
    database = SQLite3(settings.get("general", "dbpath"), settings)
    for page, said in json.loads(comments.read_text("utf-8")).items():
        database.threads.new(page, page)
        for each in said:
            database.comments.add(page, {**each, "mode": 1, "remote_addr": "127.0.0.1"})


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]))
