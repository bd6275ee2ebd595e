"""Warnings of a sweep: each has its cause, and a sweep without causes has none."""

from __future__ import annotations

import numpy as np

from hdbkit.analysis.sweep.verdicts import judge
from hdbkit.analysis.sweep.warnings import failed_checks, next_step, sweep_warnings, warnings_text, wave_note
from hdbkit.results.finding import Needed, Verdict
from tests.unit.sweeps import RATE, failed, synthetic_runs


def test_a_quiet_sweep_has_no_warning() -> None:
    assert warnings_text(sweep_warnings(synthetic_runs([1, 1.5, 2.0], blocks=5), RATE)) == ""


def test_an_outlying_block_is_named_with_its_distance() -> None:
    runs = synthetic_runs([1, 1.5], blocks=5, noise=0.01)
    runs.loc[runs["block"] == 3, "metric_value"] *= 0.7
    assert warnings_text(sweep_warnings(runs, RATE)).splitlines()[0] == "Warnings:"
    (line,) = sweep_warnings(runs, RATE)
    assert line.startswith("TPS of block 3 differs by -")
    assert line.endswith(" % from the median of the 5 blocks")


def test_drift_is_reported_with_its_size() -> None:
    (line,) = [one for one in sweep_warnings(synthetic_runs([1, 1], drift=0.05), RATE) if "from the first run" in one]
    assert line.startswith("TPS drifts by -")


def test_an_outlying_run_is_named_and_counted() -> None:
    runs = synthetic_runs([1, 1.1, 1.2], blocks=6, noise=0.01)
    runs.loc[runs["number"] == 8, "metric_value"] *= 0.8
    chosen = runs[runs["number"] == 8].iloc[0]
    (line,) = [one for one in sweep_warnings(runs, RATE) if one.startswith("run 8 (")]
    assert f"4 virtual users, block {chosen['block']})" in line
    assert " is 2" in line or " is 1" in line
    assert line.endswith(" % slower than its configuration and its block suggest; it is included")
    assert [ratio.runs for ratio in judge(runs, RATE)] == [6, 6, 6]


def test_a_noisy_configuration_is_named_and_its_interval_is_wider() -> None:
    runs = synthetic_runs([1, 1, 1, 1], blocks=8)
    noisy = runs["configuration"] == 2
    runs.loc[noisy, "metric_value"] *= np.exp(np.random.default_rng(1).normal(0, 0.08, 8))
    (line,) = [one for one in sweep_warnings(runs, RATE) if "the noise of" in one]
    assert line.startswith("the noise of memory=2GB at 4 virtual users is ")
    assert line.endswith("times that of the others; its interval is wider for it")
    width = [ratio.high - ratio.low for ratio in judge(runs, RATE)]
    assert width[2] > 1.5 * width[1]


def test_a_configuration_with_one_run_has_no_noise_of_its_own() -> None:
    runs = synthetic_runs([1, 1.1, 1.2], blocks=6, noise=0.01)
    single = runs[(runs["configuration"] != 2) | (runs["block"] == 1)]
    assert not [warning for warning in sweep_warnings(single, RATE) if "the noise of" in warning]


def test_large_noise_is_itself_a_warning() -> None:
    warnings = sweep_warnings(synthetic_runs([1, 1.1], blocks=8, noise=0.5), RATE)
    assert any(one.startswith("the noise of a run is ") for one in warnings)


def test_failed_runs_are_counted() -> None:
    runs = synthetic_runs([1, 1.5])
    assert "1 of 16 runs failed and is not counted" in sweep_warnings(failed(runs, runs["number"] == 4), RATE)


def test_runs_that_failed_a_check_are_counted_by_check() -> None:
    runs = synthetic_runs([1, 1.5])
    runs["checks_failed"] = [("steal time",), ("mix as asked", "steal time"), *[()] * 14]
    assert failed_checks(runs) == {"steal time": 2, "mix as asked": 1}
    assert sweep_warnings(runs, RATE)[:2] == [
        "2 of 16 runs failed the check 'steal time'",
        "1 of 16 runs failed the check 'mix as asked'",
    ]


def test_the_next_step_decides_what_is_undecided() -> None:
    judged = judge(synthetic_runs([1, 1.02, 1.01], blocks=3, noise=0.02), RATE)
    most = max(ratio.needed.blocks for ratio in judged if ratio.needed)
    assert next_step(judged, "hdbkit resume abc --blocks {}".format).endswith(f"resume abc --blocks {most}")
    assert next_step(judge(synthetic_runs([1, 2]), RATE), str) == ""
    baseline, *others = judged
    needed = [Needed(blocks=blocks, low=None, high=None) for blocks in (12, 400)]
    open_ = [
        ratio.model_copy(update={"verdict": Verdict.UNDECIDED, "needed": of_it})
        for ratio, of_it in zip(others, needed, strict=True)
    ]
    assert (
        next_step([baseline, *open_], str)
        == "to decide 1 of the 2 comparisons that are undecided, with a probability of 80 %: 12"
    )


def test_two_configurations_in_few_blocks_state_the_wave_that_would_look_like_a_difference() -> None:
    runs, equal, more = (
        synthetic_runs(ratios, blocks=blocks) for ratios, blocks in (([1, 2], 4), ([1, 1], 4), ([1, 2], 6))
    )
    (note,) = wave_note(runs, judge(runs, RATE))
    assert note.startswith("With 4 blocks of two a wave on the host with a period of two to three blocks")
    assert wave_note(equal, judge(equal, RATE)) == wave_note(more, judge(more, RATE)) == []
