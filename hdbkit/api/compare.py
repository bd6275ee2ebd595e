"""Two runs, or two groups of runs, side by side."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import pandas as pd

from hdbkit.analysis.compare import Ratio, ratio_of
from hdbkit.api.result import Result
from hdbkit.errors import InputError
from hdbkit.paths import results_folder
from hdbkit.results.catalog import list_runs
from hdbkit.results.folder import find_run

Side = str | Sequence[str]


@dataclass(frozen=True)
class Comparison:
    """``new`` against ``base``."""

    base: list[Result]
    new: list[Result]
    ratio: Ratio

    @property
    def table(self) -> pd.DataFrame:
        """A row a figure: both sides' means and new over base."""
        rows = {"nopm": [_mean(side, ("nopm",)) for side in (self.base, self.new)]}
        for name in self.base[0].manifest.transactions:
            for quantile in ("p50_us", "p95_us", "p99_us"):
                keys = ("transactions", name, quantile)
                rows[f"{name} {quantile}"] = [_mean(side, keys) for side in (self.base, self.new)]
        frame = pd.DataFrame.from_dict(rows, orient="index", columns=["base", "new"]).rename_axis("figure")
        return frame.assign(ratio=frame["new"] / frame["base"])

    @property
    def differences(self) -> pd.DataFrame:
        """The settings of the server and the parts of the plan that differ between the first runs of both sides."""
        sides = [_facts(side[0]) for side in (self.base, self.new)]
        names = [name for name in sides[0].keys() | sides[1].keys() if sides[0].get(name) != sides[1].get(name)]
        rows = {name: [side.get(name, "") for side in sides] for name in sorted(names)}
        return pd.DataFrame.from_dict(rows, orient="index", columns=["base", "new"]).rename_axis("what")

    def regressed(self, below: float) -> bool:
        """Whether the throughput fell beyond ``below`` (such as -0.02) with the whole interval."""
        limit = 1 + below
        return bool((self.ratio.high if len(self.base) > 1 and len(self.new) > 1 else self.ratio.ratio) < limit)


def compare(base: Side, new: Side, *, smallest_effect: float = 0.02) -> Comparison:
    """Compare runs.

    Args:
        base: a run's id, a unique part of it, several of them separated by commas or in a list, or a label, which
            stands for all runs under it.
        new: likewise.
        smallest_effect: the smallest relative difference that matters.

    Raises:
        InputError: there is no such run, or one has no measured window.

    Example:
        >>> hdbkit.compare("before", "after").ratio.sentence  # doctest: +SKIP
    """
    sides = [_results(base), _results(new)]
    figures = [[_nopm(one) for one in side] for side in sides]
    return Comparison(sides[0], sides[1], ratio_of(figures[0], figures[1], smallest_effect))


def _results(side: Side) -> list[Result]:
    words = side.split(",") if isinstance(side, str) else list(side)
    found = [one for word in words for one in _named(word.strip())]
    if not found:
        raise InputError("give at least one run a side; see: hdbkit runs list")
    return found


def _named(word: str) -> list[Result]:
    root = results_folder()
    runs = list_runs(root).runs
    labelled = list(runs.loc[(runs["label"] == word) & runs["nopm"].notna(), "run_id"])
    return [Result(find_run(root, run_id)) for run_id in labelled or [word]]


def _nopm(one: Result) -> float:
    if not one.nopm:
        raise InputError(f"run {one.run_id} has no measured throughput ({one.manifest.status.value})")
    return one.nopm


def _mean(side: list[Result], keys: tuple[str, ...]) -> float:
    figures = []
    for one in side:
        value: Any = one.summary
        for key in keys:
            value = value.get(key) or {}
        figures.append(float(value) if isinstance(value, int | float) else float("nan"))
    return sum(figures) / len(figures)


def _facts(one: Result) -> dict[str, str]:
    plan = one.manifest.plan
    facts = {f"{part}.{name}": str(value) for part in ("workload", "load") for name, value in plan[part].items()}
    facts |= {f"software.{name}": value for name, value in one.manifest.software.items()}
    facts["server.version"] = str(one.manifest.server.get("version"))
    settings = one.settings
    facts |= {f"setting.{name}": str(value) for name, value in settings.get("value", pd.Series(dtype=str)).items()}
    return facts
