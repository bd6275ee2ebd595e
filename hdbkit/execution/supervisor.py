"""The supervisor: one process a run, of a session of its own, that takes a plan to a complete run folder.

It starts the clients, publishes the common start, closes the window, ends the clients, and writes what they left.
It sends no messages: the control page and the folder are all that anybody sees of it. While the window is open it
looks at the page a few times a second and, where the run is bound to limits, seven times at what was done.
"""

from __future__ import annotations

import concurrent.futures
import errno
import importlib
import os
import signal
import sys
import threading
import time
import traceback
from collections.abc import Callable
from contextlib import closing, suppress
from datetime import UTC, datetime
from pathlib import Path
from types import ModuleType

from hdbkit.contracts import Capability, SessionOptions
from hdbkit.databases import database
from hdbkit.errors import HdbkitError
from hdbkit.execution import host
from hdbkit.execution.control import HEAD_START_S, ClientState, Control, Stop, Word
from hdbkit.execution.early_end import EarlyEnd
from hdbkit.execution.folder_setup import reserve_path
from hdbkit.execution.pool import Pool, disk_full
from hdbkit.execution.sampler import Lines, Sampler
from hdbkit.execution.server_host import ServerHost
from hdbkit.plan import RunPlan
from hdbkit.results.folder import RunFolder
from hdbkit.results.manifest import CheckLine, Clock, Manifest, Status
from hdbkit.workloads import workload

_TICK_S = 0.1
_READY_S = 120.0
_READY_LOOK_S = 0.02
_COUNTERS_S = 10.0
_COUNTERS_AGAIN_S = 0.5
_LAST_COUNTERS_S = 5.0
_GRACE_S = 10.0
_CHECKS_S = 600.0
_CHECK_S = 300.0
"""How long the server may take for one statement of the schema's checks, so that it does not go on without us."""

_ENDED_IN_RAMPUP = (
    "all clients reached their limit of iterations in the rampup, so nothing was measured; "
    "give more iterations or a shorter rampup_s"
)


class Ended(HdbkitError):
    """The run ends before its time, for a reason in one sentence."""


class Supervisor:
    """One run, from starting the clients to the last byte of the folder."""

    def __init__(self, folder: RunFolder) -> None:
        self._folder, self._manifest = folder, folder.read()
        self._plan = RunPlan.model_validate(self._manifest.plan)
        self._page = Control(folder.control)
        self._log = Lines(folder.log)
        self._clients = Lines(folder.spools / "clients.ndjson")
        self._pool = Pool(folder, self._plan, self._page)
        self._sampler = Sampler(self._plan, folder.spools, self._plan.load.counter_interval_s)
        self._server_host = ServerHost(self._plan.target, folder.spools)
        self._losses: set[int] = set()

    def run(self) -> Status:
        """The whole run; how it ended. Whatever happens, what was finished is kept and the manifest says why."""
        status, note = Status.DONE, ""
        try:
            self._write(self._manifest.model_copy(update={"supervisor_pid": os.getpid(), "host": host.facts()}))
            self._begin()
            status, note = self._phases()
        except HdbkitError as error:
            status, note = Status.FAILED, str(error)
        except Exception as error:
            self._note("trouble", traceback=traceback.format_exc())
            full = isinstance(error, OSError) and error.errno in (errno.ENOSPC, errno.EDQUOT)
            itself = f"hdbkit itself failed ({type(error).__name__}: {error})"
            status, note = Status.FAILED, disk_full(self._folder.path) if full else itself
        finally:
            self._end_clients()
        return self._complete(status, note)

    # -- beginning ----------------------------------------------------------------------------------------

    def _begin(self) -> None:
        """Clients ready, first counters taken, start published."""
        self._sampler.start()
        self._server_host.start()
        self._pool.start()
        _finish()  # its imports take a second, which the clients need to connect anyway
        deadline = time.monotonic() + _READY_S
        while not all(state is ClientState.READY for state in self._page.states()):
            endings = self._pool.endings()
            _refuse_failed(endings, self._pool)
            if endings:
                raise Ended("a client ended before the start")
            if time.monotonic() > deadline:
                ready = self._page.states().count(ClientState.READY)
                raise Ended(f"only {ready} of {self._plan.load.virtual_users} clients were ready in {_READY_S:g} s")
            if self._page.words[Word.STOP_REQUEST]:
                raise Ended("it was stopped before the start")
            self._pool.nap(_READY_LOOK_S)
        self._read_counters("run_start")
        start_ns = time.monotonic_ns() + round(HEAD_START_S * 1e9)
        clock = Clock(start_monotonic_ns=start_ns, start_wall=datetime.now(UTC))
        self._write(self._manifest.model_copy(update={"clock": clock}).moved_to(Status.RAMPUP))
        self._page.words[Word.START_AT_NS] = start_ns

    # -- the window ---------------------------------------------------------------------------------------

    def _phases(self) -> tuple[Status, str]:
        """Rampup, window, end; how the run ended and why."""
        load, start_ns = self._plan.load, self._page.words[Word.START_AT_NS]
        reason = self._wait_until(start_ns + round(load.rampup_s * 1e9))
        reason = reason or self._wait_until(start_ns + round(load.rampup_most_s * 1e9), self._settled)
        unmeasured = reason == "limit" and load.rampup_s > 0
        if reason != "stopped" and not unmeasured:
            opened_ns = self._edge("start")
            self._write(self._manifest.moved_to(Status.MEASURING))
            reason = reason or self._measured(opened_ns)
            if not self._at_once():
                self._edge("end")
        self._page.words[Word.STOP_AT_NS] = time.monotonic_ns()
        if reason == "stopped":
            return Status.STOPPED, "stopped on request"
        if self._manifest.ended_early:
            return Status.STOPPED, self._manifest.ended_early
        if unmeasured:
            return Status.DONE, _ENDED_IN_RAMPUP
        return Status.DONE, "all clients reached their limit of iterations" if reason == "limit" else ""

    def _measured(self, opened_ns: int) -> str | None:
        """Watch until the end of the window, or until it is certain that the run breaks a limit; why it ended."""
        with closing(EarlyEnd(self._folder, self._plan, self._manifest, opened_ns)) as early:
            reason = self._wait_until(opened_ns + round(self._plan.load.duration_s * 1e9), early.due)
        if early.reason and reason is None:
            self._write(self._manifest.model_copy(update={"ended_early": early.reason}))
        return reason

    def _settled(self) -> bool:
        """Whether the rampup may end before its longest time."""
        return self._sampler.few_full_pages

    def _wait_until(self, end_ns: int, enough: Callable[[], bool] = lambda: False) -> str | None:
        """Watch until then, or until it is enough; None, or why else it ended: stopped, limit. Raises ``Ended``."""
        while (left_ns := end_ns - time.monotonic_ns()) > 0 and not enough():
            self._pool.nap(min(_TICK_S, left_ns / 1e9))
            if self._page.words[Word.STOP_REQUEST]:
                return "stopped"
            endings = self._pool.endings()
            self._note_losses(endings)
            _refuse_failed(endings, self._pool)
            if len(endings) == self._plan.load.virtual_users:
                if "done" not in endings.values():
                    who = "the clients' forkserver was" if self._pool.forkserver_lost() else "all clients were"
                    raise Ended(f"{who} killed; what was finished is kept")
                return "limit"
        return None

    def _edge(self, edge: str) -> int:
        """The server's counters and the clients' CPU time at an edge of the window; when it is, in ns."""
        for i, pid in enumerate(self._pool.pids()):
            self._clients.try_to_add({"virtual_user": i, "pid": pid, f"cpu_{edge}_s": host.process_cpu_s(pid)})
        return self._read_counters(edge)

    def _read_counters(self, edge: str) -> int:
        """Have the server's counters read, again while it is away; the window's edge is when that succeeds, in ns.

        Raises ``Ended`` when the server stays away; the last sample then closes the window.
        """
        deadline = time.monotonic() + _COUNTERS_S
        while not self._at_once():
            asked = self._sampler.ask(edge)
            while not asked.done() and time.monotonic() < deadline and not self._at_once():
                concurrent.futures.wait([asked], timeout=_TICK_S)
            error = asked.exception() if asked.done() else HdbkitError("the server did not answer")
            if error is None:
                return round(asked.result())
            if not isinstance(error, HdbkitError):
                raise error
            self._note("counters not read", edge=edge, reason=str(error))
            if time.monotonic() + _COUNTERS_AGAIN_S > deadline:
                raise Ended(f"the server's counters could not be read ({edge}) for {_COUNTERS_S:g} s: {error}")
            time.sleep(_COUNTERS_AGAIN_S)
        return time.monotonic_ns()

    def _at_once(self) -> bool:
        return bool(self._page.words[Word.STOP_REQUEST] == Stop.AT_ONCE)

    def _note_losses(self, endings: dict[int, str]) -> None:
        lost = {i for i, ended in endings.items() if ended == "killed"} - self._losses
        for i in sorted(lost):
            self._losses.add(i)
            self._note("client lost", virtual_user=i)

    # -- the end ------------------------------------------------------------------------------------------

    def _end_clients(self) -> None:
        """Let the clients finish the transaction in flight, then end those that hang."""
        words = self._page.words
        words[Word.STOP_AT_NS] = min(words[Word.STOP_AT_NS], time.monotonic_ns())
        deadline = time.monotonic() + _GRACE_S
        while self._pool.alive() and time.monotonic() < deadline and not self._at_once():
            self._pool.nap(0.02)
        hung = self._pool.kill()
        for i in hung:
            self._note("client killed at the end", virtual_user=i, waited_s=_GRACE_S)
        self._note_losses(self._pool.endings())
        for i, ended in self._pool.endings().items():
            self._clients.try_to_add({"virtual_user": i, "ended": ended})
        self._read_the_end()
        self._server_host.stop()
        self._sampler.stop()
        self._sampler.join(5) if self._sampler.is_alive() else None

    def _read_the_end(self) -> None:
        """The counters once more, with the size of the data, when all transactions are over; they may be missing."""
        if self._sampler.is_alive() and not self._at_once():
            concurrent.futures.wait([self._sampler.ask("run_end")], timeout=_LAST_COUNTERS_S)

    def _complete(self, status: Status, note: str) -> Status:
        self._manifest = self._manifest.moved_to(Status.FINISHING)
        try:
            with suppress(OSError):  # a full disk ends below, in a sentence
                self._write(self._manifest)
            if status is Status.DONE:
                self._write(self._manifest.model_copy(update={"checks": self._schema_checks()}))
            manifest = _finish().complete(self._folder, self._manifest)
            self._write(manifest.moved_to(status, note))
        except Exception as error:
            return self._incomplete(note, error)
        _finish().remove_spools(self._folder)
        return status

    def _incomplete(self, note: str, error: Exception) -> Status:
        """The tables could not be written: say so, with the space that was kept for this sentence."""
        reserve_path(self._folder).unlink(missing_ok=True)
        self._note("trouble", traceback="".join(traceback.format_exception(error)))
        why = f"{note}; " if note else ""
        recover = f"its tables could not be written ({error}); run: hdbkit recover {self._plan.run_id}"
        with suppress(OSError):  # it is then told as a run whose supervisor died
            self._write(self._manifest.moved_to(Status.FAILED, why + recover))
        return Status.FAILED

    def _schema_checks(self) -> list[CheckLine]:
        """The conditions of the schema after the run; none where the engine keeps no tables."""
        if Capability.TABLES not in database(self._plan.target.kind).capabilities:
            return []
        found: list[CheckLine] = []
        asking = threading.Thread(target=lambda: found.extend(self._ask_schema()), daemon=True)
        asking.start()
        deadline = time.monotonic() + _CHECKS_S
        while asking.is_alive() and time.monotonic() < deadline and not self._at_once():
            asking.join(_TICK_S)
        if asking.is_alive():
            return [CheckLine(name="schema", passed=None, detail="could not be checked: the server did not answer")]
        return found

    def _ask_schema(self) -> list[CheckLine]:
        plan, engine = self._plan, database(self._plan.target.kind)
        options = SessionOptions(statement_timeout_ms=round(_CHECK_S * 1000), application="hdbkit check")
        try:
            session = engine.connect(plan.target, plan.workload.group, options)
            try:
                found = workload(plan.workload.group).check(session, plan.workload)
            finally:
                session.close()
        except Exception as error:
            return [CheckLine(name="schema", passed=None, detail=f"could not be checked: {error}")]
        return [CheckLine(name=f"schema: {one.name}", passed=one.passed, detail=one.detail) for one in found]

    # -- notes --------------------------------------------------------------------------------------------

    def _write(self, manifest: Manifest) -> None:
        self._manifest = manifest
        self._folder.write(manifest)

    def _note(self, event: str, **facts: object) -> None:
        self._log.try_to_add({"at": datetime.now(UTC).isoformat(), "event": event, **facts})

    def ask_to_stop(self, *_: object) -> None:
        """SIGTERM: once is graceful, twice is at once."""
        words = self._page.words
        words[Word.STOP_REQUEST] = min(words[Word.STOP_REQUEST] + 1, Stop.AT_ONCE)


def _refuse_failed(endings: dict[int, str], pool: Pool) -> None:
    """Raises ``Ended`` with the clients' own reasons when one could not go on."""
    if "failed" in endings.values():
        raise Ended(" ".join(pool.reasons()) or "a client failed")


def _finish() -> ModuleType:
    """The room's heavy module: pandas, DuckDB, SciPy."""
    return importlib.import_module("hdbkit.execution.finish")


def main() -> None:
    """Entry of the supervisor's process: ``python -c ... FOLDER``."""
    folder = RunFolder(Path(sys.argv[1]))
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGHUP, signal.SIG_IGN)
    supervisor = Supervisor(folder)
    signal.signal(signal.SIGTERM, supervisor.ask_to_stop)
    sys.exit(0 if supervisor.run() in (Status.DONE, Status.STOPPED) else 3)
