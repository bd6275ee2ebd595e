"""The charts and the report of a sweep by slices, and the chart of one run's slices."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from hdbkit.analysis.run.courses import readable
from hdbkit.analysis.sweep.slices import changes
from hdbkit.api.sweeping import SweepResult
from hdbkit.charts.run_charts import run_charts
from hdbkit.charts.slice_charts import slices_of_run
from hdbkit.results import columns
from hdbkit.results.experiment_folder import ExperimentFolder
from hdbkit.results.folder import RunFolder
from tests.unit.sliced import changes as switches_at
from tests.unit.sliced import loop, slice_frame, sliced_run, slices, write_sliced_sweep
from tests.unit.sweeps import RATE
from tests.unit.synthetic import with_result, write_table


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> ExperimentFolder:
    return write_sliced_sweep(tmp_path_factory.mktemp("sweeps"), [1, 1.1, 0.9], cycles=60, noise=0.01)


def test_the_changes_are_those_of_stretches_run_after_run(folder: ExperimentFolder) -> None:
    runs = [RunFolder(folder.root / one) for one in SweepResult(folder).runs["run_id"].unique()]
    found = changes(readable(runs), RATE)
    assert set(found["configuration"]) == {1, 2}
    assert found.groupby("configuration")["ratio"].mean().tolist() == pytest.approx([1.1, 0.9], rel=0.01)
    assert found.groupby("number")["cycles"].sum().tolist() == [2 * 60] * 3
    starts = found.groupby("number")["second"].min()
    assert starts.tolist() == pytest.approx([0, 45, 90]), "60 cycles of 0.75 s each"


def test_a_sweep_by_slices_is_drawn_along_its_runs_and_not_by_whole_runs(folder: ExperimentFolder) -> None:
    charts = SweepResult(folder).charts()
    assert list(charts) == ["effects", "configurations", "slices", "latency"]
    chart = charts["slices"]
    assert [trace.name for trace in chart.figure.data if trace.mode == "lines" and trace.name] == [
        "work_mem=2MB",
        "work_mem=3MB",
    ]
    assert "work_mem=2MB: +10.0 % (+9.7 % to +10.3 %)." in chart.alternative
    assert "A dot is a stretch of 1 to 2 cycles" in chart.alternative
    assert len(chart.table) == 2 * 3 * 48
    assert chart.matplotlib().axes


def test_the_report_of_a_sweep_by_slices_counts_runs_and_names_its_slices(folder: ExperimentFolder) -> None:
    text = SweepResult(folder).report().read_text(encoding="utf-8")
    for words in ("of 3 planned", "of work_mem, in slices of 0.25 s", "Is the change the same along the runs?"):
        assert words in text
    assert "Was the throughput steady in every configuration?" not in text


def test_a_run_is_drawn_by_slice_and_configuration(tmp_path: Path) -> None:
    planned = slices(2)
    made = sliced_run(tmp_path / "run", loop(1.2, lambda _: 1000), planned, switches_at(planned, range(12)))
    frame = slice_frame(planned, 4, [1, 3], np.random.default_rng(1), noise=0)
    write_table(made.folder.table("slices"), frame, columns.SLICES)
    chart = slices_of_run(frame, made.manifest)
    assert [trace.name for trace in chart.figure.data] == ["baseline", "work_mem=2MB"]
    assert [len(trace.x) for trace in chart.figure.data] == [4, 4]
    assert "baseline 1,000; work_mem=2MB 3,000" in chart.alternative
    assert chart.matplotlib().axes
    assert "slices" in [one.key for one in run_charts(made.folder, with_result(made).manifest)]
