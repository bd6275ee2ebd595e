"""How a command ends: an interrupt ends it wherever it comes."""

from __future__ import annotations

import subprocess
import sys

import pytest

LOST = """
import os, signal, time
from hdbkit.cli.exits import guarded

class Closing:
    def __del__(self):  # Python reports what this raises, and drops it
        os.kill(os.getpid(), signal.{0})
        time.sleep(1)

def command():
    Closing()
    time.sleep(60)

signal.signal(signal.SIGINT, signal.default_int_handler)
raise SystemExit(guarded(command))
"""


@pytest.mark.parametrize(("name", "code"), [("SIGINT", 130), ("SIGTERM", 143)])
def test_an_interrupt_that_comes_where_python_drops_errors_ends_the_command(name: str, code: int) -> None:
    ended = subprocess.run([sys.executable, "-c", LOST.format(name)], capture_output=True, text=True, check=False)
    assert ended.returncode == code
    assert ended.stderr == "hdbkit: stopped; finished work is kept\n"
