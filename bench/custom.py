"""User-defined workloads compared with pgbench: the two examples of ``params/workloads`` as pgbench scripts.

The same statements on the same tables with the same kinds of random numbers. pgbench runs with prepared statements,
as hdbkit does, and with the protocol that is its default (``simple``: each statement is parsed and planned anew). It
sends one statement per round trip; hdbkit is measured so (``round_trips: each``) and as it is by default (``one``).
pgbench has no random text, so its updates write a constant of the same length.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from pathlib import Path

import hdbkit
from bench.client import RAMPUP_S, THREADS, WINDOW_S, by_pgbench
from bench.common import Figures, blocks, figures, quick_or, scratch, server, show_figures, title
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


@dataclass(frozen=True)
class Example:
    """A workload of ``params/workloads``, its schema, its mix for pgbench, and the ratio that is wanted."""

    name: str
    spec: CustomSpec
    schema: str
    files: tuple[str, ...]
    at_least: float


def examples(folder: Path) -> tuple[Example, Example]:
    """Both examples, with scripts in a folder."""
    for name, text in {"transfer": TRANSFER, "read": READ, "update": UPDATE}.items():
        (folder / name).write_text(text.format(scale=SCALE, rows=ROWS), encoding="utf-8")
    mix = ("-f", f"{folder / 'read'}@95", "-f", f"{folder / 'update'}@5")
    return (
        Example("key-value", _spec("key-value", rows=ROWS), "key_value", mix, 0.9),
        Example("TPC-B-like", _spec("tpcb-like", scale=SCALE), "tpcb_like", ("-f", str(folder / "transfer")), 0.95),
    )


def _spec(name: str, **parameters: int) -> CustomSpec:
    spec = specification(data_folder("params") / "workloads" / name, parameters=parameters)
    assert isinstance(spec, CustomSpec)
    return spec


def in_protocol(own: PrivateServer, one: Example, protocol: str) -> Figures:
    """Those of pgbench; the simple protocol inserts a variable's value as it is, so it needs quotes."""
    content = CONTENT if protocol == "prepared" else f"'{CONTENT}'"
    words = (f"--protocol={protocol}", f"--define=content={content}", *one.files)
    return by_pgbench(own, one.schema, CLIENTS, THREADS, *words)


def by_hdbkit(own: PrivateServer, spec: CustomSpec, how: RoundTrips) -> Figures:
    """Those of a run with this way to send its statements."""
    sent = spec.model_copy(update={"definition": spec.definition.model_copy(update={"round_trips": how})})
    load = hdbkit.Load(virtual_users=CLIENTS, rampup_s=RAMPUP_S, duration_s=WINDOW_S)
    return figures(hdbkit.run(own.target, sent, load).summary)


def tell_beside(own: PrivateServer, one: Example) -> None:
    """Compare each of hdbkit's ways with each protocol of pgbench; one statement is one round trip in any case."""
    control(own.target).restore_data()
    sent = RoundTrips if one.schema == "tpcb_like" else (RoundTrips.ONE,)
    ours = {f"round_trips {how}": partial(by_hdbkit, own, one.spec, how) for how in sent}
    peers = {f"pgbench {each}": partial(in_protocol, own, one, each) for each in ("prepared", "simple")}
    done = blocks({**ours, **peers}, BLOCKS)
    for peer in peers:
        for way in ours:
            rate = one.at_least if peer == "pgbench prepared" else None
            show_figures(f"{one.name}, {way}", done, (way, peer), rate=rate)


def main() -> None:
    """Print the ratios of both examples."""
    title(f"custom: user-defined workloads, hdbkit beside pgbench, {CLIENTS} clients")
    with scratch() as folder, server() as own:
        both = examples(folder)
        for one in both:
            hdbkit.connect(own.target).build(one.spec)
        control(own.target).keep_data()
        for one in both:
            tell_beside(own, one)


if __name__ == "__main__":
    main()
