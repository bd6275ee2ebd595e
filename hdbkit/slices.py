"""Slices: the configurations of a sweep alternate within one run, each for a fraction of a second or some seconds.

What disturbs a host for minutes disturbs neighbouring slices alike, so their ratio is far less noisy than that of two
runs. Each cycle holds one slice of every configuration, in an order that is a row of a random Williams square
(``run_order``): each configuration follows each other equally often.
"""

from __future__ import annotations

from collections.abc import Iterator

from pydantic import Field

from hdbkit.config.model import ConfigModel
from hdbkit.run_order import orders

ON_SERVER = -1
"""Instead of a virtual user's number: a change that was made on the server, for all sessions."""


class Slices(ConfigModel):
    """The slices of a run. They begin with the run's start, and so alternate in the ramp-up as well."""

    configurations: tuple[int, ...] = Field(
        min_length=2, description="their numbers in the sweep; the first: baseline"
    )
    settings: tuple[dict[str, str], ...] = Field(description="the settings of each configuration, with their values")
    slice_s: float = Field(gt=0, description="length of a slice, in seconds")
    seed: int = Field(ge=0, description="seed of the order in each cycle")
    in_session: bool = Field(description="each client sets them in its own session; else the sweep, on the server")

    @property
    def cycle_s(self) -> float:
        """The length of a cycle, one slice of each configuration."""
        return self.slice_s * len(self.configurations)

    @property
    def described(self) -> str:
        """What a run executes: ``4 configurations in slices of 0.25 s``."""
        return f"{len(self.configurations)} configurations in slices of {self.slice_s:g} s"

    @property
    def slice_ns(self) -> int:
        """The length of a slice in ns."""
        return round(self.slice_s * 1e9)


class SliceOrder:
    """Which configuration each slice of a run has; slices count from 0 at the run's start."""

    def __init__(self, slices: Slices) -> None:
        self._count = len(slices.configurations)
        self._rows: Iterator[list[int]] = orders(self._count, slices.seed)
        self._known: list[int] = []

    def position(self, slice_number: int) -> int:
        """The position of a slice's configuration in ``Slices.configurations``."""
        while len(self._known) <= slice_number:
            self._known += next(self._rows)
        return self._known[slice_number]
