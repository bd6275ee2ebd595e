"""Starts runs, waits for them, and attaches to them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from pathlib import Path

from hdbkit.api.left_settings import advised, settings_warnings
from hdbkit.api.result import Result
from hdbkit.api.stored_runs import ResultVerbs
from hdbkit.config import Load, Target, WorkloadSpec
from hdbkit.errors import DamagedResult
from hdbkit.execution.handle import RunHandle, require_done, start_run, stopping
from hdbkit.execution.live import LiveView
from hdbkit.execution.showing import Shown, shown
from hdbkit.execution.watching import watch
from hdbkit.plan import RunPlan, new_run_id
from hdbkit.results.catalog import find_run, list_runs
from hdbkit.results.folder import RunFolder
from hdbkit.results.manifest import Manifest, Status
from hdbkit.workloads import specification
from hdbkit.workloads import workload as workload_of
from hdbkit.workspace import BareWorkspace

OnRun = Callable[["Running"], None]
"""Called several times per second with the present run."""


class Running:
    """A handle on a run. The run does not depend on this object: ``attach`` returns another handle."""

    def __init__(self, handle: RunHandle, workspace: BareWorkspace) -> None:
        self._handle, self._workspace = handle, workspace

    @property
    def run_id(self) -> str:
        """The run's id."""
        return self._handle.run_id

    @property
    def status(self) -> Status:
        """The present status of the run."""
        return self._handle.status()

    @property
    def manifest(self) -> Manifest:
        """The run's manifest: its plan and its course so far."""
        return self._handle.manifest()

    @property
    def warnings(self) -> list[str]:
        """What was wrong with the schema before the run, one sentence each."""
        return self._handle.warnings

    def live(self) -> LiveView:
        """A view whose ``tick()`` reports what happened since the last call (metric, latencies in us, errors)."""
        return self._handle.live()

    def stop(self, at_once: bool = False) -> None:
        """End the measured window now and keep the result; ``at_once`` does not wait for the clients."""
        self._handle.stop(at_once)

    def wait(self, watch: OnRun | None = None) -> Result:
        """Wait for the end of the run; an interrupt detaches, and the run continues.

        Raises:
            RunFailed: the run failed, for the given reason; finished measurements are kept.
        """
        watcher = (lambda _: watch(self)) if watch else None
        manifest = self._handle.wait(watcher)
        require_done(manifest, self._handle.left_by_faults)
        return Result(self._handle.folder, self._workspace)

    def recover(self) -> Result:
        """Complete a run whose supervisor died. Raises ``InputError`` if there is nothing to recover."""
        self._handle.recover()
        return Result(self._handle.folder, self._workspace)


def default_load(target: Target) -> Load:
    """The load of a run that is given none: minutes, but seconds on a private server."""
    return Load() if target.server_folder is None else Load(rampup_s=2, duration_s=20)


class RunVerbs(ResultVerbs):
    """Verbs that start runs and attach to them."""

    def start(
        self,
        target: Target | str,
        workload: WorkloadSpec | Path | str | None = None,
        load: Load | None = None,
        *,
        label: str | None = None,
    ) -> Running:
        """Start a run in separate processes and return immediately.

        Args:
            target: a :class:`~hdbkit.Target`, a URL without password, or a name in ``params/targets.yaml``.
            workload: the workload in the database: a specification, the name of a workload, or a folder that defines
                one; by default the default workload at the scale of the schema. With ``schema_from="hammerdb"`` it
                runs the routines of a schema that HammerDB created, with HammerDB's input rules.
            load: users, phases and pacing; by default one virtual user, with 2 minutes of ramp-up and 5 of measured
                window, on a private server with 2 s and 20 s.
            label: a name of your choice, to find the run.

        Raises:
            InputError: the run is not possible; nothing was started.

        Example:
            >>> running = hdbkit.start("lab", load=hdbkit.Load(virtual_users=8))  # doctest: +SKIP
            >>> running.status, running.live().tick().metric_value  # doctest: +SKIP
            >>> running.wait().metric_value  # doctest: +SKIP
        """
        target = self.target(target)

        def planned(spec: WorkloadSpec) -> RunPlan:
            driven = workload_of(spec).load(load or default_load(target))
            run_id = new_run_id(datetime.now(UTC), target, spec, driven)
            return RunPlan(run_id=run_id, target=target, workload=spec, load=driven, label=label)

        with advised(self.results, target):
            warnings = settings_warnings(self.results, target)
            begun: list[RunHandle] = []
            with stopping(begun):
                start_run(target, specification(workload), planned, self.results, begun.append, warnings)
                return Running(begun[0], self)

    def run(
        self,
        target: Target | str,
        workload: WorkloadSpec | Path | str | None = None,
        load: Load | None = None,
        *,
        label: str | None = None,
        watch: OnRun | None = None,
    ) -> Result:
        """Run and wait for the result; Ctrl-C stops the run and returns what it measured.

        The arguments are those of :func:`start`; ``watch`` is called several times per second with the present run.

        Raises:
            InputError: the run is not possible; nothing was started.
            RunFailed: the run started and failed; finished measurements are kept.

        Example:
            >>> import hdbkit
            >>> load = hdbkit.Load(virtual_users=4, rampup_s=10, duration_s=60)
            >>> hdbkit.run("postgresql://bench@db1/lab", load=load).latencies  # doctest: +SKIP
        """
        running = self.start(target, workload, load, label=label)
        try:
            return running.wait(watch)
        except KeyboardInterrupt:
            running.stop()
        try:
            return running.wait()
        except KeyboardInterrupt:
            running.stop(at_once=True)
            return running.wait()

    def show_operations(
        self,
        target: Target | str,
        workload: WorkloadSpec | Path | str | None = None,
        load: Load | None = None,
        *,
        count: int = 1,
        operation: str | None = None,
    ) -> Iterator[Shown]:
        """Perform operations of one virtual user one by one, with their inputs, statements, rows and times.

        The target's data change as in a run; no run is stored. A server that is not reachable, or a schema that is
        not there, is an error of the first operation. ``count`` is the maximum number of operations. With the name
        of an ``operation``, such as ``q05``, the others are left out, and all its rows are kept instead of the first
        20. The other arguments are those of :func:`start`.

        Raises:
            InputError: the load cannot be performed; nothing was done.

        Example:
            >>> for one in hdbkit.show_operations("lab", count=3):  # doctest: +SKIP
            ...     print(one.operation, one.elapsed_ms, [sent.name for sent in one.sent])
        """
        return shown(self.target(target), specification(workload), load or Load(), count, operation)

    def watch(self, target: Target | str, load: Load | None = None, *, label: str | None = None) -> Result:
        """Watch a server under the load of another program, and keep what was measured as a run.

        hdbkit sends no load. It reads the server's counters, what its sessions wait for and the host. With a schema
        of the default workload in the database, by hdbkit or HammerDB, the metric is that of the workload; else it is
        the server's own transactions per minute. Ctrl-C ends the window and keeps the result.

        Args:
            target: as for :func:`start`.
            load: ``duration_s``, ``counter_interval_s`` and ``waits_hz``, by default 60 s, 1 s and that of a run;
                ``virtual_users`` is the number of users of the load, if you know it.
            label: a name of your choice, to find the run.

        Raises:
            InputError: the server cannot be reached; nothing was made.

        Example:
            >>> hdbkit.watch("lab", hdbkit.Load(duration_s=300)).summary.engine_tpm  # doctest: +SKIP
        """
        load = load or Load(duration_s=60, counter_interval_s=1)
        return Result(watch(self.target(target), load, self.results, label), self)

    def attach(self, run_id: str = "last") -> Running:
        """Return a handle on a run of any process, given by its id, a unique part of the id, or ``last``.

        Raises:
            InputError: there is no such run.

        Example:
            >>> hdbkit.attach("last").stop()  # doctest: +SKIP
        """
        return Running(RunHandle(find_run(self.results, run_id)), self)

    def running_runs(self) -> list[Running]:
        """List the running runs of all processes, newest first.

        Example:
            >>> [run.run_id for run in hdbkit.running_runs()]  # doctest: +SKIP
        """
        noted = ", ".join(f"'{status.value}'" for status in Status if not status.ended)
        listed = list_runs(self.results, f"status IN ({noted})").runs["run_id"]
        handles = (RunHandle(RunFolder(self.results / run_id)) for run_id in listed)
        return [one for one in (Running(handle, self) for handle in handles) if _is_running(one)]


def _is_running(one: Running) -> bool:
    try:
        return not one.status.ended
    except DamagedResult:  # removed since it was listed
        return False
