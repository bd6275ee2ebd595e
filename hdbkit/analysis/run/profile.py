"""The stacks that were sampled in a run, by part and, in a run with slices, by configuration."""

from __future__ import annotations

import pandas as pd

from hdbkit.analysis.run.records import table
from hdbkit.results.folder import RunFolder
from hdbkit.results.manifest import Manifest
from hdbkit.slices import SliceOrder

PARTS = ("server", "clients")


def stacks(folder: RunFolder, manifest: Manifest, part: str, position: int | None = None) -> dict[str, int]:
    """How often each stack of a part was sampled; functions are separated by ``;``, the outermost is the first.

    Args:
        folder: the run.
        manifest: its manifest.
        part: of ``PARTS``.
        position: of a configuration that alternates with others in slices; None: all samples.

    Raises:
        DamagedResult: the table cannot be read.
    """
    rows = table(folder, "profile")
    if rows is None:
        return {}
    rows = rows[rows["part"] == part]
    slices = manifest.plan.slices
    if position is not None and slices is not None:
        order = SliceOrder(slices)
        at = (1000 * rows["t_us"] // slices.slice_ns).map(lambda number: order.position(max(int(number), 0)))
        rows = rows[at == position]
    return {str(stack): int(count) for stack, count in rows["stack"].value_counts().items()}


def self_shares(counts: dict[str, int]) -> pd.Series[float]:
    """The share of samples in which each function itself was executed, the largest first."""
    total = sum(counts.values())
    by = pd.Series({stack: n / total for stack, n in counts.items()}, dtype="float64")
    return by.groupby([stack.rpartition(";")[2] for stack in by.index]).sum().sort_values(ascending=False)
