"""Whether two servers that are measured at the same time, and swap their roles, give less noise than runs in turn.

Both have equal data and equal settings, so each log ratio should be 0; its standard deviation is the noise of a
comparison. In each round both ways have the same measured time: two runs one after the other on one server, and two
simultaneous pairs whose roles are swapped, so that what differs between the servers cancels.
"""

from __future__ import annotations

import math
import random
from collections.abc import Sequence

import numpy as np
from scipy.stats import f

import hdbkit
from bench.common import quick_or, scratch, server, title
from hdbkit.config import Load
from hdbkit.servers import PrivateServer

ROUNDS = quick_or(3, 20)
LOAD = Load(virtual_users=2, rampup_s=1, duration_s=quick_or(2, 8), counter_interval_s=60)
WAREHOUSES = 2


def measured(*servers: PrivateServer) -> list[float]:
    """The logarithms of the metric of simultaneous runs, one on each server."""
    running = [hdbkit.start(one.target, load=LOAD) for one in servers]
    return [math.log(one.wait().metric_value or math.nan) for one in running]


def in_turn(one: PrivateServer) -> float:
    """The log ratio of two runs one after the other."""
    (first,), (second,) = measured(one), measured(one)
    return first - second


def in_pairs(one: PrivateServer, other: PrivateServer) -> float:
    """The log ratio of two configurations, each measured on both servers beside the other one."""
    a_one, b_other = measured(one, other)
    b_one, a_other = measured(one, other)
    return ((a_one - b_other) + (a_other - b_one)) / 2


def compare(apart: Sequence[float], together: Sequence[float]) -> None:
    """Print both standard deviations, and their ratio with its 95 % interval (F)."""
    first, second = (float(np.std(values, ddof=1)) for values in (apart, together))
    limits = [float(f.ppf(level, len(apart) - 1, len(together) - 1)) for level in (0.975, 0.025)]
    low, high = (first / second / math.sqrt(limit) for limit in limits)
    print(
        f"standard deviation of a log ratio: in turn {first:.4f}, in pairs {second:.4f}; "
        f"ratio {first / second:.2f} ({low:.2f} to {high:.2f})",
        flush=True,
    )


def main() -> None:
    """Measure both ways in each round, in random order."""
    title(f"two servers in turn, and simultaneously with swapped roles: {ROUNDS} rounds of {LOAD.duration_s:g} s")
    draw, apart, together = random.Random(1), list[float](), list[float]()
    with scratch(), server(WAREHOUSES) as one, server(WAREHOUSES) as other:
        for number in range(1, ROUNDS + 1):
            for simultaneous in draw.sample((False, True), 2):
                if simultaneous:
                    together.append(in_pairs(one, other))
                else:
                    apart.append(in_turn(one))
            print(f"  round {number}: in turn {apart[-1]:+.3f}, in pairs {together[-1]:+.3f}", flush=True)
    compare(apart, together)


if __name__ == "__main__":
    main()
