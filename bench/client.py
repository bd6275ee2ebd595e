"""hdbkit's clients compared with pgbench's, which are in C: same routines, kinds of inputs, data and time.

Each client keeps to a warehouse of its own. pgbench has no text and no arrays, so last names and arrays are
expressions over its random numbers, and no new order is rolled back, since it ends a client at an error.
Data are restored for each number of clients; within it both grow them in turn.
"""

from __future__ import annotations

import re
import statistics
from functools import partial
from pathlib import Path

import hdbkit
from bench.common import Ended, Figures, blocks, figures, pgbench, quick_or, scratch, server, show_figures, title
from hdbkit.config.specs.tproc_c import InputRules
from hdbkit.servers import PrivateServer, control

WAREHOUSES = 8
CLIENTS = quick_or((4,), (1, 2, 4, 8))
BLOCKS = quick_or(2, 8)
RAMPUP_S, WINDOW_S = 1, quick_or(3, 5)
SATURATED = 4
"""From this number of clients on, two cores are fully busy."""
THREADS = 2
"""The threads of pgbench; with more clients it is also measured with one thread per client."""

W_ID = r"\set w_id :client_id + 1"
D_ID = r"\set d_id random(1, 10)"
C_ID = r"\set c_id random(1, 3000)"
NAME_PARTS = "BAR,OUGHT,ABLE,PRI,PRES,ESE,ANTI,CALLY,ATION,EING"


def new_order(lines: int) -> str:
    """A script that orders this number of lines, one in a hundred of them from another warehouse."""
    sets, arrays = [W_ID, D_ID, C_ID], []
    for name, drawn in (
        ("i", "random(1, 100000)"),
        ("s", f"case when random(1, 100) > 1 then :w_id else random(1, {WAREHOUSES}) end"),
        ("q", "random(1, 10)"),
    ):
        sets += [rf"\set {name}{line} {drawn}" for line in range(lines)]
        arrays.append(f"ARRAY[{', '.join(f':{name}{line}' for line in range(lines))}]::integer[]")
    return "\n".join([*sets, f"SELECT * FROM new_order(:w_id, :d_id, :c_id, {', '.join(arrays)});"])


def with_customer(call: str, by_name: bool, *sets: str) -> str:
    """A script that selects the customer by number or by last name."""
    name = " || ".join(f"('{{{NAME_PARTS}}}'::text[])[:{part}]" for part in ("n1", "n2", "n3"))
    drawn = [rf"\set {part} random(1, 10)" for part in ("n1", "n2", "n3")] if by_name else [C_ID]
    return "\n".join([W_ID, D_ID, *drawn, *sets, call.format(*(("NULL", name) if by_name else (":c_id", "NULL")))])


def payment(by_name: bool) -> str:
    """A payment of an integer amount, 15 of 100 for another warehouse's customer."""
    call = "SELECT * FROM payment(:w_id, :d_id, :c_w_id, :d_id, {}, {}, :amount);"
    remote = rf"\set c_w_id case when random(1, 100) > 15 then :w_id else random(1, {WAREHOUSES}) end"
    return with_customer(call, by_name, remote, r"\set amount random(1, 5000)")


def scripts(folder: Path) -> list[str]:
    """pgbench's arguments for all scripts, weighted as in HammerDB's mix."""
    texts = {f"new_order_{lines}": (new_order(lines), 50) for lines in range(5, 16)}
    for by_name, share in ((True, 33), (False, 22)):
        texts[f"payment_{by_name}"] = payment(by_name), 10 * share
        status = with_customer("SELECT * FROM order_status(:w_id, :d_id, {}, {});", by_name)
        texts[f"order_status_{by_name}"] = status, share
    texts["delivery"] = f"{W_ID}\n\\set carrier random(1, 10)\nSELECT * FROM delivery(:w_id, :carrier);", 55
    level = f"{W_ID}\n\\set low random(10, 20)\nSELECT * FROM stock_level(:w_id, 1, :low);"
    texts["stock_level"] = level, 55
    arguments = []
    for name, (text, weight) in texts.items():
        path = folder / f"{name}.sql"
        path.write_text(text + "\n", encoding="utf-8")
        arguments += ["-f", f"{path}@{weight}"]
    return arguments


def by_pgbench(own: PrivateServer, schema: str, clients: int, threads: int, *words: str) -> Figures:
    """pgbench's, of which the throughput is that after the ramp-up."""
    counts = (f"--client={clients}", f"--jobs={threads}", f"--time={RAMPUP_S + WINDOW_S}", "--progress=1")
    ended = pgbench(own, schema, *counts, *words)
    rates = [float(rate) for rate in re.findall(r"progress: .*? s, ([\d.]+) tps", ended.err)]
    return statistics.mean(rates[RAMPUP_S:]), ended.cpu_s * 1e6 / operations_of(ended)


def operations_of(ended: Ended) -> int:
    """The number of pgbench's transactions."""
    found = re.search(r"actually processed: (\d+)", ended.out)
    assert found, ended.out
    return int(found[1])


def by_hdbkit(own: PrivateServer, clients: int) -> Figures:
    """Those of a run."""
    load = hdbkit.TprocCLoad(
        virtual_users=clients, rampup_s=RAMPUP_S, duration_s=WINDOW_S, input_rules=InputRules.HAMMERDB
    )
    return figures(hdbkit.run(own.target, load=load).summary)


def tell_beside(own: PrivateServer, files: list[str], clients: int) -> None:
    """Both ratios for this number of clients."""
    ways = {"hdbkit": partial(by_hdbkit, own, clients)}
    words = ("--protocol=prepared", *files)
    ways["pgbench"] = partial(by_pgbench, own, "tproc_c", clients, min(clients, THREADS), *words)
    if clients > THREADS:
        ways["pgbench, a thread each"] = partial(by_pgbench, own, "tproc_c", clients, clients, *words)
    done = blocks(ways, BLOCKS)
    cpu = 1.5 if clients >= SATURATED else None
    for peer in list(ways)[1:]:
        show_figures(f"{clients} clients", done, ("hdbkit", peer), rate=0.95, cpu=cpu)


def main() -> None:
    """Print both ratios for each number of clients."""
    title("client: stored routines, hdbkit beside pgbench -M prepared")
    with scratch() as folder, server(WAREHOUSES) as own:
        control(own.target).keep_data()
        files = scripts(folder)
        for clients in CLIENTS:
            control(own.target).restore_data()
            tell_beside(own, files, clients)


if __name__ == "__main__":
    main()
