"""Whether the runs of a sweep began alike: the size of the data they met, and what is doubtful in many of them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

import pandas as pd

from hdbkit.analysis.run.warnings import run_doubts
from hdbkit.analysis.wording import many, share
from hdbkit.config.quantities import size_text
from hdbkit.results.manifest import Manifest

MOST_GROWTH = 0.05
"""From this growth on it is doubtful that the last runs did the work of the first."""


def data_by_block(manifests: Sequence[Manifest]) -> pd.DataFrame:
    """A row a block: ``bytes_before`` its first and ``bytes_after`` its last run, and ``orders`` so.

    Empty where the runs belong to no sweep, or the server does not tell the size of its data.
    """
    rows = [
        {"block": place["block"], "number": place["number"], **data}
        for manifest in manifests
        if (place := manifest.plan.get("sweep")) and (data := manifest.result.get("data")) and data["bytes_before"]
    ]
    columns = ["block", "bytes_before", "bytes_after", "orders_before", "orders_after"]
    if not rows:
        return pd.DataFrame(columns=columns)
    found = pd.DataFrame(rows).sort_values("number").groupby("block", as_index=False)
    return found.agg({name: "last" if name.endswith("after") else "first" for name in columns[1:]})


def start_doubts(manifests: Sequence[Manifest]) -> list[str]:
    """What the runs of a sweep met that they should not have, one phrase each."""
    seen: dict[str, str] = {}
    counts: Counter[str] = Counter()
    for manifest in manifests:
        for kind, sentence in run_doubts(manifest).items():
            seen.setdefault(kind, sentence)
            counts[kind] += 1
    found = [f"in {count} of {many(len(manifests), 'run')} {seen[kind]}" for kind, count in counts.items()]
    return [*_grown(manifests), *found]


def _grown(manifests: Sequence[Manifest]) -> list[str]:
    met = data_by_block(manifests)["bytes_before"]
    if len(met) < 2 or met.iloc[-1] < (1 + MOST_GROWTH) * met.iloc[0]:
        return []
    grown = met.iloc[-1] / met.iloc[0] - 1
    return [
        f"the data grew by {share(grown)} from the first block to the last ({size_text(met.iloc[0])} to "
        f"{size_text(met.iloc[-1])}), so that later runs had more to do; 'reset: restore' begins each with the same"
    ]
