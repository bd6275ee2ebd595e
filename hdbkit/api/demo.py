"""The whole of hdbkit in a few minutes: private server, build, check, sweep, report."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from hdbkit.api.connection import connect
from hdbkit.api.sweeping import SweepResult, sweep
from hdbkit.build import BuildProgress, BuildResult
from hdbkit.config import SweepSpec
from hdbkit.errors import HdbkitError
from hdbkit.execution.handle import Watch
from hdbkit.paths import data_folder
from hdbkit.servers import private_server
from hdbkit.sweep_runner import Watcher
from hdbkit.sweep_runner.events import unwatched


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
) -> tuple[SweepResult, Path]:
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

    Returns:
        The sweep and the path of its report.

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
        done = sweep(server.target, spec, blocks=blocks, watch=watch, watch_run=watch_run, command=command)
    return done, done.report()


def _sweep_of(kind: str, name: str) -> SweepSpec:
    """The engine's own sweep of this name, where ``params`` has one; settings have other names on every engine."""
    own, common = (data_folder("params") / f"{stem}.yaml" for stem in (f"{name}-{kind}", name))
    return SweepSpec.read(own if own.is_file() else common)


def _require_sound(built: BuildResult) -> None:
    failed = [f"{check.name} ({check.detail})" for check in built.checks if check.passed is False]
    if failed:
        raise HdbkitError(f"the schema that was built fails {len(failed)} checks: {'; '.join(failed)}")
