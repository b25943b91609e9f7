"""The log of refused links, from which they can be offered when a changed definition wants them.

Files of a crawl that only grow, in ``refused/``: gzip-compressed lines of JSON. The first line of each file says which
crawl it is of; each other one is of a page, and has the links of it that were refused, by reason, or of a URL that
failed, for people to see.
"""

from aahcrawler.refusals.entries import Failed
from aahcrawler.refusals.log import MOST_A_PAGE, MOST_REMEMBERED, RefusalLog
from aahcrawler.refusals.reader import Refused, failures, read

__all__ = [
    "MOST_A_PAGE",
    "MOST_REMEMBERED",
    "Failed",
    "RefusalLog",
    "Refused",
    "failures",
    "read",
]
