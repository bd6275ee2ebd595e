"""The first steps: a private server, a target with a schema, and a demo of hdbkit in a few minutes.

The name ``private`` means the same server in a notebook's cells, its panels and a script: that of their workspace.
The server and its data are removed when the process ends, which for a notebook is its kernel, and when the runs and
sweeps in progress on it have ended.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

from hdbkit.api.connection import Connection, ConnectionVerbs
from hdbkit.api.executing import executed
from hdbkit.api.running import OnRun
from hdbkit.api.sweeping import SweepResult, SweepVerbs, plan_checked
from hdbkit.config import SweepSpec, Target, WorkloadSpec
from hdbkit.config.notebook import PRIVATE
from hdbkit.errors import SchemaProblem
from hdbkit.experiment import Watcher
from hdbkit.experiment.events import ignore_event
from hdbkit.experiment.sweep import SweepPlan
from hdbkit.loading import BuildProgress
from hdbkit.paths import data_folder
from hdbkit.servers import private_server
from hdbkit.workloads import specification
from hdbkit.workloads.present import present_schema


class FirstStepVerbs(ConnectionVerbs, SweepVerbs):
    """Verbs for the first steps."""

    def open_target(self, target: Target | str) -> Connection:
        """Connect to a target; ``private`` means a private server that is removed when this process ends.

        Raises:
            InputError: the connection failed, or there are no binaries for a private server.
            ServerFailed: the private server did not start.
        """
        return self.connect(self.private() if target == PRIVATE else self.target(target))

    def ready(
        self,
        target: Target | str = PRIVATE,
        *,
        workload: WorkloadSpec | Path | str | None = None,
        loaders: int | None = None,
        build: bool = False,
        **fields: Any,
    ) -> Target:
        """A target with a schema, ready for ``run`` and ``sweep``.

        Args:
            target: a target, a URL without password, a name in ``params/targets.yaml``, or ``private``: a private
                server that the first call starts and that is removed when this process ends.
            workload: the required workload: a specification, a name, or a folder that defines one.
            loaders: the number of loading processes; by default one per core.
            build: build a missing schema on any server; by default only on a private one.
            fields: fields of the specification, such as ``partitions=4``.

        Raises:
            InputError: the connection failed, or the server has no schema; the message states what to do.

        Example:
            >>> hdbkit.run(hdbkit.ready("private"), load=hdbkit.Load(virtual_users=2))  # doctest: +SKIP
        """
        spec = specification(workload, **fields)
        connection = self.open_target(target)
        try:
            present_schema(connection.target, spec)
        except SchemaProblem:
            if not build and connection.target.server_folder is None:
                raise
            connection.build(spec, loaders=loaders)
        return connection.target

    def demo(
        self,
        *,
        quick: bool = False,
        spec: SweepSpec | None = None,
        blocks: int | None = None,
        database: str | None = None,
        keep: bool = False,
        say: Callable[[str], None] = lambda _: None,
        build_progress: BuildProgress | None = None,
        watch: Watcher = ignore_event,
        watch_run: OnRun | None = None,
    ) -> SweepResult:
        """Start a private server, build and check a schema, sweep the server's settings, and write the report.

        Args:
            quick: run the small sweep.
            spec: another sweep specification.
            blocks: passes over all configurations; by default those of the specification.
            database: the kind of private server; by default the first that hdbkit can start.
            keep: leave the server running and report its folder.
            say: called with a line for each step.
            build_progress: called with the build's stage, rows and bytes.
            watch: called at each step of the sweep.
            watch_run: called several times per second with the present run.

        Raises:
            HdbkitError: the built schema failed a check; no run was started.
        """
        with private_server(database, keep=keep) as server:
            if keep:
                say(f"the server is kept; its folder is a target: hdbkit run {server.folder}")
                say(f"to remove it, run: hdbkit server remove {server.folder}")
            spec = spec or _demo_sweep(server.target.kind, quick)
            planned = self._planned_demo(
                server.target, spec, blocks, _demo_command(quick, database), say, build_progress
            )
            return SweepResult(executed(self, planned, watch, watch_run))

    def plan_demo(
        self,
        *,
        quick: bool = False,
        blocks: int | None = None,
        database: str | None = None,
        say: Callable[[str], None] = lambda _: None,
        build_progress: BuildProgress | None = None,
    ) -> SweepPlan:
        """Start the private server of this workspace, build and check a schema, and plan the sweep of ``demo``.

        The server ends with this process and the experiments in progress on it. The arguments are those of
        :func:`demo`.

        Raises:
            HdbkitError: the built schema failed a check.

        Example:
            >>> hdbkit.start_experiment(hdbkit.plan_demo(quick=True)).wait().answer  # doctest: +SKIP
        """
        at = self.private(database)
        spec = _demo_sweep(at.kind, quick)
        return self._planned_demo(at, spec, blocks, _demo_command(quick, database), say, build_progress)

    def _planned_demo(
        self,
        at: Target,
        spec: SweepSpec,
        blocks: int | None,
        command: str,
        say: Callable[[str], None],
        build_progress: BuildProgress | None,
    ) -> SweepPlan:
        connection = self.connect(at)
        say(f"{connection.version}, private server on {at.url}")
        connection.build(workload=spec.workload, progress=build_progress).require_sound()
        return plan_checked(at, spec, blocks, command, self)


def _demo_sweep(kind: str, quick: bool) -> SweepSpec:
    return sweep_of(kind, "sweep-quick" if quick else "sweep-demo")


def _demo_command(quick: bool, database: str | None) -> str:
    return " ".join(["hdbkit demo", *(["--quick"] * quick), *([f"--database {database}"] if database else [])])


def sweep_of(kind: str, name: str) -> SweepSpec:
    """The sweep of this name for an engine if ``params`` has one, else the common one; settings differ by engine."""
    own, common = (data_folder("params") / f"{stem}.yaml" for stem in (f"{name}-{kind}", name))
    return SweepSpec.read(own if own.is_file() else common)
