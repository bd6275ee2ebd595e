"""User-defined workloads compared with pgbench: the two examples of ``params/workloads`` as pgbench scripts.

The same statements on the same tables with the same kinds of random numbers. pgbench runs with prepared statements,
as hdbkit does, and with the protocol that is its default (``simple``: each statement is parsed and planned anew). It
sends one statement per round trip; hdbkit is measured so (``round_trips: each``) and as it is by default (``one``).
pgbench has no random text, so its updates write a constant of the same length.
"""

from __future__ import annotations

import statistics
from functools import partial
from pathlib import Path

import hdbkit
from bench.client import RAMPUP_S, THREADS, WINDOW_S, operations_of, seconds_of
from bench.common import blocks, postgres_environment, program, quick_or, scratch, server, show, title
from hdbkit.config.specs.custom import CustomSpec
from hdbkit.config.specs.definition import RoundTrips
from hdbkit.paths import data_folder
from hdbkit.servers import PrivateServer, control
from hdbkit.workloads import specification

CLIENTS = 4
BLOCKS = quick_or(2, 8)
SCALE, ROWS = 20, 100_000
CONTENT = "x" * 100
TRANSFER = """\
\\set aid random(1, 100000 * {scale})
\\set tid random(1, 10 * {scale})
\\set bid random(1, {scale})
\\set delta random(-5000, 5000)
BEGIN;
UPDATE pgbench_accounts SET abalance = abalance + :delta WHERE aid = :aid;
SELECT abalance FROM pgbench_accounts WHERE aid = :aid;
UPDATE pgbench_tellers SET tbalance = tbalance + :delta WHERE tid = :tid;
UPDATE pgbench_branches SET bbalance = bbalance + :delta WHERE bid = :bid;
INSERT INTO pgbench_history (tid, bid, aid, delta, mtime) VALUES (:tid, :bid, :aid, :delta, CURRENT_TIMESTAMP);
COMMIT;
"""
DRAW_ID = "\\set rank random_zipfian(1, {rows}, 1.01)\n\\set id permute(:rank - 1, {rows}) + 1\n"
READ = DRAW_ID + "SELECT content FROM entries WHERE id = :id;\n"
UPDATE = DRAW_ID + "UPDATE entries SET content = :content WHERE id = :id;\n"

Figures = tuple[float, float]
"""Operations per second, and client CPU in microseconds per operation."""


def by_pgbench(own: PrivateServer, schema: str, files: list[str], protocol: str) -> Figures:
    """Run pgbench with these scripts; the simple protocol inserts a variable's value as it is, so it needs quotes."""
    content = CONTENT if protocol == "prepared" else f"'{CONTENT}'"
    ended = program(
        [
            *(own.place.binaries / "pgbench", "--no-vacuum", f"--protocol={protocol}", "--progress=1"),
            *(
                f"--client={CLIENTS}",
                f"--jobs={THREADS}",
                f"--time={RAMPUP_S + WINDOW_S}",
                f"--define=content={content}",
            ),
            *files,
        ],
        {**postgres_environment(own), "PGOPTIONS": f"-c search_path={schema}"},
    )
    return statistics.mean(seconds_of(ended)[RAMPUP_S:]), ended.cpu_s * 1e6 / operations_of(ended)


def by_protocol(own: PrivateServer, schema: str, files: list[str]) -> dict[str, partial[Figures]]:
    """pgbench with prepared statements, and as it is by default."""
    return {f"pgbench {one}": partial(by_pgbench, own, schema, files, one) for one in ("prepared", "simple")}


def by_hdbkit(own: PrivateServer, spec: CustomSpec) -> Figures:
    """Run the workload."""
    load = hdbkit.Load(virtual_users=CLIENTS, rampup_s=RAMPUP_S, duration_s=WINDOW_S)
    found = hdbkit.run(own.target, spec, load).summary
    return found.operations_per_s or 0.0, found.client_cpu_us_per_operation or 0.0


def example(name: str, **parameters: int) -> CustomSpec:
    """An example of ``params/workloads``."""
    spec = specification(data_folder("params") / "workloads" / name, parameters=parameters)
    assert isinstance(spec, CustomSpec)
    return spec


def with_round_trips(spec: CustomSpec, how: RoundTrips) -> CustomSpec:
    """The same workload with another way to send its statements."""
    return spec.model_copy(update={"definition": spec.definition.model_copy(update={"round_trips": how})})


def tell_beside(own: PrivateServer, name: str, ways: dict[str, partial[Figures]]) -> None:
    """Compare each of hdbkit's ways with each protocol of pgbench."""
    control(own.target).restore_data()
    done = blocks(ways, BLOCKS)
    for peer in [one for one in ways if one.startswith("pgbench")]:
        for way in [one for one in ways if not one.startswith("pgbench")]:
            rates, cpu = ([one[way][i] / one[peer][i] for one in done] for i in (0, 1))
            of, us = (
                " and ".join(f"{statistics.median(one[who][i] for one in done):,.0f}" for who in (way, peer))
                for i in (0, 1)
            )
            at_least = 0.95 if peer == "pgbench prepared" else None
            show(f"{name}, {way}: throughput / {peer}", rates, at_least=at_least, note=f"{of} /s")
            show(f"{name}, {way}: client CPU / {peer}", cpu, note=f"{us} us")


def main() -> None:
    """Print the ratios of both examples."""
    title(f"custom: user-defined workloads, hdbkit beside pgbench, {CLIENTS} clients")
    transfers, entries = example("tpcb-like", scale=SCALE), example("key-value", rows=ROWS)
    with scratch() as folder, server() as own:
        for spec in (transfers, entries):
            hdbkit.connect(own.target).build(spec)
        control(own.target).keep_data()
        scripts = {"transfer": TRANSFER, "read": READ, "update": UPDATE}
        for name, text in scripts.items():
            Path(folder / name).write_text(text.format(scale=SCALE, rows=ROWS), encoding="utf-8")
        ways = {
            **{f"round_trips {how}": partial(by_hdbkit, own, with_round_trips(transfers, how)) for how in RoundTrips},
            **by_protocol(own, "tpcb_like", ["-f", str(folder / "transfer")]),
        }
        tell_beside(own, "TPC-B-like", ways)
        mix = ["-f", f"{folder / 'read'}@95", "-f", f"{folder / 'update'}@5"]
        ways = {
            "as it is": partial(by_hdbkit, own, entries),
            **by_protocol(own, "key_value", mix),
        }
        tell_beside(own, "key-value", ways)


if __name__ == "__main__":
    main()
