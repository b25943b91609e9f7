"""The words for why a request of a page had no answer."""

from collections.abc import Mapping
from typing import Final

from aahcrawler.browser.network.upstream import RequestRefusedError
from aahcrawler.crawl.core.form_login import LoginFailedError
from aahcrawler.crawl.fetch.ip_claims import IpAddressBusyError
from aahcrawler.crawl.fetch.politeness import StoppedError
from aahcrawler.crawl.fetch.robots_txt import RobotsDeniedError, RobotsUnreachableError
from aahcrawler.crawl.health.error_classification import is_local
from aahcrawler.wire.errors import WireError

UNFORESEEN: Final = "error"
"""The reason where nobody foresaw what came up."""
_REASONS: Final[Mapping[type[Exception], str]] = {
    RobotsDeniedError: "robots",
    RobotsUnreachableError: "robots.txt",
    IpAddressBusyError: "busy",
    StoppedError: "stopped",
    LoginFailedError: "login",
}


def refusal_of(error: Exception) -> str:
    """Return the reason of a request that ended with an error."""
    if isinstance(error, RequestRefusedError):
        return error.reason
    if isinstance(error, WireError):
        return error.reason
    return "machine" if is_local(error) else _REASONS.get(type(error), UNFORESEEN)
