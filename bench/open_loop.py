"""The open loop at half of the maximum: is the rate kept, and how late do operations start?

The maximum is that of a closed loop with the same users, measured just before. The null engine answers each call
after a fixed time, without a server that needs a processor. Each user has arrivals of its own and performs one
operation at a time: uniform arrivals show how late a client starts, and Poisson arrivals are late by nature, as some
are due before the operation before them has ended.
"""

from __future__ import annotations

from functools import partial

import hdbkit
from bench.common import SETTINGS, blocks, quick_or, scratch, show, title
from hdbkit.config import Target
from hdbkit.results.run_result import ScheduleResult
from hdbkit.servers import private_server

USERS = 2
WAREHOUSES = 4
LATENCY_US = 2000
RAMPUP_S, WINDOW_S = quick_or((1, 8), (3, 30))
BLOCKS = quick_or(2, 4)
UNIFORM = "uniform"
ARRIVALS = (UNIFORM, "poisson")


def at_half(target: Target, arrivals: str) -> ScheduleResult:
    """The schedule of an open loop at half the rate of a closed one."""
    load = hdbkit.Load(virtual_users=USERS, rampup_s=RAMPUP_S, duration_s=WINDOW_S)
    most = hdbkit.run(target, load=load).operations_per_s or 0.0
    done = hdbkit.run(target, load=load.with_(rate=round(most / 2, 1), arrivals=arrivals)).summary
    assert done.schedule is not None
    return done.schedule


def compare(what: str, target: Target, at_most_ms: float) -> None:
    """Print the rate that was achieved, and the lateness, for each kind of arrivals."""
    ways = {arrivals: partial(at_half, target, arrivals) for arrivals in ARRIVALS}
    for arrivals, done in _by_way(blocks(ways, BLOCKS)).items():
        rates = [one.achieved_per_s * WINDOW_S / one.due for one in done]
        note = f"{done[0].due / WINDOW_S:,.0f} /s due; skipped {sum(one.skipped for one in done)}"
        show(f"{what}, {arrivals}: achieved / due", rates, at_least=0.995, note=note)
        late_ms = [(one.lateness.p99_us or 0) / 1000 for one in done]
        middle = ", ".join(f"{(one.lateness.p50_us or 0) / 1000:.2f}" for one in done)
        limit = at_most_ms if arrivals == UNIFORM else None
        show(f"{what}, {arrivals}: lateness p99", late_ms, unit="ms", at_most=limit, note=f"p50 {middle} ms")


def _by_way(done: list[dict[str, ScheduleResult]]) -> dict[str, list[ScheduleResult]]:
    return {name: [one[name] for one in done] for name in done[0]}


def main() -> None:
    """Print all figures."""
    title(f"open loop: {USERS} users at half of their maximum, {BLOCKS} blocks of {WINDOW_S} s windows")
    with scratch():
        null = Target.parse(f"nulldb:///open-loop?latency_us={LATENCY_US}")
        hdbkit.connect(null).build(warehouses=WAREHOUSES)
        compare("null engine", null, at_most_ms=1)
        hdbkit.connect(null).drop()
        for kind in ("postgresql", "mariadb"):
            with private_server(kind, settings=SETTINGS[kind]) as own:
                hdbkit.connect(own.target).build(warehouses=WAREHOUSES)
                compare(kind, own.target, at_most_ms=5)


if __name__ == "__main__":
    main()
