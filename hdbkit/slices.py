"""Slices: the configurations of a sweep alternate within one run, each for a fraction of a second or some seconds.

What disturbs a host for minutes disturbs neighbouring slices alike, so their ratio is far less noisy than that of two
runs. Each cycle holds one slice of every configuration, in an order that is a row of a random Williams square
(``run_order``): each configuration follows each other equally often.

The two sides of a comparison alternate alike, in two runs at the same time: the users of each keep their connections,
and pause in the slices of the other side.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator

from pydantic import Field

from hdbkit.config.model import ConfigModel
from hdbkit.run_order import orders

ON_SERVER = -1
"""Instead of a virtual user's number: a change that was made on the server, for all sessions."""


class Cycles(ConfigModel):
    """Slices of equal length, in cycles of one slice of each configuration."""

    configurations: tuple[int, ...] = Field(
        min_length=2, description="their numbers in the experiment; the first: baseline"
    )
    slice_s: float = Field(ge=0.001, description="length of a slice, in seconds")
    seed: int = Field(ge=0, description="seed of the order in each cycle")

    @property
    def cycle_s(self) -> float:
        """The length of a cycle, one slice of each configuration."""
        return self.slice_s * len(self.configurations)

    @property
    def slice_ns(self) -> int:
        """The length of a slice in ns."""
        return round(self.slice_s * 1e9)


class Slices(Cycles):
    """The slices of a run. They begin with the run's start, and so alternate in the ramp-up as well."""

    settings: tuple[dict[str, str], ...] = Field(description="the settings of each configuration, with their values")
    in_session: bool = Field(description="each client sets them in its own session; else the sweep, on the server")

    @property
    def described(self) -> str:
        """What a run executes: ``4 configurations in slices of 0.25 s``."""
        return f"{len(self.configurations)} configurations in slices of {self.slice_s:g} s"


class SideSlices(Cycles):
    """The slices of a run of one side of a comparison, whose load pauses in those of the other side."""

    side: int = Field(ge=0, description="whose slices are those of this run, a position in 'configurations'")
    origin_ns: int = Field(description="when the first slice begins, on the monotonic clock of the load host")

    def active_ns(self) -> Iterator[tuple[int, int]]:
        """The begin and the end of each slice of this side, on the monotonic clock, without end."""
        order = SliceOrder(self)
        for number in itertools.count():
            if order.position(number) == self.side:
                begin_ns = self.origin_ns + number * self.slice_ns
                yield begin_ns, begin_ns + self.slice_ns


class SliceOrder:
    """Which configuration each slice of a run has; slices count from 0."""

    def __init__(self, slices: Cycles) -> None:
        self._count = len(slices.configurations)
        self._rows: Iterator[list[int]] = orders(self._count, slices.seed)
        self._known: list[int] = []

    def position(self, slice_number: int) -> int:
        """The position of a slice's configuration in ``Slices.configurations``."""
        while len(self._known) <= slice_number:
            self._known += next(self._rows)
        return self._known[slice_number]

    def counts(self, cycle: int) -> bool:
        """Whether a cycle may count: of two configurations, if it begins with that with which the one before ended.

        Both of its slices then follow the same one, so what that leaves behind for the next changes no ratio.
        """
        begin = cycle * self._count
        return self._count > 2 or cycle == 0 or self.position(begin) == self.position(begin - 1)
