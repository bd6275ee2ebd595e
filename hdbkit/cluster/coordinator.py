"""The load generator of many hosts: what the supervisor asks for is done by the host of each client.

Messages go to the workers directly, one for each host and second; the scheduler starts actors and knows who is there.
A host that does not answer is cut off: its users continue on their own, and what they recorded is collected when it
answers again.
"""

from __future__ import annotations

import json
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from functools import partial
from pathlib import Path
from typing import Any, Final

from pydantic import SecretStr

from hdbkit.cluster.connection import ANSWER_S, IMPORT_S, Connection
from hdbkit.cluster.host import facts, require_same
from hdbkit.cluster.host_search import HostSearch
from hdbkit.cluster.hosts import Collector, Host, actors_of, noted, read_clocks, shares
from hdbkit.contracts import UserPlan
from hdbkit.errors import HdbkitError
from hdbkit.execution.control import ClientState, Control
from hdbkit.execution.live_sums import LiveLines, Sums
from hdbkit.execution.load_generator import ClientReading, Ending
from hdbkit.execution.load_hosts import NotedHost, ends, folder_of, write_hosts
from hdbkit.execution.supervisor import main as supervise
from hdbkit.plan import RunPlan
from hdbkit.results.folder import RunFolder
from hdbkit.results.host_clock import Exchange, estimate_clock
from hdbkit.workloads import workload

LOGINS_PER_S: Final = 500.0
"""Logins per second of all hosts together, unless the load states its own rate."""
_LOOK_S: Final = 1.0
_PREPARED_S: Final = 60.0
_LOOKS_OF_ESTIMATE: Final = 10
_HEAD_START_S, _HEAD_START_OF_HOST_S = 2.0, 0.005
_BEYOND_S: Final = 60.0
"""How much longer than planned users may run whom nobody stops."""
_COLLECT_S: Final = 30.0
"""How long hosts that are cut off are awaited at the end."""


class ClusterLoad:
    """The load generator of the cluster that a plan's load names."""

    def __init__(self, folder: RunFolder, plan: RunPlan) -> None:
        assert plan.load.cluster is not None
        self._folder, self._plan = folder, plan
        self._secret = plan.target.secret()
        self._connection = Connection(plan.load.cluster)
        self._page = Control(folder.control)
        self._hosts: list[Host] = []
        self._lines = LiveLines(folder.spools)
        self._lock = threading.Lock()
        """Held while hosts are looked at or clocks are read, so that neither delays the other's messages."""
        self._changed, self._ended = threading.Event(), threading.Event()
        search = HostSearch(self._connection, plan.run_id, self._hosts, self._returned)
        self._watching = [
            threading.Thread(target=self._watch, name="hdbkit-hosts-watch", daemon=True),
            threading.Thread(target=search.run, args=(self._ended,), name="hdbkit-hosts-search", daemon=True),
        ]
        self._began = self._stops = self._clocks_read = False

    @property
    def head_start_s(self) -> float:
        """How long ahead the start must be published."""
        return _HEAD_START_S + _HEAD_START_OF_HOST_S * len(self._hosts)

    # -- before the start ---------------------------------------------------------------------------------

    def prepare(self, users: Sequence[UserPlan]) -> int:
        """Compare the hosts, read their clocks, start their users; return the number of clients.

        Raises:
            HdbkitError: a host cannot be used, or differs from this one. No user was started then.
        """
        self._connection.open()
        clients = len(self._plan.load.clients)
        workers = self._connection.await_workers()
        own = shares(clients, min(len(workers), clients))
        used = dict(enumerate(workers[: len(own)]))
        actors = actors_of(self._connection, self._plan.run_id, used, IMPORT_S)
        self._hosts += [
            self._new_host(number, used[number], own[number], actor) for number, actor in enumerate(actors)
        ]
        self._compare()
        self._exchange()
        prepared = self._each("prepare", _PREPARED_S, self._order, raising=(HdbkitError,))
        self._require_all(prepared, "did not start its users")
        self._write()
        for one in self._watching:
            one.start()
        return clients

    def _new_host(self, number: int, worker: str, part: range, actor: Any) -> Host:
        slices = self._plan.load.clients
        users = sum(len(slices[client]) for client in part)
        noted = NotedHost(
            number=number,
            name=worker,
            cores=0,
            machine="",
            clients=(part.start, part.stop),
            users=users,
            worker=worker,
        )
        return Host(noted, worker, actor)

    def _compare(self) -> None:
        """Compare what runs on the hosts with what runs here. Raises ``HdbkitError`` for the first difference."""
        target = self._plan.target.model_dump_json()
        here = facts(target)
        found = self._each("facts", _PREPARED_S, lambda _: (target,), raising=(HdbkitError,))
        self._require_all(found, "did not report its versions")
        for host in self._hosts:
            its = found[host.noted.number]
            require_same(here, its, host.worker)
            host.noted.name, host.noted.cores, host.noted.machine = its["name"], its["cores"], its["machine"]
            host.noted.has_own_clock = not here["clock"] or its["clock"] != here["clock"]
        names = Counter(host.noted.name for host in self._hosts)
        for host in self._hosts:
            if names[host.noted.name] > 1:
                host.noted.name += f" #{host.noted.number}"

    def _order(self, host: Host) -> tuple[str, SecretStr | None]:
        load = self._plan.load
        if load.connect_rate is None:
            load = load.model_copy(update={"connect_rate": LOGINS_PER_S})
        timed = all(phase.duration_s is not None for phase in workload(self._plan.workload).phases(load))
        content = {
            "plan": self._plan.model_copy(update={"load": load}).model_dump(mode="json"),
            "clients": host.noted.clients,
            "limit_s": load.max_duration_s + _BEYOND_S if timed else None,
            "is_paced": load.paced,
        }
        return json.dumps(content), None if self._secret is None else SecretStr(self._secret)

    def _require_all(self, answers: dict[int, Any], what: str) -> None:
        for host in self._hosts:
            if host.noted.number not in answers:
                raise HdbkitError(f"the load host {host.noted.name} ({host.worker}) {what}")

    # -- asking -------------------------------------------------------------------------------------------

    def _each(
        self,
        method: str,
        seconds: float = ANSWER_S,
        arguments: Callable[[Host], Iterable[Any]] = lambda _: (),
        hosts: Sequence[Host] | None = None,
        raising: tuple[type[Exception], ...] = (),
    ) -> dict[int, Any]:
        """The answers of the hosts that are not cut off, by number. Who does not answer is cut off from now on."""
        asked = [host for host in (self._hosts if hosts is None else hosts) if not host.is_cut_off]

        async def call(host: Host) -> Any:
            return await getattr(host.actor, method)(*arguments(host))

        found = self._connection.all({one.noted.number: partial(call, one) for one in asked}, seconds, raising)
        for host in asked:
            if host.noted.number not in found:
                self._lose(host)
        return found

    def _lose(self, host: Host) -> None:
        if not host.is_cut_off:
            host.is_cut_off = True
            host.noted.cut_offs.append((time.monotonic_ns(), None))
            self._write()

    def _exchange(self) -> None:
        """Read the clocks of the hosts by a burst of exchanges with each."""
        with self._lock:
            found = read_clocks(
                self._connection, {one.noted.number: one.actor for one in self._hosts if not one.is_cut_off}
            )
        for number, one in found.items():
            self._hosts[number].noted.add(noted(one))

    # -- while it runs ------------------------------------------------------------------------------------

    def _watch(self) -> None:
        """Ask each host once a second until the end."""
        next_s = time.monotonic()
        while not self._ended.wait(max(0.0, next_s - time.monotonic())):
            next_s = max(next_s + _LOOK_S, time.monotonic())
            self._look()

    def _look(self) -> None:
        sent: dict[int, int] = {}

        def number(host: Host) -> tuple[int]:
            host.looks += 1
            sent[host.noted.number] = time.monotonic_ns()
            return (host.looks,)

        returned = self._timed("look", number)
        sums, cpu_s, error, is_new = Sums(), 0.0, "", False
        for host in self._hosts:
            if (found := returned.get(host.noted.number)) is None:
                continue
            message, returned_ns = found
            answer = json.loads(message)
            host.noted.messages += 1
            host.noted.message_bytes += len(message)
            self._include(host, answer)
            sums.include(answer["sums"])
            cpu_s, error = cpu_s + answer["cpu_s"], answer["error"] or error
            exchange = Exchange(sent[host.noted.number], answer["received_ns"], answer["answered_ns"], returned_ns)
            host.exchanges.append(exchange)
            if len(host.exchanges) >= _LOOKS_OF_ESTIMATE:
                host.noted.add(noted(estimate_clock(host.exchanges)))
                host.exchanges, is_new = [], True
        if is_new:
            self._write()
        if self._began:
            self._lines.add(time.monotonic_ns(), sums, cpu_s, error)
        self._changed.set()

    def _timed(self, method: str, arguments: Callable[[Host], Iterable[Any]]) -> dict[int, tuple[Any, int]]:
        """The answers with the times of their return."""
        asked = [host for host in self._hosts if not host.is_cut_off]

        async def call(host: Host) -> tuple[Any, int]:
            answer = await getattr(host.actor, method)(*arguments(host))
            return answer, time.monotonic_ns()

        with self._lock:
            found = self._connection.all({one.noted.number: partial(call, one) for one in asked}, ANSWER_S)
        for host in asked:
            if host.noted.number not in found:
                host.looks = -1  # what was sent may be lost: it is sent again
                self._lose(host)
        return found

    def _include(self, host: Host, answer: dict[str, Any]) -> None:
        for client, state in answer["states"].items():
            host.states[int(client)] = ClientState(state)
            self._page.set_state(int(client), ClientState(state))
        for client, ending in answer["endings"].items():
            host.endings[int(client)] = Ending(ending)

    def _returned(self, host: Host) -> None:
        if self._stops:
            self._each("stop", hosts=[host])
        self._write()

    def ready(self) -> int:
        """The number of clients that are ready to begin; all are only once the clocks have been read again."""
        found = sum(state is ClientState.READY for host in self._hosts for state in list(host.states.values()))
        if found == sum(len(host.clients) for host in self._hosts) and not self._clocks_read:
            self._clocks_read = True
            self._exchange()
        return found

    def start_at(self, start_ns: int) -> None:
        """Publish the start time of all clients, on the clock of each host."""
        self._require_all(
            self._each("start_at", self.head_start_s, lambda host: (host.noted.clock.there(start_ns),)),
            "did not receive the start",
        )
        self._began = True

    def stop(self) -> None:
        """Let no further operation begin; those in flight are finished."""
        if not self._stops and self._hosts:
            self._stops = True
            self._each("stop")

    def wait(self, seconds: float) -> None:
        """Wait until the time has passed or hosts have reported."""
        self._changed.wait(seconds)
        self._changed.clear()

    def endings(self) -> dict[int, Ending]:
        """The end of each client that is known to have ended."""
        return {client: ending for host in self._hosts for client, ending in list(host.endings.items())}

    def all_ended(self) -> bool:
        """Whether no client is running, as far as hosts can be reached; one that is cut off may have running ones."""
        return all(host.has_ended for host in self._hosts)

    def reasons(self) -> str:
        """Why clients failed or were killed, else which hosts are cut off."""
        found = list(dict.fromkeys(text for text in self._each("reasons").values() if text))
        if not found and set(self.endings().values()) == {Ending.KILLED}:
            return "all clients were killed; finished work is kept"
        lost = [f"the load host {one.noted.name} ({one.worker}) is cut off" for one in self._hosts if one.is_cut_off]
        return " ".join(found) or "; ".join(lost)

    def readings(self) -> list[ClientReading]:
        """A present reading of each client that can be reached."""
        return [ClientReading(*one) for found in self._each("readings").values() for one in found]

    # -- the end ------------------------------------------------------------------------------------------

    def kill(self) -> list[int]:
        """Kill every client that is still running and can be reached; return their numbers."""
        left = [client for host in self._hosts if not host.is_cut_off for client in host.clients]
        left = sorted(set(left) - self.endings().keys())
        if left:
            self._each("kill")
        return left

    def collect(self) -> dict[int, Ending]:
        """Read the clocks once more, and move the hosts' files to the run folder; return how each client ended."""
        if not self._hosts:
            self._connection.close()
            return {}
        deadline = time.monotonic() + (_COLLECT_S if self._began else ANSWER_S)
        self._exchange()
        collector = Collector(self._folder.spools, self._connection)
        while left := [host for host in self._hosts if not host.noted.is_complete]:
            there = {host.noted.number: host.actor for host in left if not host.is_cut_off}
            for number in collector.collect(there):
                self._hosts[number].noted.is_complete = True
            self._write()
            if time.monotonic() > deadline or all(host.noted.is_complete for host in self._hosts):
                break
            self._ended.wait(0.2)
        self._ended.set()
        for one in self._watching:
            if one.ident is not None:
                one.join(ANSWER_S + _LOOK_S)
        self._look_last()
        write_hosts(self._folder.spools, [host.noted for host in self._hosts] if self._began else [])
        self._connection.close()
        known = self.endings()
        return {client: known.get(client, Ending.KILLED) for host in self._hosts for client in host.clients}

    def _look_last(self) -> None:
        """The ends of clients are in the collected folders, too, which need no connection."""
        for host in self._hosts:
            for row in ends(folder_of(self._folder.spools, host.noted.number)):
                host.endings[row["client"]] = Ending(row["ended"])

    def _write(self) -> None:
        write_hosts(Path(self._folder.spools), [host.noted for host in self._hosts])


def main() -> None:
    """Entry point of the process: ``python ... FOLDER [DESCRIPTOR]...``."""
    supervise(ClusterLoad)
