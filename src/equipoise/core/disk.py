"""What helps where a file cannot be written: room, rights, or the folder that was there before."""

from __future__ import annotations

import errno

_FULL = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)
_FORBIDDEN = (errno.EACCES, errno.EPERM, errno.EROFS)
_GONE = (errno.ENOENT, errno.ENOTDIR, errno.ESTALE)


def disk_remedy(error: OSError) -> str:
    """The remedy for an error of the system.

    >>> disk_remedy(OSError(errno.ENOSPC, "No space left on device"))
    'free some disk space'
    """
    if error.errno in _FULL:
        return "free some disk space"
    if error.errno in _FORBIDDEN:
        return "name a folder that you may write in"
    return "put the folder back that was moved or removed" if error.errno in _GONE else "name another folder"
