"""A database that can be measured at once: what the first cell of a notebook or a script asks for."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from hdbkit.api.connection import Connection, connect
from hdbkit.api.private import private
from hdbkit.api.running import as_target
from hdbkit.config import Target, WorkloadSpec
from hdbkit.config.notebook import PRIVATE
from hdbkit.errors import SchemaProblem
from hdbkit.workloads import specification
from hdbkit.workloads.present import present_schema


def open_target(target: Target | str) -> Connection:
    """Connect to a target; ``private`` stands for a private server that lives as long as this process.

    Raises:
        InputError: the server does not let us in, or there are no binaries for a private one.
        ServerFailed: the private server did not start.
    """
    return connect(private() if target == PRIVATE else as_target(target))


def ready(
    target: Target | str = PRIVATE,
    *,
    workload: WorkloadSpec | Path | str | None = None,
    loaders: int | None = None,
    build: bool = False,
    **fields: Any,
) -> Target:
    """A target with a schema in it, ready for ``run`` and ``sweep``.

    Args:
        target: a target, a URL without password, a name in ``params/targets.yaml``, or ``private``: a private server
            that is started at the first call and lives as long as this process.
        workload: what is needed: a specification, the name of a workload, or a folder that defines one.
        loaders: processes that load it; by default one a core.
        build: whether to build where there is no schema on any server; else on a private one alone.
        fields: fields of the specification, such as ``warehouses=10``.

    Raises:
        InputError: the server does not let us in, or has no schema; the sentence says what to do.

    Example:
        >>> hdbkit.run(hdbkit.ready("private"), load=hdbkit.Load(virtual_users=2))  # doctest: +SKIP
    """
    spec = specification(workload, **fields)
    connection = open_target(target)
    try:
        present_schema(connection.target, spec)
    except SchemaProblem:
        if not build and connection.target.server_folder is None:
            raise
        connection.build(spec, loaders=loaders)
    return connection.target
