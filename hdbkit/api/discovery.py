"""Discovers drivers, servers, kinds of databases, sources of passwords, and facts about hosts and their kernels."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Final

import pandas as pd

from hdbkit.config import Target
from hdbkit.config.hosts import is_local
from hdbkit.config.quantities import Dimension, Quantity, quantity_text
from hdbkit.databases import database, kinds, unusable
from hdbkit.errors import CannotConnect, MissingDriver
from hdbkit.execution import host
from hdbkit.readings import HostNeeds
from hdbkit.servers import find_binaries, startable_kinds
from hdbkit.servers.agent_client import AgentAway, AgentClient
from hdbkit.workspace import BareWorkspace


def drivers() -> pd.DataFrame:
    """List the drivers and servers that are usable on this host; one row each: what, name, usable, detail."""
    rows = []
    for kind in kinds():
        driver = _driver(kind)
        detail = driver["driver"] or driver["problem"]
        rows.append({"what": "driver", "name": kind, "usable": bool(driver["driver"]), "detail": detail})
    rows += [{"what": "driver", "name": kind, "usable": False, "detail": why} for kind, why in unusable().items()]
    for found in find_binaries():
        detail = f"{found.version}, {found.source}, {found.folder}"
        rows.append({"what": "server", "name": found.kind, "usable": True, "detail": detail})
    return pd.DataFrame(rows, columns=["what", "name", "usable", "detail"])


def list_databases() -> pd.DataFrame:
    """List the kinds of databases; one row each: kind, title, driver (or ""), problem (a sentence or ""), private.

    Kinds that hdbkit can start come first, in order of preference. ``private`` states whether hdbkit can start a
    server of this kind if its binaries are installed (``doctor`` finds them).

    Example:
        >>> hdbkit.list_databases().query("private")["kind"].tolist()  # doctest: +SKIP
    """
    startable = startable_kinds()
    ordered = [*startable, *(kind for kind in kinds() if kind not in startable)]
    rows = [{"kind": kind, **_driver(kind), "private": kind in startable} for kind in ordered]
    return pd.DataFrame(rows, columns=["kind", "title", "driver", "problem", "private"])


class DiscoveryVerbs(BareWorkspace):
    """Verbs that look at what a target needs."""

    def password_source(self, target: Target | str) -> str | None:
        """The source of the password for ``target``, as text; None if there is none. Never reveals the password.

        Searched in this order: memory, ``HDBKIT_PASSWORD``, the keyring, then the driver's own sources.

        Example:
            >>> hdbkit.password_source("postgresql://bench@db1/tpcc")  # doctest: +SKIP
            '~/.pgpass'
        """
        target = self.target(target)
        found = target.found_password()
        return found.source if found else database(target).password_source(target)


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


def _driver(kind: str) -> dict[str, str]:
    engine = database(kind)
    try:
        return {"title": engine.title, "driver": engine.driver_version(), "problem": ""}
    except MissingDriver as error:
        return {"title": engine.title, "driver": "", "problem": str(error)}


_PAGE_BYTES, _HUGE_PAGE_BYTES = 4096, 2 << 20
_OTHER_SEMAPHORES: Final = (2000, 2560)
"""Operations of one call, and sets, where the host's own numbers are unknown."""


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
