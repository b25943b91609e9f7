"""Takes the pictures of docs/cockpit.md, docs/reading-room.md and docs/studio.md anew: the cockpit over the demo.

    python -m examples.cockpit_pictures [--chromium EXECUTABLE]

``make demo`` comes before it; what the demo speaks of is looked for first, which takes a minute. It needs Debian's
package chromium, or another Chromium that is named.
"""

import argparse
import os
import re
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from playwright.sync_api import Page, sync_playwright

PROJECT = Path(__file__).parent.parent
CRAWL = PROJECT / "crawls" / "demo"
PICTURES = PROJECT / "docs" / "pictures"
WIDTH, HEIGHT = 1100, 760
_CODE = re.compile(r"code ([0-9A-Z-]{14})")
_AT = re.compile(r"http://127\.0\.0\.1:\d+")


def main() -> int:
    """Take all pictures; return the exit code."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--chromium", default="/usr/bin/chromium")
    given = parser.parse_args()
    if not (CRAWL / "crawl.json").exists():
        print(f"{CRAWL}: there is no crawl; run make demo first", file=sys.stderr)
        return 2
    PICTURES.mkdir(exist_ok=True)
    subprocess.run([sys.executable, "-m", "aahcrawler.cli", "enrich", str(CRAWL)], check=True)
    with cockpit() as (origin, code), sync_playwright() as playwright:
        rights = ["--no-sandbox"] if os.geteuid() == 0 else []
        browser = playwright.chromium.launch(executable_path=given.chromium, args=rights)
        page = browser.new_page(viewport={"width": WIDTH, "height": HEIGHT})
        page.goto(f"{origin}/sign-in")
        page.fill("#code", code)
        page.keyboard.press("Enter")
        page.wait_for_url(f"{origin}/")
        take_found(page, origin)
        take_all(page, f"{origin}/crawls/demo")
        browser.close()
    return 0


@contextmanager
def cockpit() -> Iterator[tuple[str, str]]:
    """Run ``aah cockpit`` over the demo's crawl; yield its origin and the code to sign in with."""
    with tempfile.TemporaryFile("w+") as said, tempfile.TemporaryDirectory(prefix="aah-") as own:
        environment = {**os.environ, "AAH_KNOWLEDGE_BASE": os.pathsep.join(("shipped", own))}
        command = [sys.executable, "-m", "aahcrawler.cli", "cockpit", str(CRAWL), "--port", "0"]
        with subprocess.Popen(command, stdout=said, stderr=subprocess.STDOUT, env=environment) as process:
            try:
                yield _told(process, said.fileno())
            finally:
                process.terminate()


def _told(process: subprocess.Popen[bytes], said: int) -> tuple[str, str]:
    for _ in range(600):
        text = os.pread(said, 10_000, 0).decode()
        origin, code = _AT.search(text), _CODE.search(text)
        if origin and code:
            time.sleep(1)  # It listens a moment later.
            return origin[0], code[1]
        if process.poll() is not None:
            raise SystemExit(text)
        time.sleep(0.1)
    raise SystemExit("the cockpit did not start")


def take_found(page: Page, origin: str) -> None:
    """Take the pictures of the search and of what the demo speaks of, once its index is complete."""
    page.goto(f"{origin}/search?q=storm+surge")
    while page.get_by_text(re.compile("being (read|indexed)")).count():
        page.wait_for_timeout(500)
        page.reload()
    take(page, "search")
    page.goto(f"{origin}/crawls/demo/archive/spoken")
    take(page, "spoken")


def take_all(page: Page, crawl: str) -> None:
    """Take the pictures, page by page."""
    page.goto(crawl)
    take(page, "live")
    page.goto(f"{crawl}/queue")
    take(page, "queue")
    page.goto(f"{crawl}/url?url=http://townhall-varhaven.example/calendar/%3Fmonth%3D2019-11")
    take(page, "url")
    page.goto(f"{crawl}/exclusions")
    page.fill("#text", "http://townhall-varhaven.example/calendar/")
    page.click("text=Show what it would hit")
    page.wait_for_selector("text=Exclude these")
    take(page, "exclusion")
    page.goto(f"{crawl}/pages?text=viewtopic.php%3Ft%3D15")
    page.click("tbody a >> nth=-1")
    page.frame_locator("iframe").locator("body").wait_for()
    page.locator("#replay-head").scroll_into_view_if_needed()
    page.evaluate("document.getElementById('replay-head').scrollIntoView()")
    page.frame_locator("iframe").locator("#aah-object-1").scroll_into_view_if_needed()
    take(page, "capture")
    page.goto(f"{crawl}/definition")
    take(page, "definition")
    take_studio(page, f"{crawl}/studio")


def take_studio(page: Page, studio: str) -> None:
    """Take the pictures of the studio: a draft and its guesses, and a line of a page with rules that find it."""
    page.goto(studio)
    page.click("text=Begin an entry for varhaven-chronicle.example")
    page.fill("#name", "Varhaven Chronicle")
    page.select_option("#kind", "news")
    page.click("text=Make a draft")
    page.locator("h1", has_text="Varhaven Chronicle").or_(page.locator("[data-onward]")).wait_for(timeout=120_000)
    if page.locator("[data-onward]").count():
        page.click("[data-onward]")
    page.wait_for_selector(r"text=/Counted on \d+ pages/", timeout=120_000)
    take(page, "studio-work")
    page.click("text=Its pages")
    page.locator("main section a", has_text="/article/").first.click()
    page.frame_locator("[name=marked]").locator("h1").click()
    page.locator("#chosen").get_by_role("link", name="its title").click()
    page.locator("#chosen").get_by_role("link", name="Look at it").first.wait_for(timeout=120_000)
    page.evaluate("document.getElementById('frame-head').scrollIntoView()")
    take(page, "studio")


def take(page: Page, name: str) -> None:
    """Take the picture of what is seen."""
    page.wait_for_timeout(800)
    page.screenshot(path=PICTURES / f"{name}.png")


if __name__ == "__main__":
    sys.exit(main())
