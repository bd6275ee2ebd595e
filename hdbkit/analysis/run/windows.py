"""The measured window: the only part of a run that its figures are made of.

An operation belongs to the window in which it **ends**. Times are microseconds since the run's start.
"""

from __future__ import annotations

from dataclasses import dataclass

from hdbkit.errors import DamagedResult
from hdbkit.results.manifest import Manifest


@dataclass(frozen=True)
class Window:
    """From ``start_us`` (included) to ``end_us`` (excluded)."""

    start_us: int
    end_us: int

    @property
    def duration_s(self) -> float:
        """Its length in seconds."""
        return (self.end_us - self.start_us) / 1e6


def window_of(manifest: Manifest) -> Window:
    """The measured window of a run.

    Raises:
        DamagedResult: the run ended before it was opened, the manifest holds none, or another tool measured it.
    """
    clock = manifest.clock
    if manifest.measured_by:
        raise DamagedResult(
            f"run {manifest.run_id} has no charts and tables over time: {manifest.measured_by}, which measured it, "
            "keeps no record of each operation"
        )
    if clock is None or clock.window_start_us is None or clock.window_end_us is None:
        raise DamagedResult(f"run {manifest.run_id} has no measured window: it ended before its ramp-up did")
    if clock.window_end_us <= clock.window_start_us:
        raise DamagedResult(
            f"run {manifest.run_id} has no measured window: it would end at {clock.window_end_us} us, "
            f"before its start at {clock.window_start_us} us"
        )
    return Window(clock.window_start_us, clock.window_end_us)
