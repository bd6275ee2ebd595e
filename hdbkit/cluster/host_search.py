"""The search for load hosts that are cut off, in a thread of its own: a worker that hangs delays no other host."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from threading import Event
from typing import Any, Final

from hdbkit.cluster.connection import ANSWER_S, Connection
from hdbkit.cluster.hosts import Host, actors_of
from hdbkit.errors import HdbkitError

_AGAIN_S: Final = 2.0


class HostSearch:
    """Finds the hosts of a run that are cut off, and their actors.

    Args:
        connection: the connection with the cluster.
        run_id: the run.
        hosts: all of its hosts.
        returned: called with a host that answers again.
    """

    def __init__(
        self, connection: Connection, run_id: str, hosts: Sequence[Host], returned: Callable[[Host], None]
    ) -> None:
        self._connection, self._run_id = connection, run_id
        self._hosts, self._returned = hosts, returned

    def run(self, ended: Event) -> None:
        """Search every two seconds while hosts are cut off, until the run has ended."""
        while not ended.wait(_AGAIN_S):
            if any(host.is_cut_off for host in self._hosts):
                self._once()

    def _once(self) -> None:
        try:
            self._connection.reopen()
            workers = self._connection.workers()
        except HdbkitError:
            return
        used = {host.worker for host in self._hosts if not host.is_cut_off}
        for host in [one for one in self._hosts if one.is_cut_off]:
            for worker in sorted(set(workers) - used, key=lambda one: one != host.worker):
                if self._found_again(host, worker):
                    used.add(worker)
                    break

    def _found_again(self, host: Host, worker: str) -> bool:
        number = host.noted.number
        try:
            (actor,) = actors_of(self._connection, self._run_id, {number: worker})
        except HdbkitError:
            return False
        if not self._connection.all({number: partial(_held, actor)}, ANSWER_S).get(number):
            return False
        host.reached_by(worker, actor)
        self._returned(host)
        return True


async def _held(actor: Any) -> bool:
    return bool(await actor.held())
