"""A build compared with its lower bound: the engine's own client, equally parallel, with prepared files and indexes.

Both sides make the same tables from the same text. hdbkit also makes the text, notes what it loaded, gathers
statistics and checks the whole; the two last steps have no counterpart in the floor and are told apart.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from functools import partial
from operator import itemgetter
from pathlib import Path

from bench.common import (
    Command,
    blocks,
    postgres_environment,
    program,
    quick_or,
    scratch,
    server,
    show,
    show_ratio,
    title,
)
from hdbkit.config import WorkloadSpec
from hdbkit.config.specs.tproc_c import TprocCSpec
from hdbkit.contracts import Table, TableLoad
from hdbkit.databases import database
from hdbkit.loading import Stage, build, drop
from hdbkit.servers import PrivateServer, control
from hdbkit.workloads import workload

SPEC = TprocCSpec(warehouses=quick_or(2, 10))
CONNECTIONS = 2
BLOCKS = quick_or(2, 3)


@dataclass(frozen=True)
class Tool:
    """The client program of an engine."""

    name: str
    load: str
    """The command that loads the file ``{path}`` into the columns ``{columns}`` of ``{table}``."""
    script: Callable[[Path], Command]
    """The command line that runs a script."""
    text: Callable[[str], Command]
    """The command line that runs a text."""
    environment: Mapping[str, str] = field(default_factory=dict)


class Stages:
    """Records when each stage of a build began."""

    def __init__(self) -> None:
        self.began: dict[Stage, float] = {}

    def stage(self, stage: Stage) -> None:
        self.began[stage] = time.monotonic()

    def checking(self, what: str) -> None:
        pass

    def loaded(self, rows: int, total_rows: int, size_bytes: int) -> None:
        pass


@dataclass(frozen=True)
class Files:
    """The text of a population: by part, each file with its table; and the MB/s with which one core made it."""

    spec: WorkloadSpec
    parts: dict[str, list[tuple[Table, Path]]]
    speed_mb_per_s: float

    @classmethod
    def written(cls, spec: WorkloadSpec, folder: Path) -> Files:
        """Write the text to ``folder``. The CPU time that it takes includes that of programs, not that of writing."""
        parts: dict[str, list[tuple[Table, Path]]] = {}
        work, size_bytes, writing_s = workload(spec), 0, 0.0
        began_s = cpu_s()
        for part in work.parts():
            files = parts.setdefault(part.key, [])
            for load in work.part(part.key):
                assert isinstance(load, TableLoad)
                path = folder / f"{part.key}.{len(files)}.{load.table.name}"
                with path.open("wb") as file:
                    for chunk in load.chunks:
                        write_began_s = time.process_time()
                        size_bytes += file.write(chunk)
                        writing_s += time.process_time() - write_began_s
                files.append((load.table, path))
        return cls(spec, parts, size_bytes / 1e6 / (cpu_s() - began_s - writing_s))

    def scripts(self, tool: Tool) -> list[Path]:
        """Write a script for each part, which loads it in one transaction."""
        scripts = []
        for key, files in self.parts.items():
            lines = [
                tool.load.format(table=table.name, columns=", ".join(table.columns), path=path)
                for table, path in files
            ]
            scripts.append(files[0][1].with_name(f"{key}.sql"))
            scripts[-1].write_text("\n".join(["BEGIN;", *lines, "COMMIT;", ""]), encoding="utf-8")
        return scripts


def cpu_s() -> float:
    """CPU time of this process and of the programs that it has run."""
    return sum(os.times()[:4])


def by_tool(own: PrivateServer, tool: Tool, spec: WorkloadSpec, scripts: list[Path]) -> tuple[float, float]:
    """Seconds of tables, load and indexes, and of the whole, which is the same here."""
    control(own.target).maintain()
    engine, work = database(own.target), workload(spec)
    schema = engine.schema(own.target, work)
    began = time.monotonic()
    schema.create(work.record)
    named = work.scope(engine.dialects).statements
    texts = [named[name].text for name in schema.after_load()]
    with ThreadPoolExecutor(CONNECTIONS) as pool:
        list(pool.map(lambda path: program(tool.script(path), tool.environment), scripts))
        list(pool.map(lambda text: program(tool.text(text), tool.environment), texts))
    took_s = time.monotonic() - began
    schema.drop()
    schema.close()
    return took_s, took_s


def by_hdbkit(own: PrivateServer, spec: WorkloadSpec) -> tuple[float, float]:
    """Seconds of tables, load and indexes, and of the whole build."""
    control(own.target).maintain()
    stages = Stages()
    began = time.monotonic()
    result = build(own.target, spec, CONNECTIONS, stages)
    assert result.passed
    drop(own.target, spec)
    return stages.began[Stage.ROUTINES] - began, result.duration_s


def compare(own: PrivateServer, tool: Tool, files: Files, at_most: float) -> None:
    """Print the ratios of the times of a build."""
    spec, scripts = files.spec, files.scripts(tool)
    done = blocks(
        {"hdbkit": partial(by_hdbkit, own, spec), "tool": partial(by_tool, own, tool, spec, scripts)}, BLOCKS
    )
    sides = ("hdbkit", "tool")
    show_ratio(f"tables, load, indexes / {tool.name}'s", done, sides, itemgetter(0), unit="s", at_most=at_most)
    show_ratio(f"routines, statistics and checks too / {tool.name}'s", done, sides, itemgetter(1), unit="s")


def show_speed(files: Files) -> None:
    """Print the speed with which the text was made."""
    show("population, of one core", [files.speed_mb_per_s], unit="MB/s", at_least=100)


def psql(own: PrivateServer, schema: str) -> Tool:
    r"""The client program of PostgreSQL, which loads with \copy."""
    words: Command = [own.place.binaries / "psql", "-q", "-X", "-v", "ON_ERROR_STOP=1"]
    return Tool(
        "psql",
        r"\copy {table} ({columns}) FROM '{path}'",
        lambda path: [*words, "-f", path],
        lambda text: [*words, "-c", text],
        postgres_environment(own, schema),
    )


def main() -> None:
    """Compare on PostgreSQL."""
    title(rf"build: {SPEC.warehouses} warehouses, {CONNECTIONS} connections, beside psql \copy and the same indexes")
    with scratch() as folder, server() as own:
        files = Files.written(SPEC, folder)
        compare(own, psql(own, "tproc_c"), files, at_most=1.15)
        show_speed(files)


if __name__ == "__main__":
    main()
