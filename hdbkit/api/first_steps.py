"""The first steps: a private server, a target with a schema in it, and the whole of hdbkit in a few minutes.

A notebook's cell, its panels and a script that say ``private`` mean the same server, that of their workspace. It ends
with the process, which for a notebook is its kernel; with it goes all that was loaded into it.
"""

from __future__ import annotations

import html
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from hdbkit.api.connection import Connection, connect
from hdbkit.api.sweeping import SweepResult, sweep
from hdbkit.build import BuildProgress, BuildResult
from hdbkit.config import SweepSpec, Target, WorkloadSpec
from hdbkit.config.notebook import PRIVATE
from hdbkit.errors import HdbkitError, SchemaProblem
from hdbkit.execution.handle import Watch
from hdbkit.paths import data_folder
from hdbkit.servers import private_server
from hdbkit.sweep_runner import Watcher
from hdbkit.sweep_runner.events import unwatched
from hdbkit.workloads import specification
from hdbkit.workloads.present import present_schema
from hdbkit.workspace import DEFAULT, Workspace


@dataclass(frozen=True)
class DemoResult:
    """What a demo left: its sweep, and the path of the sweep's report."""

    sweep: SweepResult
    report: Path

    def _repr_html_(self) -> str:
        return f"{self.sweep._repr_html_()}<p>Report: <code>{html.escape(str(self.report))}</code></p>"

    def __str__(self) -> str:
        return f"{self.sweep.answer}\nReport: {self.report}"


def private(kind: str | None = None, *, workspace: Workspace | None = None) -> Target:
    """The private server of a kind, started at the first call; it ends with this process.

    Args:
        kind: which engine; by default the first that hdbkit can start.
        workspace: whose server; by default that of this process.

    Raises:
        InputError: there are no binaries for it.
        ServerFailed: it did not start; the text holds the last lines of its log.

    Example:
        >>> hdbkit.connect(hdbkit.api.private("postgresql")).build(warehouses=1).passed  # doctest: +SKIP
    """
    return (workspace or DEFAULT).private(kind)


def private_targets(*, workspace: Workspace | None = None) -> list[Target]:
    """The private servers of a workspace that run now."""
    return (workspace or DEFAULT).private_targets()


def end_private(kind: str, *, workspace: Workspace | None = None) -> None:
    """Stop the private server of a kind and remove its data; does nothing where there is none."""
    (workspace or DEFAULT).end_private(kind)


def open_target(target: Target | str, *, workspace: Workspace | None = None) -> Connection:
    """Connect to a target; ``private`` stands for a private server that lives as long as this process.

    Raises:
        InputError: the server does not let us in, or there are no binaries for a private one.
        ServerFailed: the private server did not start.
    """
    place = workspace or DEFAULT
    return connect(place.private() if target == PRIVATE else place.target(target))


def ready(
    target: Target | str = PRIVATE,
    *,
    workload: WorkloadSpec | Path | str | None = None,
    loaders: int | None = None,
    build: bool = False,
    workspace: Workspace | None = None,
    **fields: Any,
) -> Target:
    """A target with a schema in it, ready for ``run`` and ``sweep``.

    Args:
        target: a target, a URL without password, a name in ``params/targets.yaml``, or ``private``: a private server
            that is started at the first call and lives as long as this process.
        workload: what is needed: a specification, the name of a workload, or a folder that defines one.
        loaders: processes that load it; by default one a core.
        build: whether to build where there is no schema on any server; else on a private one alone.
        workspace: where names and private servers are looked up; by default that of this process.
        fields: fields of the specification, such as ``warehouses=10``.

    Raises:
        InputError: the server does not let us in, or has no schema; the sentence says what to do.

    Example:
        >>> hdbkit.run(hdbkit.ready("private"), load=hdbkit.Load(virtual_users=2))  # doctest: +SKIP
    """
    spec = specification(workload, **fields)
    connection = open_target(target, workspace=workspace)
    try:
        present_schema(connection.target, spec)
    except SchemaProblem:
        if not build and connection.target.server_folder is None:
            raise
        connection.build(spec, loaders=loaders)
    return connection.target


def demo(
    *,
    quick: bool = False,
    spec: SweepSpec | None = None,
    blocks: int | None = None,
    database: str | None = None,
    keep: bool = False,
    say: Callable[[str], None] = lambda _: None,
    build_progress: BuildProgress | None = None,
    watch: Watcher = unwatched,
    watch_run: Watch | None = None,
    workspace: Workspace | None = None,
) -> DemoResult:
    """Start a private server, build and check a schema, sweep the server's settings, and write the report.

    Args:
        quick: the small sweep.
        spec: another sweep than these two.
        blocks: passes over all configurations; by default 3.
        database: which kind of private server; by default the first that hdbkit can start.
        keep: leave the server running; a line says where it is.
        say: called with a line for each step.
        build_progress: called with the build's stage, rows and bytes.
        watch: called at each step of the sweep; ``watch_run`` some times a second with the running run.
        workspace: where the sweep is kept; by default that of this process.

    Raises:
        HdbkitError: the schema that was built fails a check; no run was started.
    """
    with private_server(database, keep=keep) as server:
        spec = spec or _sweep_of(server.target.kind, "sweep-quick" if quick else "sweep-demo")
        connection = connect(server.target)
        say(f"{connection.version}, private server on {server.target.url}")
        if keep:
            say(f"it is kept in {server.folder}; use it as: PrivateServer.attach('{server.folder}')")
        _require_sound(connection.build(workload=spec.workload, progress=build_progress))
        command = " ".join(["hdbkit demo", *(["--quick"] * quick), *([f"--database {database}"] if database else [])])
        done = sweep(
            server.target,
            spec,
            blocks=blocks,
            watch=watch,
            watch_run=watch_run,
            command=command,
            workspace=workspace,
        )
    return DemoResult(done, done.report())


def _sweep_of(kind: str, name: str) -> SweepSpec:
    """The engine's own sweep of this name, where ``params`` has one; settings have other names on every engine."""
    own, common = (data_folder("params") / f"{stem}.yaml" for stem in (f"{name}-{kind}", name))
    return SweepSpec.read(own if own.is_file() else common)


def _require_sound(built: BuildResult) -> None:
    failed = [f"{check.name} ({check.detail})" for check in built.checks if check.passed is False]
    if failed:
        raise HdbkitError(f"the schema that was built fails {len(failed)} checks: {'; '.join(failed)}")
