"""Sweeps whose configurations alternate within each run: their rows, verdicts, notes and warnings."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from bench.verdicts.judging import inflations, intervals
from bench.verdicts.slices import misses
from bench.verdicts.slices import sliced as simulated
from bench.verdicts.sweeps import PLANNED, as_runs, compare_with_judge
from hdbkit.analysis.run.courses import readable
from hdbkit.analysis.statistics.autocorrelation import MAX_INFLATING, inflation
from hdbkit.analysis.statistics.block_model import BlockModel
from hdbkit.analysis.sweep.observations import MAX_STRETCHES, MIN_RUN_DF, grouped, units
from hdbkit.analysis.sweep.slices import carry_over, varying
from hdbkit.api.documents import FindingDocument, as_text, of_result
from hdbkit.api.sweeping import SweepResult
from hdbkit.cli.progress import ExperimentLines
from hdbkit.experiment.events import Follower
from hdbkit.results import columns
from hdbkit.results.experiment_runs import STRETCH, each_run
from hdbkit.results.finding import Of
from hdbkit.results.folder import RunFolder
from hdbkit.results.manifest import Manifest
from tests.unit.sliced import slice_frame, slices, write_sliced_sweep
from tests.unit.sweeps import RATE, TIME
from tests.unit.synthetic import plan_of, write_table


def test_a_sweep_by_slices_has_a_row_per_run_and_configuration(tmp_path: Path) -> None:
    runs = SweepResult(write_sliced_sweep(tmp_path, [1, 1.1, 0.9], done=2)).runs
    assert runs[["number", "configuration"]].to_numpy().tolist() == [[n, c] for n in (1, 2, 3) for c in (0, 1, 2)]
    assert runs["work_mem"].tolist() == ["1MB", "2MB", "3MB"] * 3
    assert runs["status"].tolist() == ["done"] * 6 + ["planned"] * 3
    assert runs["metric_value"][:3].tolist() == pytest.approx([1000, 1100, 900], rel=0.05)
    assert runs["metric_value"][6:].isna().all()
    assert len(each_run(runs)) == 3


def test_runs_whose_slices_are_not_used_say_so_at_once_and_in_the_answer(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = write_sliced_sweep(tmp_path, [1, 1.1], unusable=[1, 2, 3])
    Follower(folder, ExperimentLines()).follow()
    lines = capsys.readouterr().err.splitlines()
    assert len([line for line in lines if "not used: " in line]) == 3
    assert SweepResult(folder).answer.endswith("no configuration besides the baseline has a result that can be used.")


def test_a_true_effect_is_found_and_counted_in_runs(tmp_path: Path) -> None:
    result = SweepResult(write_sliced_sweep(tmp_path, [1, 1.1, 1]))
    verdicts = result.verdicts.set_index("configuration")
    assert verdicts["verdict"].tolist()[:2] == ["baseline", "faster"]
    assert verdicts["verdict"][2] != "faster"
    assert verdicts["runs"].tolist() == [3, 3, 3]
    assert verdicts["ratio"][1] == pytest.approx(1.1, rel=0.03)
    assert result.cells["runs"].tolist() == [3, 3, 3]
    assert result.comparisons["ratio"].tolist() == verdicts["ratio"].tolist()[1:]
    document = FindingDocument.model_validate_json(as_text(of_result(result, None)))
    assert [cell.runs for cell in document.cells] == [3, 3, 3]
    assert document.of(Of.METRIC) == result.cell_ratios
    assert document.of(Of.METRIC)[1].verdict == "faster"
    assert (result.effects["verdict"] == "faster").sum() == 1
    assert repr(result).endswith("3 of 3 runs done>")
    assert result.failed == 0


def test_the_mean_of_a_configuration_is_that_of_its_runs(tmp_path: Path) -> None:
    result = SweepResult(write_sliced_sweep(tmp_path, [1, 1.1], noise=0.5))
    for place, row in result.verdicts.iterrows():
        of_runs = result.runs[result.runs["configuration"] == place]["metric_value"].astype(float)
        assert row["metric_value"] == pytest.approx(np.exp(np.log(of_runs).mean()), rel=0.01), "not of its stretches"


def test_the_advice_is_in_blocks_of_the_plan_and_not_in_cycles(tmp_path: Path) -> None:
    """Half the interval is 3 % with 3 runs of 20 cycles, a quarter of that with 50 runs, or 1,000 cycles."""
    result = SweepResult(write_sliced_sweep(tmp_path, [1, 1], noise=0.05, cycles=20))
    (needed,) = result.verdicts["blocks_needed"].dropna()
    assert 20 < needed < 100
    assert result.verdicts["label"].tolist() == ["baseline", "work_mem=2MB"]
    assert "--blocks" in result.advice


def test_one_run_is_not_enough_however_many_cycles_it_has(tmp_path: Path) -> None:
    verdicts = SweepResult(write_sliced_sweep(tmp_path, [1, 1.5], done=1)).verdicts
    assert verdicts["verdict"][1] == "undecided"
    assert "at least 2 blocks are needed" in verdicts["sentence"][1]


def test_each_look_spends_by_runs(tmp_path: Path) -> None:
    result = SweepResult(write_sliced_sweep(tmp_path, [1, 1.1], blocks=3))
    assert result.level == pytest.approx(0.96)


def test_latencies_are_compared_by_configuration(tmp_path: Path) -> None:
    found = SweepResult(write_sliced_sweep(tmp_path, [1, 1.5], blocks=6)).latencies
    compared = found[found["configuration"] == 1]
    assert set(compared["operation"]) == {"new_order"}
    assert compared["verdict"].tolist() == ["slower", "slower"]


def test_neighbouring_cycles_make_at_most_so_many_stretches() -> None:
    planned = slices(2)
    frame = slice_frame(planned, 200, [1, 2], np.random.default_rng(1), noise=0)
    found = grouped(frame, RATE)
    assert found.groupby("configuration")[STRETCH].nunique().tolist() == [MAX_STRETCHES] * 2
    assert found.groupby("configuration")["metric_value"].mean().tolist() == pytest.approx([1000, 2000])


def test_a_rate_without_an_operation_in_a_slice_counts_and_times_have_geometric_means() -> None:
    cycles = np.arange(2 * MAX_STRETCHES)
    frame = pd.DataFrame({"slice": cycles, "cycle": cycles, "configuration": 0, "operations_per_s": 1.0})
    frame["metric_value"] = np.where(cycles % 2, 8.0, 0.0)
    assert grouped(frame, RATE)["metric_value"].tolist() == [4.0] * MAX_STRETCHES
    frame["metric_value"] = np.where(cycles % 2, 8.0, 2.0)
    assert grouped(frame, TIME)["metric_value"].tolist() == pytest.approx([4.0] * MAX_STRETCHES)


def test_a_run_without_usable_slices_is_named_and_the_others_are_judged(tmp_path: Path) -> None:
    result = SweepResult(write_sliced_sweep(tmp_path, [1, 1.2], unusable=[2]))
    assert result.verdicts["runs"].tolist() == [2, 2]
    assert "the slices of run 2 are not used: no change of settings was recorded" in result.warnings


def test_washout_and_cycles_are_reported(tmp_path: Path) -> None:
    note, units_ = SweepResult(write_sliced_sweep(tmp_path, [1, 1])).notes[:2]
    assert units_ == (
        "Intervals are made of how the ratio differs from cycle to cycle, so they hold for these runs; "
        "from 7 blocks on they also contain what differs from run to run"
    )
    assert note == (
        "Slices of 0.25 s, of which the first 12 ms (washout, measured in each run) do not count: 72 cycles in 3 "
        "runs count, 3 were dropped because a change of settings was missing or late"
    )


def test_many_runs_are_what_intervals_are_made_of(tmp_path: Path) -> None:
    result = SweepResult(write_sliced_sweep(tmp_path, [1, 1.1], blocks=8))
    assert "Intervals are made of how the ratio differs from run to run" in result.notes
    assert len(result.observations) == 16
    assert result.verdicts["verdict"].tolist() == ["baseline", "faster"]
    assert str(result).splitlines()[0] == result.answer, "what print shows"


def test_what_a_configuration_leaves_behind_is_found_and_changes_no_ratio(tmp_path: Path) -> None:
    left = [1, 1, 0.9, 1]
    result = SweepResult(write_sliced_sweep(tmp_path, [1, 1, 1, 1], left_behind=left, cycles=48, noise=0.02))
    (warning,) = result.warnings
    assert warning.startswith("slices after work_mem=3MB are 10.")
    assert not result.verdicts["verdict"].isin(["faster", "slower"]).any()


def test_carry_over_is_reported_by_chance_in_at_most_a_few_percent_of_sweeps(tmp_path: Path) -> None:
    planned, found = slices(3), []
    manifest = Manifest.model_construct(plan=plan_of(slices=planned))
    for seed in range(40):
        run, draw = RunFolder(tmp_path / str(seed)), np.random.default_rng(seed)
        run.path.mkdir()
        write_table(run.table("slices"), slice_frame(planned, 48, [1, 1.1, 0.8], draw), columns.SLICES)
        found.append(min(one.p for one in carry_over([(run, manifest)], RATE)))
    assert np.mean(np.array(found) < 0.05) <= 0.15
    assert np.median(found) > 0.1


def stretches_of_runs(ratios: list[float], draw: np.random.Generator) -> pd.DataFrame:
    """24 stretches in each of some runs, whose true ratios are these, with noise of 5 %."""
    logs = np.log(np.repeat(ratios, 24)) + draw.normal(0, 0.05, 24 * len(ratios))
    number = np.repeat(np.arange(len(ratios)) + 1, 24)
    return pd.DataFrame({"number": number, "virtual_users": 4, "configuration": 1, "ratio": np.exp(logs)})


def test_a_change_that_differs_between_runs_is_found() -> None:
    draw = np.random.default_rng(1)
    (one,) = varying(stretches_of_runs([1.0, 1.1, 1.05], draw))
    assert one.p < 0.001
    assert [one.low, one.high] == pytest.approx([1, 1.1], abs=0.03)
    alike = [varying(stretches_of_runs([1.1, 1.1, 1.1], draw))[0].p for _ in range(200)]
    assert np.mean(np.array(alike) < 0.05) <= 0.09
    assert varying(stretches_of_runs([1.1], draw)) == []


def judged_rows(runs: int, varying: float, seed: int = 1, size: int = 2) -> pd.DataFrame:
    """The units of a sweep whose ratios vary from run to run with this standard deviation."""
    sweep = simulated(size, 40, 0.5, 1, np.random.default_rng(seed), runs=runs, varying=varying)
    return units(as_runs(sweep.by_run), as_runs(sweep), RATE)


@pytest.mark.parametrize(("runs", "varying"), [(2, 0.5), (3, 0.1), (8, 0.5)])
def test_few_runs_are_judged_as_these_runs_and_many_as_any(runs: int, varying: float) -> None:
    sweeps = simulated(2, 40, 0.5, 1000, np.random.default_rng(43), runs=runs, varying=varying)
    assert misses(*intervals(sweeps, PLANNED), sweeps).mean() <= 0.065


def test_a_verdict_on_few_runs_is_limited_to_them_wherever_it_is_shown(tmp_path: Path) -> None:
    few, many = (SweepResult(write_sliced_sweep(tmp_path / str(n), [1, 1.3], blocks=n)) for n in (3, 8))
    shown = [few.answer, few.report().read_text(), few._repr_html_(), few.effects["sentence"][0]]
    assert all("in these runs" in one for one in shown)
    assert "faster in these runs<" in shown[1]
    assert "in these runs" not in many.report().read_text()


def test_what_differs_between_few_runs_is_no_noise_of_a_stretch() -> None:
    apart = as_runs(simulated(2, 40, 0.5, 1, np.random.default_rng(1), runs=3, varying=0.5))
    alike = as_runs(simulated(2, 40, 0.5, 1, np.random.default_rng(1), runs=3))
    noises = [BlockModel.fitted(rows, RATE).noise for rows in (apart, alike)]
    assert noises[0] == pytest.approx(noises[1], rel=0.2)


def test_with_enough_runs_the_runs_are_the_units() -> None:
    for runs, size, rows in ((MIN_RUN_DF + 1, 2, 14), (3, 4, 12), (MIN_RUN_DF, 2, 6 * 40 * 2)):
        assert len(judged_rows(runs, 0.0, size=size)) == rows


def test_with_two_configurations_nothing_is_left_behind_that_could_be_estimated(tmp_path: Path) -> None:
    folder = write_sliced_sweep(tmp_path, [1, 1], left_behind=[1, 0.8], noise=0.01)
    result = SweepResult(folder)
    runs = readable([RunFolder(tmp_path / one) for one in result.runs["run_id"].unique()])
    assert carry_over(runs, RATE) == []
    assert result.verdicts["ratio"][1] == pytest.approx(1, abs=0.01)


def test_correlated_stretches_inflate_the_error_and_independent_ones_hardly() -> None:
    factors = [inflation(rho, 100, 50, 3, 0.5)[0] for rho in (0.0, 0.5, 0.9, 2.0)]
    assert factors[0] < 1.15
    assert factors[1] > 3
    assert factors[2] > 15
    assert inflation(2.0, 100, 50, 3, 0.0) == inflation(MAX_INFLATING, 100, 50, 3, 0.0)
    assert inflation(-0.9, 100, 50, 3, 0.5) == (1.0, 1.0)


def test_the_vectorized_simulation_of_slices_judges_as_sweeps_are_judged() -> None:
    sweeps = simulated(3, 20, 0.5, 2, np.random.default_rng(1))
    compare_with_judge(sweeps, 2)
    model = BlockModel.fitted(as_runs(sweeps[:1]), RATE)
    factor, _ = inflations(model.residuals.reshape(1, -1, 3), sweeps.length)
    assert model.strata == 60
    assert factor[0, 0] >= 1
