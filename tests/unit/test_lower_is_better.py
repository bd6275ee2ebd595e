"""A lower-is-better metric, from the records of a run to verdicts, charts and pages."""

from __future__ import annotations

import json
import re
import shutil
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from hdbkit import api
from hdbkit.analysis.comparison.gate import gate
from hdbkit.analysis.comparison.history import change_sentences, segments
from hdbkit.analysis.comparison.sides import compared
from hdbkit.analysis.run.checks import check_run
from hdbkit.analysis.run.courses import readable
from hdbkit.analysis.run.summary import summarize
from hdbkit.analysis.sweep.answers import answer, winner_answer
from hdbkit.analysis.sweep.effects import main_effects
from hdbkit.analysis.sweep.interactions import changed_effects, interactions
from hdbkit.analysis.sweep.search import log_ratios, required_rate
from hdbkit.analysis.sweep.verdicts import fastest, judge
from hdbkit.analysis.sweep.warnings import sweep_warnings
from hdbkit.analysis.sweep.winners import winners
from hdbkit.analysis.wording import percent, percents
from hdbkit.charts.configuration_charts import best_labels, configurations, grid
from hdbkit.charts.effect_chart import effects_of_settings
from hdbkit.charts.run_charts import run_charts
from hdbkit.charts.scaling_charts import scaling_laws, throughput_over_users
from hdbkit.config.metric import Metric
from hdbkit.errors import InputError
from hdbkit.execution.finish import complete
from hdbkit.report.run_report import run_report
from hdbkit.results.columns import COUNTED
from hdbkit.results.folder import RunFolder
from hdbkit.results.manifest import Event, Status
from hdbkit.workloads.tproc_c import NOPM
from tests.conftest import HdbkitCommand
from tests.unit.sweeps import P95, RATE, TIME, synthetic_runs, verdicts_of
from tests.unit.synthetic import BASELINE as BASELINE_OF_GRID
from tests.unit.synthetic import (
    GRID,
    MEAN_TIME,
    SETTINGS,
    Synthetic,
    changed,
    operations,
    sweep_of,
    sweep_runs,
    write_run,
)
from tests.unit.synthetic import P95 as P95_OF_PAYMENT

BASELINE = {"flush": "on", "memory": "1GB"}
LOWER = pytest.mark.parametrize("metric", [TIME, P95], ids=["geometric mean", "quantile"])


def both(ratios: list[float], metric: Metric, **options: Any) -> tuple[pd.DataFrame, pd.DataFrame]:
    """The same sweep by a rate and by a time: what is twice as fast takes half of the time."""
    return synthetic_runs(ratios, **options), synthetic_runs(ratios, metric=metric, **options)


@LOWER
def test_verdicts_are_those_of_the_reciprocal_rate(metric: Metric) -> None:
    by_rate, by_time = both([1, 2.3, 1.1, 0.9], metric)
    rates, times = judge(by_rate, RATE), judge(by_time, metric)
    assert verdicts_of(times) == verdicts_of(rates) == ["baseline", "faster", "faster", "slower"]
    for by_time, by_rate in zip(times, rates, strict=True):
        assert (by_time.ratio, *by_time.interval) == pytest.approx((by_rate.ratio, *by_rate.interval))
    assert fastest(times) == fastest(rates) == [1, 2, 3]


def test_changes_are_those_of_the_metric_itself_the_lower_end_first() -> None:
    assert percent(1.25, TIME) == "-20.0 %"
    assert percents(1.1, 1.25, TIME) == "-20.0 % to -9.1 %"
    assert percents(1.1, 1.25, RATE) == "+10.0 % to +25.0 %"


def test_the_sentence_states_the_direction() -> None:
    ratios = [judge(synthetic_runs([1, 2, 0.8, 1.0], noise=0.003, metric=m), m) for m in (TIME, P95)]
    times, quantiles = ([ratio.sentence for ratio in of_metric] for of_metric in ratios)
    assert "flush=off takes 50." in times[1] or "flush=off takes 49." in times[1]
    assert "% less time than the baseline (95 % interval" in times[1]
    assert "memory=2GB takes 2" in times[2] and "% more time than the baseline" in times[2]
    assert "flush=off: p95 is " in quantiles[1]
    assert "% lower than with the baseline (95 % interval" in quantiles[1]
    assert "% higher than with the baseline" in quantiles[2]
    assert "equivalent to the baseline within 2 % (90 % interval" in times[3]
    assert "takes" in answer(ratios[0], MEAN_TIME)


@LOWER
def test_effects_interactions_and_warnings_follow_the_score(metric: Metric) -> None:
    by_rate, by_time = both([1, 1.4, 1.2, 1.4 * 1.2 * 0.6], metric, drift=0.08)
    names = list(BASELINE)
    rates, times = (main_effects(runs, m, names, BASELINE) for runs, m in ((by_rate, RATE), (by_time, metric)))
    assert [effect.ratio for effect in times] == pytest.approx([effect.ratio for effect in rates])
    pairs = [interactions(runs, m, names, BASELINE) for runs, m in ((by_rate, RATE), (by_time, metric))]
    assert [pair.ratio for pair in pairs[1]] == pytest.approx([pair.ratio for pair in pairs[0]])
    assert "together +" in pairs[1][0].sentence, "more time than both effects multiplied"
    assert any("time" in one or "higher" in one for one in changed_effects(pairs[1], times, metric))
    (drift,) = [one for one in sweep_warnings(by_time, metric) if "from the first run" in one]
    assert drift.startswith(f"{metric.name} drifts by +"), "it takes longer and longer"


@LOWER
def test_a_search_goes_for_less_and_has_no_bar(metric: Metric) -> None:
    by_rate, by_time = both([1, 1.5, 1.2, 1.1, 1.05], metric)
    assert log_ratios(by_time, metric) == pytest.approx(log_ratios(by_rate, RATE))
    waiting = pd.concat([by_time, by_time.tail(1).assign(configuration=9, status="planned", metric_value=np.nan)])
    assert required_rate(waiting.reset_index(drop=True), metric, 1, 9, 4) is None


@LOWER
def test_fresh_blocks_of_the_winner_say_what_it_takes(metric: Metric) -> None:
    first = judge(synthetic_runs([1, 1.4, 1.2], metric=metric), metric)
    found = winners(first, synthetic_runs([1, 1.4, 1.2], seed=2, metric=metric), metric)
    assert [ratio.configuration for ratio in found] == [1, 2]
    word = "less time" if metric is TIME else "lower"
    assert f"% {word} than " in winner_answer(found, 8)


@LOWER
@pytest.mark.parametrize(("new", "verdict"), [(0.9, "held"), (1.01, "held"), (1.1, "fell")])
def test_the_gate_fails_where_more_time_is_needed(metric: Metric, new: float, verdict: str) -> None:
    draw = np.random.default_rng(3)
    rows = [
        (side, "one session", 4, level * np.exp(draw.normal(0, 0.001)))
        for _ in range(6)
        for side, level in (("base", 0.5), ("new", 0.5 * new))
    ]
    runs = pd.DataFrame(rows, columns=["side", "session", "virtual_users", "metric_value"])
    ratio = compared(runs, metric).ratio
    assert ratio.ratio == pytest.approx(1 / new, rel=0.01)
    found = gate([ratio], metric, -0.02)
    assert found.verdict == verdict
    assert "the limit of +2 %" in found.sentence
    assert verdict == "held" or ("more time" if metric is TIME else "higher") in found.sentence


@LOWER
def test_the_history_says_when_it_became_slower(metric: Metric) -> None:
    draw = np.random.default_rng(1)
    level = np.r_[np.full(12, 0.5), np.full(12, 0.6)] * np.exp(draw.normal(0, 0.01, 24))
    days = [f"2026-01-{day + 1:02d}T03:00:00" for day in range(24)]
    runs = pd.DataFrame({"run_id": days, "started": days, "virtual_users": 4, "metric_value": level})
    runs["operations_per_s"] = 1 / level
    found = segments(runs, metric, {day: {} for day in days})
    assert list(found["cause"]) == ["first", "change point"]
    assert found["ratio"][1] == pytest.approx(5 / 6, rel=0.02)
    word = "more time than before" if metric is TIME else "higher than before"
    assert word in change_sentences(found, metric)[0]


def charted(metric: Metric) -> dict[str, Any]:
    runs = sweep_runs(metric=metric)
    effects = main_effects(runs, metric, list(GRID), BASELINE_OF_GRID)
    return {
        "effects": effects_of_settings(runs, effects, list(GRID), 0.02, metric),
        "configurations": configurations(runs, judge(runs, metric), metric),
        "grid": grid(runs, "buffers", "durable", metric),
    }


@pytest.mark.parametrize("metric", [MEAN_TIME, P95_OF_PAYMENT], ids=["geometric mean", "quantile"])
def test_axes_of_a_sweep_say_that_lower_is_better(metric: Metric) -> None:
    charts = charted(metric)
    axis = f"{metric.title} ({metric.unit}, lower is better)"
    assert axis in charts["configurations"].figure.layout.xaxis.title.text
    assert (
        charts["effects"].figure.layout.xaxis.title.text
        == f"{metric.name} against the reference (right of x1 is better, log)"
    )
    assert charts["configurations"].alternative.startswith("Lowest mean (faster): buffers=256MB, durable=off with 0.")
    assert "NOPM" not in "".join(str(one.figure.to_json()) + one.alternative for one in charts.values())


def test_intervals_of_a_time_enclose_it_and_less_time_is_right_of_1() -> None:
    charts = charted(MEAN_TIME)
    table = charts["configurations"].table
    assert (table["low"] <= table["metric_value"]).all() and (table["metric_value"] <= table["high"]).all()
    middle = next(one for one in charts["effects"].figure.data if one.error_x.array is not None)
    assert middle.x[-1] == pytest.approx(1.4, abs=0.02)
    assert min(middle.error_x.array) > 0 and min(middle.error_x.arrayminus) > 0
    dots = charts["effects"].figure.data[0]
    assert np.mean(dots.x[-6:]) == pytest.approx(middle.x[-1], abs=0.02), "pairs lie around their mean"


def test_the_best_is_on_top_and_has_the_strongest_colour() -> None:
    rate, time = (charted(one) for one in (RATE, MEAN_TIME))
    scales = [one["grid"].figure.data[0].colorscale for one in (rate, time)]
    assert scales[0][0][1] == scales[1][1][1], "the least of a time has the colour of the most of a rate"
    assert best_labels(judge(sweep_runs(metric=MEAN_TIME), MEAN_TIME), MEAN_TIME)[0] == "baseline"


def test_no_law_of_scaling_is_fitted_to_a_time_and_the_best_is_the_least() -> None:
    runs = pd.DataFrame(
        [("a", users, block, 1.0 / users + 0.01 * block) for users in (1, 2, 4, 8, 16, 32) for block in (1, 2, 3)],
        columns=["label", "virtual_users", "block", "metric_value"],
    )
    assert scaling_laws(runs, MEAN_TIME) is None
    chart = throughput_over_users(runs, MEAN_TIME)
    assert "a 0.0" in chart.alternative and "at 32" in chart.alternative
    assert chart.question == "How does mean query time change with virtual users?"


@pytest.fixture
def run(tmp_path: Path) -> Synthetic:
    made = write_run(tmp_path / "a-run", users=2, duration_s=12, metric=MEAN_TIME, noun="query")
    result = summarize(made.folder, made.manifest)
    manifest = made.manifest.model_copy(update={"result": result})
    manifest = manifest.model_copy(update={"checks": check_run(made.folder, manifest)})
    made.folder.write(manifest)
    return Synthetic(made.folder, manifest, made.rows)


def test_the_geometric_mean_is_that_of_the_mean_time_of_each_operation(run: Synthetic) -> None:
    done = run.inside[run.inside["outcome"] != 2]
    means_s = done.groupby("operation")["latency_us"].mean() / 1e6
    assert len(means_s) == 5
    assert run.manifest.metric_value == pytest.approx(np.exp(np.log(means_s).mean()))
    assert run.manifest.measured.measured_s == 12


def test_the_quantile_is_the_exact_one_of_its_operations(tmp_path: Path) -> None:
    run = write_run(tmp_path / "a-run", duration_s=4, metric=P95_OF_PAYMENT)
    result = summarize(run.folder, run.manifest)
    assert result.metric_value == result.operations["payment"].p95_us / 1000
    of_all = run.manifest.model_copy(update={"metric": P95_OF_PAYMENT.model_copy(update={"operations": ()})})
    done = run.inside.loc[run.inside["outcome"] != 2, "latency_us"]
    assert summarize(run.folder, of_all).metric_value == np.quantile(done, 0.95, method="inverted_cdf") / 1000


def test_a_rate_without_a_counter_counts_the_clients_records(tmp_path: Path) -> None:
    metric = Metric(name="TPM", title="payments per minute", unit="TPM", operations=("payment", "delivery"), per_s=60)
    run = write_run(tmp_path / "a-run", duration_s=4, metric=metric)
    kept = run.inside.query("operation in (1, 3) and outcome == 0")
    assert summarize(run.folder, run.manifest).metric_value == pytest.approx(len(kept) * 60 / 4)


def test_an_operation_that_never_ran_leaves_the_geometric_mean_unknown(tmp_path: Path) -> None:
    rows = operations(2, 6)
    run = write_run(tmp_path / "a-run", users=2, duration_s=3, rows=rows[rows["operation"] != 4], metric=MEAN_TIME)
    assert summarize(run.folder, run.manifest).metric_value is None


def test_a_run_has_no_bracket_and_speaks_of_queries(run: Synthetic) -> None:
    names = [check.name for check in run.manifest.checks]
    assert not any("bracketed" in name for name in names)
    assert "no query failed" in names and "every query accounted for" in names


@pytest.mark.parametrize(("metric", "checked"), [(MEAN_TIME, False), (NOPM, True)])
def test_the_count_at_the_edges_is_checked_where_the_schema_keeps_one(
    run: Synthetic, metric: Metric, checked: bool
) -> None:
    run.folder.spools.mkdir()
    counts = [
        {"edge": edge, "name": COUNTED, "value": 1, "sent_ns": at * 1e9, "returned_ns": at * 1e9}
        for edge, at in (("start", 2), ("end", 14))
    ]
    (run.folder.spools / "counters.ndjson").write_text("\n".join(map(json.dumps, counts)))
    done = complete(run.folder, run.manifest.model_copy(update={"metric": metric, "checks": []}))
    assert ("window's edges read at once" in {check.name for check in done.checks}) == checked


def test_the_page_of_a_run_reads_right(run: Synthetic) -> None:
    page = " ".join(run_report(run.folder).read_text(encoding="utf-8").split())
    value = MEAN_TIME.text(run.manifest.metric_value)
    assert f'<span class="hd-value">{value}</span>' in page
    assert "/s of all types), measured over 12.0 s" in page
    assert "What is the geometric mean of the query times of" in page
    assert "lower is better" in page and "Queries of the window" in page
    assert "NOPM" not in page
    course = run_charts(run.folder, run.manifest)[0]
    assert course.figure.layout.yaxis.title.text == "operations/s (operations per second)"
    assert [trace.name for trace in course.figure.data] == ["operations/s"], "a time is no line among rates"


def test_the_page_of_a_sweep_reads_right(run: Synthetic, tmp_path: Path) -> None:
    runs = sweep_runs(metric=MEAN_TIME)
    said = answer(judge(runs, MEAN_TIME), MEAN_TIME)
    found = sweep_of(tmp_path, runs, readable([run.folder]), MEAN_TIME, answer=said)
    page = " ".join(found.report().read_text(encoding="utf-8").split())
    assert "durable=off takes 2" in page and "% less time than the baseline" in page
    assert "Lowest mean (faster): buffers=256MB, durable=off with 0." in page
    assert "NOPM" not in page.partition('id="plotly"')[0]


@pytest.fixture
def root(tmp_path: Path, run: Synthetic, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Runs of a time in two profiles, ``old`` and ``new`` (20 % slower), and one run of another metric."""
    root = tmp_path / "results"
    monkeypatch.setenv("HDBKIT_RESULTS", str(root))
    draw = np.random.default_rng(1)
    for number in range(12):
        name, level = ("old", 0.5) if number < 6 else ("new", 0.6)
        at = datetime(2026, 1, 1, 3, tzinfo=UTC) + timedelta(days=number)
        folder = RunFolder(root / f"run-{number:02d}")
        folder.path.mkdir(parents=True)
        result = changed(run.manifest, metric_value=level * float(np.exp(draw.normal(0, 0.005)))).result
        changes = {"run_id": folder.run_id, "result": result, "tags": ["profile:both", f"profile:{name}"]}
        folder.write(run.manifest.model_copy(update={**changes, "history": [Event(status=Status.DONE, at=at)]}))
        folder.table("seconds").write_bytes(run.folder.table("seconds").read_bytes())
        shutil.copytree(run.folder.operations, folder.operations)
        folder.settings.write_text(json.dumps(SETTINGS))
    return root


def test_comparison_gate_history_and_their_pages(root: Path) -> None:
    found = api.compare("old", "new")
    assert found.ratio.verdict == "slower"
    assert found.table.loc["metric_value", "change"] == pytest.approx(0.2, abs=0.01)
    assert found.ratio.ratio == pytest.approx(1 / 1.2, abs=0.01)
    assert found.ratio.sentence.startswith("new takes ") and "% more time than old" in found.ratio.sentence
    assert (found.gate(-0.02).verdict, api.compare("new", "old").gate(-0.02).verdict) == ("fell", "held")
    page = found.report().read_text(encoding="utf-8")
    assert "+20." in page or "+19." in page
    assert "lower is better" in page
    history = api.history("both")
    assert "more time than before" in history.changes[0]
    assert "When did mean query time change?" in history.report().read_text(encoding="utf-8")
    assert "scaling" not in history.charts()


def test_the_command_line_states_unit_and_direction(root: Path, command: HdbkitCommand) -> None:
    described = "mean query time (geometric mean of the query times, s, lower is better)"
    shown = command("runs", "show", "run-00").out
    assert re.search(rf"{re.escape(described)}: 0\.\d+ s", shown)
    said = " ".join(command("history", "both").out.split())
    assert f"{described}; a ratio above 1 is better" in said
    assert " (s) " in said  # in the head of the column
    compared = command("compare", "old", "new").out
    assert f"{described}; intervals of 95 %, simultaneous" in compared
    assert re.search(r"mean query time .*\+(20|19)\.\d %", compared), "the change is that of the time"


def test_runs_of_different_metrics_are_not_compared(root: Path, tmp_path: Path) -> None:
    other = write_run(root / "another-metric", users=2, duration_s=2)
    other.folder.write(other.manifest.model_copy(update={"result": summarize(other.folder, other.manifest)}))
    with pytest.raises(InputError, match="different metrics cannot be compared: geometric mean of the query times"):
        api.compare("old", "another-metric")
