"""Crawler traps: parts of sites that are endless, or that show the same again and again.

Pure logic over URLs and texts: nothing here reads, writes or tells the time.
"""

from aahcrawler.traps.reasons import Trap
from aahcrawler.traps.soft_errors import is_probe
from aahcrawler.traps.traps import NO_PAGE, NO_SUCH_PAGE, Seen, Traps, Verdict

__all__ = ["NO_PAGE", "NO_SUCH_PAGE", "Seen", "Trap", "Traps", "Verdict", "is_probe"]
