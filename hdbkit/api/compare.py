"""Compares two runs or two groups of runs."""

from __future__ import annotations

import hashlib
import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pandas as pd

from hdbkit.analysis.comparison.groups import common_metric
from hdbkit.analysis.comparison.history import HOST_FACTS
from hdbkit.analysis.comparison.sides import (
    SETTING,
    Gate,
    Ratio,
    comparison_warnings,
    gate,
    ratio_of,
    ratios_by_users,
)
from hdbkit.api.result import Result
from hdbkit.charts.chart import Chart
from hdbkit.charts.compare_charts import compare_charts
from hdbkit.config.metric import Metric
from hdbkit.errors import InputError
from hdbkit.report import compare_card, compare_report
from hdbkit.report.environment import read_settings, with_unit
from hdbkit.results.catalog import find_run, runs_of_profile, runs_under
from hdbkit.results.folder import RunFolder
from hdbkit.results.manifest import Manifest
from hdbkit.workspace import DEFAULT, Workspace

Side = str | Sequence[str]


@dataclass(frozen=True)
class Comparison:
    """The comparison of ``new`` with ``base``; ``names`` are the names of both sides as requested."""

    base: list[Result]
    new: list[Result]
    ratio: Ratio
    names: tuple[str, str] = ("base", "new")
    by_users: pd.DataFrame = field(default_factory=pd.DataFrame)
    """One row per user count: ratio and simultaneous interval, and the mean ``base_operations_per_s`` and
    ``new_operations_per_s`` of all types; empty if the sides share only one count."""
    workspace: Workspace = DEFAULT
    """The workspace for its report."""

    @property
    def metric(self) -> Metric:
        """The metric of all its runs."""
        return self.base[0].manifest.metric

    def charts(self) -> dict[str, Chart]:
        """Charts of both sides: users (the metric over virtual users), throughput (over time), latency."""
        return {chart.key: chart for chart in compare_charts(self._sides())}

    def report(self) -> Path:
        """Write the one-page report; return its path."""
        ids = [",".join(one.run_id for one in side) for side in (self.base, self.new)]
        mark = hashlib.sha256("\n".join(ids).encode()).hexdigest()[:8]
        name = f"{self.new[0].run_id}-against-{self.base[0].run_id}-{mark}.html"
        return compare_report(
            self.workspace.results / "comparisons" / name,
            sides=self._sides(),
            ratio=self.ratio,
            figures=self.table,
            differences=self.differences,
            by_users=self.by_users,
            command=shlex.join(["hdbkit", "compare", *ids, "--report"]),
        )

    def _sides(self) -> dict[str, list[tuple[RunFolder, Manifest]]]:
        return _finished(dict(zip(self.names, (self.base, self.new), strict=True)))

    def _repr_html_(self) -> str:
        return compare_card(
            self.ratio,
            self.by_users,
            self.table,
            self.differences,
            self.metric,
            self.base[0].manifest.notice,
            self.warnings,
        )

    @property
    def table(self) -> pd.DataFrame:
        """One row per figure: the means of both sides, and the change from base to new (-0.2: 20 % less)."""
        rows = {
            name: [_mean(side, (name,)) for side in (self.base, self.new)]
            for name in ("metric_value", "operations_per_s")
        }
        for name in self.base[0].manifest.planned:
            for quantile in ("p50_us", "p95_us", "p99_us"):
                keys = ("operations", name, quantile)
                rows[f"{name} {quantile}"] = [_mean(side, keys) for side in (self.base, self.new)]
        frame = pd.DataFrame.from_dict(rows, orient="index", columns=["base", "new"]).rename_axis("figure")
        return frame.assign(change=frame["new"] / frame["base"] - 1)

    @property
    def differences(self) -> pd.DataFrame:
        """The settings, plan fields, software and host that differ between the sides: a row each, base and new.

        Compared are the first run of the base and the first new run with the same number of virtual users.
        ``load.virtual_users`` lists all user counts of a side.
        """
        first = self.base[0]
        alike = next((one for one in self.new if one.virtual_users == first.virtual_users), self.new[0])
        sides = [
            _facts(one) | {"load.virtual_users": ", ".join(map(str, sorted({run.virtual_users for run in side})))}
            for one, side in ((first, self.base), (alike, self.new))
        ]
        names = [name for name in sides[0].keys() | sides[1].keys() if sides[0].get(name) != sides[1].get(name)]
        rows = {name: [side.get(name, "") for side in sides] for name in sorted(names)}
        return pd.DataFrame.from_dict(rows, orient="index", columns=["base", "new"]).rename_axis("what")

    @property
    def warnings(self) -> list[str]:
        """What the ratio reflects beside the servers, a sentence without its full stop each."""
        sides = zip(self.names, (self.base, self.new), strict=True)
        return comparison_warnings(self.differences, {name: [one.manifest for one in side] for name, side in sides})

    def gate(self, below: float) -> Gate:
        """Whether the metric became worse by more than ``below`` (such as -0.02), at any of the user counts.

        ``analysis.comparison.sides.gate`` defines the rule.

        Raises:
            InputError: ``below`` is not above -1 and at most 0.

        Example:
            >>> hdbkit.compare("before", "after").gate(-0.02).verdict  # doctest: +SKIP
            'held'
        """
        if len(self.by_users):
            return gate(self.by_users, self.metric, below)
        return gate(pd.DataFrame([{"virtual_users": 0, **vars(self.ratio)}]), self.metric, below)


def compare(
    base: Side, new: Side, *, smallest_effect: float = 0.02, workspace: Workspace | None = None
) -> Comparison:
    """Compare runs.

    Args:
        base: a run id, a unique part of one, several of them in a list or separated by commas, or a label or profile,
            which selects all its runs.
        new: as ``base``.
        smallest_effect: the smallest relevant relative difference.
        workspace: the workspace with the runs; by default that of this process.

    Raises:
        InputError: a run does not exist or has no measured window, or the metrics of the runs differ.

    Example:
        >>> hdbkit.compare("before", "after").ratio.sentence  # doctest: +SKIP
    """
    place = workspace or DEFAULT
    sides, names = [_results(base, place), _results(new, place)], _names(base, new)
    metric = common_metric(_finished(dict(zip(names, sides, strict=True))))
    runs = [
        pd.DataFrame([{"virtual_users": one.virtual_users, "metric_value": _metric_value(one)} for one in side])
        for side in sides
    ]
    counts = [set(side["virtual_users"]) for side in runs]
    if len(counts[0] | counts[1]) == 1 or not counts[0] & counts[1]:
        ratio = ratio_of(runs[0]["metric_value"].tolist(), runs[1]["metric_value"].tolist(), metric, smallest_effect)
        return Comparison(sides[0], sides[1], ratio, names, workspace=place)
    found, ratio = ratios_by_users(runs[0], runs[1], metric, smallest_effect)
    for name, side in zip(("base", "new"), sides, strict=True):
        per_s = pd.Series([one.summary["operations_per_s"] for one in side]).groupby(
            [one.virtual_users for one in side]
        )
        found[f"{name}_operations_per_s"] = found["virtual_users"].map(per_s.mean())
    return Comparison(sides[0], sides[1], ratio, names, found, place)


def overlay(groups: Mapping[str, Side], *, workspace: Workspace | None = None) -> dict[str, Chart]:
    """Chart any number of groups of runs together; ``groups`` maps a name to runs, given as for ``compare``.

    The charts are users (the metric over virtual users, with intervals), throughput (over time) and latency.

    Raises:
        InputError: a run does not exist.

    Example:
        >>> hdbkit.overlay({"on": "durable", "off": ["20261120-2104", "20261120-2107"]})["users"]  # doctest: +SKIP
    """
    place = workspace or DEFAULT
    finished = _finished({name: _results(side, place) for name, side in groups.items()})
    return {chart.key: chart for chart in compare_charts(finished)}


def _finished(sides: Mapping[str, list[Result]]) -> dict[str, list[tuple[RunFolder, Manifest]]]:
    return {name: [(one.folder, one.manifest) for one in side] for name, side in sides.items()}


def _names(base: Side, new: Side) -> tuple[str, str]:
    """The names of both sides: as requested if each is one word, else ``base`` and ``new``."""
    words = [side if isinstance(side, str) else ",".join(side) for side in (base, new)]
    short = all("," not in word and word != "last" for word in words) and words[0] != words[1]
    return (f"{words[0]} (base)", f"{words[1]} (new)") if short else ("base", "new")


def _results(side: Side, place: Workspace) -> list[Result]:
    words = side.split(",") if isinstance(side, str) else list(side)
    found = [one for word in words for one in _named(word.strip(), place)]
    if not found:
        raise InputError("give at least one run for each side; see: hdbkit runs list")
    return found


def _named(word: str, place: Workspace) -> list[Result]:
    root = place.results
    labelled = runs_of_profile(root, word) or runs_under(root, word)
    return [Result(find_run(root, run_id), place) for run_id in labelled or [word]]


def _metric_value(one: Result) -> float:
    if not one.metric_value:
        raise InputError(f"run {one.run_id} has no value of {one.metric.name} ({one.manifest.status.value})")
    return one.metric_value


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
    host = {name: one.manifest.host.get(name) for name in HOST_FACTS}
    parts = {"workload": one.manifest.schema_facts, "load": plan["load"], "host": host}
    facts = {f"{part}.{name}": str(value) for part, values in parts.items() for name, value in values.items()}
    facts |= {f"software.{name}": value for name, value in one.manifest.software.items()}
    facts["server.version"] = str(one.manifest.server.get("version"))
    facts |= {f"{SETTING}{name}": with_unit(read) for name, read in read_settings(one.folder).items()}
    return facts
