"""Whether bytes that pass the network of a machine may be those of one program.

The kernel counts bytes per machine or container, not per process. On a machine that
others use, they say nothing of a program that is connected to nobody.
"""

import contextlib
import os
import re
from pathlib import Path

from tb_health_plugin.collectors.kernel_files import read
from tb_health_plugin.collectors.process_stat import descendants

# Files on these come over the network without a socket of the program.
_REMOTE = re.compile(
    r"^(?:nfs\d?|cifs|smb\d?|smbfs|ceph|lustre|gpfs|beegfs|glusterfs|afs|9p|virtiofs"
    r"|orangefs|pvfs2|ocfs2|gfs2|fuse\..*|fuse|fuseblk)$"
)
# FUSE without a network: containers and packages of the machine itself.
_LOCAL = ("fuse.lxcfs", "fuse.snapfuse", "fuse.portal", "fuse.gvfsd-fuse")
_TABLES = ("tcp", "tcp6", "udp", "udp6")
# In those tables: a connection that stands, by its number in the kernel.
_ESTABLISHED = "01"
_SOCKET = re.compile(r"^socket:\[(\d+)\]$")
_LOOPBACK = re.compile(r"^(?:[0-9A-F]{6}7F|0{24}01000000|0{16}FFFF0000[0-9A-F]{6}7F):")


def may_use_network(pid: int, root: Path = Path("/")) -> bool:
    """False if neither it nor a process it started can have moved a byte of it."""
    proc = root / "proc"
    mounts = read(proc / f"{pid}/mountinfo")
    if not mounts or any(_is_remote(line) for line in mounts.splitlines()):
        return True
    tree = [pid, *descendants(proc, pid, leave_out=os.getpid())]
    held = {number for one in tree for number in _sockets(proc, one)}
    if not held:
        return False
    # The kernel takes milliseconds to write these tables: they are asked last.
    return any(
        held & _far_connections(read(proc / f"{pid}/net/{name}")) for name in _TABLES
    )


def _is_remote(line: str) -> bool:
    """Of a line of `mountinfo`, whose type stands behind a lonely dash."""
    _, _, rest = line.partition(" - ")
    kind = rest.partition(" ")[0]
    return kind not in _LOCAL and _REMOTE.match(kind) is not None


def _far_connections(table: str) -> set[str]:
    """Numbers of sockets that are connected to another machine."""
    found = set()
    for line in table.splitlines()[1:]:
        words = line.split()
        if len(words) < 10 or words[3] != _ESTABLISHED:
            continue
        if not _LOOPBACK.match(words[2]):
            found.add(words[9])
    return found


def _sockets(proc: Path, pid: int) -> set[str]:
    found = set()
    with contextlib.suppress(OSError):  # a process that has ended moves nothing more
        for one in (proc / f"{pid}/fd").iterdir():
            with contextlib.suppress(OSError):
                match = _SOCKET.match(str(one.readlink()))
                if match:
                    found.add(match[1])
    return found
