"""Comparisons of runs that did not all complete the same operations, where the metric is a mean over them."""

from __future__ import annotations

from pathlib import Path

import pytest

from hdbkit.analysis.comparison.shared_operations import of_shared_operations
from hdbkit.api import Workspace
from hdbkit.config.metric import Measure, Metric
from hdbkit.errors import InputError
from hdbkit.results.manifest import Manifest, Status
from tests.unit.synthetic import figures, operation, plan_of, write_queries

ALL = ("a", "b", "c", "d")
MEAN = Metric(name="mean", title="mean of times", unit="s", measure=Measure.GEOMETRIC_MEAN, operations=ALL)


def run(
    name: str, times_s: dict[str, float | None], *, chosen: tuple[str, ...] = ALL, value: float | None = 1.0
) -> Manifest:
    """A run that did not complete the operations whose time is None."""
    operations = {
        one: operation(mean_us=time and time * 1e6, failed=int(time is None)) for one, time in times_s.items()
    }
    metric = MEAN if chosen == ALL else MEAN.of_some(chosen, ALL)
    result = figures(value, operations=operations)
    return Manifest(
        run_id=name, notice="", status=Status.DONE, plan=plan_of(), operations=list(ALL), metric=metric,
        noun="query", result=result,
    )  # fmt: skip


FULL = {"a": 1.0, "b": 2.0, "c": 4.0, "d": 8.0}


def test_runs_with_the_same_operations_stay_as_they_are() -> None:
    sides = {"base": [run("x", FULL)], "new": [run("y", FULL)]}
    assert of_shared_operations(sides) == (sides, "")


def test_runs_are_compared_by_what_all_of_them_completed() -> None:
    few = run("y", {"a": 1.0, "b": 3.0, "c": 9.0}, chosen=("a", "b", "c"))
    broken = run("z", {**FULL, "b": None}, value=None)
    sides, note = of_shared_operations({"base": [few], "new": [run("x", FULL), broken]})
    values = [one.metric_value for side in sides.values() for one in side]
    assert values == [pytest.approx(3), pytest.approx(2), pytest.approx(2)]
    assert {one.metric.operations for side in sides.values() for one in side} == {("a", "c")}
    assert sides["base"][0].metric.title == "mean of times (a, c)", "the title of the choice is gone"
    assert note == (
        "Compared are the queries that all runs completed. Left out: b (failed in run z), d (not completed in run y)"
    )


def test_runs_that_share_nothing_are_refused_with_the_reason() -> None:
    sides = {"base": [run("x", {"a": 1.0}, chosen=("a",))], "new": [run("y", {"b": 1.0}, chosen=("b",))]}
    with pytest.raises(InputError, match=r"no query was completed by all runs: a \(not completed in run y\), b"):
        of_shared_operations(sides)


def test_runs_without_a_result_or_with_another_metric_stay_as_they_are() -> None:
    lost = run("y", {}, value=None).model_copy(update={"result": None})
    other = run("z", FULL, value=None)
    rate = other.model_copy(update={"metric": Metric(name="q", title="queries", unit="q/s")})
    for sides in ({"base": [run("x", FULL)], "new": [lost]}, {"base": [run("x", FULL)], "new": [rate]}):
        assert of_shared_operations(sides) == (sides, "")


def test_a_query_that_failed_on_one_side_is_stated_and_the_others_are_compared(tmp_path: Path) -> None:
    place = Workspace(results=tmp_path)
    write_queries(tmp_path / "old", {"q01": 0.1, "q02": 0.2, "q03": 0.4})
    write_queries(tmp_path / "new", {"q01": 0.05, "q02": 0.2, "q03": 0.2}, failed=["q02"])
    found = place.compare("old", "new")
    assert found.ratio.ratio == pytest.approx(2, rel=1e-3)
    assert found.metric.name == "geometric mean (without q02)"
    assert found.warnings[0].endswith("Left out: q02 (failed in run new)")
    sentences = found.by_operation.set_index("operation")["sentence"]
    assert sentences["q02"] == "q02: undecided: no run of new completed q02"
    assert {"ratios", "profile"} <= found.charts().keys()
    assert "Left out: q02 (failed in run new)" in found.report().read_text(encoding="utf-8")
    with pytest.raises(InputError, match="a gate needs runs that completed the same operations"):
        found.gate(-0.02)
    assert "profile" in place.overlay({"a": "old", "b": "new"})
