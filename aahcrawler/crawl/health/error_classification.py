"""Classify errors: of this machine, of a full disk, or provoked by a page."""

import errno

from aahcrawler.frontier.protocol import FrontierFullError, FrontierUnavailableError
from aahcrawler.segments import DiskFullError, SegmentError
from aahcrawler.wire.errors import SpoolError

_FULL = frozenset({errno.ENOSPC, errno.EDQUOT, errno.EFBIG})

EXHAUSTED = frozenset(
    {errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EROFS, errno.EIO, errno.EMFILE, errno.ENFILE, errno.ENOMEM}
)
"""What the operating system says when this machine, and not a page, is the cause."""


def is_local(error: Exception) -> bool:
    """Say whether an error is this machine's (no frontier, no disk, no files), not one that a page may provoke."""
    if isinstance(error, OSError):
        return error.errno in EXHAUSTED
    return isinstance(error, FrontierUnavailableError | SegmentError | SpoolError)


def is_full(error: BaseException | None) -> bool:
    """Say whether an error, or its cause, is a full disk, quota or file."""
    if isinstance(error, DiskFullError | FrontierFullError):
        return True
    if isinstance(error, OSError) and error.errno in _FULL:
        return True
    return error is not None and is_full(error.__cause__)
