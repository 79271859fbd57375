"""Room on the disk that a file keeps for itself, so that its last words fit.

A disk fills up between two records; what is reserved is still there then. The file
does not get longer by it.
"""

import ctypes
import errno

# From linux/falloc.h: reserve blocks, leave the length as it is.
_KEEP_SIZE = 1


def reserve(fd: int, offset: int, length: int) -> bool:
    """Reserves the bytes; false where the system or the disk cannot."""
    try:
        fallocate = ctypes.CDLL(None, use_errno=True).fallocate
    except (AttributeError, OSError):
        return False
    fallocate.argtypes = (
        ctypes.c_int,
        ctypes.c_int,
        ctypes.c_int64,
        ctypes.c_int64,
    )
    while fallocate(fd, _KEEP_SIZE, offset, length) != 0:
        if ctypes.get_errno() != errno.EINTR:
            return False
    return True
