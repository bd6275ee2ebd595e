"""Arrivals: when the operations of an open loop are due, whatever the server does.

The rate, constant or changing in steps, is divided among the virtual users. With ``poisson`` each has a Poisson
process of its own, seeded by (run seed, index), and their union is one of the whole rate; with ``uniform`` they take
turns at equal distances. Times are whole microseconds since the run's start, so that a record keeps its scheduled
start exactly, and the analysis knows which arrivals were never served.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from itertools import count
from typing import TYPE_CHECKING, Final, TypeAlias

from hdbkit.config import Load, WorkloadSpec
from hdbkit.config.load import Arrivals, RateOf
from hdbkit.errors import InputError
from hdbkit.later import numpy as np
from hdbkit.workloads import metric_of, workload

if TYPE_CHECKING:
    from numpy.typing import NDArray

_BLOCK: Final = 1000
_OF_ARRIVALS: Final = 0xA44
"""Sets the random numbers of arrivals apart from those of inputs."""

Times: TypeAlias = "NDArray[np.int64]"
_Numbers: TypeAlias = "NDArray[np.float64]"


def due_us(load: Load, rate_per_s: float, index: int) -> Iterator[Times]:
    """When the operations of a session are due, in order, without end, in blocks of some hundred.

    Args:
        load: the load.
        rate_per_s: operations per second of all users; with steps their mean over the window.
        index: the number of the session.

    Example:
        >>> load = Load(virtual_users=2, rate=1000, arrivals=Arrivals.UNIFORM)
        >>> next(due_us(load, 1000, index=1))[:3].tolist()
        [1000, 3000, 5000]
    """
    begin_us = load.user_of(index) * (load.start_delay_ms or 0) * 1000
    time_s = _times_of(load, rate_per_s)
    for positions in _even(load.sessions, index) if load.arrivals is Arrivals.UNIFORM else _random(load, index):
        found_us = np.rint(1e6 * time_s(positions)).astype(np.int64)
        if found_us[-1] >= begin_us:
            yield found_us[found_us >= begin_us]


def rate_of(spec: WorkloadSpec, load: Load) -> float | None:
    """The operations per second of an open loop, with steps their mean; None in a closed loop."""
    if not load.is_open:
        return None
    work = workload(spec)
    undone = work.rollback_shares(load)
    counted = {name: 1 - undone.get(name, 0.0) for name in metric_of(work, load).operations or work.operations}
    return operations_per_s(load, work.mix(load), counted)


def operations_per_s(load: Load, mix: Mapping[str, float], counted: Mapping[str, float]) -> float | None:
    """The rate of an open loop in operations per second; None in a closed loop.

    Args:
        load: the load.
        mix: the weight of each operation.
        counted: of the operations of the metric, by name, the share that is not rolled back by design.

    Raises:
        InputError: no operation of the metric is executed.
    """
    rate = load.steps.mean_level if load.steps is not None and load.steps.are_rates else load.rate
    if rate is None or load.rate_of is not RateOf.METRIC:
        return rate
    if not any(mix.get(name) for name in counted):
        raise InputError("rate_of is metric, but the mix has no operation of the metric; use rate_of operations")
    share = sum(mix.get(name, 0.0) * kept for name, kept in counted.items()) / sum(mix.values())
    return float(rate / share)


def _times_of(load: Load, rate_per_s: float) -> Callable[[_Numbers], _Numbers]:
    """What gives the time at which so many operations were due: the inverse of the rate's integral.

    Within a piece the rate r changes evenly, by s per second; n operations after its beginning the time is
    2 n / (r + sqrt(r^2 + 2 s n)). After the last step its rate continues.
    """
    steps = load.steps
    if steps is None:
        return lambda positions: positions / rate_per_s
    pieces = steps.pieces(load.starting_s + load.rampup_s)
    lengths_s, first, last = np.array([[one.duration_s, one.first, one.last] for one in pieces]).T
    first, last = (level * rate_per_s / steps.mean_level for level in (first, last))
    with np.errstate(divide="ignore", invalid="ignore"):
        slopes = np.append(np.where(lengths_s > 0, (last - first) / lengths_s, 0.0), 0.0)
    begins_s, begun = (np.append(0.0, one.cumsum()) for one in (lengths_s, lengths_s * (first + last) / 2))
    rates = np.append(first, last[-1])

    def time_s(positions: _Numbers) -> _Numbers:
        piece = np.searchsorted(begun, positions, "right") - 1
        beyond = positions - begun[piece]
        root = np.sqrt(np.maximum(rates[piece] ** 2 + 2 * slopes[piece] * beyond, 0.0))
        found: _Numbers = begins_s[piece] + 2 * beyond / (rates[piece] + root)
        return found

    return time_s


def _even(sessions: int, index: int) -> Iterator[_Numbers]:
    """Every ``sessions``-th position from ``index`` on."""
    for first in count(0, _BLOCK):
        yield np.arange(first, first + _BLOCK, dtype=np.float64) * sessions + index


def _random(load: Load, index: int) -> Iterator[_Numbers]:
    """The positions of a Poisson process, as far apart on average as there are sessions."""
    generator, position = np.random.default_rng((load.seed, index, _OF_ARRIVALS)), 0.0
    sessions = load.sessions
    while True:
        positions = position + (generator.standard_exponential(_BLOCK) * sessions).cumsum()
        position = float(positions[-1])
        yield positions
