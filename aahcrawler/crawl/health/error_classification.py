"""Whose trouble an error is: this machine's, or a page's."""

import errno

from aahcrawler.frontier.protocol import FrontierFullError, FrontierUnavailableError
from aahcrawler.segments import DiskFullError, SegmentError
from aahcrawler.wire.errors import SpoolError

_FULL = frozenset({errno.ENOSPC, errno.EDQUOT, errno.EFBIG})

EXHAUSTED = frozenset(
    {errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EROFS, errno.EIO, errno.EMFILE, errno.ENFILE, errno.ENOMEM}
)
"""What the operating system says when this machine, and not a page, is in trouble."""


def is_local(error: Exception) -> bool:
    """Tell a frontier that is gone and a machine that is out of disk or files from whatever a page may provoke."""
    if isinstance(error, OSError):
        return error.errno in EXHAUSTED
    return isinstance(error, FrontierUnavailableError | SegmentError | SpoolError)


def is_full(error: BaseException | None) -> bool:
    """Tell a disk, a quota or a file that is full from all other trouble, also where it is the cause of an error."""
    if isinstance(error, DiskFullError | FrontierFullError):
        return True
    if isinstance(error, OSError) and error.errno in _FULL:
        return True
    return error is not None and is_full(error.__cause__)
