"""The guard of a private server: a small process that outlives a killed owner just long enough to clean up.

Its standard input is a pipe whose other end only the owner holds. A byte says that the owner has finished in
order; the end of the pipe without one says that the owner is gone: the guard then stops the server and removes its
folder. It runs as a lone file, ``python -I -S _guard.py FOLDER``, and imports nothing heavy, so that it costs a few
megabytes; what it has to know of the server it reads from the folder's ``server.json``.

The functions are also what the owner itself uses to stop a server and to remove a folder.
"""

from __future__ import annotations

import json
import os
import signal
import sys
import time

NOTE = "server.json"
"""The file of a server's folder that says what to stop, how, and what to remove. It holds no password."""
GROUP = "control-group"
"""The file of a server's folder that names the control group which was made for it."""
IN_ORDER = b"."


def is_ours(pid: int, binaries: str, folder: str) -> bool:
    """Whether a living process runs one of ``binaries`` on ``folder`` (a process id may have been reused)."""
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
    """Whether a process is ending and may still hold its port and its files.

    It has no command line any more: its memory is gone and its files are not closed yet, or its first thread has
    ended and others have not.
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


def server_pid(folder: str, note: dict[str, object]) -> int | None:
    """The process id of the running server of a folder, or None."""
    try:
        with open(os.path.join(folder, str(note["pid_file"]))) as file:  # noqa: PTH118, PTH123
            pid = int(file.readline())
    except (OSError, ValueError):
        return None
    return pid if is_ours(pid, str(note["binaries"]), folder) else None


def stop_server(folder: str, note: dict[str, object], patience_s: float) -> bool:
    """Stop the server of a folder by its signals in turn, then SIGKILL; whether there was one."""
    pid = server_pid(folder, note)
    if pid is None:
        return False
    names = note["stop_signals"]
    assert isinstance(names, list)
    for name in [*names, "SIGKILL"]:
        try:
            os.kill(pid, signal.Signals[name])
        except ProcessLookupError:
            return True
        end = time.monotonic() + patience_s
        while time.monotonic() < end:
            if not is_ours(pid, str(note["binaries"]), folder) and not is_ending(pid):
                return True
            time.sleep(0.02)
    return True


def kill_helpers(folder: str, note: dict[str, object]) -> None:
    """End what the owner left half way: an initialization or a start on this folder."""
    pids = [int(name) for name in os.listdir("/proc") if name.isdigit()] if os.path.isdir("/proc") else []  # noqa: PTH208, PTH112
    for pid in pids:
        if pid != os.getpid() and is_ours(pid, str(note["binaries"]), folder):
            try:
                os.kill(pid, signal.SIGKILL)
            except OSError:
                continue


def remove_group(folder: str) -> None:
    """Remove the control group of a server that has ended; its last processes may take a moment to leave it."""
    try:
        with open(os.path.join(folder, GROUP), encoding="utf-8") as file:  # noqa: PTH118, PTH123
            group = file.read()
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
    """Remove the folder and the short folder of its socket; what is still being written is tried again."""
    import shutil

    remove_group(folder)
    for path in (str(note.get("sockets") or folder), folder):
        for _ in range(100):
            shutil.rmtree(path, ignore_errors=True)
            if not os.path.lexists(path):
                break
            time.sleep(0.05)


def clear(folder: str, note: dict[str, object]) -> None:
    """Remove the folder until it stays away: the script of an installation writes on when its program was killed."""
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
    """The content of ``server.json``; empty where there is none yet."""
    try:
        with open(os.path.join(folder, NOTE), encoding="utf-8") as file:  # noqa: PTH118, PTH123
            content = json.load(file)
    except (OSError, ValueError):
        return {}
    return content if isinstance(content, dict) else {}


def main(folder: str) -> None:
    """Wait for the owner's word or its end."""
    for name in ("SIGINT", "SIGHUP", "SIGTERM"):
        signal.signal(signal.Signals[name], signal.SIG_IGN)
    if os.read(0, 1):
        return
    note = read_note(folder)
    if note:
        stop_server(folder, note, patience_s=10)
    clear(folder, note)


if __name__ == "__main__":
    main(sys.argv[1])
