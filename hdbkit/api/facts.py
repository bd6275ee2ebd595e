"""What is known of a database's host: its memory and its cores, for the formulas of a sweep."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

from hdbkit.config import Target
from hdbkit.config.control_spec import is_loopback
from hdbkit.config.quantities import Kind, Quantity, quantity_text
from hdbkit.errors import CannotConnect
from hdbkit.execution import host
from hdbkit.servers.agent_client import AgentAway, AgentClient


def host_facts(target: Target) -> dict[str, str]:
    """``ram`` and ``cpus`` of the database's host, as a sweep file writes them.

    The agent tells them where there is one; a server of this host has this host's. Of any other nothing is known.

    Raises:
        CannotConnect: the agent does not answer.
    """
    if target.control.agent:
        return _as_written(_told_by_agent(target))
    name = target.host or "localhost"
    here = name.startswith("/") or is_loopback(name)
    return _as_written(host.facts()) if here else {}


def _told_by_agent(target: Target) -> dict[str, Any]:
    with AgentClient(target.control) as agent:
        try:
            return dict(agent.get("info")["host"])
        except AgentAway as away:
            advice = "start it on the server's host with: hdbkit agent TARGET, or write the facts into the file"
            raise CannotConnect(agent.address, str(away), advice) from None


def _as_written(known: dict[str, Any]) -> dict[str, str]:
    ram = Quantity(Fraction(known["memory_bytes"]), Kind.SIZE)
    return {"ram": quantity_text(ram), "cpus": str(known["cores"])}
