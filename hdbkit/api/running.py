"""Runs: start one, wait for one, attach to one."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path

from hdbkit.api.result import Result
from hdbkit.config import Load, Target, WorkloadSpec
from hdbkit.errors import DamagedResult
from hdbkit.execution.handle import RunHandle, require_done
from hdbkit.execution.handle import start as start_run
from hdbkit.execution.live import LiveView
from hdbkit.plan import RunPlan, new_run_id
from hdbkit.results.catalog import list_runs
from hdbkit.results.folder import RunFolder, find_run
from hdbkit.results.manifest import Manifest, Status
from hdbkit.workloads import specification
from hdbkit.workloads import workload as workload_of
from hdbkit.workspace import DEFAULT, Workspace

Watch = Callable[["Running"], None]


class Running:
    """A run that may be going on. Losing this object loses nothing: ``attach`` finds the run again."""

    def __init__(self, handle: RunHandle) -> None:
        self._handle = handle

    @property
    def run_id(self) -> str:
        """The run's id."""
        return self._handle.run_id

    @property
    def status(self) -> Status:
        """Where the run is now."""
        return self._handle.status()

    @property
    def manifest(self) -> Manifest:
        """What was planned and how it went so far."""
        return self._handle.manifest()

    def live(self) -> LiveView:
        """A view whose ``tick()`` tells what happened since the last one (NOPM, latencies in us, errors)."""
        return self._handle.live()

    def stop(self, at_once: bool = False) -> None:
        """Close the window now and keep the result; ``at_once`` does not wait for the clients."""
        self._handle.stop(at_once)

    def wait(self, watch: Watch | None = None) -> Result:
        """Wait for the end; an interrupt here detaches and the run goes on.

        Raises:
            RunFailed: with the reason; what was finished is kept.
        """
        watcher = (lambda _: watch(self)) if watch else None
        manifest = self._handle.wait(watcher)
        require_done(manifest)
        return Result(self._handle.folder)

    def recover(self) -> Result:
        """Complete a run whose supervisor died. Raises ``InputError`` when there is nothing to recover."""
        self._handle.recover()
        return Result(self._handle.folder)


def start(
    target: Target | str,
    workload: WorkloadSpec | Path | str | None = None,
    load: Load | None = None,
    *,
    label: str | None = None,
    workspace: Workspace | None = None,
) -> Running:
    """Start a run in processes of its own and return at once.

    Args:
        target: a :class:`~hdbkit.Target`, a URL without password, or a name in ``params/targets.yaml``.
        workload: what must be in the database: a specification, the name of a workload, or a folder that defines
            one; by default TPROC-C at whatever scale was built. ``schema_from="hammerdb"``: the routines of a
            schema that HammerDB made are run, by its input rules.
        load: how it is driven; by default one virtual user, HammerDB's 2 minutes of rampup and 5 of window.
        label: a name of your own, to find the run again.
        workspace: where the run is kept and names of targets are looked up; by default that of this process.

    Raises:
        InputError: it cannot be run; nothing was started.

    Example:
        >>> running = hdbkit.start("lab", load=hdbkit.Load(virtual_users=8))  # doctest: +SKIP
        >>> running.status, running.live().tick().metric_value  # doctest: +SKIP
        >>> running.wait().metric_value  # doctest: +SKIP
    """
    place = workspace or DEFAULT
    target = place.target(target)

    def planned(spec: WorkloadSpec) -> RunPlan:
        driven = workload_of(spec).load(load or Load())
        run_id = new_run_id(datetime.now(UTC), target, spec, driven)
        return RunPlan(run_id=run_id, target=target, workload=spec, load=driven, label=label)

    return Running(start_run(target, specification(workload), planned, place.results))


def run(
    target: Target | str,
    workload: WorkloadSpec | Path | str | None = None,
    load: Load | None = None,
    *,
    label: str | None = None,
    watch: Watch | None = None,
    workspace: Workspace | None = None,
) -> Result:
    """Run and wait; Ctrl-C stops the run, keeps what it measured and gives that.

    The arguments are those of :func:`start`; ``watch`` is called some times a second with the running run.

    Raises:
        InputError: it cannot be run; nothing was started.
        RunFailed: it began and did not reach its end; what was finished is kept.

    Example:
        >>> import hdbkit
        >>> load = hdbkit.Load(virtual_users=4, rampup_s=10, duration_s=60)
        >>> hdbkit.run("postgresql://bench@db1/tpcc", load=load).latencies  # doctest: +SKIP
    """
    running = start(target, workload, load, label=label, workspace=workspace)
    try:
        return running.wait(watch)
    except KeyboardInterrupt:
        running.stop()
    try:
        return running.wait()
    except KeyboardInterrupt:
        running.stop(at_once=True)
        return running.wait()


def attach(run_id: str = "last", *, workspace: Workspace | None = None) -> Running:
    """A handle on a run that was started somewhere else; its id, a unique part of it, or ``last``.

    Raises:
        InputError: there is no such run.

    Example:
        >>> hdbkit.attach("last").stop()  # doctest: +SKIP
    """
    return Running(RunHandle(find_run((workspace or DEFAULT).results, run_id)))


def running_runs(*, workspace: Workspace | None = None) -> list[Running]:
    """The runs that are going on, newest first, whoever started them.

    Example:
        >>> [run.run_id for run in hdbkit.api.running_runs()]  # doctest: +SKIP
    """
    root = (workspace or DEFAULT).results
    noted = ", ".join(f"'{status.value}'" for status in Status if not status.ended)
    listed = list_runs(root, f"status IN ({noted})").runs["run_id"]
    return [one for one in (Running(RunHandle(RunFolder(root / run_id))) for run_id in listed) if _goes_on(one)]


def _goes_on(one: Running) -> bool:
    try:
        return not one.status.ended
    except DamagedResult:  # removed since it was listed
        return False
