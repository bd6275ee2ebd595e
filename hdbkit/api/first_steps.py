"""The first steps: a private server, a target with a schema, and demos of hdbkit in a few minutes.

The name ``private`` means the same server in a notebook's cells, its panels and a script: that of their workspace.
The server and its data are removed when the process ends, which for a notebook is its kernel, and when the runs and
sweeps in progress on it have ended. A demo of two engines is a file ``params/demo-<name>.yaml``: each is on a private
server or in a file of its own.
"""

from __future__ import annotations

import shlex
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, ClassVar

from pydantic import Field

from hdbkit.analysis.comparison.replication import BASE, NEW
from hdbkit.api.compare import Comparison, of_sides
from hdbkit.api.connection import Connection, ConnectionVerbs
from hdbkit.api.executing import executed, executing
from hdbkit.api.running import OnRun, RunVerbs, default_load
from hdbkit.api.sides import results_of_sides
from hdbkit.api.sweeping import SweepResult, SweepVerbs, plan_checked
from hdbkit.config import Load, SweepSpec, Target, WorkloadSpec, read_params
from hdbkit.config.model import ConfigModel
from hdbkit.config.notebook import PRIVATE
from hdbkit.config.specs import AnyLoad, AnyWorkload
from hdbkit.databases import database
from hdbkit.errors import InputError, SchemaProblem
from hdbkit.experiment import Watcher
from hdbkit.experiment.events import ignore_event
from hdbkit.experiment.kinds.engines import EnginesPlan
from hdbkit.experiment.kinds.sweep.plan import SweepPlan
from hdbkit.experiment.plan import new_experiment_id
from hdbkit.experiment.sides import Side, in_blocks
from hdbkit.loading import BuildProgress
from hdbkit.paths import data_folder
from hdbkit.results.experiment_folder import ExperimentFolder
from hdbkit.servers import private_server
from hdbkit.workloads import specification
from hdbkit.workloads import workload as workload_of
from hdbkit.workloads.present import present_schema


class EngineDemo(ConfigModel):
    """Two engines, and what both of them execute."""

    noun: ClassVar[str] = "the demo"

    engines: tuple[str, str] = Field(description="kinds of databases, the base first; one without a server is a file")
    blocks: int = Field(default=3, ge=2, le=100, description="runs of each engine, in turn")
    workload: AnyWorkload = Field(description="workload and schema")
    load: AnyLoad = Field(default_factory=lambda: Load(virtual_users=1), description="load of each run")


class FirstStepVerbs(ConnectionVerbs, SweepVerbs, RunVerbs):
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
        target: Target | str | None = None,
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
            target: measure this one, whose settings may be changed, instead of a private server; its schema is used
                where it has one.
            quick: run the small sweep.
            spec: another sweep specification.
            blocks: passes over all configurations; by default those of the specification.
            database: the kind of private server; by default the first that hdbkit can start.
            keep: leave the private server running and report its folder.
            say: called with a line for each step.
            build_progress: called with the build's stage, rows and bytes.
            watch: called at each step of the sweep.
            watch_run: called several times per second with the present run.

        Raises:
            HdbkitError: the built schema failed a check; no run was started.
        """
        at = None if target is None else self.target(target)
        options = _DemoOptions(at, quick, spec, blocks, database, say, build_progress)
        if at is not None:
            return SweepResult(executed(self, self._planned_demo(at, options), watch, watch_run))
        with private_server(database, keep=keep) as server:
            if keep:
                say(f"the server is kept; its folder is a target: hdbkit run {server.folder}")
                say(f"to remove it, run: hdbkit server remove {server.folder}")
            return SweepResult(executed(self, self._planned_demo(server.target, options), watch, watch_run))

    def plan_demo(
        self,
        target: Target | str | None = None,
        *,
        quick: bool = False,
        spec: SweepSpec | None = None,
        blocks: int | None = None,
        database: str | None = None,
        say: Callable[[str], None] = lambda _: None,
        build_progress: BuildProgress | None = None,
    ) -> SweepPlan:
        """Build and check a schema on the private server of this workspace, or a target, and plan the demo's sweep.

        The private server ends with this process and the experiments in progress on it. The arguments are those of
        :func:`demo`.

        Raises:
            HdbkitError: the built schema failed a check.

        Example:
            >>> hdbkit.start_experiment(hdbkit.plan_demo(quick=True)).wait().answer  # doctest: +SKIP
        """
        at = None if target is None else self.target(target)
        options = _DemoOptions(at, quick, spec, blocks, database, say, build_progress)
        return self._planned_demo(at or self.private(database), options)

    def _planned_demo(self, at: Target, options: _DemoOptions) -> SweepPlan:
        spec = options.sweep(at)
        connection = self.connect(at)
        where = "on" if at.server_folder is None else "private server on"
        options.say(f"{connection.version}, {where} {at.url}")
        asked = spec.workload or specification()
        try:
            present = present_schema(at, asked.identity)
            options.say(f"the schema is there: {workload_of(present).scale or workload_of(present).title}")
            spec = spec.with_(workload=present)
        except SchemaProblem:
            connection.build(workload=asked, progress=options.build_progress).require_sound()
        return plan_checked(at, spec, options.blocks, options.command, self)

    def plan_demo_engines(
        self, name: str = "h", *, spec: EngineDemo | None = None, blocks: int | None = None
    ) -> EnginesPlan:
        """Plan runs of two engines in turn, which ``demo_engines`` executes in this process, and ``start_experiment``
        in one of its own.

        Args:
            name: the demo, by the name of its file in ``params``: ``h`` for ``demo-h.yaml``.
            spec: another demo, instead of that of a file.
            blocks: the number of runs of each engine; by default that of the demo.

        Raises:
            InputError: there is no such demo.

        Example:
            >>> hdbkit.start_experiment(hdbkit.plan_demo_engines("h")).wait().ratio.sentence  # doctest: +SKIP
        """
        wanted = spec or _read(name)
        experiment_id = new_experiment_id(datetime.now(UTC), "engines")
        load, count = workload_of(wanted.workload).load(wanted.load), blocks or wanted.blocks
        sides = tuple(
            Side(
                name=side,
                target=Target(kind=kind, database=side),
                workload=wanted.workload,
                load=load,
                label=f"{experiment_id}-{side}",
            )
            for side, kind in zip((BASE, NEW), wanted.engines, strict=True)
        )
        return EnginesPlan(
            experiment_id=experiment_id,
            configurations=tuple({"engine": kind} for kind in wanted.engines),
            runs=in_blocks(sides, (load.virtual_users,), range(1, count + 1), experiment_id),
            sides=sides,
            virtual_users=(load.virtual_users,),
            blocks=count,
            seed=experiment_id,
            engines=wanted.engines,
        )

    @executing(plan_demo_engines, EnginesPlan)
    def demo_engines(self, folder: ExperimentFolder) -> Comparison:
        """Build a workload in two engines, run both in turn, and compare them; servers and data are removed at the
        end.

        The arguments are those of :func:`plan_demo_engines`.

        Raises:
            InputError: there is no such demo, or no binaries for a private server.
            HdbkitError: a built schema failed a check; no run was started.

        Example:
            >>> hdbkit.demo_engines("h").charts()["ratios"]  # doctest: +SKIP
        """
        plan = folder.read_plan(EnginesPlan)
        base, new = results_of_sides(self, folder, plan).values()
        if not base or not new:
            raise InputError(f"{folder.experiment_id} has not measured both engines yet; see: hdbkit experiments")
        titles = [database(Target(kind=kind, database="data")).title for kind in plan.engines]
        names = (f"{titles[0]} (base)", f"{titles[1]} (new)")
        return of_sides(
            {BASE: base, NEW: new},
            names,
            self,
            confidence=plan.confidence,
            experiment_id=plan.experiment_id,
            kind=plan.kind,
        )


@dataclass(frozen=True)
class _DemoOptions:
    """What a demo is asked for."""

    target: Target | None
    """None: a private server."""
    quick: bool
    spec: SweepSpec | None
    blocks: int | None
    database: str | None
    say: Callable[[str], None]
    build_progress: BuildProgress | None

    def sweep(self, at: Target) -> SweepSpec:
        """The sweep on a target; on a server of the user's own the default phases, which take minutes."""
        spec = self.spec or sweep_of(at.kind, "sweep-quick" if self.quick else "sweep-demo")
        load = default_load(at)
        return spec if self.spec or load != Load() else spec.with_(load=load)

    @property
    def command(self) -> str:
        """The command that repeats it."""
        words = ["hdbkit", "demo", *([self.target.given] if self.target else []), *(["--quick"] * self.quick)]
        return shlex.join([*words, *(["--database", self.database] if self.database else [])])


def sweep_of(kind: str, name: str) -> SweepSpec:
    """The sweep of this name for an engine if ``params`` has one, else the common one; settings differ by engine."""
    own, common = (data_folder("params") / f"{stem}.yaml" for stem in (f"{name}-{kind}", name))
    return SweepSpec.read(own if own.is_file() else common)


_PREFIX = "demo-"


def _read(name: str) -> EngineDemo:
    known = {path.stem.removeprefix(_PREFIX): path for path in data_folder("params").glob(f"{_PREFIX}*.yaml")}
    if name not in known:
        raise InputError(f"there is no demo '{name}'; the demos of engines are: {', '.join(sorted(known))}")
    return read_params(known[name], EngineDemo)
