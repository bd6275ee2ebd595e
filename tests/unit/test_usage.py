"""The resource usage of a client, counted by the kernel: exact on a real connection, unknown without one."""

from __future__ import annotations

import math
import socket
import sys
import time
from pathlib import Path

import pytest

from hdbkit.execution.load_hosts import ClientFiles, lines_of
from hdbkit.execution.usage import USAGE_NAMES, Usage
from hdbkit.files import read_lines
from hdbkit.results.columns import USAGE_LINES

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="other kernels do not tell")


def connected() -> tuple[socket.socket, socket.socket]:
    with socket.create_server(("127.0.0.1", 0)) as server:
        near = socket.create_connection(server.getsockname())
        far, _ = server.accept()
    return near, far


def talk(near: socket.socket, far: socket.socket, times: int) -> None:
    """So many requests of 10 bytes, each answered by 1000."""
    for _ in range(times):
        near.sendall(b"q" * 10)
        far.recv(10, socket.MSG_WAITALL)
        far.sendall(b"a" * 1000)
        near.recv(1000, socket.MSG_WAITALL)


def test_what_is_said_within_is_counted_and_added_up() -> None:
    near, far = connected()
    with near, far:
        usage = Usage()
        for times in (3, 4):
            with usage.counted():
                talk(near, far, times)
                time.sleep(0.001)
            talk(near, far, 5)
    both = 7 * 1010  # each end of the connection is this process's
    assert (usage.spent["sent_bytes"], usage.spent["received_bytes"]) == (both, both)
    assert usage.spent["sent_segments"] == 14
    assert usage.spent["context_switches"] >= 2  # it slept twice


def test_a_connection_that_was_lost_takes_its_traffic_with_it(tmp_path: Path) -> None:
    near, far = connected()
    usage = Usage()
    with far, usage.counted():
        talk(near, far, 1)
        near.close()
        far.close()
    usage.save(tmp_path, 7)
    (row,) = read_lines(USAGE_LINES.of(tmp_path, 7))
    assert row["client"] == 7
    assert set(row) == {"client", *USAGE_NAMES}
    assert math.isnan(row["sent_bytes"])
    assert not math.isnan(row["context_switches"])


def test_a_torn_file_is_skipped(tmp_path: Path) -> None:
    Usage().save(tmp_path, 1)
    (tmp_path / "00002.usage.json").write_text('{"client": 2, "sent')
    assert [row["client"] for row in lines_of([ClientFiles(tmp_path)], USAGE_LINES, 0)] == [1]
