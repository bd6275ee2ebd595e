"""MariaDB compared with PostgreSQL: client CPU time per transaction; a build compared with LOAD DATA of files.

Both servers are up all the time, and one of them under load: the same clients, inputs and moment. The floor of the
build is MariaDB's own client with the same text, tables and index statements over as many connections.
"""

from __future__ import annotations

from functools import partial
from operator import itemgetter
from os import getloadavg

import hdbkit
from bench import build
from bench.client import by_hdbkit
from bench.common import Command, blocks, quick_or, scratch, server, show_ratio, title
from hdbkit.config.specs.tproc_c import TprocCSpec
from hdbkit.servers import PrivateServer, control

CLIENTS = (4, 16, 32)
SPEC = TprocCSpec(warehouses=8)
BLOCKS = quick_or(3, 8)


def clients(maria: PrivateServer, postgres: PrivateServer) -> None:
    """Print the ratio of the clients' CPU time for each number of clients."""
    title(f"mariadb: clients of stored routines, beside the same on PostgreSQL; {BLOCKS} blocks")
    owned = {"mariadb": maria, "postgresql": postgres}
    for own in owned.values():
        hdbkit.connect(own.target).build(SPEC)
        control(own.target).keep_data()
    for count in CLIENTS:
        for own in owned.values():
            control(own.target).restore_data()
        done = blocks({kind: partial(by_hdbkit, own, count) for kind, own in owned.items()}, BLOCKS)
        what = f"{count} clients: client CPU / that on PostgreSQL"
        show_ratio(what, done, ("mariadb", "postgresql"), itemgetter(1), unit="us", at_most=1.3)
    print(f"load of the machine at the end: {getloadavg()[0]:.1f}", flush=True)


def client_program(own: PrivateServer) -> build.Tool:
    """The client program of MariaDB, which loads with LOAD DATA LOCAL INFILE."""
    target = own.target
    options = (f"--defaults-extra-file={target.password_file}", f"--defaults-group-suffix=_{target.user}")
    place = (f"--host={target.host}", f"--port={target.port}", f"--user={target.user}", str(target.database))
    words: Command = ("mariadb", *options, "--local-infile=1", *place, "-e")
    return build.Tool(
        "LOAD DATA",
        "LOAD DATA LOCAL INFILE '{path}' INTO TABLE {table} CHARACTER SET utf8mb4 ({columns});",
        lambda path: [*words, f"source {path}"],
        lambda text: [*words, text],
    )


def main() -> None:
    """Print both figures."""
    with scratch() as folder, server(kind="mariadb") as maria, server() as postgres:
        clients(maria, postgres)
        hdbkit.connect(maria.target).drop()
        title(f"mariadb: build of {build.SPEC.warehouses} warehouses, {build.CONNECTIONS} connections")
        files = build.Files.written(build.SPEC, folder)
        build.compare(maria, client_program(maria), files, at_most=1.5)
        build.show_speed(files)


if __name__ == "__main__":
    main()
