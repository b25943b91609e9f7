"""Say when a crawl begins that it has no browser, where its definition names pages for one."""

from collections.abc import Iterator

from aahcrawler.browser.process.browser_unavailable import BrowserUnavailableError
from aahcrawler.browser.process.chromium_executable import find_chromium, require_extra
from aahcrawler.crawl.browsing.routes import is_demanded
from online_analysis.icd import Icd


def browser_notes(icd: Icd) -> Iterator[str]:
    """Yield why pages that are to be looked at in a browser will not be, as far as that shows before one is begun."""
    if not is_demanded(icd.browser):
        return
    try:
        require_extra()
        find_chromium()
    except BrowserUnavailableError as error:
        yield f"pages are kept as they come, although the definition wants a browser to look at some: {error}"
