"""The database's host: its memory and cores, and what its kernel allows, read here or by its agent."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Final

from hdbkit.config import Target
from hdbkit.config.hosts import is_local
from hdbkit.config.quantities import Dimension, Quantity, quantity_text
from hdbkit.errors import CannotConnect
from hdbkit.execution import host
from hdbkit.readings import HostNeeds
from hdbkit.servers.agent_client import AgentAway, AgentClient

_PAGE_BYTES, _HUGE_PAGE_BYTES = 4096, 2 << 20
_OTHER_SEMAPHORES: Final = (2000, 2560)
"""Operations of one call, and sets, where the host's own numbers are unknown."""


def host_facts(target: Target) -> dict[str, str]:
    """``ram`` and ``cpus`` of the database's host, as written in a sweep file.

    They come from the agent, or from this host if the server is on it; empty for other hosts.

    Raises:
        CannotConnect: the agent does not answer.
    """
    if target.control.agent:
        return _as_written(_of_agent(target))
    return _as_written(host.server_facts(target)) if is_local(target.host) else {}


def kernel_facts(target: Target, daemon: str, *, here: bool) -> dict[str, list[int]]:
    """What the kernel of the database's host allows, by the agent or by this host; empty for other hosts.

    Raises:
        CannotConnect: the agent does not answer.
    """
    if target.control.agent:
        return _of_agent(target, "kernel")
    return host.kernel_limits(daemon) if here else {}


def _of_agent(target: Target, what: str = "host") -> dict[str, Any]:
    with AgentClient(target.control) as agent:
        try:
            return dict(agent.get("info").get(what, {}))
        except AgentAway as away:
            advice = "start it on the server's host with: hdbkit agent TARGET, or give the facts in the file"
            raise CannotConnect(agent.address, str(away), advice) from None


def _as_written(known: dict[str, Any]) -> dict[str, str]:
    ram = Quantity(Fraction(known["memory_bytes"]), Dimension.SIZE)
    return {"ram": quantity_text(ram), "cpus": str(known["cores"])}


@dataclass(frozen=True)
class KernelParameter:
    """A parameter, what it must be at least, what it is (empty: unknown), and the line that sets it."""

    name: str
    needed: tuple[int, ...]
    found: tuple[int, ...]
    line: str

    @property
    def too_small(self) -> bool:
        """Whether the host allows less than is needed."""
        return any(has < needs for has, needs in zip(self.found, self.needed, strict=False))


def kernel_parameters(needs: HostNeeds, kernel: Mapping[str, Sequence[int]]) -> list[KernelParameter]:
    """What the database needs of the kernel, compared with the kernel of its host; empty ``kernel``: unknown."""
    size = needs.shared_bytes
    operations, sets = kernel.get("kernel.sem", (0, 0, *_OTHER_SEMAPHORES))[2:]
    pages, huge_pages = -(-size // _PAGE_BYTES), -(-size // kernel.get("Hugepagesize", [_HUGE_PAGE_BYTES])[0])
    semaphores = needs.semaphores
    sysctl, limits = "in /etc/sysctl.conf:", "in /etc/security/limits.conf, for the instance's account:"
    group = "and vm.hugetlb_shm_group = the group of the instance"
    needed = {
        "kernel.shmmax": ((size,), f"{sysctl} kernel.shmmax = {size}"),
        "kernel.shmall": ((pages,), f"{sysctl} kernel.shmall = {pages}"),
        "kernel.sem": (
            (semaphores, semaphores),
            f"{sysctl} kernel.sem = {semaphores} {semaphores * sets} {operations} {sets}",
        ),
        "vm.nr_hugepages": ((huge_pages,), f"{sysctl} vm.nr_hugepages = {huge_pages} {group}"),
        "memlock": ((size,), f"{limits} hard memlock {-(-size // 1024)}"),
    }
    return [KernelParameter(name, least, tuple(kernel.get(name, ())), line) for name, (least, line) in needed.items()]
