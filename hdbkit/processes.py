"""Processes that never outlive the one that started them."""

from __future__ import annotations

import ctypes
import os
import signal
import sys

_PR_SET_PDEATHSIG = 1


def die_with_parent(parent_pid: int | None = None, signal_number: int = signal.SIGKILL) -> None:
    """Ask the kernel to end this process when its parent's thread ends.

    ``parent_pid`` is who the parent should be: when it has gone already, this process ends at once. On systems
    other than Linux this does nothing.
    """
    if not sys.platform.startswith("linux"):
        return
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.prctl(_PR_SET_PDEATHSIG, signal_number, 0, 0, 0):
        raise OSError(ctypes.get_errno(), "prctl(PR_SET_PDEATHSIG) failed")
    if parent_pid is not None and os.getppid() != parent_pid:
        os._exit(1)


def is_alive(pid: int, word: str = "") -> bool:
    """Whether a process of this id exists and has not ended (a zombie has).

    ``word`` must be in its command line where given: after a reboot, the id of a process may be another's.
    """
    try:
        with open(f"/proc/{pid}/stat", "rb") as file:  # noqa: PTH123  read often, kept light
            if file.read().rpartition(b")")[2].split()[0] in (b"Z", b"X"):
                return False
        with open(f"/proc/{pid}/cmdline", "rb") as file:  # noqa: PTH123
            return word.encode() in file.read()
    except FileNotFoundError:
        return False
    except OSError:
        return True


def is_zombie(pid: int) -> bool:
    """Whether a process has ended and its parent has not taken note of it yet."""
    try:
        with open(f"/proc/{pid}/stat", "rb") as file:  # noqa: PTH123
            return file.read().rpartition(b")")[2].split()[0] == b"Z"
    except OSError:
        return False


def birth_of(pid: int) -> str:
    """What tells this process from every other that had or will have its id; empty when it has ended.

    The id of the system's start, and the tick of the process's own: neither a reboot nor a clock that was set changes
    what they mean.
    """
    try:
        with open(f"/proc/{pid}/stat", "rb") as file:  # noqa: PTH123
            fields = file.read().rpartition(b")")[2].split()
        with open("/proc/sys/kernel/random/boot_id") as file:  # noqa: PTH123
            boot = file.read().strip()
    except OSError:
        return ""
    return "" if fields[0] in (b"Z", b"X") else f"{boot}/{fields[19].decode()}"
