"""The guard of a private server: when a server has really ended."""

from __future__ import annotations

import platform
import subprocess
import sys
from pathlib import Path

import pytest

from hdbkit.servers import _guard

EXIT = {"x86_64": 60, "aarch64": 93}
"""The number of the system call that ends one thread."""
SERVER = """
import ctypes, os, pathlib, signal, sys, threading, time
folder, number = pathlib.Path(sys.argv[1]), int(sys.argv[2])
stopped = threading.Event()

def hold_on():
    stopped.wait()
    time.sleep(1)
    (folder / "released").touch()
    os._exit(0)

def stop(*_):
    stopped.set()
    ctypes.CDLL(None).syscall(number, 0)

threading.Thread(target=hold_on).start()
signal.signal(signal.SIGTERM, stop)
print("ready", flush=True)
while True:
    time.sleep(0.1)
"""
"""Its first thread ends when it is told to, another one a second later."""


@pytest.mark.skipif(platform.machine() not in EXIT, reason="the number of a system call is not known here")
def test_a_server_has_stopped_when_its_last_thread_has_ended(tmp_path: Path) -> None:
    note = {"pid_file": "pid", "binaries": str(Path(sys.executable).parent), "stop_signals": ["SIGTERM"]}
    words = [sys.executable, "-c", SERVER, f"{tmp_path}/", str(EXIT[platform.machine()])]
    with subprocess.Popen(words, stdout=subprocess.PIPE) as process:
        try:
            assert process.stdout is not None
            assert process.stdout.readline() == b"ready\n"
            (tmp_path / "pid").write_text(str(process.pid))
            assert _guard.end_server(str(tmp_path), note, patience_s=60)
            assert (tmp_path / "released").exists()
        finally:
            process.kill()
