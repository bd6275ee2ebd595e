"""The handle on a run: starts, watches and stops it, and completes it after a crash.

A handle holds nothing but a folder. Losing it, by a restarted kernel or a closed terminal, loses nothing.
"""

from __future__ import annotations

import os
import subprocess
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import replace
from functools import partial
from pathlib import Path

from hdbkit.config import Cache, Target, WorkloadSpec
from hdbkit.config.withheld import handed_on
from hdbkit.errors import DamagedResult, InputError, RunFailed, disk_full, is_disk_full
from hdbkit.execution.control import Control, Field, Stop
from hdbkit.execution.finish import complete, remove_spools
from hdbkit.execution.folder_setup import is_in_charge, make_run_folder, note_in_charge
from hdbkit.execution.live import LiveView
from hdbkit.execution.load_hosts import missing
from hdbkit.execution.precheck import Planner, Ready, precheck
from hdbkit.execution.restoring import left_changed, turn_off_instruments, undo_changes
from hdbkit.execution.waits import has_instruments
from hdbkit.files import private
from hdbkit.plan import RunPlan
from hdbkit.processes import ONE_THREAD, command_of, is_alive, signals_held
from hdbkit.programs import DEVNULL, Process, start_program
from hdbkit.results.folder import RunFolder, only_one
from hdbkit.results.manifest import Manifest, Status
from hdbkit.results.spool import require_readable
from hdbkit.servers import control, power
from hdbkit.servers.place import in_use
from hdbkit.servers.server_access import address_of

OnPoll = Callable[["RunHandle"], None]

_supervisors: list[Process] = []
"""The processes that this process has started and not yet waited for; prevents zombies and resource warnings."""
_SUPERVISOR, _CLUSTER_SUPERVISOR = "hdbkit.execution.supervisor", "hdbkit.cluster.coordinator"
"""Modules whose ``main`` is a supervisor. The second is of a higher package, which only runs on load hosts."""
_CLUSTER_COLLECTOR = "hdbkit.cluster.recovering"
_POLL_S = 0.1
_CLIENTS_END_S = 2.0


class RunHandle:
    """A handle on a run."""

    def __init__(self, folder: RunFolder, process: Process | None = None) -> None:
        self.folder = folder
        self._process = process

    @property
    def run_id(self) -> str:
        """The run's id."""
        return self.folder.run_id

    def manifest(self) -> Manifest:
        """The present manifest; its status is ``abandoned`` if the supervisor has died."""
        manifest = self.folder.read()
        if manifest.status.ended or self._supervised(manifest):
            return manifest
        manifest = self.folder.read()  # it may have ended since the manifest was read
        return manifest if manifest.status.ended else manifest.model_copy(update={"status": Status.ABANDONED})

    def status(self) -> Status:
        """The present status of the run."""
        return self.manifest().status

    @property
    def warnings(self) -> list[str]:
        """What was wrong with the schema before the run."""
        return self.folder.read().warnings

    def live(self) -> LiveView:
        """A live view of the run."""
        return LiveView(self.folder)

    def stop(self, at_once: bool = False) -> None:
        """Ask the run to end: the window closes now and the result is kept; ``at_once`` does not wait for clients."""
        if self.status().ended:
            return
        try:
            page = Control(self.folder.control)
        except FileNotFoundError:  # it has ended since
            return
        wanted = Stop.AT_ONCE if at_once else Stop.GRACEFUL
        page.fields[Field.STOP_REQUEST] = max(page.fields[Field.STOP_REQUEST], wanted)
        page.close()

    def wait(self, watch: OnPoll | None = None) -> Manifest:
        """Wait for the end. ``watch`` is called several times per second with this handle."""
        while True:
            manifest = self.manifest()
            if manifest.status.ended:
                break
            if watch:
                watch(self)
            time.sleep(_POLL_S)
        if self._process:
            self._process.wait()
        return manifest

    def recover(self) -> Manifest:
        """Complete the folder of a run whose supervisor died, or whose tables could not be written.

        Faults that the run left behind are undone first: a stopped server is started, a frozen one continues. So are
        the changes of its load, if that asks for it.

        Raises:
            RunFailed: a fault or a change could not be undone, or the tables could not be written; what is needed for
                it is kept.
            InputError: the run is still running, there is nothing to recover, or another version of hdbkit wrote its
                spools, which are kept.
        """
        manifest = self.manifest()
        if not manifest.status.ended:
            raise InputError(f"run {self.run_id} is still running; stop it first: hdbkit stop {self.run_id}")
        undone = self._undone()
        manifest = manifest.model_copy(update={"warnings": [*manifest.warnings, *undone]})
        if not self.folder.spools.is_dir():
            if undone:
                if manifest.status is not Status.ABANDONED:
                    self.folder.write(manifest)
                return manifest
            if manifest.status is Status.ABANDONED:
                raise InputError(
                    f"run {self.run_id} has lost its supervisor and its spools, so there is nothing to recover; "
                    f"remove it with: hdbkit runs rm {self.run_id}"
                )
            raise InputError(f"run {self.run_id} is complete ({manifest.status.value}); there is nothing to recover")
        self._await_clients()
        self._collect()
        try:
            require_readable(self.folder.spools)
        except DamagedResult as error:
            raise InputError(f"run {self.run_id} cannot be recovered ({error}); its spools are kept") from None
        try:
            done = complete(self.folder, manifest)
        except OSError as error:
            full = f"{disk_full(self.folder.path)}; " if is_disk_full(error) else ""
            reason = f"{full}its tables could not be written ({error}); its spools are kept"
            raise RunFailed(self.run_id, reason) from None
        note = "recovered: its supervisor had died" if manifest.status is Status.ABANDONED else "recovered"
        done = done.moved_to(Status.DONE if manifest.status is Status.DONE else Status.STOPPED, note)
        self.folder.write(done)
        remove_spools(self.folder)
        return done

    def _collect(self) -> None:
        """Collect what load hosts still have, also after an earlier attempt. Raises ``RunFailed``."""
        if not missing(self.folder.spools):
            return
        done = subprocess.run(
            command_of(_CLUSTER_COLLECTOR, str(self.folder.path)),
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            check=False,
        )
        if done.returncode:
            reason = done.stderr.decode(errors="replace").strip().splitlines()[-1:] or ["its process was killed"]
            raise RunFailed(self.run_id, f"its load hosts cannot be asked ({reason[0]}); their files are kept")

    def _undone(self) -> list[str]:
        """Undo what the run's faults have left, and the changes of its load; return a warning for each."""
        faults = self._undo_faults()
        found = [f"a fault had left {' and '.join(faults)}, until it was undone by recover"] if faults else []
        if not left_changed(self.folder):
            return found
        self._await_clients()
        if failed := undo_changes(self.folder):
            raise RunFailed(self.run_id, "; ".join(failed))
        return [*found, "the changes of the run were undone by recover"]

    @property
    def left_by_faults(self) -> list[str]:
        """What the run's faults have left and is not undone yet, each as the object of a sentence."""
        if not self.folder.left_by_faults():
            return []
        from hdbkit.faults.undo import left_behind  # heavy, and most runs cause none

        return left_behind(self.folder)

    def _undo_faults(self) -> list[str]:
        """Undo what the run's faults have left; return what that was."""
        found = self.left_by_faults
        if not found:
            return []
        from hdbkit.faults.undo import undo_all

        failed = undo_all(self.folder)
        if failed:
            raise RunFailed(self.run_id, "; ".join(failed))
        return found

    def _await_clients(self) -> None:
        """Wait for the clients: they end shortly after their supervisor."""
        if not self.folder.control.is_file():
            return
        page, deadline = Control(self.folder.control), time.monotonic() + _CLIENTS_END_S
        pids = page.pids()
        page.close()
        while any(is_alive(pid) for pid in pids) and time.monotonic() < deadline:
            time.sleep(0.02)

    def _supervised(self, manifest: Manifest) -> bool:
        if self._process is not None:
            return self._process.poll() is None
        return is_supervised(self.folder, manifest)


def is_supervised(folder: RunFolder, manifest: Manifest) -> bool:
    """Whether the supervisor of a run is alive, or the process that is starting it."""
    if manifest.supervisor_pid is None:
        return is_in_charge(folder)
    return manifest.run_id == folder.run_id and is_alive(manifest.supervisor_pid, folder.run_id)


def start_run(
    target: Target,
    wanted: WorkloadSpec,
    planned: Planner,
    root: Path,
    started: Callable[[RunHandle], object],
    warnings: Sequence[str] = (),
) -> RunHandle:
    """Check with the server that a run can be done, empty the caches if asked, make its folder, start its supervisor.

    Args:
        target: the database.
        wanted: the schema that must be there.
        planned: makes the plan from the specification of the schema that is there.
        root: the folder of all results.
        started: receives the run as it starts. An interrupt in that instant is raised after it, so that who receives
            the run can stop it.
        warnings: what is known of the server, in addition to what the check finds.

    Raises:
        InputError: it cannot be run; nothing was made.
        ServerFailed: the restart that empties the server's cache failed; nothing was made.
    """
    ready = precheck(target, wanted, planned, root)
    ready = replace(ready, warnings=(*warnings, *_undo_killed(target, root), *ready.warnings))
    if ready.plan.load.cache is not Cache.WARM:
        power.empty(ready.plan.load.cache, target, control(target))
    with _alone(ready, root) as kept, signals_held():
        folder = make_run_folder(ready, root)
        process = _supervisor(folder, ready.plan, target, kept)
        _supervisors[:] = [one for one in _supervisors if one.poll() is None] + [process]
        handle = RunHandle(folder, process)
        started(handle)
    return handle


def _undo_killed(target: Target, root: Path) -> list[str]:
    """Turn off what killed runs had the target's server record; a sentence per run."""
    found: list[str] = []
    for path in root.glob(f"*/{RunFolder(root).instruments.name}") if has_instruments(target) else ():
        run = RunFolder(path.parent)
        with suppress(DamagedResult):
            manifest = run.read()
            alive = not manifest.status.ended and is_supervised(run, manifest)
            if not alive and address_of(manifest.plan.target) == address_of(target):
                done = f"run {run.run_id} was killed; what the server recorded for it is turned off"
                found += turn_off_instruments(run) or [done]
    return found


@contextmanager
def _alone(ready: Ready, root: Path) -> Iterator[list[int]]:
    """Lock the server that a run disturbs; yield the descriptors that keep the lock until the last fault is undone.

    Raises ``InputError`` while another run of the results folder disturbs that server.
    """
    if not ready.disturbed:
        yield []
        return
    otherwise = f"another run causes faults on {ready.plan.target.described}; wait until it ends, or stop it"
    with only_one(root, f"faults {ready.disturbed}", otherwise) as lock:
        yield [lock]


def _supervisor(folder: RunFolder, plan: RunPlan, target: Target, kept: Sequence[int]) -> Process:
    """Start the supervisor of a run; it inherits the descriptors ``kept`` and keeps a private server from ending."""
    program = _SUPERVISOR if plan.load.cluster is None else _CLUSTER_SUPERVISOR
    environment = {**os.environ, **ONE_THREAD, **handed_on(target)}
    with open(folder.supervisor_errors, "wb", opener=private) as errors, in_use(target.server_folder) as used:
        process = start_program(
            program,
            str(folder.path),
            *map(str, kept),
            environment=environment,
            stdout=DEVNULL,
            stderr=errors.fileno(),
            pass_fds=[*kept, *used],
        )
    with suppress(OSError):  # it may have ended and removed the folder of spools
        note_in_charge(folder, process.pid)
    return process


def execute(plan: RunPlan, root: Path, watch: OnPoll | None = None) -> Manifest:
    """Start a run and wait for its end. An interrupt stops it gracefully, a second one at once.

    Raises:
        InputError: it cannot be run; nothing was made.
        KeyboardInterrupt: it was interrupted; the run has ended and what it measured is kept.
    """
    begun: list[RunHandle] = []
    with stopping(begun):
        present = partial(_with_workload, plan)
        return start_run(plan.target, plan.workload, present, root, begun.append).wait(watch)


def execute_together(plans: Sequence[RunPlan], root: Path, watch: OnPoll | None = None) -> list[Manifest]:
    """Start runs at the same time and wait for all; ``watch`` is called with the first. Errors as :func:`execute`."""
    begun: list[RunHandle] = []
    with stopping(begun):
        try:
            for plan in plans:
                start_run(plan.target, plan.workload, partial(_with_workload, plan), root, begun.append)
        except Exception:  # none goes on alone
            for handle in begun:
                handle.stop(at_once=True)
                handle.wait()
            raise
        return [handle.wait(watch if number == 0 else None) for number, handle in enumerate(begun)]


def _with_workload(plan: RunPlan, found: WorkloadSpec) -> RunPlan:
    return plan.model_copy(update={"workload": found})


@contextmanager
def stopping(begun: Sequence[RunHandle]) -> Iterator[None]:
    """Have an interrupt of the block stop the runs that it has begun gracefully, and a second one at once."""
    try:
        yield
    except KeyboardInterrupt:
        for handle in begun:
            handle.stop()
            try:
                handle.wait()
            except KeyboardInterrupt:
                handle.stop(at_once=True)
                handle.wait()
        raise


def require_done(manifest: Manifest, left: Sequence[str] = ()) -> Manifest:
    """Return the manifest of a successful run. Raises ``RunFailed`` with the reason and what faults have ``left``."""
    if manifest.status is Status.ABANDONED:
        what = f", and a fault has left {' and '.join(left)}" if left else ""
        raise RunFailed(manifest.run_id, f"its supervisor died{what}; run: hdbkit recover {manifest.run_id}")
    if manifest.status is Status.FAILED:
        reason = next((event.note for event in reversed(manifest.history) if event.note), "no reason was noted")
        raise RunFailed(manifest.run_id, reason)
    return manifest
