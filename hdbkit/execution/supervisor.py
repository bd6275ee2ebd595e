"""The supervisor: one process per run, in its own session, that executes a plan and completes the run folder.

It has the clients prepared, publishes the common start, executes the phases of the workload, ends the clients, and
writes what they left. It sends no messages: observers read the control page and the folder. During the window it
reads the control page several times per second, and the spools seven times if the run has limits.
"""

from __future__ import annotations

import concurrent.futures
import math
import os
import signal
import sys
import threading
import time
import traceback
from collections.abc import Callable, Sequence
from contextlib import closing, suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import Literal

from hdbkit.analysis.comparison.plans import changes_within
from hdbkit.awaiting import report_to, to_stderr
from hdbkit.config.load import Profile
from hdbkit.contracts import Capability, PlannedPhase, Session, SessionOptions
from hdbkit.databases import database
from hdbkit.errors import HdbkitError, disk_full, is_disk_full
from hdbkit.execution import host
from hdbkit.execution.cancelling import cancel_left
from hdbkit.execution.control import Control, Field, Stop
from hdbkit.execution.early_end import EarlyEnd
from hdbkit.execution.folder_setup import reserve_path
from hdbkit.execution.load_generator import Ending, LoadGenerator
from hdbkit.execution.local_pool import LocalPool
from hdbkit.execution.profiler import Profiler
from hdbkit.execution.query_plans import PlanWatch, plans_of
from hdbkit.execution.restoring import RunFaults, left_changed, note_changes, turn_on_instruments, undo_changes
from hdbkit.execution.sampler import Sampler, ServerHost
from hdbkit.execution.schema_changes import Objects, schema_changes
from hdbkit.execution.waits import WaitSampler
from hdbkit.files import JsonLines, results_umask
from hdbkit.plan import RunPlan
from hdbkit.readings import PoolMode
from hdbkit.results.columns import CLIENT_LINES
from hdbkit.results.folder import RunFolder
from hdbkit.results.kept import write_plans
from hdbkit.results.manifest import CheckLine, Clock, HostFacts, Manifest, Status
from hdbkit.results.simultaneous import warn_of_others
from hdbkit.workloads import workload
from hdbkit.workloads.checking import run_checks

_POLL_S = 0.1
_READY_S = 120.0
_READY_POLL_S = 0.02
_COUNTERS_S = 10.0
_COUNTERS_AGAIN_S = 0.5
_LAST_COUNTERS_S = 5.0
_GRACE_S = 10.0
_CHECKS_S = 600.0
_WAITS_SHOWN_S = 3.0
"""How often it states what clients wait for before the start."""
_SHOWN_S = 1.0
"""How often the manifest states which statement of a check is running."""
_CHECK_S = 300.0
"""The timeout of one statement of the schema's checks, so that none continues after the run."""

_ENDED_BEFORE_WINDOW = (
    "all clients reached their limit of iterations in the ramp-up, so nothing was measured; "
    "give more iterations or a shorter rampup_s"
)


Reason = Literal["stopped", "limit", "enough"]
"""Why a phase ends early: on request, because all users are done, or because it need not continue."""


class Ended(HdbkitError):
    """The run ends early, for a reason in one sentence."""


class Supervisor:
    """One run, from the start of the clients to the complete folder.

    The process that causes its faults inherits the descriptors ``kept``; ``generator`` makes what drives the users.
    """

    def __init__(
        self,
        folder: RunFolder,
        kept: Sequence[int] = (),
        generator: Callable[[RunFolder, RunPlan], LoadGenerator] = LocalPool,
    ) -> None:
        self._folder, self._manifest = folder, folder.read()
        self._plan = self._manifest.plan
        self._workload = workload(self._plan.workload)
        self._phases = self._workload.phases(self._plan.load)
        self._page = Control(folder.control)
        self._log = JsonLines(folder.log)
        self._clients = JsonLines(folder.spools / CLIENT_LINES.name)
        self._new_generator = generator
        self._generator = generator(folder, self._plan)
        self._sampler = Sampler(self._plan, folder.spools, self._plan.load.counter_interval_s, self._workload)
        self._server_host = ServerHost(self._plan.target, folder.spools)
        self._waits = WaitSampler(self._plan, folder.spools)
        self._plans = PlanWatch(self._plan)
        self._profiler = Profiler(folder.spools)
        self._faults = RunFaults(folder, self._plan, kept)
        self._losses: set[int] = set()
        self._objects: Objects = {}
        self._start_ns = 0
        self._shown_s = time.monotonic()

    def run(self) -> Status:
        """Execute the run; return its end. After an error, finished records are kept; the manifest has the reason."""
        status, note = Status.DONE, ""
        try:
            here = HostFacts(**host.this_host_facts())
            self._write(self._manifest.model_copy(update={"supervisor_pid": os.getpid(), "host": here}))
            self._begin()
            status, note = self._execute()
        except HdbkitError as error:
            status, note = Status.FAILED, str(error)
        except Exception as error:
            self._note("internal error", traceback=traceback.format_exc())
            itself = f"hdbkit itself failed ({type(error).__name__}: {error})"
            status, note = Status.FAILED, self._full if is_disk_full(error) else itself
        finally:
            self._undo_faults()
            self._manifest = self._manifest.moved_to(Status.FINISHING)
            with suppress(OSError):  # a full disk is reported at the end
                self._write(self._manifest)
            self._end_clients()
            self._warn(self._faults.close())
        return self._complete(status, note)

    @property
    def _full(self) -> str:
        return f"{disk_full(self._folder.path)}; what was finished until then is kept"

    # -- beginning ----------------------------------------------------------------------------------------

    def _begin(self) -> None:
        """Wait until the clients are ready, read the first counters, publish the start."""
        reached = self._faults.prepare()
        if reached is not self._plan.target:
            self._generator = self._new_generator(self._folder, self._plan.model_copy(update={"target": reached}))
        clients = self._generator.prepare(self._plan.users)  # forks, so no thread runs yet
        self._sampler.start()
        self._server_host.start()
        ready_s = _READY_S + self._plan.load.login_s(self._plan.load.sessions)
        deadline = time.monotonic() + ready_s
        while (ready := self._generator.ready()) < clients:
            self._raise_failed()
            if self._generator.endings():
                raise Ended("a client ended before the start")
            if time.monotonic() > deadline:
                why = f": {said}" if (said := self._generator.reasons()) else self._pool_advice()
                raise Ended(f"only {ready} of {clients} clients were ready in {ready_s:g} s{why}")
            if self._page.fields[Field.STOP_REQUEST]:
                raise Ended("it was stopped before the start")
            self._show_waits()
            self._generator.wait(_READY_POLL_S)
        note_changes(self._folder, self._plan)
        self._take_snapshot()
        self._objects = self._schema_objects()
        turn_on_instruments(self._folder, self._plan)
        self._read_counters("run_start")
        self._waits.start()
        self._plans.start()
        self._start_ns = time.monotonic_ns() + round(self._generator.head_start_s * 1e9)
        clock = Clock(start_monotonic_ns=self._start_ns, start_wall=datetime.now(UTC))
        self._write(self._manifest.model_copy(update={"clock": clock, "doing": ""}).moved_to(Status.RAMPUP))
        self._generator.start_at(self._start_ns)

    def _schema_objects(self) -> Objects:
        """What the schema consists of; nothing if that is not known."""
        engine = database(self._plan.target)
        if not self._manifest.operations or Capability.SQL not in engine.capabilities:
            return {}
        try:
            with closing(self._connected()) as session:
                return engine.schema_objects(session)
        except (HdbkitError, OSError) as error:
            self._note("objects of the schema not read", reason=str(error))
            return {}

    def _show_waits(self) -> None:
        """State what clients wait for that cannot begin."""
        if time.monotonic() < self._shown_s + _WAITS_SHOWN_S:
            return
        self._shown_s, doing = time.monotonic(), self._generator.reasons()
        if doing != self._manifest.doing:
            self._write(self._manifest.model_copy(update={"doing": doing}))

    def _pool_advice(self) -> str:
        pooling = self._plan.pooling
        if pooling is None or pooling.mode is PoolMode.DIRECT:
            return ""
        each = "user" if pooling.mode is PoolMode.SESSION else "open transaction"
        needs = f"with {pooling.mode} pooling each {each} needs a connection of its own"
        return f"; {needs}: use fewer users or a larger pool"

    # -- phases -------------------------------------------------------------------------------------------

    def _execute(self) -> tuple[Status, str]:
        """Execute the phases, with the window around the measured ones; return how the run ended and why."""
        before = [i for i, phase in enumerate(self._phases) if not phase.measured]
        window = [i for i, phase in enumerate(self._phases) if phase.measured]
        after = [i for i in before if i > window[-1]]
        self._wait_until(self._start_ns)
        reason = self._in_turn([i for i in before if i < window[0]], self._start_ns)
        unmeasured = reason is not None
        if not unmeasured:
            reason = self._measure(window)
        if reason is None:
            reason = self._in_turn(after, time.monotonic_ns())
        self._generator.stop()
        if reason == "stopped":
            return Status.STOPPED, "stopped on request"
        if self._manifest.ended_early:
            return Status.STOPPED, self._manifest.ended_early
        if unmeasured:
            return Status.FAILED, _ENDED_BEFORE_WINDOW
        return Status.DONE, "all clients reached their limit of iterations" if reason == "limit" else ""

    def _measure(self, window: Sequence[int]) -> Reason | None:
        """Execute the measured phases between two readings of the server's counters; return why they ended early."""
        opened_ns = self._edge("start")
        self._write(self._manifest.moved_to(Status.MEASURING))
        lengths = [self._phases[i].duration_s for i in window]
        window_s = None if None in lengths else sum(length or 0.0 for length in lengths)
        pids = [one.pid for one in self._generator.readings()]
        profiled = self._plan.load.profile is Profile.PERF
        if profiled:
            self._profiler.begin(pids, self._sampler.server_process)
        self._faults.begin(opened_ns, pids)
        with closing(EarlyEnd(self._folder, self._plan, self._manifest, opened_ns, window_s)) as early:
            reason = self._in_turn(window, opened_ns, early.due)
        if reason is None:
            self._await_faults()
        if profiled and (why := self._profiler.end()):
            self._warn([why])
        self._undo_faults()
        if reason == "enough":
            self._write(self._manifest.model_copy(update={"ended_early": early.reason}))
        if not self._at_once():
            self._edge("end")
        return reason

    def _in_turn(
        self, phases: Sequence[int], begin_ns: int, enough: Callable[[], bool] = lambda: False
    ) -> Reason | None:
        """Execute adjoining phases; return why they ended early, else None."""
        for i in phases:
            self._note_phase(i, start_us=(begin_ns - self._start_ns) // 1000)
            self._write(self._manifest)
            reason, end_ns = self._execute_one(self._phases[i], begin_ns, enough)
            self._note_phase(i, end_us=(end_ns - self._start_ns) // 1000)
            if reason:
                return reason
            begin_ns = end_ns
        return None

    def _execute_one(
        self, phase: PlannedPhase, begin_ns: int, enough: Callable[[], bool]
    ) -> tuple[Reason | None, int]:
        """Execute one phase; return why it ended early, if it did, and when."""
        if phase.duration_s is None:
            reason = self._wait_until(None, enough)
            return None if reason == "limit" else reason, time.monotonic_ns()
        end_ns = begin_ns + round(phase.duration_s * 1e9)
        reason = self._wait_until(end_ns, enough)
        if reason is None and phase.max_s > phase.duration_s:
            reason = self._wait_until(begin_ns + round(phase.max_s * 1e9), self._settled)
            return None if reason == "enough" else reason, time.monotonic_ns()
        return reason, end_ns if reason is None else time.monotonic_ns()

    def _await_faults(self) -> None:
        """Keep the window open until the last fault is over, for a server that takes long to start."""
        while not self._faults.over and not self._at_once():
            self._generator.wait(_POLL_S)

    def _undo_faults(self) -> list[str]:
        """Undo at once what has not ended; return a sentence, also a warning, for each that could not be undone."""
        failed = self._faults.undo()
        self._warn(failed)
        return failed

    def _warn(self, found: Sequence[str]) -> None:
        warnings = [*self._manifest.warnings, *(one for one in found if one not in self._manifest.warnings)]
        self._manifest = self._manifest.model_copy(update={"warnings": warnings})

    def _note_phase(self, index: int, **times: int) -> None:
        phases = list(self._manifest.phases)
        phases[index] = phases[index].model_copy(update=times)
        self._manifest = self._manifest.model_copy(update={"phases": phases})

    def _settled(self) -> bool:
        """Whether an unmeasured phase may end before its maximum."""
        return self._sampler.few_full_pages

    def _wait_until(self, end_ns: int | None, enough: Callable[[], bool] = lambda: False) -> Reason | None:
        """Watch until this time (None: until all users are done); return why it ended early, else None.

        Raises ``Ended`` when a client failed or all were killed.
        """
        while not self._page.fields[Field.STOP_REQUEST]:
            left_s = math.inf if end_ns is None else (end_ns - time.monotonic_ns()) / 1e9
            if left_s <= 0:
                return None
            if enough():
                return "enough"
            self._generator.wait(min(_POLL_S, left_s))
            self._raise_failed()
            if self._generator.all_ended():
                if Ending.DONE not in self._generator.endings().values():
                    raise Ended(self._generator.reasons())
                return "limit"
        return "stopped"

    def _raise_failed(self) -> None:
        """Raise ``Ended`` if a client could not continue, or the process that causes the faults has ended."""
        endings = self._generator.endings()
        self._note_losses(endings)
        if Ending.FAILED in endings.values():
            raise Ended(self._generator.reasons() or "a client failed")
        if ended := self._faults.ended:
            failed = self._undo_faults()
            raise Ended(f"{ended}; {'; '.join(failed) or 'what it had begun is undone'}")

    def _edge(self, edge: str) -> int:
        """Sample the server's counters and the clients' CPU time at an edge of the window; return its time in ns."""
        for one in self._generator.readings():
            totals = {f"cpu_{edge}_s": one.cpu_s, f"waited_{edge}_s": one.waited_s}
            self._clients.try_to_add({"client": one.client, "pid": one.pid, **totals})
        return self._read_counters(edge)

    def _read_counters(self, edge: str) -> int:
        """Read the server's counters, retrying while it is unreachable; return the time of the reading in ns.

        Raises ``Ended`` when the server stays away; the last sample then closes the window.
        """
        deadline = time.monotonic() + _COUNTERS_S
        while not self._at_once():
            asked = self._sampler.ask(edge)
            while not asked.done() and time.monotonic() < deadline and not self._at_once():
                concurrent.futures.wait([asked], timeout=_POLL_S)
            error = asked.exception() if asked.done() else HdbkitError("the server did not answer")
            if error is None:
                return round(asked.result())
            if not isinstance(error, HdbkitError):
                raise error
            self._note("counters not read", edge=edge, reason=str(error))
            if time.monotonic() + _COUNTERS_AGAIN_S > deadline:
                reason = str(error) if asked.done() else f"{error}{self._pool_advice()}"
                raise Ended(f"the server's counters could not be read ({edge}) for {_COUNTERS_S:g} s: {reason}")
            time.sleep(_COUNTERS_AGAIN_S)
        return time.monotonic_ns()

    def _at_once(self) -> bool:
        return bool(self._page.fields[Field.STOP_REQUEST] == Stop.AT_ONCE)

    def _note_losses(self, endings: dict[int, Ending]) -> None:
        for client in sorted({i for i, ending in endings.items() if ending is Ending.KILLED} - self._losses):
            self._losses.add(client)
            self._note("client lost", client=client)

    # -- the end ------------------------------------------------------------------------------------------

    def _end_clients(self) -> None:
        """Let the clients finish the operations in flight, then kill those that hang."""
        self._generator.stop()
        deadline = time.monotonic() + _GRACE_S
        while not self._generator.all_ended() and time.monotonic() < deadline and not self._at_once():
            self._generator.wait(0.02)
        killed = self._generator.kill()
        for client in killed:
            self._note("client killed at the end", client=client, waited_s=_GRACE_S)
        cancel_left(self._plan, self._folder.spools, killed)
        endings = self._generator.collect()
        self._note_losses(endings)
        for client, ending in endings.items():
            self._clients.try_to_add({"client": client, "ended": ending.value})
        self._read_the_end()
        self._take_snapshot()
        self._read_serials()
        self._server_host.stop()
        self._plans.stop()
        self._waits.stop()
        self._warn([why for why in (self._waits.problem, self._server_host.problem) if why])
        self._sampler.stop()
        if self._sampler.is_alive():
            self._sampler.join(5)

    def _read_the_end(self) -> None:
        """Read the counters and the size of the data after all operations; the reading may be missing."""
        if self._sampler.is_alive() and not self._at_once():
            concurrent.futures.wait([self._sampler.ask("run_end")], timeout=_LAST_COUNTERS_S)

    def _take_snapshot(self) -> None:
        """Take a snapshot of the server's own repository, if the target asks for it; a warning has its number."""
        engine = database(self._plan.target)
        notice = engine.snapshot_notice(self._plan.target)
        if not notice or self._at_once():
            return
        try:
            with closing(self._connected()) as session:
                self._warn([f"snapshot {session.ask('take_snapshot')[0][0]} of the server was taken; {notice}"])
        except (HdbkitError, OSError) as error:
            self._warn([f"the server took no snapshot: {error}"])

    def _read_serials(self) -> None:
        """Read the last numbers that the schema gave, by which lost commits are found; they may be missing."""
        serial = self._workload.serial
        if not self._plan.load.faults or serial is None or self._at_once():
            return
        try:
            with closing(self._connected()) as session:
                self._faults.keep_serials(serial, session)
        except (HdbkitError, OSError) as error:
            self._note("serial numbers not read", reason=str(error))

    def _connected(self) -> Session:
        """A session of its own with the workload's statements."""
        plan, engine = self._plan, database(self._plan.target)
        timeout_ms = round(_CHECK_S * 1000)
        options = SessionOptions(statement_timeout_ms=timeout_ms, application="hdbkit check", pooling=plan.pooling)
        session = engine.connect(plan.target, self._workload.scope(engine.dialects), options)
        engine.lift_limits(session)
        return session

    def _complete(self, status: Status, note: str) -> Status:
        try:
            if status is Status.DONE:
                self._keep_plans()
            self._restore()
            self._warn(warn_of_others(self._folder, self._manifest))
            if self._objects and not self._at_once():
                self._warn(schema_changes(self._objects, self._schema_objects()))
            if status is Status.DONE:
                self._write(self._manifest.model_copy(update={"checks": self._schema_checks(), "doing": ""}))
            from hdbkit.execution import finish  # with pandas, DuckDB and SciPy, which the run itself does not need

            manifest = finish.complete(self._folder, self._manifest)
            if status is Status.DONE and (nothing := finish.nothing_completed(manifest)):
                status, note = Status.FAILED, nothing
            self._write(manifest.moved_to(status, note))
        except Exception as error:
            return self._incomplete(note, error)
        finish.remove_spools(self._folder)
        return status

    def _keep_plans(self) -> None:
        """Ask for the plans of the run's queries, on the data that they have seen; they may be missing."""
        if self._at_once():
            return
        try:
            if plans := self._plans.complete(plans_of(self._plan), self._start_ns):
                write_plans(self._folder.plans, plans)
                changed = changes_within(plans)
                self._warn(
                    [f"the plan of {one} changed by {s:.0f} s of the run: it {what}" for s, one, what in changed]
                )
        except Exception as error:
            self._note("plans of queries not read", reason=str(error))

    def _restore(self) -> None:
        """Undo the changes of the load, if it asks for that, and of the server; a failure is a warning."""
        if not left_changed(self._folder):
            return
        self._write(self._manifest.model_copy(update={"doing": "undoing the changes of the run"}))
        self._warn(undo_changes(self._folder, self._at_once()))
        self._manifest = self._manifest.model_copy(update={"doing": ""})

    def _incomplete(self, note: str, error: Exception) -> Status:
        """Report that the tables could not be written, in space that was reserved for this message."""
        reserve_path(self._folder).unlink(missing_ok=True)
        self._note("internal error", traceback="".join(traceback.format_exception(error)))
        note = note or (self._full if is_disk_full(error) else "")
        why = f"{note}; " if note else ""
        recover = f"its tables could not be written ({error}); run: hdbkit recover {self._plan.run_id}"
        with suppress(OSError):  # it is then reported as a run whose supervisor died
            self._write(self._manifest.moved_to(Status.FAILED, why + recover))
        return Status.FAILED

    def _schema_checks(self) -> list[CheckLine]:
        """Check the schema after the run; no checks if the engine does not store tables."""
        if Capability.TABLES not in database(self._plan.target).capabilities:
            return []
        found: list[CheckLine] = []
        running: list[str] = []
        asking = threading.Thread(target=self._ask_schema, args=(found, running), daemon=True)
        asking.start()
        deadline, shown_s = time.monotonic() + _CHECKS_S, time.monotonic()
        while asking.is_alive() and time.monotonic() < deadline and not self._at_once():
            asking.join(_POLL_S)
            if running and running[-1] != self._manifest.doing and time.monotonic() > shown_s + _SHOWN_S:
                shown_s = time.monotonic()
                self._write(self._manifest.model_copy(update={"doing": running[-1]}))
        if asking.is_alive():
            what = running[-1] if running else "the connection"
            reason = "the run was stopped" if self._at_once() else f"the checks took more than {_CHECKS_S:g} s"
            return [
                *found,
                CheckLine(name="schema", passed=None, detail=f"not checked to the end: {reason} at {what}"),
            ]
        return found

    def _ask_schema(self, found: list[CheckLine], running: list[str]) -> None:
        """Add each result to ``found``, and to ``running`` what is being done."""
        engine = database(self._plan.target)
        try:
            with closing(self._connected()) as session:
                planned = self._workload.checks(engine.dialects)
                for one in run_checks(planned, engine, session, running.append):
                    found.append(CheckLine(name=f"schema: {one.name}", passed=one.passed, detail=one.detail))
        except Exception as error:
            found.append(CheckLine(name="schema", passed=None, detail=f"could not be checked: {error}"))

    # -- notes --------------------------------------------------------------------------------------------

    def _write(self, manifest: Manifest) -> None:
        self._manifest = manifest
        self._folder.write(manifest)

    def _note(self, event: str, **facts: object) -> None:
        self._log.try_to_add({"at": datetime.now(UTC).isoformat(), "event": event, **facts})

    def ask_to_stop(self, *_: object) -> None:
        """Handle SIGTERM: the first is graceful, the second immediate."""
        fields = self._page.fields
        fields[Field.STOP_REQUEST] = min(fields[Field.STOP_REQUEST] + 1, Stop.AT_ONCE)


def main(generator: Callable[[RunFolder, RunPlan], LoadGenerator] = LocalPool) -> None:
    """Entry point of the supervisor's process: ``python ... FOLDER [DESCRIPTOR]...``."""
    report_to(to_stderr)
    os.umask(results_umask())
    folder = RunFolder(Path(sys.argv[1]))
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGHUP, signal.SIG_IGN)
    supervisor = Supervisor(folder, [int(one) for one in sys.argv[2:]], generator)
    signal.signal(signal.SIGTERM, supervisor.ask_to_stop)
    sys.exit(0 if supervisor.run() in (Status.DONE, Status.STOPPED) else 3)
