"""Processes: how hdbkit starts its own, ends them with the parent, checks whether one is alive, identifies it."""

from __future__ import annotations

import ctypes
import os
import signal
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

_PACKAGE_PARENT = Path(__file__).parents[1]
ONE_THREAD = {"OPENBLAS_NUM_THREADS": "1"}
"""The environment of a process that forks: NumPy's own threads, one per core, would be in no fork."""
_libc = ctypes.CDLL(None, use_errno=True)
_PR_SET_PDEATHSIG = 1
_HELD = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
_PF_KTHREAD = 0x200000
"""The flag of kernel threads, which never have a command line."""
_SAME_AGE_S = 60.0
"""The largest difference of two ages of one process: a server starts counting late, and clocks are adjusted."""
_STATE, _FLAGS, _START = 0, 6, 19
"""Positions of fields in ``/proc/PID/stat``, counted after the process name."""


def command_of(module: str, *arguments: str) -> list[str]:
    """The command of a new interpreter that calls ``main()`` of a module of hdbkit.

    A file of the working folder is never imported instead of a module: ``-P`` omits that folder. The folder of the
    package comes last, for a source tree that is not installed.
    """
    program = f"import sys; sys.path.append({str(_PACKAGE_PARENT)!r}); from {module} import main; main()"
    return [sys.executable, "-P", "-c", program, *arguments]


def die_with_parent(parent_pid: int | None = None) -> None:
    """Ask the kernel to kill this process when the parent thread ends.

    ``parent_pid`` is the expected parent; if it has already ended, this process exits at once. Does nothing on
    systems other than Linux.
    """
    if not sys.platform.startswith("linux"):
        return
    if _libc.prctl(_PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0):
        raise OSError(ctypes.get_errno(), "prctl(PR_SET_PDEATHSIG) failed")
    if parent_pid is not None and os.getppid() != parent_pid:
        os._exit(1)


def return_free_memory() -> None:
    """Give the kernel the pages that the C library has and does not use; does nothing with another C library."""
    if trim := getattr(_libc, "malloc_trim", None):
        trim(0)


@contextmanager
def signals_held() -> Iterator[None]:
    """Delay SIGINT, SIGTERM and SIGHUP until the end of the block, also after an error; each is delivered once.

    Processes that are started in the block do not inherit this. Only the main thread receives signals; in other
    threads this does nothing.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    came: list[int] = []
    before = {number: signal.signal(number, lambda held, _: came.append(held)) for number in _HELD}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, signal.SIG_DFL if handler is None else handler)
        for held in dict.fromkeys(came):
            signal.raise_signal(held)


def is_alive(pid: int, word: str = "") -> bool:
    """Whether a process with this id exists and has not ended (a zombie has ended).

    If ``word`` is given, the process's command line must contain it, since process ids are reused. A process that is
    executing a new program or ending has no command line for a moment; it counts as alive.
    """
    try:
        fields = stat_fields(pid)
        command = _command_line(pid)
    except (FileNotFoundError, ProcessLookupError):
        return False
    except OSError:
        return True
    if fields[_STATE] in (b"Z", b"X"):
        return False
    return word.encode() in command if command else not int(fields[_FLAGS]) & _PF_KTHREAD


def is_leaving(pid: int) -> bool:
    """Whether a process is ending, or has ended but has not been reaped by its parent."""
    try:
        return not _command_line(pid)
    except OSError:
        return False


def boot_id() -> str:
    """Identity of this boot of the host; raises ``OSError`` if the kernel does not report it."""
    with open("/proc/sys/kernel/random/boot_id") as file:  # noqa: PTH123
        return file.read().strip()


def birth_of(pid: int) -> str:
    """Identity of a process beyond its reusable id: boot id and start time in ticks; empty if it has ended.

    Reboots and changes of the wall clock do not affect it.
    """
    try:
        fields, boot = stat_fields(pid), boot_id()
    except OSError:
        return ""
    return "" if fields[_STATE] in (b"Z", b"X") else f"{boot}/{fields[_START].decode()}"


def runs_as_long(pid: int, age_s: float) -> bool:
    """Whether a process of this host has been running for about ``age_s`` seconds."""
    try:
        ticks = int(stat_fields(pid)[_START])
    except OSError:
        return False
    runs_s = time.clock_gettime(time.CLOCK_BOOTTIME) - ticks / os.sysconf("SC_CLK_TCK")
    return abs(runs_s - age_s) < _SAME_AGE_S


def working_folder(pid: int) -> Path | None:
    """The folder that a process of this host works in; None if that cannot be read."""
    try:
        return Path(f"/proc/{pid}/cwd").resolve(strict=True)
    except OSError:
        return None


def error_file(pid: int) -> Path | None:
    """The file that a process of this host had for its errors when it started; None if it is no file or unreadable.

    A process that later writes its errors to a log process leaves the file to that process, its child.
    """
    for one in (pid, *children_of(pid)):
        with suppress(OSError):
            file = Path(f"/proc/{one}/fd/2").resolve(strict=True)
            if file.is_file():
                return file
    return None


def collected_file(pid: int) -> Path | None:
    """The file of a log process, which is a child of this process and reads its errors; None if there is none."""
    with suppress(OSError):
        errors = Path(f"/proc/{pid}/fd/2").readlink()
        for child in children_of(pid) if str(errors).startswith("pipe:") else []:
            opened = {one.name: one.readlink() for one in Path(f"/proc/{child}/fd").iterdir()}
            if errors in opened.values() and opened.get("2") != errors:
                others = [path for name, path in opened.items() if name != "2" and path.is_file()]
                return max(others, key=lambda path: path.stat().st_mtime, default=None)
    return None


def children_of(pid: int) -> list[str]:
    """The processes that the threads of a process of this host have started; empty if it has ended."""
    with suppress(OSError):
        threads = os.listdir(f"/proc/{pid}/task")  # noqa: PTH208  read often, kept light
        return [child for thread in threads for child in _children_of_thread(pid, thread)]
    return []


def _children_of_thread(pid: int, thread: str) -> list[str]:
    try:
        with open(f"/proc/{pid}/task/{thread}/children", encoding="ascii") as file:  # noqa: PTH123
            return file.read().split()
    except OSError:
        return []


def stat_fields(pid: int) -> list[bytes]:
    """The fields of ``/proc/PID/stat`` after the process name. Raises ``OSError`` if the process has ended."""
    with open(f"/proc/{pid}/stat", "rb") as file:  # noqa: PTH123  read often, kept light
        return file.read().rpartition(b")")[2].split()


def _command_line(pid: int) -> bytes:
    with open(f"/proc/{pid}/cmdline", "rb") as file:  # noqa: PTH123
        return file.read()
