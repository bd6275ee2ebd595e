"""The cost of recording every operation: CPU time in the loop, bytes on disk, and the time to read them.

The operations are those of the null engine, without a server. The many of the last figure are drawn like its seeded
latencies, written to spools, and go through the same writer as those of a run.
"""

from __future__ import annotations

import sys
import time
from array import array
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from bench.common import blocks, program, quick_or, scratch, show, title
from hdbkit.analysis.run.quantiles import by_second
from hdbkit.analysis.run.records import Window
from hdbkit.config import Load, Target, TprocCSpec
from hdbkit.contracts import Prepared, User, UserPlan
from hdbkit.databases import database
from hdbkit.execution.failures import ErrorCounts, Failures
from hdbkit.execution.user import Loop
from hdbkit.results.folder import RunFolder
from hdbkit.results.host_clock import HostClock
from hdbkit.results.spool import HEADER_BYTES, VALID, SpoolWriter, arrow_types, record_type, spool_path
from hdbkit.results.writer import write_operations
from hdbkit.workloads import workload

CALLS = quick_or(50_000, 300_000)
BLOCKS = quick_or(3, 7)
USERS, ROWS_OF_USER, PARTS = 8, quick_or(125_000, 1_250_000), 10
GAP_NS, MEDIAN_NS, SPREAD = 10_000, 350_000, 0.5
WORK = workload(TprocCSpec())


class Nowhere(SpoolWriter):
    """A spool that discards records."""

    def __init__(self) -> None:
        pass

    def append(self, *_: object) -> None:
        pass

    def close(self) -> None:
        pass


class Some:
    """A virtual user that ends after a number of operations."""

    def __init__(self, user: User, calls: int) -> None:
        self._user, self._left = user, calls

    def next_batch(self) -> Sequence[Prepared]:
        batch = self._user.next_batch()[: self._left]
        self._left -= len(batch)
        return batch

    def head(self, prepared: Prepared, raw: object) -> bytes:
        return prepared.head


def loop_us(spool: SpoolWriter, folder: Path) -> float:
    """CPU time per operation of the measured loop on the null engine with no latency."""
    load, engine = Load(), database("nulldb")
    session = engine.connect(Target(kind="nulldb", database="bench"), WORK.scope(engine.dialects))
    user = Some(WORK.user(session, load, UserPlan(0, 1)), CALLS)
    fields = memoryview(array("q", [2**62] * 16))
    failures = Failures(ErrorCounts(folder, 0, WORK.operations), load, fields)
    began = time.process_time()
    Loop(spool, fields, failures, pause=lambda _: None).run(user)
    took_s = time.process_time() - began
    spool.close()
    session.close()
    return took_s * 1e6 / CALLS


def recorded_us(folder: Path) -> float:
    """CPU time per operation with a real spool."""
    path = spool_path(folder, 0)
    path.unlink(missing_ok=True)
    return loop_us(SpoolWriter(path, 0, WORK.details), folder)


def fill_spools(folder: Path) -> None:
    """The spools of some users, each a closed loop of operations with seeded latencies."""
    for user in range(USERS):
        draw = np.random.default_rng(user)
        records = np.zeros(ROWS_OF_USER, record_type(WORK.details))
        latency = (MEDIAN_NS * np.exp(draw.normal(0, SPREAD, ROWS_OF_USER))).astype(np.int64)
        end = np.cumsum(latency + GAP_NS)
        records["end_ns"], records["start_ns"], records["scheduled_ns"] = end, end - latency, end - latency
        records["w_id"], records["d_id"] = user + 1, draw.integers(1, 11, ROWS_OF_USER)
        records["virtual_user"] = user
        records["operation"] = draw.choice(5, ROWS_OF_USER, p=[0.45, 0.43, 0.04, 0.04, 0.04])
        records["outcome"] = (records["operation"] == 0) & (draw.random(ROWS_OF_USER) < 0.01)
        records["valid"] = VALID
        path = spool_path(folder, user)
        SpoolWriter(path, user, WORK.details).close()
        with path.open("r+b") as file:
            file.seek(HEADER_BYTES)
            file.write(records.tobytes())


def write_run(folder: Path) -> tuple[RunFolder, float]:
    """A run of ten times the spools in sequence; return its folder and length in seconds."""
    run, spools = RunFolder(folder / "run"), folder / "many"
    run.path.mkdir()
    spools.mkdir()
    fill_spools(spools)
    span_ns = round(ROWS_OF_USER * (MEDIAN_NS * np.exp(SPREAD**2 / 2) + GAP_NS) * 1.01)
    for part in range(PARTS):
        start_ns, details = -part * span_ns, arrow_types(WORK.details)
        write_operations([(spools, HostClock())], run.operations, start_ns, len(WORK.operations), details)
        (run.operations / "part-0.parquet").rename(run.operations / f"part-{part + 1}.parquet")
    return run, PARTS * span_ns / 1e9


def read(path: Path, seconds: float) -> None:
    """Read all quantiles by second and operation; print time and maximum memory. Runs in a separate process."""
    began = time.monotonic()
    frame = by_second(RunFolder(path), Window(0, int(seconds) * 1_000_000))
    took_s = time.monotonic() - began
    status = Path("/proc/self/status").read_text(encoding="utf-8")
    peak_kb = next(int(line.split()[1]) for line in status.splitlines() if line.startswith("VmHWM"))
    print(took_s, peak_kb / 2**20, int(frame["n"].sum()))


def main() -> None:
    """Print the cost of recording and the speed of reading."""
    title("recording: every operation is kept (null engine, no latency)")
    with scratch() as folder:
        ways = {"kept": lambda: recorded_us(folder), "dropped": lambda: loop_us(Nowhere(), folder)}
        done = blocks(ways, BLOCKS)
        costs = [one["kept"] - one["dropped"] for one in done]
        show("recording an operation, CPU", costs, unit="us", at_most=1)
        run, seconds = write_run(folder)
        rows = USERS * ROWS_OF_USER * PARTS
        size = sum(path.stat().st_size for path in run.operations.iterdir())
        show("bytes on disk per operation", [size / rows], at_most=6, note=f"{rows:,} rows, {size / 1e6:,.0f} MB")
        command = [sys.executable, "-m", "bench.recording", str(run.path), str(seconds)]
        answers = [[float(word) for word in program(command).out.split()] for _ in range(quick_or(1, 2))]
        read_rows = f"{answers[0][2]:,.0f} rows in {int(seconds):,} seconds"
        show("p50, p95, p99 by second and operation", [a[0] for a in answers], unit="s", at_most=10, note=read_rows)
        show("the same: greatest memory", [a[1] for a in answers], unit="GiB", at_most=2e9 / 2**30)


if __name__ == "__main__":
    if len(sys.argv) == 3:
        read(Path(sys.argv[1]), float(sys.argv[2]))
    else:
        main()
