"""Verdicts on each operation, where the metric is a mean over operations."""

from __future__ import annotations

import re
from collections.abc import Iterable

import numpy as np
import pandas as pd
import pytest

from hdbkit.analysis.comparison.by_operation import compared_by_operation, compared_cost, compared_quantiles
from hdbkit.analysis.comparison.replication import BASE, NEW
from hdbkit.analysis.comparison.sides import compared
from hdbkit.analysis.run.server_cost import cost_note
from hdbkit.analysis.sweep.operations import operation_verdicts
from hdbkit.charts.forest import forest
from hdbkit.charts.operation_charts import ratio_chart
from hdbkit.config.metric import Metric
from hdbkit.report.ratio_tables import figures_table, operation_tables
from hdbkit.results.finding import Finding, Of, Ratio
from hdbkit.results.manifest import Manifest
from tests.unit.sweeps import RATE, TIME, covers, synthetic_runs, verdicts_of
from tests.unit.synthetic import figures, operation

QUERIES = [f"q{number:02d}" for number in range(1, 23)]


def manifests(runs: pd.DataFrame, slower: dict[str, float], noise: float = 0.02, seed: int = 1) -> list[Manifest]:
    """Runs in which the new side (or configuration 1) needs ``slower`` times as long for an operation."""
    draw, found = np.random.default_rng(seed), []
    for run_id, new in zip(runs["run_id"], runs["is_new"], strict=True):
        times = {
            name: 1e5 * number * (slower.get(name, 1) if new else 1) * np.exp(draw.normal(0, noise))
            for number, name in enumerate(QUERIES, 1)
        }
        operations = {name: operation(mean_us=time_us) for name, time_us in times.items()}
        result = figures(1.0, operations=operations)
        found.append(Manifest.model_construct(run_id=run_id, metric=TIME, operations=QUERIES, mix={}, result=result))
    return found


def sweep(blocks: int = 8, seed: int = 1) -> pd.DataFrame:
    runs = synthetic_runs([1, 1], blocks, metric=TIME, seed=seed)
    return runs.assign(is_new=runs["configuration"] == 1)


def in_turn(blocks: int = 8) -> pd.DataFrame:
    """Both sides in turn within one session."""
    rows = [(f"{side}-{block}", side) for block in range(blocks) for side in ((BASE, NEW), (NEW, BASE))[block % 2]]
    runs = pd.DataFrame(rows, columns=["run_id", "side"])
    return runs.assign(session="a 0", virtual_users=1, metric_value=1.0, is_new=runs["side"] == NEW)


def by_operation(runs: pd.DataFrame, known: list[Manifest], smallest_effect: float = 0.02) -> list[Ratio]:
    return compared_by_operation(runs, known, TIME, compared(runs, TIME, smallest_effect))


def of_operations(ratios: Iterable[Ratio]) -> dict[str, Ratio]:
    return {ratio.figure: ratio for ratio in ratios}


def test_a_sweep_finds_the_operations_that_differ() -> None:
    runs = sweep()
    found = operation_verdicts(runs, manifests(runs, {"q05": 1.5, "q07": 0.7}), TIME, smallest_effect=0.15)
    others = of_operations(ratio for ratio in found if ratio.verdict != "baseline")
    slower = others["q05"]
    assert (slower.ratio, slower.value) == (pytest.approx(1 / 1.5, rel=0.05), pytest.approx(0.75, rel=0.05))
    assert verdicts_of([others.pop("q05"), others.pop("q07")]) == ["slower", "faster"]
    assert verdicts_of(others.values()) == ["equivalent"] * 20
    (table,) = operation_tables(found, TIME)
    row = next(row for row in table.rows if row[0] == "q05")
    assert row[1].endswith(" s") and row[2].startswith("+")


def test_a_comparison_finds_the_operations_that_differ() -> None:
    runs = in_turn()
    found = by_operation(runs, manifests(runs, {"q05": 1.5, "q07": 0.7}), 0.15)
    each = of_operations(found)
    slower = each["q05"]
    assert (slower.base, slower.value) == (pytest.approx(0.5, rel=0.05), pytest.approx(0.75, rel=0.05))
    assert "95 % interval" in slower.sentence
    assert verdicts_of([each.pop("q05"), each.pop("q07")]) == ["slower", "faster"]
    assert verdicts_of(each.values()) == ["equivalent"] * 20
    assert len(operation_tables(found, TIME)[0].rows) == 22


@pytest.mark.parametrize("metric", [RATE, TIME])
def test_the_change_of_an_operation_is_that_of_its_time_whatever_the_metric_is(metric: Metric) -> None:
    """A time that rises by 50 % has the sign +, beside a rate, too, and its verdict is slower."""
    runs = in_turn().assign(metric_value=1.0)
    known = [one.model_copy(update={"metric": metric}) for one in manifests(runs, {"q05": 1.5, "q07": 0.7})]
    found = compared_by_operation(runs, known, metric, compared(runs, metric))
    (table,) = operation_tables(found, metric)
    place = {row[0]: at for at, row in enumerate(table.rows)}
    for name, sign, verdict, look in (("q05", "+", "slower", "n bad"), ("q07", "-", "faster", "n good")):
        change, interval = table.rows[place[name]][2].removesuffix(")").split(" (")
        assert change.startswith(sign) and interval.startswith(sign)
        assert (table.look(place[name], 2), of_operations(found)[name].verdict) == (look, verdict)
    overall = compared(runs, metric).ratio
    chart = ratio_chart(found, [overall], "base", "query", metric, 0.02)
    assert "q05 +5" in chart.alternative or "q05 +4" in chart.alternative
    assert any(text.startswith("q07: -") for text in chart.figure.data[0].text)


@pytest.mark.long
@pytest.mark.parametrize("kind", ["sweep", "comparison"])
def test_the_verdicts_on_all_operations_hold_together(kind: str) -> None:
    false = 0
    for seed in range(6):
        runs = sweep(6, seed) if kind == "sweep" else in_turn(6)
        known = manifests(runs, {}, seed=seed)
        judged = operation_verdicts(runs, known, TIME) if kind == "sweep" else by_operation(runs, known)
        false += any(ratio.verdict.differs for ratio in judged)
    assert false <= 2  # without a correction 4 of 6


def test_an_operation_that_one_of_several_comparisons_lacks_is_unknown_there() -> None:
    runs = in_turn()
    found = by_operation(runs, manifests(runs, {}))
    other = [ratio.model_copy(update={"label": "v3"}) for ratio in found if ratio.figure != "q05"]
    (table,) = operation_tables([*found, *other], TIME)
    row = next(row for row in table.rows if row[0] == "q05")
    assert table.head[-1] == "v3"
    assert (row[2][0] in "+-", row[3]) == (True, "\N{EN DASH}")


def test_an_operation_that_one_side_never_completed_is_undecided() -> None:
    runs = in_turn(4)
    known = manifests(runs, {})
    for one in known:
        if one.run_id.startswith(NEW):
            one.measured.operations["q03"] = operation(mean_us=None)
    found = by_operation(runs, known)
    assert operation_tables(found, TIME)[0].rows[2][2:] == ["\N{EN DASH}"]
    each = of_operations(found)
    lacking = each.pop("q03")
    assert (lacking.verdict, lacking.ratio, lacking.value) == ("undecided", None, None)
    assert lacking.base is not None
    assert lacking.sentence == "q03: undecided: no run of new completed q03"
    assert None not in [ratio.ratio for ratio in each.values()]


def test_a_sweep_by_a_rate_has_no_verdicts_on_operations() -> None:
    runs = sweep()
    assert operation_verdicts(runs, manifests(runs, {}), RATE) == []


QUANTILES = {f"{name} {quantile}": noise for name in "abcde" for quantile, noise in (("p50", 0.01), ("p99", 0.08))}


def latencies(runs: pd.DataFrame, change: float, seed: int = 1) -> pd.DataFrame:
    """Quantiles of which the new side has ``change`` times the value, each with a noise of its own."""
    draw = np.random.default_rng(seed)
    factor = np.where(runs["is_new"], change, 1.0)
    return pd.DataFrame(
        {name: 1000 * factor * np.exp(draw.normal(0, noise, len(runs))) for name, noise in QUANTILES.items()},
        index=runs["run_id"],
    )


@pytest.mark.long
def test_the_intervals_of_latencies_hold_together_and_are_changes_of_times() -> None:
    covered = 0
    for seed in range(40):
        runs = in_turn(6)
        found = compared_quantiles(runs, latencies(runs, 1.25, seed), compared(runs, RATE))
        assert [f"{ratio.figure} {ratio.quantile}" for ratio in found] == list(QUANTILES)
        covered += all(covers(ratio, 1 / 1.25) for ratio in found)
    assert covered >= 36
    p50, p99 = (
        np.median([ratio.high - ratio.low for ratio in found if ratio.quantile == quantile])
        for quantile in ("p50", "p99")
    )
    assert p50 < 0.5 * p99


def test_a_latency_without_repetition_or_value_has_no_interval() -> None:
    runs = in_turn(4)
    values = latencies(runs, 1.0)
    values.loc[values.index.str.startswith(NEW), "a p99"] = np.nan
    values.loc[values.index[0], "b p99"] = 0.0
    found = compared_quantiles(runs, values, compared(runs, RATE))
    assert [(ratio.figure, ratio.quantile) for ratio in found if not ratio.is_known] == [("a", "p99")]
    once = runs.iloc[:2]
    assert not any(ratio.is_known for ratio in compared_quantiles(once, values, compared(once, RATE)))
    assert compared_quantiles(runs, pd.DataFrame(index=runs["run_id"]), compared(runs, RATE)) == []


def test_an_interval_of_two_noisy_runs_reaches_a_time_of_zero_and_is_not_printed() -> None:
    runs = in_turn(4)
    overall = compared(runs, RATE)
    a, b, *_ = compared_quantiles(runs, latencies(runs, 2.0), overall)
    noisy = a.model_copy(update={"ratio": 0.5, "low": 1e-30, "high": 1e300})
    finding = Finding(
        kind="comparison", question="", metric=RATE, cells=(), best=overall.ratio, answer="",
        ratios=(noisy, b, a.model_copy(update={"of": Of.COUNT})),
    )  # fmt: skip
    (table,) = figures_table(finding)
    assert table.rows[-2][3:] == ["+100.0 %", "too few runs"]
    assert table.rows[-1][4].startswith("+") and " to +" in table.rows[-1][4]
    assert forest([noisy, b], 0.02, ["base", "new"]).alternative.endswith("too few runs.")


def test_few_blocks_suffice_as_the_noise_of_all_operations_is_judged_together() -> None:
    runs = in_turn(3)
    each = of_operations(by_operation(runs, manifests(runs, {"q05": 1.5})))
    assert each.pop("q05").verdict == "slower"
    assert not any(ratio.verdict.differs for ratio in each.values())


def test_the_sentence_of_an_operation_names_it_and_both_sides() -> None:
    runs = in_turn()
    named = compared(runs, TIME, names=("v17", "v18"))
    (ratio,) = (
        one for one in compared_by_operation(runs, manifests(runs, {"q05": 1.5}), TIME, named) if one.figure == "q05"
    )
    assert ratio.sentence.startswith("q05 of v18 takes ") and " than v17 (" in ratio.sentence


def test_the_servers_cpu_time_has_a_verdict_of_its_own() -> None:
    """Beside a busy neighbour throughput varies by a third, CPU time by 1 %, and the new side needs 5 % less."""
    runs, draw = in_turn(), np.random.default_rng(6)
    runs = runs.assign(metric_value=np.exp(draw.normal(0, 0.3, len(runs))))
    costs = np.where(runs["is_new"], 95.0, 100.0) * np.exp(draw.normal(0, 0.01, len(runs)))
    known = [
        Manifest.model_construct(run_id=run_id, metric=TIME, result=figures(1.0, server_cpu_us_per_operation=us))
        for run_id, us in zip(runs["run_id"], costs, strict=True)
    ]
    overall = compared(runs, TIME)
    cost = compared_cost(runs, known, overall)
    assert overall.ratio.verdict == "undecided"
    assert cost is not None and cost.verdict == "faster" and cost.of is Of.COST
    (note,) = cost_note(cost)
    assert re.search(
        r"not about its speed: new: CPU of the server is [45]\.\d % lower than with base \(95 % interval", note
    )
    unknown = [*known[1:], known[0].model_copy(update={"result": figures(1.0)})]
    assert compared_cost(runs, unknown, overall) is None
