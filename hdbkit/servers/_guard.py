"""The guard of a private server: a small process that cleans up after its owner was killed.

Its standard input is a pipe; only the owner holds the other end. One byte means that the owner finished normally. If
the pipe closes without a byte, the owner was killed, or it ended while runs or sweeps were using the server; the
guard waits for these, stops the server and removes its folder. The guard runs as a single file,
``python -I -S _guard.py FOLDER``, and imports only light modules, so it needs a few megabytes of memory. It reads
what it needs to know about the server from ``server.json`` in the folder.

The owner uses the same functions to stop a server and to remove a folder.
"""

from __future__ import annotations

import fcntl
import json
import os
import signal
import stat
import sys
import time

NOTE = "server.json"
"""The file in a server's folder that describes what to stop, how, and what to remove. It contains no password."""
PROCESS_GROUP = "control-group"
"""The file in a server's folder that contains the path of the server's control group."""
USERS = "users"
"""The file in a server's folder that each run and sweep on the server keeps locked until it ends."""
IN_ORDER = b"."


def is_ours(pid: int, binaries: str, folder: str) -> bool:
    """Whether the process is alive and runs one of ``binaries`` on ``folder`` (a process id may be reused)."""
    try:
        with open(f"/proc/{pid}/stat", "rb") as file:  # noqa: PTH123  pathlib costs memory here
            if file.read().rpartition(b")")[2].split()[0] in (b"Z", b"X"):
                return False
        with open(f"/proc/{pid}/cmdline", "rb") as file:  # noqa: PTH123
            words = file.read().decode(errors="replace").split("\0")
    except FileNotFoundError:
        return not os.path.isdir("/proc/self") and _exists(pid)  # noqa: PTH112
    except OSError:
        return False
    return words[0].startswith(binaries + "/") and any(
        word.rpartition("=")[2].startswith(folder + "/") for word in words
    )


def is_ending(pid: int) -> bool:
    """Whether a process is exiting and may still hold its port and files.

    Its command line is already empty: its memory is freed but its files are still open, or its main thread has
    ended while other threads run.
    """
    try:
        with open(f"/proc/{pid}/cmdline", "rb") as file:  # noqa: PTH123
            if file.read():
                return False
        with open(f"/proc/{pid}/stat", "rb") as file:  # noqa: PTH123
            ended = file.read().rpartition(b")")[2].split()[0] in (b"Z", b"X")
        return not ended or len(os.listdir(f"/proc/{pid}/task")) > 1  # noqa: PTH208
    except OSError:
        return False


def _exists(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except OSError:
        return False
    return True


def _content(folder: str, name: str) -> str:
    """The text of a regular file; what the server's account puts in its place makes nobody wait or read elsewhere."""
    path = os.path.join(folder, name)  # noqa: PTH118
    descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_NOFOLLOW | os.O_CLOEXEC)
    with os.fdopen(descriptor, encoding="utf-8") as file:
        if not stat.S_ISREG(os.fstat(descriptor).st_mode):
            raise OSError(f"{path} is not a regular file")
        return file.read()


def server_pid(folder: str, note: dict[str, object]) -> int | None:
    """The process id of the server that runs in a folder, or None."""
    try:
        pid = int(_content(folder, str(note["pid_file"])).partition("\n")[0])
    except (OSError, ValueError):
        return None
    return pid if is_ours(pid, str(note["binaries"]), folder) else None


def family(pid: int) -> list[int]:
    """A process and its descendants, itself first."""
    children: dict[int, list[int]] = {}
    for name in os.listdir("/proc") if os.path.isdir("/proc") else []:  # noqa: PTH208, PTH112
        try:
            with open(f"/proc/{int(name)}/stat", "rb") as file:  # noqa: PTH123
                children.setdefault(int(file.read().rpartition(b")")[2].split()[1]), []).append(int(name))
        except (OSError, ValueError):
            continue
    found = [pid]
    for one in found:
        found += children.get(one, [])
    return found


def end_server(folder: str, note: dict[str, object], patience_s: float) -> bool:
    """Send a folder's server its stop signals in order, then SIGKILL; return whether a server was running.

    A frozen server is continued first. What is killed is the server with all its processes.
    """
    pid = server_pid(folder, note)
    if pid is None:
        return False
    names = note["stop_signals"]
    assert isinstance(names, list)
    _send(family(pid), "SIGCONT")
    for name in [*names, "SIGKILL"]:
        _send(family(pid) if name == "SIGKILL" else [pid], name)
        end = time.monotonic() + patience_s
        while time.monotonic() < end:
            if not is_ours(pid, str(note["binaries"]), folder) and not is_ending(pid):
                return True
            time.sleep(0.02)
    return True


def _send(pids: list[int], name: str) -> None:
    """Send a signal to those of the processes that are still there."""
    for pid in pids:
        try:
            os.kill(pid, signal.Signals[name])
        except ProcessLookupError:
            continue


def kill_helpers(folder: str, note: dict[str, object]) -> None:
    """Kill the processes that the owner left behind: an unfinished initialization or start in this folder."""
    pids = [int(name) for name in os.listdir("/proc") if name.isdigit()] if os.path.isdir("/proc") else []  # noqa: PTH208, PTH112
    for pid in pids:
        if pid != os.getpid() and is_ours(pid, str(note["binaries"]), folder):
            try:
                os.kill(pid, signal.SIGKILL)
            except OSError:
                continue


def remove_group(folder: str) -> None:
    """Remove the control group of a stopped server; retry until its last processes have left it."""
    try:
        group = _content(folder, PROCESS_GROUP)
    except OSError:
        return
    for _ in range(100):
        try:
            os.rmdir(group)  # noqa: PTH106
        except FileNotFoundError:
            return
        except OSError:
            time.sleep(0.01)


def remove(folder: str, note: dict[str, object]) -> None:
    """Remove the folder and its separate socket folder; retry while files are still being written."""
    import shutil

    remove_group(folder)
    for path in (str(note.get("sockets") or folder), folder):
        for _ in range(100):
            shutil.rmtree(path, ignore_errors=True)
            if not os.path.lexists(path):
                break
            time.sleep(0.05)


def clear(folder: str, note: dict[str, object]) -> None:
    """Remove the folder until it stays removed: an installation script continues after its program was killed."""
    away, looks = 0, 0
    while away < 10 and looks < 200:
        if away == 0 or os.path.lexists(folder):
            away = 0
            if note:
                kill_helpers(folder, note)
            remove(folder, note)
        away, looks = away + 1, looks + 1
        time.sleep(0.05)


def read_note(folder: str) -> dict[str, object]:
    """The content of ``server.json``; empty if the file does not exist yet."""
    try:
        content = json.loads(_content(folder, NOTE))
    except (OSError, ValueError):
        return {}
    return content if isinstance(content, dict) else {}


def await_users(folder: str, wait: bool = True) -> bool:
    """Wait until no run or sweep uses the server; without ``wait``, return whether none does."""
    try:
        descriptor = os.open(os.path.join(folder, USERS), os.O_RDONLY)  # noqa: PTH118
    except OSError:
        return True  # none ever did
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | (0 if wait else fcntl.LOCK_NB))
    except BlockingIOError:
        return False
    finally:
        os.close(descriptor)
    return True


def main(folder: str) -> None:
    """Wait until the owner sends a byte or its end of the pipe closes."""
    for name in ("SIGINT", "SIGHUP", "SIGTERM"):
        signal.signal(signal.Signals[name], signal.SIG_IGN)
    if os.read(0, 1):
        return
    await_users(folder)
    note = read_note(folder)
    if note:
        end_server(folder, note, patience_s=10)
    clear(folder, note)


if __name__ == "__main__":
    main(sys.argv[1])
