"""Stacks of the processes of server and clients on this host, sampled by ``perf`` in the measured window.

The times of samples are those of the monotonic clock, as all times of a run, so that a sample of a run with slices
belongs to a configuration.
"""

from __future__ import annotations

import re
import signal
import subprocess
from collections.abc import Collection, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

from hdbkit.later import psutil

_DATA = "perf.data"
_HZ = 49
"""Samples a second and processor: no divisor of what servers do a hundred times a second."""
_RECORD = ("perf", "record", "-k", "CLOCK_MONOTONIC", "-F", str(_HZ), "--call-graph", "dwarf,8192")
_SCRIPT = ("perf", "script", "--no-inline", "-F", "pid,time,ip,sym")
_HEAD = re.compile(r"\s*(\d+)\s+([\d.]+):")
_FRAME = re.compile(r"\s+[0-9a-f]+ (.+)")
_PATIENCE_S = 30.0
_TRIES, _BEGINS_S = 5, 0.3


class Profiler:
    """``perf record`` beside a window; none of its failures ends a run."""

    def __init__(self, spools: Path) -> None:
        self._data = spools / _DATA
        self._process: subprocess.Popen[bytes] | None = None

    def begin(self, clients: Sequence[int], server: int | None) -> None:
        """Begin to sample processes, with the present children of the server; later ones are found by the kernel."""
        for _ in range(_TRIES):  # perf gives up where one of them has ended
            pids = {*clients, *([] if server is None else [server, *_children(server)])}
            words = [*_RECORD, "-o", str(self._data), "-p", ",".join(map(str, sorted(pids)))]
            try:
                self._process = subprocess.Popen(words, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
                self._process.wait(_BEGINS_S)
            except (FileNotFoundError, subprocess.TimeoutExpired):
                return

    def end(self) -> str:
        """End; return why there is no profile, else an empty text."""
        if self._process is None:
            return "there is no profile: perf is not installed on this host (Debian: linux-perf)"
        self._process.send_signal(signal.SIGINT)
        try:
            said = self._process.communicate(timeout=_PATIENCE_S)[1].decode(errors="replace")
        except subprocess.TimeoutExpired:
            self._process.kill()
            said = self._process.communicate()[1].decode(errors="replace")
        if self._data.is_file() and self._data.stat().st_size:
            return ""
        level = Path("/proc/sys/kernel/perf_event_paranoid").read_text(encoding="ascii").strip()
        first = next((line.strip() for line in said.splitlines() if line.strip()), "it wrote nothing")
        return f"there is no profile: {first} (kernel.perf_event_paranoid is {level}; perf needs 2 or less, or root)"


def rows(spools: Path, clients: Collection[int], start_ns: int) -> list[dict[str, Any]]:
    """A row per sample: its time since the start, the part, and the stack from the outermost function on."""
    if not (spools / _DATA).is_file():
        return []
    done = subprocess.run([*_SCRIPT, "-i", str(spools / _DATA)], capture_output=True, check=False)
    found = []
    for sample in done.stdout.decode(errors="replace").split("\n\n"):
        head, *lines = sample.strip("\n").splitlines() or [""]
        frames = [one[1].replace(";", ":") for line in lines if (one := _FRAME.match(line))]
        if frames and (of := _HEAD.match(head)):
            part, t_us = "clients" if int(of[1]) in clients else "server", float(of[2]) * 1e6 - start_ns / 1000
            found.append({"t_us": round(t_us), "part": part, "stack": ";".join(reversed(frames))})
    return found


def _children(process: int) -> list[int]:
    with suppress(psutil.Error):
        return [one.pid for one in psutil.Process(process).children(recursive=True)]
    return []
