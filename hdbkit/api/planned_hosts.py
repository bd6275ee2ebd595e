"""How many load hosts the users of a planned sweep need, from the CPU time of clients in a stored run."""

from __future__ import annotations

import math
from dataclasses import dataclass
from itertools import islice
from statistics import median
from typing import Final

from hdbkit.analysis.run.timeline import readable
from hdbkit.api.alike import alike, of_run
from hdbkit.arrivals import rate_of
from hdbkit.experiment.sweep import SweepPlan
from hdbkit.results.folder import run_folders
from hdbkit.results.manifest import Manifest
from hdbkit.text import many, share
from hdbkit.workloads import specification
from hdbkit.workspace import BareWorkspace

USED: Final = 0.7
"""The share of a host's cores that clients may use: with more, operations wait for a core, and latencies grow."""
_READ: Final = 200
"""The newest runs that are looked at."""
_OTHER: Final = {
    *("virtual_users", "seed", "cluster", "cut_off_hosts", "start_delay_ms", "connect_rate"),
    *("rampup_s", "rampup_max_s", "duration_s", "iterations", "counter_interval_s"),
    *("rate", "rate_of", "arrivals", "latency_limit_ms", "steps", "keying_scale", "thinking_scale"),
}
"""Fields of a load that change how many operations there are, but not what one costs the client."""


@dataclass(frozen=True)
class PlannedHosts:
    """The load hosts that a number of virtual users needs.

    Args:
        virtual_users: the largest number of users in the plan.
        client_cpu_us: CPU time of clients per operation, in microseconds, as measured.
        operations_per_s: the largest rate to expect: that of an open loop, else the measured one, in proportion to
            the users if the plan has more.
        cores: of a load host in the measured run.
        run_id: the measured run.
        measured_users: its number of users.

    Example:
        >>> PlannedHosts(2000, 310.0, 40_000.0, 8, "some-run", 200).hosts
        3
    """

    virtual_users: int
    client_cpu_us: float
    operations_per_s: float
    cores: int
    run_id: str
    measured_users: int

    @property
    def cores_used(self) -> float:
        """The cores that clients keep busy."""
        return self.client_cpu_us * self.operations_per_s / 1e6

    @property
    def hosts(self) -> int:
        """The number of load hosts like the measured one."""
        return max(1, math.ceil(self.cores_used / (USED * self.cores)))

    @property
    def sentence(self) -> str:
        """What is needed, and what it follows from, without a full stop."""
        users, cores = many(self.virtual_users, "virtual user"), many(self.cores, "core")
        return (
            f"load hosts for {users}: {self.hosts} of {cores}, at {share(USED)} of their CPU time; clients use up to "
            f"{self.cores_used:.2g} cores, {self.client_cpu_us:.0f} us per operation at {self.operations_per_s:,.0f} "
            f"operations/s, from {many(self.measured_users, 'user')} of {self.run_id}"
        )


class PlannedHostsVerbs(BareWorkspace):
    """Verbs that plan load hosts."""

    def planned_hosts(self, planned: SweepPlan) -> PlannedHosts | None:
        """The load hosts that the largest number of users of a sweep needs; accesses no server.

        It follows from a stored run of the same target, workload and load, with as many users if there is one, else
        with the most. None if there is no such run.

        Args:
            planned: the sweep, as :func:`hdbkit.plan_sweep` gives it.
        """
        users = max(planned.spec.virtual_users)
        stored = readable(list(islice(run_folders(self.results), _READ)))
        runs = [one for _, one in stored if _cpu_us(one) and alike(planned, of_run(one.plan), except_for=_OTHER)]
        if not runs:
            return None
        enough = [one for one in runs if _users(one) >= users]
        run = min(enough, key=_users) if enough else max(runs, key=_users)
        rate = rate_of(planned.spec.workload or specification(), planned.spec.load)
        if rate is None:
            rate = (run.measured.operations_per_s or 0.0) * max(1.0, users / _users(run))
        cores = [one.cores for one in run.load_hosts] or [run.host.cores or 1]
        return PlannedHosts(users, _cpu_us(run) or 0.0, rate, int(median(cores)), run.run_id, _users(run))


def _users(run: Manifest) -> int:
    return run.plan.load.virtual_users


def _cpu_us(run: Manifest) -> float | None:
    result = run.result
    return result.client_cpu_us_per_operation if result and result.operations_per_s else None
