"""Processes that never outlive the one that started them."""

from __future__ import annotations

import ctypes
import os
import signal
import sys

_PR_SET_PDEATHSIG = 1
_PF_KTHREAD = 0x200000
"""The flag of a thread of the kernel, which never has a command line."""
_STATE, _FLAGS, _START = 0, 6, 19
"""Positions among the fields of ``/proc/PID/stat`` behind the process's name."""


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

    ``word`` must be in its command line where given: after a reboot, the id of a process may be another's. A process
    that is just replacing its program, or is just ending, has no command line for a moment; it counts as alive.
    """
    try:
        fields = _fields(pid)
        command = _command_line(pid)
    except (FileNotFoundError, ProcessLookupError):
        return False
    except OSError:
        return True
    if fields[_STATE] in (b"Z", b"X"):
        return False
    return word.encode() in command if command else not int(fields[_FLAGS]) & _PF_KTHREAD


def is_leaving(pid: int) -> bool:
    """Whether a process is ending, or has ended and its parent has not taken note of it yet."""
    try:
        return not _command_line(pid)
    except OSError:
        return False


def birth_of(pid: int) -> str:
    """What tells this process from every other that had or will have its id; empty when it has ended.

    The id of the system's start, and the tick of the process's own: neither a reboot nor a clock that was set changes
    what they mean.
    """
    try:
        fields = _fields(pid)
        with open("/proc/sys/kernel/random/boot_id") as file:  # noqa: PTH123
            boot = file.read().strip()
    except OSError:
        return ""
    return "" if fields[_STATE] in (b"Z", b"X") else f"{boot}/{fields[_START].decode()}"


def _fields(pid: int) -> list[bytes]:
    """The fields of a process's ``stat`` behind its name."""
    with open(f"/proc/{pid}/stat", "rb") as file:  # noqa: PTH123  read often, kept light
        return file.read().rpartition(b")")[2].split()


def _command_line(pid: int) -> bytes:
    with open(f"/proc/{pid}/cmdline", "rb") as file:  # noqa: PTH123
        return file.read()
