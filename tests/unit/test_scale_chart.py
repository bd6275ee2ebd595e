"""The metric against the size of the schema."""

from __future__ import annotations

from pathlib import Path

import pandas as pd
import pytest

from hdbkit.analysis.comparison.groups import values_by_size
from hdbkit.charts.size_chart import metric_over_size
from hdbkit.config import TprocCSpec
from hdbkit.config.specs.tproc_h import TprocHSpec
from hdbkit.results.folder import RunFolder
from tests.unit.sweeps import TIME
from tests.unit.synthetic import write_queries


def test_a_line_goes_through_the_means_at_each_size_and_its_power_is_stated() -> None:
    rows = [("a", size, value) for size in (0.1, 1.0, 10.0) for value in (size**1.5 / 2, size**1.5 * 2)]
    chart = metric_over_size(pd.DataFrame(rows, columns=["group", "size", "metric_value"]), TIME, "scale factor")
    dots, line = chart.figure.data
    assert len(dots.x) == 6 and list(line.x) == [0.1, 1.0, 10.0]
    assert list(line.y) == pytest.approx([0.1**1.5, 1.0, 10**1.5], rel=1e-3)
    assert "a: 100 times the scale factor takes 1,000 times the time (power 1.50)." in chart.alternative
    assert chart.figure.layout.xaxis.type == chart.figure.layout.yaxis.type == "log"


def sized(path: Path, size: float | None) -> tuple[RunFolder, object]:
    run = write_queries(path, {"q01": 0.5})
    return run.folder, run.manifest.model_copy(update={"size": size, "scale": f"scale factor {size}"})


def test_groups_of_one_size_are_not_drawn_over_it(tmp_path: Path) -> None:
    small, large, unknown = (sized(tmp_path / str(size), size) for size in (0.1, 1.0, None))
    found, scale = values_by_size({"a": [small, unknown], "b": [large]})  # type: ignore[list-item]
    assert (found["size"].tolist(), scale) == ([0.1, 1.0], "scale factor")
    assert values_by_size({"a": [small], "b": [small]})[0].empty  # type: ignore[list-item]


def test_the_size_of_a_specification_is_its_scale() -> None:
    assert (TprocHSpec(scale_factor=0.1).size, TprocCSpec(warehouses=7).size) == (0.1, 7.0)
