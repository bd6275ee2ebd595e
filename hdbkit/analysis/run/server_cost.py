"""The CPU time of the server for each operation: a second answer beside the metric's, often with less noise.

Other work on a host makes transactions slower and hardly dearer. It is an answer about the server's work, not about
how fast it is: who waits less may use as much.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from hdbkit.config.metric import Measure, Metric
from hdbkit.later import pandas as pd
from hdbkit.results.finding import Ratio
from hdbkit.results.manifest import Manifest

SERVER_COST: Final = Metric(
    name="CPU of the server", title="CPU time of the server per operation", unit="us", measure=Measure.QUANTILE
)
"""Less is better; the name of its measure only says so."""
COST_FIGURE: Final = "server_cpu_us"


def costs_us(manifests: Sequence[Manifest]) -> pd.Series[float]:
    """By run id, in us per operation; empty unless it is known of every run."""
    costs = {one.run_id: one.result and one.result.server_cpu_us_per_operation for one in manifests}
    return pd.Series(costs if all(costs.values()) else {}, dtype="float64")


def cost_note(ratio: Ratio | None) -> list[str]:
    """The answer by the server's CPU time, as a phrase; none where it is not known or undecided."""
    if ratio is None or not ratio.verdict.is_decided:
        return []
    return [f"A second answer, about the server's work per operation and not about its speed: {ratio.sentence}"]
