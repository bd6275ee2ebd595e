"""When a run of a search ends early: the interval of its window, and the value that it must be able to reach."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
import scipy

from hdbkit.analysis.statistics import Floats
from hdbkit.analysis.statistics.batch_means import LEVEL, LOOKS, PARTS, looks, upper_bound
from hdbkit.analysis.sweep.answers import answer
from hdbkit.analysis.sweep.search import MARGIN, early_ends_note, log_ratios, required_rate
from hdbkit.analysis.sweep.verdicts import fastest, judge
from hdbkit.config.sweep_spec import AbortRules
from hdbkit.execution.early_end import EarlyEnd
from hdbkit.plan import RunLimits, RunPlan
from hdbkit.results.experiment_runs import ENDED_EARLY
from hdbkit.results.spool import record_type
from tests.unit.sweeps import RATE, ratio_of, synthetic_runs
from tests.unit.synthetic import write_run

SO_LOW = "ended early after 12 s, at most 55 % of the fastest so far"


def windows(level: float, count: int = 1, deviation: float = 0.1, persistence: float = 0.6) -> Floats:
    """Windows of ``PARTS`` parts whose noise hangs together: what one part lacks, the next is likely to lack too."""
    draw = np.random.default_rng(5)
    steady = deviation * np.sqrt(1 - persistence**2)
    noise = scipy.signal.lfilter([steady], [1, -persistence], draw.normal(size=(count, PARTS + 50)))[:, 50:]
    found: Floats = level * (1 + noise)
    return found


def ended_at(window: Floats, least: float) -> int | None:
    return next((parts for parts in LOOKS if upper_bound(window[:parts]) < least), None)


def test_half_the_throughput_is_ended_at_the_first_look() -> None:
    ended = [ended_at(one, 0.9) for one in windows(0.5, 200, deviation=0.05)]
    assert ended.count(LOOKS[0]) >= 190


def test_a_run_that_is_just_good_enough_is_ended_as_rarely_as_the_level_says() -> None:
    ended = [ended_at(one, 1.0) is not None for one in windows(1.0, 1500)]
    assert np.mean(ended) <= len(LOOKS) * (1 - LEVEL)


def test_the_margin_keeps_equal_runs_also_where_noise_hangs_together_for_long() -> None:
    ended = [ended_at(one, 1 - MARGIN) is not None for one in windows(1.0, 1000, persistence=0.8)]
    assert np.mean(ended) <= len(LOOKS) * (1 - LEVEL)


def test_an_interval_that_took_parts_for_independent_would_end_good_runs() -> None:
    """What the batches are there for: noise that hangs together, judged part by part."""
    naive = [any(one[:n].mean() + 3.1 * one[:n].std() / n**0.5 < 1 for n in LOOKS) for one in windows(1.0, 500)]
    assert np.mean(naive) > 5 * len(LOOKS) * (1 - LEVEL)


def test_a_run_that_rises_is_reported_by_what_it_comes_to() -> None:
    rising = np.minimum(np.linspace(0.5, 1.7, PARTS), 1.1)
    assert rising.mean() > 0.94
    assert ended_at(rising, 0.94) is None
    assert ended_at(rising[::-1].copy(), 0.94) is None, "and one that falls by its past too"
    assert ended_at(np.full(PARTS, 0.5), 0.94) == LOOKS[0]


def test_a_short_stretch_is_never_enough() -> None:
    assert looks(60) == list(LOOKS)
    assert looks(5) == [40, 50, 60, 70, 80]
    assert looks(2) == []


def runs(ratios: list[float], blocks: int = 1, **changes: Any) -> pd.DataFrame:
    return synthetic_runs(ratios, blocks=blocks, noise=0.0, **changes).sort_values(["block", "configuration"])


def waiting(frame: pd.DataFrame, configuration: int, users: int = 4) -> pd.DataFrame:
    """The same sweep in which a run is still to come."""
    changed = frame.copy()
    here = (changed["configuration"] == configuration) & (changed["virtual_users"] == users)
    changed.loc[here, ["status", "metric_value"]] = ["planned", np.nan]
    return changed


def test_the_bar_lies_below_the_third_fastest_so_far() -> None:
    found = required_rate(waiting(runs([1.0, 1.5, 1.2, 1.1, 1.05, 0.5]), 5), RATE, 1, 5, 4)
    assert found is not None
    assert found.min_value == pytest.approx(40_000 * 1.1 * (1 - MARGIN))
    assert found.best_value == pytest.approx(40_000 * 1.5)


@pytest.mark.parametrize("lacking", [0, 3])
def test_there_is_no_bar_without_the_baseline_or_three_others(lacking: int) -> None:
    frame = waiting(waiting(runs([1.0, 1.5, 1.2, 1.1, 0.5]), 4), lacking)
    assert required_rate(frame, RATE, 1, 4, 4) is None


def test_a_drift_between_blocks_moves_the_bar() -> None:
    frame = runs([1.0, 1.5, 1.2, 1.1, 0.5], blocks=2)
    first = (frame["block"] == 1) & (frame["configuration"] < 4)
    frame = frame[first | (frame["block"] == 2) & frame["configuration"].isin([0, 4])].copy()
    frame.loc[frame["block"] == 2, "metric_value"] *= 0.7
    found = required_rate(waiting(frame, 4), RATE, 2, 4, 4)
    assert found is not None
    assert found.min_value == pytest.approx(0.7 * 40_000 * 1.1 * (1 - MARGIN))


def test_with_several_counts_of_users_only_the_last_run_can_be_certain() -> None:
    """A configuration is chosen by its mean: what it lacks with few users it may gain with many."""
    frame = runs([1.0, 1.5, 1.2, 1.1, 0.5], virtual_users=(1, 8))
    assert required_rate(waiting(waiting(frame, 4, 1), 4, 8), RATE, 1, 4, 1) is None
    found = required_rate(waiting(frame, 4, 8), RATE, 1, 4, 8)
    assert found is not None
    assert found.min_value == pytest.approx(80_000 * 1.1**2 / 0.5 * (1 - MARGIN))


def ended_early() -> pd.DataFrame:
    frame = runs([1.0, 1.5, 1.2, 1.1, 0.5], blocks=2)
    frame.loc[frame["configuration"] == 4, ["status", "note"]] = [ENDED_EARLY, SO_LOW]
    return frame


def test_a_run_that_ended_early_informs_the_search_and_no_verdict() -> None:
    frame = ended_early()
    assert log_ratios(frame, RATE)[4] == pytest.approx(np.log(0.5))
    ratios = judge(frame, RATE)
    low = ratio_of(ratios, 4)
    assert (low.verdict, low.runs, low.ratio) == (ENDED_EARLY, 0, None)
    assert low.sentence.endswith(SO_LOW)
    assert fastest(ratios) == [1, 2, 3]
    assert "memory" in answer(ratios, RATE) or "flush" in answer(ratios, RATE)
    assert early_ends_note(frame)[0].startswith("2 of 10 runs ended early")


def test_one_that_ended_early_at_some_users_is_not_chosen_for_the_others() -> None:
    frame = runs([1.0, 1.5, 1.2, 1.1, 2.0], blocks=2, virtual_users=(1, 8))
    low = (frame["configuration"] == 4) & (frame["virtual_users"] == 1)
    frame.loc[low, ["status", "note"]] = [ENDED_EARLY, SO_LOW]
    assert fastest(judge(frame, RATE)) == [1, 2, 3]


@pytest.mark.parametrize(("load", "broken"), [({"rate": 100}, True), ({}, False)])
def test_the_limit_on_latency_counts_from_the_schedule_in_an_open_loop(
    tmp_path: Path, load: dict[str, Any], broken: bool
) -> None:
    """Calls of 1 ms that begin 100 ms late, and a limit of 50 ms."""
    made = write_run(tmp_path / "a-run", users=1, duration_s=10, load=load)
    plan = RunPlan.model_validate(made.manifest.plan)
    plan = plan.model_copy(update={"limits": RunLimits(abort=AbortRules(latency_p95_ms=50))})
    end = EarlyEnd(made.folder, plan, made.manifest, 0, 10.0)
    records = np.zeros(1000, record_type({}))
    records["scheduled_ns"] = np.arange(1000) * 10_000_000
    records["start_ns"] = records["scheduled_ns"] + 100_000_000
    records["end_ns"] = records["start_ns"] + 1_000_000
    end._count(records[:-20])
    assert ("95 % quantile of new_order above 50 ms" in next(end._broken(80), "")) is broken
    end.close()
