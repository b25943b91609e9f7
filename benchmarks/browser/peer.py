"""A peer: a crawl as one writes it with Playwright in an afternoon. Opens pages, waits until the network rests, saves.

    python -m benchmarks.browser.peer URL FOLDER PAGES

Follows the links of the pages within their host, breadth first, one page after another, up to so many pages. Writes
``page.content()`` of each into FOLDER, and a line of JSON with their number to standard output.
"""

import json
import os
import shutil
import sys
from collections import deque
from pathlib import Path
from typing import Final

from playwright.sync_api import Error, sync_playwright

from benchmarks.browser.person import CHROMIUM

_LINKS: Final = "() => [...document.querySelectorAll('a[href]')].map(each => each.href.split('#')[0])"


def crawl(seed: str, folder: Path, most: int) -> int:
    """Crawl; return how many pages were saved."""
    folder.mkdir(parents=True, exist_ok=True)
    waiting, known, saved = deque([seed]), {seed}, 0
    rights = ["--no-sandbox"] if os.geteuid() == 0 else []
    executable = shutil.which(os.environ.get(CHROMIUM) or "chromium")
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=executable, args=rights)
        page = browser.new_context(ignore_https_errors=True).new_page()
        while waiting and saved < most:
            try:
                page.goto(waiting.popleft(), wait_until="networkidle", timeout=30_000)
            except Error:
                continue  # A download, or a page that never rests.
            (folder / f"{saved}.html").write_text(page.content(), "utf-8")
            saved += 1
            for link in page.evaluate(_LINKS):
                if link.startswith(seed) and link not in known:
                    known.add(link)
                    waiting.append(link)
        browser.close()
    return saved


if __name__ == "__main__":
    print(json.dumps({"pages": crawl(sys.argv[1], Path(sys.argv[2]), int(sys.argv[3]))}))
