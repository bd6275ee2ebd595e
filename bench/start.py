"""The time until many clients are connected and prepared, the memory of each, and what is waited for before a run.

Modules are compiled first, as by an installation: with ``PYTHONDONTWRITEBYTECODE`` each start compiles them anew.
"""

from __future__ import annotations

import compileall
import os
import statistics
import subprocess
import sys
import time
from pathlib import Path

import hdbkit
from bench.common import blocks, pss_mib, quick_or, scratch, server, show, title
from hdbkit.execution.control import Control
from hdbkit.paths import results_folder
from hdbkit.results.catalog import find_run
from hdbkit.results.manifest import Status
from hdbkit.servers import PrivateServer

CLIENTS = 200
REPEATS = quick_or(1, 3)
FIRST_USES = quick_or(3, 11)


def start_run(own: PrivateServer) -> tuple[float, list[float]]:
    """Seconds from the call to the common start, and the proportional memory of each client in MiB."""
    load = hdbkit.Load(virtual_users=CLIENTS, rampup_s=4, duration_s=1, keying_and_thinking=True)
    began_ns = time.monotonic_ns()
    running = hdbkit.start(own.target, load=load)
    folder = find_run(results_folder(), running.run_id)
    while running.status is Status.STARTING:
        time.sleep(0.02)
    clock = folder.read().clock
    assert clock
    time.sleep(1.5)
    page = Control(folder.control)
    memory = [pss_mib(page.pid(client)) for client in range(CLIENTS)]
    page.close()
    running.wait()
    return (clock.start_monotonic_ns - began_ns) / 1e9, memory


def seconds_of(*words: str) -> float:
    """Seconds that a new interpreter takes for these arguments."""
    began_s = time.monotonic()
    subprocess.run([sys.executable, *words], stdout=subprocess.DEVNULL, check=True)
    return time.monotonic() - began_s


def seconds_to_first(target: str) -> float:
    """Seconds from the command ``hdbkit run`` to the common start of 4 users."""
    began_ns = time.monotonic_ns()
    options = ["-u", "4", "--rampup-s", "0", "--duration-s", "1"]
    command = [sys.executable, "-m", "hdbkit", "run", target, *options]
    subprocess.run(command, check=False, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    clock = find_run(results_folder(), "last").read().clock
    assert clock
    return (clock.start_monotonic_ns - began_ns) / 1e9


def first_uses() -> None:
    """Print how long the help, the first name and the first operation of a run are waited for."""
    title("first uses, in a new interpreter")
    for package in (Path(hdbkit.__file__).parent, *map(Path, sys.path)):
        if package.name in ("hdbkit", "site-packages"):
            compileall.compile_dir(package, quiet=2, workers=os.cpu_count() or 1)
    with scratch() as folder, server(1) as own:
        os.environ["XDG_CACHE_HOME"] = str(folder)
        null = hdbkit.DEFAULT.target("nulldb:///start")
        hdbkit.connect(null).build(warehouses=1)
        seconds_of("-m", "hdbkit", "run", "--help")  # it is derived once
        ways = {
            "hdbkit --help": lambda: seconds_of("-m", "hdbkit", "--help"),
            "hdbkit run --help": lambda: seconds_of("-m", "hdbkit", "run", "--help"),
            "hdbkit.Load": lambda: seconds_of("-c", "import hdbkit; hdbkit.Load"),
            "hdbkit.run": lambda: seconds_of("-c", "import hdbkit; hdbkit.run"),
            "hdbkit.runs": lambda: seconds_of("-c", "import hdbkit; hdbkit.runs"),
            "null engine": lambda: seconds_to_first("nulldb:///start"),
            "PostgreSQL": lambda: seconds_to_first(str(own.target.server_folder)),
        }
        done = blocks(ways, FIRST_USES)
    targets = {"hdbkit run --help": 0.4, "hdbkit.Load": 0.5, "hdbkit.run": 0.5, "hdbkit.runs": 0.5}
    targets |= {"null engine": 2, "PostgreSQL": 2}
    for name in ways:
        show(name, [block[name] for block in done], unit="s", at_most=targets.get(name))


def main() -> None:
    """Print all figures."""
    first_uses()
    title(f"start: {CLIENTS} clients on a private server")
    with scratch(), server(1) as own:
        done = [start_run(own) for _ in range(REPEATS)]
    show("from the call to the common start of all", [one[0] for one in done], unit="s", at_most=5)
    show("memory of a client (PSS), median", [statistics.median(one[1]) for one in done], unit="MiB", at_most=10)
    show("memory of a client (PSS), greatest", [max(one[1]) for one in done], unit="MiB", at_most=10)


if __name__ == "__main__":
    main()
