"""The guard of a private server: when a process has really ended."""

from __future__ import annotations

import platform
import subprocess
import sys
import time

import pytest

from hdbkit.servers import _guard

EXIT = {"x86_64": 60, "aarch64": 93}
"""The number of the system call that ends one thread."""
FIRST_THREAD_ENDS = """
import ctypes, sys, threading, time
threading.Thread(target=time.sleep, args=(600,)).start()
print("begun", flush=True)
ctypes.CDLL(None).syscall(int(sys.argv[1]), 0)
"""


@pytest.mark.skipif(platform.machine() not in EXIT, reason="the number of a system call is not known here")
def test_a_process_whose_first_thread_ended_still_ends_until_its_last_has() -> None:
    number = str(EXIT[platform.machine()])
    with subprocess.Popen([sys.executable, "-c", FIRST_THREAD_ENDS, number], stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == b"begun\n"
        deadline = time.monotonic() + 60
        while not _guard.is_ending(process.pid):
            assert time.monotonic() < deadline
            time.sleep(0.01)
        process.kill()
        process.wait()
        assert not _guard.is_ending(process.pid)
