"""The process that causes the faults of a run, in a session of its own, and its handle.

It outlives the supervisor as long as a fault has to be undone: when its input ends, it undoes what it has done at
once and ends. On request, and after SIGTERM, SIGINT or SIGHUP, it undoes everything at once and stays until the
clients have ended, which may be connected through its proxy. What a fault leaves behind is in the run folder before
it begins (``undo``), in case this process is killed. What it did is noted in the run's spool folder, a line as each
fault begins, takes effect, begins to be undone, and ends.
"""

from __future__ import annotations

import asyncio
import signal
import subprocess
import sys
import time
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from multiprocessing.connection import Connection, Pipe
from pathlib import Path
from typing import Any

from hdbkit.config import Target
from hdbkit.config.fault import Fault, Thing
from hdbkit.config.withheld import also_reached
from hdbkit.databases import database
from hdbkit.errors import HdbkitError
from hdbkit.faults.actions import Actions, Do, FaultAction
from hdbkit.faults.proxy import Proxy
from hdbkit.faults.undo import undo_timeout_s
from hdbkit.files import JsonLines
from hdbkit.processes import birth_of
from hdbkit.programs import start_program
from hdbkit.results.folder import RunFolder

_LISTENING_S = 60.0
"""How long the process may take until it answers."""
_AHEAD_S = 5.0
"""How long before a fault its server is looked up, since a busy one takes long to answer."""
_SIGNALS = (signal.SIGTERM, signal.SIGINT, signal.SIGHUP)


@dataclass(frozen=True)
class InjectorOrders:
    """What the process receives first; it replies with the port of its proxy, 0 if it needs none."""

    target: Target
    faults: tuple[Fault, ...]
    seed: int
    folder: Path
    notes: Path


@dataclass(frozen=True)
class Begin:
    """What it receives when the window begins; it replies when all faults are over."""

    start_ns: int
    clients: tuple[int, ...]


@dataclass(frozen=True)
class Undo:
    """What it receives when all faults are to be undone; it replies when they are. ``None`` has it end as well."""


class Injector:
    """The handle of the process, which inherits the descriptors ``kept``; ``target`` is where clients connect to.

    Raises ``HdbkitError`` if the process does not start.
    """

    def __init__(
        self, target: Target, faults: Sequence[Fault], seed: int, folder: Path, notes: Path, kept: Sequence[int] = ()
    ) -> None:
        self._faults, self._late_ns, self._undone = tuple(faults), 0, False
        self._undo_s = undo_timeout_s(target)
        self._pipe, theirs = Pipe()
        with theirs:
            self._process = start_program("hdbkit.faults.injector", stdin=theirs.fileno(), pass_fds=kept)
        port = self._send_orders(InjectorOrders(target, self._faults, seed, folder, notes))
        self.target = _through_proxy(target, port) if port else target

    def _send_orders(self, orders: InjectorOrders) -> int:
        """Send the orders; return the port of the proxy, 0 if there is none."""
        try:
            self._pipe.send(orders)
            if self._pipe.poll(_LISTENING_S):
                return int(self._pipe.recv())
            reason = f"did not answer within {_LISTENING_S:g} s"
        except (EOFError, OSError):
            reason = "ended before it answered"
        self._process.kill()
        self._process.wait()
        self._pipe.close()
        raise HdbkitError(f"the process that causes the faults {reason}, so nothing was measured")

    def begin(self, start_ns: int, clients: Sequence[int]) -> None:
        """Begin to count the faults' times at ``start_ns`` of the monotonic clock."""
        self._late_ns = start_ns + round((max(fault.end_s for fault in self._faults) + self._undo_s) * 1e9)
        with suppress(OSError):  # its end is noticed by ``ended``
            self._pipe.send(Begin(start_ns, tuple(clients)))

    @property
    def pid(self) -> int:
        """The process's id."""
        return self._process.pid

    @property
    def ended(self) -> str:
        """How the process has ended, which it should not before ``close``; empty while it runs."""
        code = self._process.poll()
        if code is None:
            return ""
        how = f"was killed by signal {-code}" if code < 0 else f"ended with exit code {code}"
        return f"the process that causes the faults {how}"

    def over(self) -> bool:
        """Whether all faults are over, or should have been for long."""
        return bool(self.ended) or self._pipe.poll() or time.monotonic_ns() > self._late_ns

    def undo(self) -> None:
        """Have the process undo at once what has not ended, and wait for that; the clients stay connected."""
        if not self._undone:
            self._undone = True
            with suppress(OSError):
                self._pipe.send(Undo())
                self._pipe.poll(self._undo_s)

    def close(self) -> list[str]:
        """Undo what has not ended, and end the process; return what it has to report, in sentences.

        Closing the connection would not be enough, since the clients are forks that keep it open.
        """
        if self._pipe.closed:
            return []
        with suppress(OSError):
            self._pipe.send(None)
        with suppress(subprocess.TimeoutExpired):
            self._process.wait(self._undo_s)
        reports: list[str] = []
        with self._pipe, suppress(EOFError, OSError):
            while self._pipe.poll():
                reports = self._pipe.recv()
        return reports


def _through_proxy(target: Target, port: int) -> Target:
    """The target through the proxy; its password is looked up by its own address."""
    found = target.found_password()
    reached = also_reached(target, database(target).behind_proxy(target, port))
    return reached.with_(password=found.password if found else None)


def main() -> None:
    """Entry point of the process; its standard input is a connection with the supervisor."""
    supervisor = Connection(sys.stdin.fileno())
    asyncio.run(_Run(supervisor, supervisor.recv()).run())


class _Run:
    """The faults of one run."""

    def __init__(self, supervisor: Connection, orders: InjectorOrders) -> None:
        self._supervisor, self._orders = supervisor, orders
        self._actions = Actions(orders.target, orders.seed)
        self._proxy = Proxy(orders.target.host or "", orders.target.port or 0)
        self._closing = asyncio.Event()
        self._alone = {thing: asyncio.Lock() for thing in Thing}
        self._notes, self._unwritten = JsonLines(orders.notes), list[dict[str, Any]]()
        self._holds_notes = False

    async def run(self) -> None:
        """Cause all faults, report when they are over, and end when the supervisor closes the connection."""
        for number in _SIGNALS:
            asyncio.get_running_loop().add_signal_handler(number, self._closing.set)
        needs_proxy = any(fault.thing is Thing.NETWORK for fault in self._orders.faults)
        self._supervisor.send(await self._proxy.listen() if needs_proxy else 0)
        message = await self._received()
        if isinstance(message, Begin):
            message = await self._cause_all(message)
        elif message is not None:
            self._report([])
        if message is not None:
            await self._received()
        if self._unwritten:
            self._report([f"{len(self._unwritten)} times of faults could not be written, since the disk was full"])
        await self._proxy.close()

    async def _cause_all(self, begin: Begin) -> Any:
        """Cause all faults and report when they are over; return the message that follows."""
        self._actions.clients = {pid: birth_of(pid) for pid in begin.clients}
        following = asyncio.ensure_future(self._received())
        following.add_done_callback(lambda _: self._closing.set())
        await asyncio.gather(*(self._cause(number, begin.start_ns) for number in range(len(self._orders.faults))))
        self._report([])
        return await following

    def _report(self, sentences: list[str]) -> None:
        with suppress(OSError):
            self._supervisor.send(sentences)

    async def _received(self) -> Any:
        """The next message; None, too, when the connection has ended."""
        with suppress(EOFError, OSError):
            return await asyncio.to_thread(self._supervisor.recv)
        return None

    async def _cause(self, number: int, start_ns: int) -> None:
        """Wait, begin, wait, undo; if the connection ends before, do nothing or undo at once."""
        fault = self._orders.faults[number]
        at_s = start_ns / 1e9 + fault.at_s
        action = self._action(number, fault)
        await self._wait(at_s - _AHEAD_S - time.monotonic())
        ahead = asyncio.ensure_future(asyncio.to_thread(self._actions.look_up, fault))
        await self._wait(at_s - time.monotonic())
        async with self._alone[fault.thing]:
            if not self._closing.is_set():
                await self._begin_and_end(number, fault, action)
        await ahead

    async def _begin_and_end(self, number: int, fault: Fault, action: FaultAction) -> None:
        """Begin, wait, undo. Its time counts from when it is in effect, which takes a busy server long."""
        errors: list[str] = []
        self._note(number, "begin")
        if fault.thing is Thing.DISK:
            self._holds_notes = True  # so that nothing here waits for the frozen disk
        await self._tried(errors, fault, action.begin)
        if not errors:
            self._note(number, "effective")
            await self._wait(fault.duration_s)
        self._note(number, "undo")
        done_ns = await self._tried(errors, fault, action.end)  # also what failed may have had an effect
        if fault.thing is Thing.DISK:
            self._holds_notes = False
        self._note(number, "end", "; ".join(errors), done_ns)

    async def _tried(self, errors: list[str], fault: Fault, do: Do) -> int | None:
        """Do it; an error is added to ``errors``, whatever it is, since other faults have to be undone.

        The proxy's state belongs to this thread, and what waits for a server to another.
        """
        try:
            return do() if fault.thing is Thing.NETWORK else await asyncio.to_thread(do)
        except (HdbkitError, OSError) as error:
            errors.append(str(error))
        except Exception as error:
            errors.append(f"{type(error).__name__}: {error}")
        return None

    async def _wait(self, seconds: float) -> None:
        """Wait, or until the connection ends."""
        with suppress(TimeoutError):
            await asyncio.wait_for(self._closing.wait(), max(seconds, 0))

    def _action(self, number: int, fault: Fault) -> FaultAction:
        if fault.thing is not Thing.NETWORK:
            return self._actions.of(fault, RunFolder(self._orders.folder).left_by_fault(number))
        proxy = self._proxy

        def delay() -> None:
            proxy.delay_s = fault.delay_ms / 1000

        return FaultAction({"delay": delay, "cut": proxy.cut, "reset": proxy.reset}[fault.action], proxy.mend)

    def _note(self, number: int, event: str, error: str = "", at_ns: int | None = None) -> None:
        """Write a line of what happened now, or ``at_ns``, after those that a full or frozen disk did not take."""
        line = {"number": number, "fault": str(self._orders.faults[number]), "event": event}
        self._unwritten.append({**line, "t_ns": at_ns or time.monotonic_ns(), "error": error})
        with suppress(OSError):
            while self._unwritten and not self._holds_notes:
                self._notes.add(self._unwritten[0])
                del self._unwritten[0]
