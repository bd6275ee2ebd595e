"""How the latencies of one operation were distributed in each stretch of a run: the cells of a heat map.

A band is a tenth of a decade: each is 26 % above the one below. Failed operations are left out.
"""

from __future__ import annotations

import numpy as np
import pandas as pd

from hdbkit.analysis.run.quantiles import SERVICE_US
from hdbkit.analysis.run.records import operations_of
from hdbkit.analysis.run.windows import Window
from hdbkit.results.columns import Outcome
from hdbkit.results.folder import RunFolder

BANDS_PER_DECADE = 10


def latency_bands(
    folder: RunFolder, window: Window, operation: int, step_s: int = 1, latency: str = SERVICE_US
) -> pd.DataFrame:
    """Columns second, band, low_ms, n, share: the operations of each step in each band, as a share of the step's.

    ``second`` is the first of ``step_s`` seconds, from the window's start; ``low_ms`` the lower end of the band. A
    last, incomplete step is left out.
    """
    steps = int(window.duration_s) // step_s
    step = f"((t_end_us - {window.start_us}) // {step_s * 1_000_000})::INTEGER"
    band = f"floor({BANDS_PER_DECADE} * log10(greatest({latency}, 1)) + 1e-9)::INTEGER"
    with operations_of(folder, window) as rows:
        found: pd.DataFrame = (
            rows.filter(f"outcome <> {Outcome.FAILED.value} AND operation = {operation}")
            .aggregate(f"{step} AS step, {band} AS band, count(*)::BIGINT AS n", f"{step}, {band}")
            .filter(f"step < {steps}")
            .order("step, band")
            .df()
        )
    low_ms = np.power(10.0, found["band"] / BANDS_PER_DECADE) / 1000
    share = found["n"] / found.groupby("step")["n"].transform("sum")
    table = found.assign(second=found["step"] * step_s, low_ms=low_ms, share=share)
    return table[["second", "band", "low_ms", "n", "share"]]
