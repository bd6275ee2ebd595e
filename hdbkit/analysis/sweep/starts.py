"""Whether the runs of a sweep started alike: the size of their data, and the warnings that many of them share."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

import pandas as pd

from hdbkit.analysis.run.warnings import run_warnings
from hdbkit.caution import Caution, Kind
from hdbkit.results.manifest import Manifest
from hdbkit.text import many, share, size_text

MAX_GROWTH = 0.05
"""From this growth on the last runs may have had more work than the first."""


def data_by_block(manifests: Sequence[Manifest]) -> pd.DataFrame:
    """A row per block: ``bytes_before`` its first and ``bytes_after`` its last run, ``counted`` likewise.

    ``counted`` is NaN where the schema keeps no count. The frame is empty where the runs belong to no sweep, or the
    server does not report the size of its data.
    """
    rows = [
        {"block": noted.block, "number": noted.number, **dict(data)}
        for manifest in manifests
        if (noted := manifest.plan.experiment)
        and manifest.result
        and (data := manifest.result.data)
        and data.bytes_before
    ]
    columns = ["block", "bytes_before", "bytes_after", "counted_before", "counted_after"]
    if not rows:
        return pd.DataFrame(columns=columns)
    counts = dict.fromkeys(columns[3:], float)
    found = pd.DataFrame(rows).astype(counts).sort_values("number").groupby("block", as_index=False)
    return found.agg({name: "last" if name.endswith("after") else "first" for name in columns[1:]})


def start_warnings(manifests: Sequence[Manifest]) -> list[str]:
    """Growth of the data, and the warnings of the runs of a sweep, one phrase each."""
    seen: dict[str, Caution] = {}
    counts: Counter[str] = Counter()
    for manifest in manifests:
        first = {one.kind or one.brief: one for one in reversed(run_warnings(manifest))}
        seen = first | seen
        counts.update(list(first))
    found = [one.after(f"in {counts[kind]} of {many(len(manifests), 'run')}: ") for kind, one in seen.items()]
    return [*_grown(manifests), *found]


def _grown(manifests: Sequence[Manifest]) -> list[str]:
    met = data_by_block(manifests)["bytes_before"]
    if len(met) < 2 or met.iloc[-1] < (1 + MAX_GROWTH) * met.iloc[0]:
        return []
    grown = met.iloc[-1] / met.iloc[0] - 1
    text = (
        f"the data grew by {share(grown)} from the first block to the last ({size_text(met.iloc[0])} to "
        f"{size_text(met.iloc[-1])}), so that later runs had more work; 'reset: restore' starts each with the same"
    )
    return [Caution(text, Kind.GROWTH)]
