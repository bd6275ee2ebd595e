"""A build beside its floor: ``psql \\copy`` of ready-made files and the same index statements, equally parallel.

Both sides make the same tables from the same text. hdbkit also makes the text, notes what it loaded, gathers
statistics and checks the whole; the two last steps have no counterpart in the floor and are told apart.
"""

from __future__ import annotations

import time
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path

import hdbkit
from bench.common import Command, blocks, postgres_environment, program, quick_or, scratch, server, tell, title
from hdbkit.build import Stage, build
from hdbkit.contracts import Session
from hdbkit.databases import database
from hdbkit.servers import PrivateServer, control
from hdbkit.sql import statements
from hdbkit.workloads import workload

SPEC = hdbkit.WorkloadSpec(warehouses=quick_or(2, 10))
CONNECTIONS = 2
BLOCKS = quick_or(2, 3)
WORK = workload(SPEC.kind)


class Stages:
    """Notes when each stage of a build began."""

    def __init__(self) -> None:
        self.began: dict[Stage, float] = {}

    def stage(self, stage: Stage) -> None:
        self.began[stage] = time.monotonic()

    def loaded(self, rows: int, total_rows: int, size_bytes: int) -> None:
        pass


def write_files(folder: Path) -> tuple[list[Path], float]:
    r"""A psql script of \copy commands for each part, with its files; and the population's MB/s of one core."""
    made, spent_s, scripts = 0, 0.0, []
    for part in WORK.parts(SPEC):
        lines = []
        for load in WORK.part(SPEC, part.key):
            path = folder / f"{part.key}.{load.table}"
            with path.open("wb") as file:
                began = time.process_time()
                for chunk in load.chunks:
                    spent_s += time.process_time() - began
                    made += file.write(chunk)
                    began = time.process_time()
            lines.append(f"\\copy {load.table} ({', '.join(load.columns)}) FROM '{path}'")
        script = folder / f"{part.key}.sql"
        script.write_text("BEGIN;\n" + "\n".join(lines) + "\nCOMMIT;\n", encoding="utf-8")
        scripts.append(script)
    return scripts, made / 1e6 / spent_s


def by_psql(own: PrivateServer, scripts: list[Path]) -> tuple[float, float]:
    """Seconds of tables, load and indexes; twice the same, since there is nothing else."""
    psql: Command = [own.place.binaries / "psql", "-q", "-X", "-v", "ON_ERROR_STOP=1"]
    environment = postgres_environment(own)
    control(own.target).maintain()
    session = database(own.target.kind).connect(own.target, SPEC.kind)
    began = time.monotonic()
    session.query("create_schema")
    for table in WORK.tables:
        session.query(f"create_{table}")
    with ThreadPoolExecutor(CONNECTIONS) as pool:
        list(pool.map(lambda path: program([*psql, "-f", path], environment), scripts))
        texts = [s.text for name, s in statements(own.target.kind, SPEC.kind).items() if name.startswith("index_")]
        list(pool.map(lambda text: program([*psql, "-c", text], environment), texts))
    took_s = time.monotonic() - began
    drop_tables(session)
    return took_s, took_s


def drop_tables(session: Session) -> None:
    """Leave the database as empty as it was."""
    for table in WORK.tables:
        session.query(f"drop_{table}")
    session.query("drop_schema")
    session.close()


def by_hdbkit(own: PrivateServer) -> tuple[float, float]:
    """Seconds of tables, load and indexes, and of the whole build."""
    control(own.target).maintain()
    stages = Stages()
    began = time.monotonic()
    result = build(own.target, SPEC, CONNECTIONS, stages)
    assert result.passed
    hdbkit.connect(own.target).drop()
    return stages.began[Stage.ROUTINES] - began, result.duration_s


def main() -> None:
    """Tell the ratio and how fast the text is made."""
    title(rf"build: {SPEC.warehouses} warehouses, {CONNECTIONS} connections, beside psql \copy and the same indexes")
    with scratch() as folder, server() as own:
        scripts, speed = write_files(folder)
        done = blocks({"hdbkit": partial(by_hdbkit, own), "psql": partial(by_psql, own, scripts)}, BLOCKS)
    ratios = [[one["hdbkit"][i] / one["psql"][i] for one in done] for i in (0, 1)]
    seconds = "; ".join(f"{one['hdbkit'][0]:.1f} and {one['psql'][0]:.1f}" for one in done)
    tell("tables, load, indexes / psql's", ratios[0], at_most=1.15, note=f"{seconds} s")
    whole = "; ".join(f"{one['hdbkit'][1]:.1f}" for one in done)
    tell("routines, statistics and checks too / psql's", ratios[1], note=f"{whole} s")
    tell("population, of one core", [speed], unit="MB/s", at_least=100)


if __name__ == "__main__":
    main()
