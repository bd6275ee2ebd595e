"""The slices of a run: which count, how operations at their boundaries count, and what the result keeps."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from hdbkit.analysis.run.slices import SliceTable, slice_table, slices_result, washout_of
from hdbkit.config.metric import Measure, Metric
from hdbkit.results import columns
from hdbkit.slices import SliceOrder, Slices
from tests.unit.sliced import PLAIN, SLICE_US, changes, loop, sliced_run, slices
from tests.unit.synthetic import MEAN_TIME, Synthetic, figures

ALL = range(12)
P50 = Metric(name="p50", title="median", unit="ms", measure=Measure.QUANTILE, quantile=0.5)


def table_of(made: Synthetic) -> SliceTable:
    found = slice_table(made.folder, made.manifest)
    assert found is not None
    return found


def one_operation(start_us: int, latency_us: int, **changed: int) -> pd.DataFrame:
    row = {"virtual_user": 0, "t_start_us": start_us, "latency_us": latency_us, "operation": 0, **PLAIN, **changed}
    return pd.DataFrame([row])


def per_slice(found: SliceTable, planned: Slices) -> dict[int, float]:
    """The operations that each slice counts; a rate is of the time after the washout."""
    assert found.washout_s is not None
    counted_s = planned.slice_s - found.washout_s
    return {int(row.slice): float(row.operations_per_s) * counted_s for row in found.rows.itertuples()}


def test_only_whole_cycles_of_the_window_count(tmp_path: Path) -> None:
    planned = slices()
    made = sliced_run(tmp_path / "run", loop(1.2, lambda _: 1000), planned, changes(planned, ALL), duration_s=0.75)
    found = table_of(made)
    assert found.rows["slice"].tolist() == [2, 3, 4, 5, 6, 7]
    assert found.rows["cycle"].tolist() == [1, 1, 2, 2, 3, 3]
    assert (found.cycles, found.dropped) == (3, 0)
    order = SliceOrder(planned)
    assert found.rows["configuration"].tolist() == [order.position(number) for number in range(2, 8)]


def test_an_operation_counts_by_the_share_of_its_time_after_the_washout(tmp_path: Path) -> None:
    """It takes 40 ms, 10 of them in slice 3, then the washout of 10 ms, then 20 ms in slice 4."""
    planned = slices()
    rows = one_operation(4 * SLICE_US - 10_000, 40_000)
    made = sliced_run(tmp_path / "run", rows, planned, changes(planned, ALL, took_us=10_000))
    counted = per_slice(table_of(made), planned)
    assert counted[3] == pytest.approx(0.25)
    assert counted[4] == pytest.approx(0.5)
    assert sum(counted.values()) == pytest.approx(0.75)


def test_an_operation_of_several_slices_counts_in_each(tmp_path: Path) -> None:
    planned = slices()
    rows = one_operation(3 * SLICE_US + 50_000, 300_000)
    made = sliced_run(tmp_path / "run", rows, planned, changes(planned, ALL, took_us=10_000))
    counted = per_slice(table_of(made), planned)
    expected = {3: 50 / 300, 4: 90 / 300, 5: 90 / 300, 6: 40 / 300}
    assert {number: one for number, one in counted.items() if one} == pytest.approx(expected)


def test_the_throughput_does_not_depend_on_how_long_operations_are(tmp_path: Path) -> None:
    """One configuration takes 30 ms, the other 10 ms each; no boundary is that of an operation."""
    planned, order = slices(), SliceOrder(slices())
    rows = loop(2.6, lambda at: 30_000 if order.position(at // SLICE_US) else 10_000)
    made = sliced_run(tmp_path / "run", rows, planned, changes(planned, range(30), took_us=30_000), duration_s=2.4)
    found = table_of(made)
    per_s = found.rows.groupby("position")["operations_per_s"].mean()
    assert per_s.tolist() == pytest.approx([100.0, 100 / 3])


def test_what_ends_in_a_dropped_cycle_does_not_count_for_the_slice_before(tmp_path: Path) -> None:
    planned = slices()
    switches = changes(planned, ALL)
    rows = loop(1.2, lambda _: 10_000)
    made = sliced_run(tmp_path / "run", rows, planned, switches[switches["slice"] != _changed(planned, 2)])
    found = table_of(made)
    assert found.rows["cycle"].tolist() == [1, 1, 3, 3, 4, 4]
    assert (found.cycles, found.dropped) == (3, 1)
    assert found.rows["operations_per_s"].tolist() == pytest.approx([100.0] * 6)
    assert found.operations["n"].sum() == 6 * 9, "one begins in each washout"


def _changed(planned: Slices, cycle: int) -> int:
    """The slice of a cycle that has another configuration than the slice before."""
    order, count = SliceOrder(planned), len(planned.configurations)
    return next(
        one for one in range(cycle * count, (cycle + 1) * count) if order.position(one) != order.position(one - 1)
    )


@pytest.mark.parametrize("late_us", [51_000, 130_000])
def test_a_change_that_comes_too_late_drops_its_cycle(tmp_path: Path, late_us: int) -> None:
    planned = slices()
    switches = changes(planned, range(400))
    switches.loc[switches["slice"] == _changed(planned, 2), "t_end_us"] += late_us
    made = sliced_run(tmp_path / "run", loop(1.2, lambda _: 1000), planned, switches)
    assert 2 not in table_of(made).rows["cycle"].tolist()
    assert table_of(made).dropped == 1


def test_a_change_missing_in_one_of_many_sessions_drops_the_cycle(tmp_path: Path) -> None:
    planned, users = slices(), (0, 1, 2)
    switches = changes(planned, ALL, users)
    lost = (switches["virtual_user"] == 1) & (switches["slice"] == _changed(planned, 3))
    made = sliced_run(tmp_path / "run", loop(1.2, lambda _: 1000, 3), planned, switches[~lost], users=3)
    assert table_of(made).rows["cycle"].unique().tolist() == [1, 2, 4]


def test_changes_on_the_server_are_those_of_no_user(tmp_path: Path) -> None:
    planned = slices(in_session=False)
    switches = changes(planned, ALL, took_us=20_000)
    made = sliced_run(tmp_path / "run", loop(1.2, lambda _: 1000, 2), planned, switches, users=2)
    found = table_of(made)
    assert found.washout_s == pytest.approx(0.02)
    assert found.rows["operations_per_s"].tolist() == pytest.approx([2000.0] * 8)


def test_the_washout_is_the_99_percent_quantile_of_all_changes() -> None:
    took = np.random.default_rng(1).permutation(np.arange(1, 201))
    switches = pd.DataFrame({"t_due_us": 1000, "t_end_us": 1000 + took})
    assert washout_of(switches) == 198_000


def test_changes_that_take_more_than_half_a_slice_make_the_slices_unusable(tmp_path: Path) -> None:
    planned = slices()
    made = sliced_run(tmp_path / "run", loop(1.2, lambda _: 1000), planned, changes(planned, ALL, took_us=60_000))
    found = table_of(made)
    assert not found.usable
    assert found.rows.empty
    assert found.unusable == (
        "only 0 of 4 cycles in the window have all changes of settings within half of a slice; "
        "99 % of the changes took up to 0.06 s; use a longer slice_s or window"
    )
    result = slices_result(found, made.manifest)
    assert [one.metric_value for one in result.configurations] == [None, None]


def test_where_some_changes_take_longer_half_of_each_slice_counts(tmp_path: Path) -> None:
    planned = slices()
    switches = changes(planned, ALL)
    switches.loc[switches["slice"] == _changed(planned, 4), "t_end_us"] += 60_000
    found = table_of(sliced_run(tmp_path / "run", loop(1.2, lambda _: 1000), planned, switches))
    assert found.washout_s == pytest.approx(0.05)
    assert (found.cycles, found.dropped) == (3, 1)
    assert found.rows["operations_per_s"].tolist() == pytest.approx([1000.0] * 6)


@pytest.mark.parametrize("switches", [None, changes(slices(), [])])
def test_without_recorded_changes_slices_are_unusable(tmp_path: Path, switches: pd.DataFrame | None) -> None:
    made = sliced_run(tmp_path / "run", loop(1.2, lambda _: 1000), slices(), switches)
    assert table_of(made).unusable == "no change of settings was recorded"


def test_a_run_of_one_configuration_has_no_slices(tmp_path: Path) -> None:
    made = sliced_run(tmp_path / "run", loop(1.2, lambda _: 1000), slices(), None)
    plan = made.manifest.plan.model_copy(update={"slices": None})
    assert slice_table(made.folder, made.manifest.model_copy(update={"plan": plan})) is None


def test_latencies_are_of_the_slice_in_which_an_operation_began(tmp_path: Path) -> None:
    """99 latencies in slice 2, the longest of which ends in slice 3, and one that begins in a washout."""
    planned = slices()
    begun = one_operation(2 * SLICE_US + 500, 7)
    rows = [one_operation(2 * SLICE_US + 1000 + at, at + 1) for at in range(98)]
    rows += [begun, one_operation(3 * SLICE_US - 10, 90_000), one_operation(2 * SLICE_US + 5000, 5, outcome=2)]
    made = sliced_run(tmp_path / "run", pd.concat(rows), planned, changes(planned, ALL))
    found, position = table_of(made), SliceOrder(planned).position(2)
    (row,) = found.operations.to_dict("records")
    expected = {"position": position, "n": 99, "p50_us": 50, "max_us": 90_000}
    assert row | expected == row


def test_a_metric_of_quantiles_is_that_of_each_slice(tmp_path: Path) -> None:
    planned, order = slices(), SliceOrder(slices())
    rows = loop(1.2, lambda at: 4000 if order.position(at // SLICE_US) else 2000)
    made = sliced_run(tmp_path / "run", rows, planned, changes(planned, ALL), metric=P50)
    found = table_of(made)
    assert found.rows.groupby("position")["metric_value"].agg(set).tolist() == [{2.0}, {4.0}]


def test_in_an_open_loop_quantiles_are_of_response_times(tmp_path: Path) -> None:
    planned = slices()
    rows = loop(1.2, lambda _: 2000).assign(wait_us=5000)
    made = sliced_run(tmp_path / "run", rows, planned, changes(planned, ALL), metric=P50)
    found = slice_table(made.folder, made.manifest.model_copy(update={"rate_per_s": 500.0}))
    assert found is not None
    assert set(found.rows["metric_value"]) == {7.0}
    assert set(found.operations["p50_us"]) == {7000}


def test_a_geometric_mean_needs_each_operation_in_a_slice(tmp_path: Path) -> None:
    planned = slices()
    names = MEAN_TIME.model_copy(update={"operations": ("new_order", "payment")})
    rows = loop(1.2, lambda _: 4000, operation=lambda number: number % 2)
    rows.loc[rows["operation"] == 0, "latency_us"] = 1000
    rows = rows[(rows["operation"] == 0) | (rows["t_start_us"] < 8 * SLICE_US)]
    made = sliced_run(tmp_path / "run", rows, planned, changes(planned, ALL), metric=names)
    found = table_of(made).rows.set_index("slice")["metric_value"]
    assert found.loc[:7].tolist() == pytest.approx([0.002] * 6)
    assert found.loc[8:].isna().all()


def test_the_result_has_each_configuration_and_its_manifest_can_be_read(tmp_path: Path) -> None:
    planned, order = slices(3), SliceOrder(slices(3))
    rows = loop(1.4, lambda at: 1000 * (1 + order.position(at // SLICE_US)))
    made = sliced_run(tmp_path / "run", rows, planned, changes(planned, range(14)), rampup_s=0.3, duration_s=0.9)
    result = slices_result(table_of(made), made.manifest)
    assert (result.cycles, result.dropped, result.unusable) == (3, 0, "")
    assert result.washout_s == pytest.approx(0.001)
    assert [one.metric_value for one in result.configurations] == pytest.approx([1000, 500, 333.3], rel=0.02)
    counts = [one.operations["new_order"].count for one in result.configurations]
    assert all(isinstance(one, int) for one in counts)
    assert counts[0] == 3 * 99
    assert list(table_of(made).rows.columns) == list(columns.SLICES)
    made.folder.write(made.manifest.model_copy(update={"result": figures(1.0, slices=result)}))
    assert made.folder.read().measured.slices == result
