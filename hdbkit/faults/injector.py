"""The process that causes the faults of a run, in a session of its own, and its handle.

It outlives the supervisor as long as a fault has to be undone: when its input ends, it undoes what it has done at
once and ends. What it did is noted in the run's spool folder, a line as each fault begins and ends.
"""

from __future__ import annotations

import asyncio
import json
import signal
import subprocess
import sys
import time
from collections.abc import Awaitable, Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from multiprocessing.connection import Connection, Pipe
from pathlib import Path
from typing import Any, TypeVar

from hdbkit.config import Target
from hdbkit.config.fault import Fault, Thing
from hdbkit.errors import HdbkitError
from hdbkit.faults.actions import Action, Actions, nothing
from hdbkit.faults.proxy import Proxy
from hdbkit.processes import birth_of, command_of

T = TypeVar("T")
_UNDO_S = 120.0
"""How long the end of a fault may take, such as the start of a server that recovers."""
_LISTENING_S = 10.0
_AHEAD_S = 0.5
"""How long before a fault its server's processes are looked up."""


@dataclass(frozen=True)
class Orders:
    """What the process receives first; it replies with the port of its proxy, 0 if it needs none."""

    target: Target
    faults: tuple[Fault, ...]
    seed: int
    notes: Path


@dataclass(frozen=True)
class Begin:
    """What it receives when the window begins; it replies when all faults are over."""

    start_ns: int
    clients: tuple[int, ...]


class Injector:
    """The handle of the process; ``target`` is where the run's clients connect to."""

    def __init__(self, target: Target, faults: Sequence[Fault], seed: int, notes: Path) -> None:
        self._faults, self._late_ns = tuple(faults), 0
        ours, theirs = Pipe()
        with theirs:
            self._process = subprocess.Popen(
                command_of("hdbkit.faults.injector"), stdin=theirs.fileno(), start_new_session=True
            )
        self._pipe = ours
        self._pipe.send(Orders(target, self._faults, seed, notes))
        port = self._pipe.recv() if self._pipe.poll(_LISTENING_S) else 0
        self.target = _through_proxy(target, port) if port else target

    def begin(self, start_ns: int, clients: Sequence[int]) -> None:
        """Begin to count the faults' times at ``start_ns`` of the monotonic clock."""
        self._late_ns = start_ns + round((max(fault.end_s for fault in self._faults) + _UNDO_S) * 1e9)
        self._pipe.send(Begin(start_ns, tuple(clients)))

    def over(self) -> bool:
        """Whether all faults are over, or should have been for long."""
        return self._process.poll() is not None or self._pipe.poll() or time.monotonic_ns() > self._late_ns

    def close(self) -> None:
        """Undo at once what has not ended, and end the process.

        It is told so: clients are forks that keep the connection open.
        """
        with suppress(OSError):
            self._pipe.send(None)
        self._pipe.close()
        with suppress(subprocess.TimeoutExpired):
            self._process.wait(_UNDO_S)


def _through_proxy(target: Target, port: int) -> Target:
    """The target at the proxy's address; its password is looked up by its own address."""
    found = target.found_password()
    return target.with_(host="127.0.0.1", port=port, password=found.password if found else None)


def main() -> None:
    """Entry point of the process; its standard input is a connection with the supervisor."""
    supervisor = Connection(sys.stdin.fileno())
    asyncio.run(_Run(supervisor, supervisor.recv()).run())


class _Run:
    """The faults of one run."""

    def __init__(self, supervisor: Connection, orders: Orders) -> None:
        self._supervisor, self._orders = supervisor, orders
        self._actions = Actions(orders.target, orders.seed)
        self._proxy = Proxy(orders.target.host or "", orders.target.port or 0)
        self._closing = asyncio.Event()

    async def run(self) -> None:
        """Cause all faults, report that they are over, and end when the supervisor closes the connection."""
        needs_proxy = any(fault.thing is Thing.NETWORK for fault in self._orders.faults)
        self._supervisor.send(await self._proxy.listen() if needs_proxy else 0)
        begin = await self._received()
        if begin is None:
            return
        self._actions.clients = {pid: birth_of(pid) for pid in begin.clients}
        watching = asyncio.ensure_future(self._received())
        causing = [asyncio.ensure_future(self._cause(fault, begin.start_ns)) for fault in self._orders.faults]
        watching.add_done_callback(lambda _: self._closing.set())
        for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
            asyncio.get_running_loop().add_signal_handler(number, self._closing.set)
        await asyncio.gather(*causing)
        with suppress(OSError):
            self._supervisor.send(None)
        await watching

    async def _received(self) -> Any:
        """The next message; None, too, when the connection has ended."""
        with suppress(EOFError, OSError):
            return await asyncio.to_thread(self._supervisor.recv)
        return None

    async def _cause(self, fault: Fault, start_ns: int) -> None:
        """Wait, begin, wait, undo; if the connection ends before, do nothing or undo at once."""
        at_s = start_ns / 1e9 + fault.at_s
        await self._wait(at_s - _AHEAD_S - time.monotonic())
        errors: list[str] = []
        action = await self._tried(errors, self._action(fault))
        await self._wait(at_s - time.monotonic())
        if self._closing.is_set():
            return
        begun_s = self._note(fault, "begin")
        if action is not None:
            await self._tried(errors, self._done(fault, action.begin))
            if not errors:
                self._note(fault, "effective")
                await self._wait(begun_s + fault.duration_s - time.monotonic())
            await self._tried(errors, self._done(fault, action.end))  # also what failed may have had an effect
        self._note(fault, "end", "; ".join(errors))

    async def _tried(self, errors: list[str], doing: Awaitable[T]) -> T | None:
        """Await it; an error is added to ``errors``, whatever it is, since other faults have to be undone."""
        try:
            return await doing
        except (HdbkitError, OSError) as error:
            errors.append(str(error))
        except Exception as error:
            errors.append(f"{type(error).__name__}: {error}")
        return None

    async def _wait(self, seconds: float) -> None:
        """Wait, or until the connection ends."""
        with suppress(TimeoutError):
            await asyncio.wait_for(self._closing.wait(), max(seconds, 0))

    async def _action(self, fault: Fault) -> Action:
        if fault.thing is not Thing.NETWORK:
            return await asyncio.to_thread(self._actions.of, fault)
        proxy = self._proxy

        def delay() -> None:
            proxy.delay_s = fault.delay_ms / 1000

        return Action({"delay": delay, "cut": proxy.cut, "reset": proxy.reset}[fault.action], proxy.mend)

    async def _done(self, fault: Fault, do: Callable[[], None]) -> None:
        """Do it: the proxy's state belongs to this thread, and what waits for a server to another."""
        if fault.thing is Thing.NETWORK:
            do()
        elif do is not nothing:
            await asyncio.to_thread(do)

    def _note(self, fault: Fault, event: str, error: str = "") -> float:
        """Append a line; return the time in seconds of the monotonic clock."""
        now_ns = time.monotonic_ns()
        line = {"fault": str(fault), "event": event, "t_ns": now_ns, "error": error}
        with suppress(OSError), self._orders.notes.open("a", encoding="utf-8") as file:
            file.write(json.dumps(line) + "\n")
        return now_ns / 1e9
