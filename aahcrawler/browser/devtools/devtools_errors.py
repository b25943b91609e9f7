"""The errors of driving a browser."""


class DevToolsError(Exception):
    """A command to the browser did not come to its end: refused by the browser, or its target is gone."""


class BrowserCrashedError(DevToolsError):
    """The browser, or the process of a page, has ended while it was needed."""


class PageCrashedError(BrowserCrashedError):
    """The process of a page has ended; the browser runs on, and so do other pages."""
