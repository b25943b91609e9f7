"""Make a browser when a crawl needs one for the first time: most crawls need none, and do not wait for its modules."""

from pathlib import Path

from aahcrawler.browser.process.browser_unavailable import BrowserUnavailableError
from aahcrawler.crawl.browsing.page_rendering import Browser

EXTRA = "its modules are missing; install them: pip install 'aahcrawler[browser]'"


def open_browser(folder: Path, slots: int) -> Browser:
    """Return a browser that shows ``slots`` pages at once; what it writes meanwhile is in ``folder``.

    Raise ``BrowserUnavailableError`` where its modules are not installed.
    """
    try:
        from aahcrawler.browser.browser import Browser as Chromium  # noqa: PLC0415 - no crawl's start waits for it
        from aahcrawler.browser.process.browser_settings import BrowserSettings  # noqa: PLC0415 - as above
    except ImportError as error:
        raise BrowserUnavailableError(EXTRA) from error
    return Chromium(BrowserSettings(profile_folder=folder, slots=slots))
