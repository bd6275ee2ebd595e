"""A build compared with its lower bound: the engine's own client, equally parallel, with prepared files and indexes.

Both sides make the same tables from the same text. hdbkit also makes the text, notes what it loaded, gathers
statistics and checks the whole; the two last steps have no counterpart in the floor and are told apart.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

import hdbkit
from bench.common import (
    Command,
    blocks,
    postgres_environment,
    program,
    quick_or,
    scratch,
    server,
    show,
    title,
)
from hdbkit.build import Stage, build
from hdbkit.contracts import TableLoad
from hdbkit.databases import database
from hdbkit.servers import PrivateServer, control
from hdbkit.workloads import workload
from hdbkit.workloads.tproc_c.spec import TprocCSpec

SPEC = TprocCSpec(warehouses=quick_or(2, 10))
CONNECTIONS = 2
BLOCKS = quick_or(2, 3)
WORK = workload(SPEC)


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


def write_files(folder: Path, tool: Tool) -> tuple[list[Path], float]:
    """Write the files of each part and a script that loads them; return the MB/s of the population on one core."""
    made, spent_s, scripts = 0, 0.0, []
    for part in WORK.parts():
        lines = []
        for load in WORK.part(part.key):
            assert isinstance(load, TableLoad)
            path = folder / f"{part.key}.{load.table.name}"
            with path.open("wb") as file:
                began = time.process_time()
                for chunk in load.chunks:
                    spent_s += time.process_time() - began
                    made += file.write(chunk)
                    began = time.process_time()
            lines.append(tool.load.format(table=load.table.name, columns=", ".join(load.table.columns), path=path))
        script = folder / f"{part.key}.sql"
        script.write_text("BEGIN;\n" + "\n".join(lines) + "\nCOMMIT;\n", encoding="utf-8")
        scripts.append(script)
    return scripts, made / 1e6 / spent_s


def by_tool(own: PrivateServer, tool: Tool, scripts: list[Path]) -> tuple[float, float]:
    """Seconds of tables, load and indexes, and of the whole, which is the same here."""
    control(own.target).maintain()
    engine = database(own.target)
    schema = engine.schema(own.target, WORK)
    began = time.monotonic()
    schema.create(WORK.record)
    named = WORK.scope(engine.dialects).statements
    texts = [named[name].text for name in schema.after_load()]
    with ThreadPoolExecutor(CONNECTIONS) as pool:
        list(pool.map(lambda path: program(tool.script(path), tool.environment), scripts))
        list(pool.map(lambda text: program(tool.text(text), tool.environment), texts))
    took_s = time.monotonic() - began
    schema.drop()
    schema.close()
    return took_s, took_s


def by_hdbkit(own: PrivateServer) -> tuple[float, float]:
    """Seconds of tables, load and indexes, and of the whole build."""
    control(own.target).maintain()
    stages = Stages()
    began = time.monotonic()
    result = build(own.target, SPEC, CONNECTIONS, stages)
    assert result.passed
    hdbkit.connect(own.target).drop()
    return stages.began[Stage.ROUTINES] - began, result.duration_s


def compare(own: PrivateServer, tool: Tool, folder: Path, at_most: float) -> None:
    """Print the ratio and the speed of text generation."""
    scripts, speed = write_files(folder, tool)
    done = blocks({"hdbkit": partial(by_hdbkit, own), "tool": partial(by_tool, own, tool, scripts)}, BLOCKS)
    ratios = [[one["hdbkit"][i] / one["tool"][i] for one in done] for i in (0, 1)]
    seconds = "; ".join(f"{one['hdbkit'][0]:.1f} and {one['tool'][0]:.1f}" for one in done)
    show(f"tables, load, indexes / {tool.name}'s", ratios[0], at_most=at_most, note=f"{seconds} s")
    whole = "; ".join(f"{one['hdbkit'][1]:.1f}" for one in done)
    show(f"routines, statistics and checks too / {tool.name}'s", ratios[1], note=f"{whole} s")
    show("population, of one core", [speed], unit="MB/s", at_least=100)


def psql(own: PrivateServer) -> Tool:
    r"""The client program of PostgreSQL, which loads with \copy."""
    words: Command = [own.place.binaries / "psql", "-q", "-X", "-v", "ON_ERROR_STOP=1"]
    return Tool(
        "psql",
        r"\copy {table} ({columns}) FROM '{path}'",
        lambda path: [*words, "-f", path],
        lambda text: [*words, "-c", text],
        postgres_environment(own),
    )


def main() -> None:
    """Compare on PostgreSQL."""
    title(rf"build: {SPEC.warehouses} warehouses, {CONNECTIONS} connections, beside psql \copy and the same indexes")
    with scratch() as folder, server() as own:
        compare(own, psql(own), folder, at_most=1.15)


if __name__ == "__main__":
    main()
