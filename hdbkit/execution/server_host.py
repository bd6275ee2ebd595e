"""The load of the database host during a run, reported by its agent each second; one JSON object per line.

The load is optional: an unreachable agent leaves a gap and delays nothing.
"""

from __future__ import annotations

import threading
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

from hdbkit.config import Target
from hdbkit.errors import HdbkitError
from hdbkit.files import JsonLines

if TYPE_CHECKING:
    from hdbkit.servers.agent_client import AgentClient

FILE = "server_host.ndjson"
_EVERY_S = 1.0
_PATIENCE_S = 5.0


class ServerHost(threading.Thread):
    """Queries the agent of ``target`` each second; does nothing if there is no agent."""

    def __init__(self, target: Target, spools: Path) -> None:
        super().__init__(name="hdbkit-server-host", daemon=True)
        self._target, self._spools = target, spools
        self._ended = threading.Event()

    def start(self) -> None:
        """Start to query, if there is an agent."""
        if self._target.control.agent:
            super().start()

    def stop(self) -> None:
        """End after the present query."""
        self._ended.set()
        if self.is_alive():
            self.join(_PATIENCE_S)

    def run(self) -> None:
        """Query and write at once, each second, until ``stop``."""
        from hdbkit.servers.agent_client import AgentClient

        lines = JsonLines(self._spools / FILE)
        try:
            with AgentClient(self._target.control, keep=True) as agent:
                lines.try_to_add(_asked(agent))
                while not self._ended.wait(_EVERY_S):
                    lines.try_to_add(_asked(agent))
        except HdbkitError as error:  # access is denied: a retry would not help
            lines.try_to_add({"error": str(error)})


def rows(lines: list[dict[str, Any]], start_ns: int) -> list[dict[str, Any]]:
    """The rows of the table ``server_host``, each at the middle of its query."""
    return [
        {"t_us": round(((line["sent_ns"] + line["returned_ns"]) / 2 - start_ns) / 1000)}
        | {"name": name, "device": device, "value": value}
        for line in lines
        for name, device, value in line.get("metrics", ())
    ]


def _asked(agent: AgentClient) -> dict[str, Any]:
    from hdbkit.servers.agent_client import AgentAway

    sent_ns = time.monotonic_ns()
    try:
        found = agent.get("metrics", _PATIENCE_S)["metrics"]
    except AgentAway as away:
        return {"sent_ns": sent_ns, "returned_ns": time.monotonic_ns(), "away": str(away)}
    return {"sent_ns": sent_ns, "returned_ns": time.monotonic_ns(), "metrics": found}
