"""Sessions talk with a process of their own account alone, since what it answers could execute code."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

from hdbkit.databases.clickhouse import connected_clickhouse
from hdbkit.errors import CannotConnect

LISTENS = """
import os, socket, sys
os.setuid(65534)
with socket.socket(socket.AF_UNIX) as listener:
    listener.bind("\\0" + sys.argv[1])
    listener.listen()
    print(flush=True)
    sys.stdin.read()
"""


@pytest.mark.skipif(os.getuid() != 0, reason="only root may start a process of another account")
def test_an_address_that_another_account_has_taken_is_refused() -> None:
    name = f"hdbkit-test-{os.getpid()}"
    taken = subprocess.Popen([sys.executable, "-S", "-c", LISTENS, name], stdin=-1, stdout=-1)
    with taken:
        assert taken.stdout
        taken.stdout.readline()
        with pytest.raises(CannotConnect, match="another account has taken its address"):
            connected_clickhouse(name, "clickhouse:///data")
        taken.kill()
