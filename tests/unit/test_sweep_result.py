"""The result of a sweep through the API."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path

import pytest

import hdbkit
from hdbkit.api.sweeping import SweepResult
from hdbkit.config import Load, SweepSpec, Target
from hdbkit.config.metric import Metric
from hdbkit.errors import ConfigErrors, DamagedResult
from hdbkit.experiment.kinds.sweep.plan import plan_sweep
from hdbkit.experiment.plan import PlannedRun, run_plan
from hdbkit.plan import RunPlan
from hdbkit.results.experiment_folder import ExperimentFolder, experiment_folder
from hdbkit.results.folder import RunFolder
from hdbkit.results.journal import Step
from hdbkit.results.manifest import CheckLine, Manifest, Status
from tests.unit.synthetic import changed, figures, write_sweep

AT = datetime(2026, 11, 20, tzinfo=UTC)
SPEC = SweepSpec(settings={"flush": ["on", "off"]}, blocks=2)


def _manifest(planned: RunPlan, place: PlannedRun) -> Manifest:
    return Manifest(
        run_id=planned.run_id,
        notice="",
        status=Status.DONE,
        plan=planned.model_dump(mode="json"),
        operations=[],
        metric=Metric(name="TPS", title="operations per second", unit="TPS"),
        result=figures(1000.0 + place.number),
        checks=[CheckLine(name="steal time", passed=place.number % 2 == 0, detail="")],
    )


@pytest.fixture
def folder(tmp_path: Path) -> ExperimentFolder:
    """A sweep of which each second run failed a check."""
    folder = experiment_folder(tmp_path, "one")
    planned = plan_sweep(Target(kind="nulldb", name="lab"), SPEC, "one")
    folder.write_plan(planned)
    for one in planned.runs:
        run = RunFolder(tmp_path / f"run-{one.number}")
        run.path.mkdir()
        run.write(_manifest(run_plan(planned, one, AT), one))
        folder.append(Step.RUN_FINISHED, one.number, run.run_id)
    return folder


def test_the_checks_that_runs_failed_are_counted_and_reported(folder: ExperimentFolder) -> None:
    result = SweepResult(folder)
    assert result.checks_failed == {"steal time": 2}
    assert "* 2 of 4 runs failed the check 'steal time'" in result.advice


def test_a_damaged_sweep_is_reported_in_a_sentence(folder: ExperimentFolder) -> None:
    (folder.path / "plan.json").write_text("{}")
    with pytest.raises(DamagedResult, match=r"plan.json is damaged: \w+: is required"):
        SweepResult(folder)


def test_a_report_repeats_the_sweep_on_the_target_as_it_was_given(folder: ExperimentFolder) -> None:
    assert f"hdbkit sweep lab {folder.path / 'plan.json'}" in SweepResult(folder).report().read_text()


def test_the_difference_of_the_best_configuration_and_the_baseline_has_a_page_and_a_command(tmp_path: Path) -> None:
    load = Load(rampup_s=0, duration_s=2)
    folder = write_sweep(tmp_path, SweepSpec(settings={"durable": ["on", "off"]}, blocks=3, load=load))
    for one in SweepResult(folder).runs.itertuples():
        run = RunFolder(tmp_path / one.run_id)
        run.write(changed(run.read(), metric_value=(1000.0 + one.block) * (1 + one.configuration)))
    result = SweepResult(folder)
    assert result.notes[-1].startswith("To see why durable=off is faster: hdbkit compare ")
    assert result.difference_report
    assert "durable=off" in result.difference_report().read_text()
    sides = result.notes[-1].split()[-3:-1]
    assert hdbkit.Workspace(results=tmp_path).compare(*sides).ratio.ratio == pytest.approx(2, rel=0.01)


@pytest.mark.parametrize("blocks", [0, 1, 2000])
def test_blocks_given_apart_obey_the_bounds_of_the_file(blocks: int) -> None:
    with pytest.raises(ConfigErrors, match="blocks: must be"):
        hdbkit.plan_sweep(Target(kind="nulldb"), SPEC, blocks=blocks)
