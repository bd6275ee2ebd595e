"""The resource usage of a client besides CPU time, as counted by the kernel: network traffic and context switches.

Running totals, read before the first operation and after the last; between them nothing is counted, so that it
costs the measured loop nothing. Traffic is known of TCP on Linux, whatever the driver; that of a socket in the file
system is not.
"""

from __future__ import annotations

import json
import math
import os
import resource
import socket
import stat
import struct
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from hdbkit.results.columns import USAGE_LINES

USAGE_NAMES = ("context_switches", "sent_bytes", "received_bytes", "sent_segments")
"""The columns of ``clients.parquet`` that this module fills."""

_OPEN_FILES = "/proc/self/fd"
_OWN = getattr(resource, "RUSAGE_THREAD", resource.RUSAGE_SELF)  # not every system counts by thread
_COUNTS = struct.Struct("=128xQ20xI40xQ")
"""Of ``struct tcp_info`` (linux/tcp.h): tcpi_bytes_received, tcpi_data_segs_out, tcpi_bytes_sent."""

_Counts = tuple[int, int, int]
"""The counts of a connection: bytes sent, bytes received, data segments sent."""


class Usage:
    """The usage of a client in its loops, by ``USAGE_NAMES``; NaN if unknown, for example after a lost connection."""

    def __init__(self) -> None:
        self.spent = dict.fromkeys(USAGE_NAMES, 0.0)

    @contextmanager
    def counted(self) -> Iterator[None]:
        """Add the usage within the block; an error leaves the figures unchanged."""
        switches, connections = _switches(), _connections()
        yield
        used = (float(_switches() - switches), *_traffic(connections, _connections()))
        self.spent = {name: self.spent[name] + more for name, more in zip(USAGE_NAMES, used, strict=True)}

    def save(self, spools: Path, client: int) -> None:
        """Write the figures beside the spool; they may be lost if the disk is full."""
        with suppress(OSError):
            text = json.dumps({"client": client, **self.spent})
            USAGE_LINES.of(spools, client).write_text(text, encoding="utf-8")


def _switches() -> int:
    """The voluntary and involuntary context switches of this thread."""
    used = resource.getrusage(_OWN)
    return used.ru_nvcsw + used.ru_nivcsw


def _traffic(before: dict[int, _Counts], now: dict[int, _Counts]) -> tuple[float, float, float]:
    """The growth of the counts of all connections; NaN if there are none or one was lost with its counts."""
    if not now or before.keys() - now.keys():
        return math.nan, math.nan, math.nan
    none = (0, 0, 0)
    grew = [[last - first for first, last in zip(before.get(one, none), now[one], strict=True)] for one in now]
    sent, received, segments = (float(sum(counts)) for counts in zip(*grew, strict=True))
    return sent, received, segments


def _connections() -> dict[int, _Counts]:
    """The counts of each open TCP connection, by its inode.

    A driver keeps its socket to itself, but not its number among the open files.
    """
    found = {}
    with suppress(OSError):  # on other systems there is no such list
        for name in os.listdir(_OPEN_FILES):  # noqa: PTH208  kept light
            with suppress(OSError, struct.error):  # the number of the list itself, which is closed by now
                file = os.fstat(int(name))
                if stat.S_ISSOCK(file.st_mode):
                    with socket.socket(fileno=os.dup(int(name))) as one:
                        if one.family in (socket.AF_INET, socket.AF_INET6) and one.type == socket.SOCK_STREAM:
                            received, segments, sent = _COUNTS.unpack_from(
                                one.getsockopt(socket.IPPROTO_TCP, socket.TCP_INFO, _COUNTS.size)
                            )
                            found[file.st_ino] = sent, received, segments
    return found
