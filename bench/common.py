"""Shared by all benchmarks: shuffled blocks, medians and spreads, and the line that reports a figure.

Absolute figures drift with the machine and the hour. So whatever is compared runs side by side in one block, a ratio
is made within its block, and what is told is the median over the blocks, with the least and the greatest as spread.
"""

from __future__ import annotations

import os
import random
import shutil
import statistics
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from operator import itemgetter
from pathlib import Path
from typing import IO, TYPE_CHECKING, TypeVar

import hdbkit
from hdbkit.execution import host
from hdbkit.results.run_result import RunResult
from hdbkit.servers import PrivateServer, private_server

if TYPE_CHECKING:
    from playwright.sync_api import Browser

QUICK = bool(os.environ.get("QUICK"))
"""``QUICK=1``: fewer and shorter blocks. The figures are then rough."""
T = TypeVar("T")


def quick_or(quick: T, full: T) -> T:
    """The first value in quick mode, else the second."""
    return quick if QUICK else full


def blocks(ways: Mapping[str, Callable[[], T]], count: int) -> list[dict[str, T]]:
    """Measure each variant once per block, in a random order for each block."""
    shuffler, done = random.Random(1), []
    for _ in range(count):
        names = list(ways)
        shuffler.shuffle(names)
        done.append({name: ways[name]() for name in names})
    return done


def show(
    what: str,
    values: Sequence[float],
    *,
    unit: str = "",
    at_least: float | None = None,
    at_most: float | None = None,
    note: str = "",
) -> None:
    """Print a figure: the median of its repeats, their spread, the target, and whether it is reached."""
    middle = statistics.median(values)
    spread = f"{min(values):.4g} .. {max(values):.4g}" if len(values) > 1 else ""
    goal, reached = "", ""
    if at_least is not None:
        goal, reached = f">= {at_least:g}", "reached" if middle >= at_least else "NOT REACHED"
    elif at_most is not None:
        goal, reached = f"<= {at_most:g}", "reached" if middle <= at_most else "NOT REACHED"
    print(f"{what:<58} {middle:>8.4g} {unit:<6} {spread:<19} {goal:<8} {reached:<12} {note}".rstrip(), flush=True)


def show_ratio(
    what: str,
    done: Sequence[Mapping[str, T]],
    sides: tuple[str, str],
    value: Callable[[T], float],
    *,
    unit: str = "",
    at_least: float | None = None,
    at_most: float | None = None,
) -> None:
    """Print the ratio of a value of two ways within each block, with the medians of both beside it."""
    first, second = ([value(one[side]) for one in done] for side in sides)
    middle = " and ".join(_rounded(statistics.median(of)) for of in (first, second))
    ratios = [one / other for one, other in zip(first, second, strict=True)]
    show(what, ratios, at_least=at_least, at_most=at_most, note=f"{middle} {unit}")


def _rounded(value: float) -> str:
    return f"{value:,.0f}" if value >= 100 else f"{value:.3g}"


def title(text: str) -> None:
    """Print a title for the lines below it."""
    print(f"\n{text}", flush=True)


def machine() -> str:
    """This host in one line."""
    facts = host.this_host_facts()
    return (
        f"{facts['processor']}, {facts['cores']} cores, {facts['memory_bytes'] / 2**30:.0f} GiB, "
        f"{facts['system']}, load {facts['load_1min_at_start']} at the start"
    )


@dataclass(frozen=True)
class Ended:
    """A finished program: output and errors, wall time, CPU time (with child processes), maximum memory."""

    out: str
    err: str
    wall_s: float
    cpu_s: float
    peak_bytes: int


Command = Sequence[str | Path]


def program(command: Command, environment: Mapping[str, str] | None = None) -> Ended:
    """Run a program to its end. Raises ``RuntimeError`` with its last output if it fails."""
    with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err:
        began = time.monotonic()
        process = subprocess.Popen(
            [str(word) for word in command], stdout=out, stderr=err, env={**os.environ, **(environment or {})}
        )
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
        wall_s = time.monotonic() - began
        said, complained = text_of(out), text_of(err)
    if process.returncode:
        raise RuntimeError(f"{Path(command[0]).name} ended with {process.returncode}: {complained.strip()[-500:]}")
    return Ended(said, complained, wall_s, usage.ru_utime + usage.ru_stime, usage.ru_maxrss * 1024)


def text_of(file: IO[bytes]) -> str:
    """The whole content of an open file."""
    file.seek(0)
    return file.read().decode(errors="replace")


def timed(work: Callable[[], object]) -> float:
    """The duration of a call in seconds."""
    began = time.monotonic()
    work()
    return time.monotonic() - began


def pss_mib(pid: int) -> float:
    """The memory of a process, with its share of common pages."""
    text = Path(f"/proc/{pid}/smaps_rollup").read_text(encoding="utf-8")
    return next(int(line.split()[1]) / 1024 for line in text.splitlines() if line.startswith("Pss:"))


@contextmanager
def chromium() -> Iterator[Browser]:
    """A headless browser."""
    from playwright.sync_api import sync_playwright

    path = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=path, args=["--no-sandbox", "--disable-gpu"])
        yield browser
        browser.close()


@contextmanager
def scratch() -> Iterator[Path]:
    """A temporary folder for everything that a benchmark writes, including its runs."""
    with tempfile.TemporaryDirectory(prefix="hdbkit-bench-", dir="/var/tmp") as folder:
        os.environ["HDBKIT_RESULTS"] = str(Path(folder) / "results")
        yield Path(folder)


SETTINGS = {
    "postgresql": {
        "shared_buffers": "1GB",
        "synchronous_commit": "off",
        "max_wal_size": "8GB",
        "autovacuum": "off",
        "max_connections": "300",
    },
    "mariadb": {
        "innodb_buffer_pool_size": "2G",
        "innodb_flush_log_at_trx_commit": "2",
        "innodb_log_file_size": "2G",
        "max_connections": "300",
    },
    "mysql": {
        "innodb_buffer_pool_size": "2G",
        "innodb_flush_log_at_trx_commit": "2",
        "innodb_redo_log_capacity": "2G",
        "max_connections": "300",
    },
    "redis": {"appendonly": "yes", "appendfsync": "everysec"},
}
"""The settings of the benchmarks' servers: all data in memory and no waits for a disk, so that clients dominate."""


@contextmanager
def server(
    warehouses: int = 0, kind: str = "postgresql", more: Mapping[str, str] | None = None
) -> Iterator[PrivateServer]:
    """A private server with the settings of its kind and ``more``, and a schema of this number of warehouses."""
    settings = SETTINGS[kind] | dict(more or {})
    with private_server(kind, settings=settings) as own:
        print(f"private {hdbkit.connect(own.target).version}: {settings}", flush=True)
        if warehouses:
            hdbkit.connect(own.target).build(warehouses=warehouses)
        yield own


def postgres_environment(own: PrivateServer, schema: str = "tproc_c") -> dict[str, str]:
    """The environment with which a libpq program connects to a schema of a private server as hdbkit's clients do."""
    target = own.target
    return {
        "PGHOST": target.host or "",
        "PGPORT": str(target.port),
        "PGUSER": target.user or "",
        "PGDATABASE": target.database or "",
        "PGPASSFILE": str(target.password_file),
        "PGOPTIONS": f"-c search_path={schema}",
    }


Figures = tuple[float, float]
"""Operations per second, and client CPU in microseconds per operation."""


def figures(result: RunResult) -> Figures:
    """Those of a run."""
    return result.operations_per_s or 0.0, result.client_cpu_us_per_operation or 0.0


def pgbench(own: PrivateServer, schema: str, *words: str | Path) -> Ended:
    """A run of pgbench on a schema of a private server."""
    return program([own.place.binaries / "pgbench", "--no-vacuum", *words], postgres_environment(own, schema))


def show_figures(
    what: str,
    done: Sequence[Mapping[str, Figures]],
    sides: tuple[str, str],
    *,
    rate: float | None = None,
    cpu: float | None = None,
) -> None:
    """Print the ratios of both figures, with the minimum of that of rates and the maximum of that of CPU times."""
    show_ratio(f"{what}: throughput / {sides[1]}", done, sides, itemgetter(0), unit="/s", at_least=rate)
    show_ratio(f"{what}: client CPU / {sides[1]}", done, sides, itemgetter(1), unit="us", at_most=cpu)
