"""Whose trouble an error is: this machine's, or a page's."""

import errno

from aahcrawler.frontier.protocol import FrontierUnavailableError
from aahcrawler.segments import SegmentError
from aahcrawler.wire.errors import SpoolError

EXHAUSTED = frozenset(
    {errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EROFS, errno.EIO, errno.EMFILE, errno.ENFILE, errno.ENOMEM}
)
"""What the operating system says when this machine, and not a page, is in trouble."""


def is_local(error: Exception) -> bool:
    """Tell a frontier that is gone and a machine that is out of disk or files from whatever a page may provoke."""
    if isinstance(error, OSError):
        return error.errno in EXHAUSTED
    return isinstance(error, FrontierUnavailableError | SegmentError | SpoolError)
