"""Verdicts on percentiles of the latency, by operation."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd

from hdbkit.analysis.sweep.latencies import latency_verdicts
from hdbkit.report.ratio_tables import latency_table
from hdbkit.results.finding import Ratio, Verdict
from hdbkit.results.manifest import Manifest
from hdbkit.results.run_result import RunResult
from tests.unit.sweeps import synthetic_runs
from tests.unit.synthetic import figures, operation


def measured(runs: pd.DataFrame, slower: float, count: int = 1000) -> list[Manifest]:
    """Manifests in which configuration 1 has a higher p99 of ``write`` and equal percentiles else."""
    draw, found = np.random.default_rng(1), []
    for run in runs.itertuples():
        noise = np.exp(draw.normal(0, 0.02, 4))
        p99 = 5000 * (slower if run.configuration == 1 else 1)
        operations = {
            "read": {"count": count, "p95_us": 800 * noise[0], "p99_us": 1200 * noise[1]},
            "write": {"count": count, "p95_us": 2000 * noise[2], "p99_us": p99 * noise[3]},
        }
        found.append(Manifest.model_construct(run_id=str(run.run_id), result=of_operations(operations)))
    return found


def of_operations(lines: dict[str, dict[str, Any]]) -> RunResult:
    return figures(1.0, operations={name: operation(**line) for name, line in lines.items()})


def of_first(ratios: list[Ratio]) -> dict[tuple[str, str], Ratio]:
    """The ratios of configuration 1, by operation and percentile."""
    return {(ratio.figure, ratio.quantile): ratio for ratio in ratios if ratio.configuration == 1}


def test_the_percentile_that_differs_is_found_and_the_others_are_not() -> None:
    runs = synthetic_runs([1, 1], blocks=8)
    found = latency_verdicts(runs, measured(runs, slower=1.5), smallest_effect=0.1)
    compared = of_first(found)
    differs = compared.pop(("write", "p99"))
    assert differs.verdict == "slower"
    assert 5 < differs.value < 9
    assert len(compared) == 3
    assert all(ratio.equivalent for ratio in compared.values())
    assert "% higher than with the baseline (95 % interval" in differs.sentence


def test_with_more_operations_each_interval_is_wider_as_all_hold_together() -> None:
    """The error rate of what is judged together is in the tests of the verdicts by operation."""

    def width(names: str) -> float:
        runs, draw = synthetic_runs([1, 1], blocks=4), np.random.default_rng(1)
        noise = np.exp(draw.normal(0, 0.1, len(runs)))
        figures = [{"count": 1000, "p95_us": 900 * one, "p99_us": 990 * one} for one in noise]
        manifests = [
            Manifest.model_construct(run_id=str(run_id), result=of_operations(dict.fromkeys(names, one)))
            for run_id, one in zip(runs["run_id"], figures, strict=True)
        ]
        low, high = of_first(latency_verdicts(runs, manifests))["a", "p95"].interval
        return float(np.log(high / low))

    assert width("abcde") > 1.2 * width("a")


def test_in_an_open_loop_response_times_are_judged() -> None:
    runs = synthetic_runs([1, 1], blocks=8)
    service = {manifest.run_id: manifest.result.operations for manifest in measured(runs, slower=1.0)}
    response = {manifest.run_id: manifest.result.operations for manifest in measured(runs, slower=1.5)}
    manifests = [
        Manifest.model_construct(run_id=run_id, rate_per_s=100.0, result=of_operations({
            name: {**dict(line), "response": dict(response[run_id][name])} for name, line in lines.items()
        }))
        for run_id, lines in service.items()
    ]  # fmt: skip
    found = of_first(latency_verdicts(runs, manifests, smallest_effect=0.1))
    assert found["write", "p99"].verdict == "slower"


def test_a_percentile_that_a_run_does_not_know_is_left_out() -> None:
    runs = synthetic_runs([1, 1])
    manifests = measured(runs, 1.5)
    line = operation(count=500, p95_us=800)
    manifests[0] = Manifest.model_construct(
        run_id=manifests[0].run_id, result=figures(1.0, operations={"write": line})
    )
    found = latency_verdicts(runs, manifests)
    assert {(ratio.figure, ratio.quantile) for ratio in found} == {("write", "p95")}
    assert latency_verdicts(runs, []) == []
    assert latency_table([]) == []


def test_the_table_lists_what_differs_and_counts_the_rest() -> None:
    runs = synthetic_runs([1, 1], blocks=8)
    (table,) = latency_table(latency_verdicts(runs, measured(runs, slower=1.5)))
    assert [row[:2] for row in table.rows] == [["write", "p99"]]
    assert table.note.startswith("Those of 4 comparisons with the baseline that differ; ")
    assert "coordinated omission" in table.note


def test_more_of_a_tail_matters_than_of_the_metric() -> None:
    """Of a p95 2.5 times as much: 2 % by default are 5."""
    runs = synthetic_runs([1, 1], blocks=12)
    found = latency_verdicts(runs, measured(runs, slower=1.0), smallest_effect=0.02)
    words = {ratio.quantile: ratio.sentence for ratio in found if ratio.verdict is Verdict.EQUIVALENT}
    assert "within 5 %" in words["p95"] and "within 10 %" in words["p99"]
