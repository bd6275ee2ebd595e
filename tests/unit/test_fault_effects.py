"""What the records of a run say about its faults, on records that are known."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from hdbkit.analysis.run.faults import _recovered_s, effect_text, effects, lost_commits, lost_text
from hdbkit.results import columns
from hdbkit.results.manifest import FaultLine
from tests.unit.synthetic import Synthetic, counters_of, figures, operations, write_run, write_table

SERIAL = {"operation": "new_order", "group": ["w_id", "d_id"], "number": "o_id"}
FIRST = 3001


def numbered(rows: pd.DataFrame) -> tuple[pd.DataFrame, list[list[int]]]:
    """The rows with a number for each new order, and the last number of each district."""
    orders = rows[(rows["operation"] == 0) & (rows["outcome"] == 0)]
    rows.loc[orders.index, "o_id"] = FIRST + orders.groupby(["w_id", "d_id"]).cumcount()
    last = rows.loc[orders.index].groupby(["w_id", "d_id"])["o_id"].max().reset_index()
    return rows, last.astype(int).to_numpy().tolist()


@pytest.fixture
def run(tmp_path: Path) -> Synthetic:
    return write_run(tmp_path / "a-run", duration_s=4, rows=numbered(operations(4, 6.5))[0])


def lost(run: Synthetic, last: list[list[int]] | None, clients_lost: int = 0) -> tuple[int | None, str]:
    serials = None if last is None else {**SERIAL, "last": last}
    lost, unknown = lost_commits(run.folder, run.manifest, serials, clients_lost)
    return lost, lost_text(figures(1.0, lost_commits=lost, lost_commits_unknown=unknown))


def test_a_number_that_is_given_again_or_beyond_the_last_one_is_a_lost_commit(run: Synthetic, tmp_path: Path) -> None:
    rows, last = numbered(run.rows)
    assert lost(run, last) == (0, "no acknowledged commit was lost")
    shorter = [[w_id, d_id, o_id - 1 if (w_id, d_id) == (1, 1) else o_id] for w_id, d_id, o_id in last]
    assert lost(run, shorter) == (1, "1 acknowledged commit was lost")
    first = rows[(rows["o_id"] > 0) & (rows["w_id"] == 1) & (rows["d_id"] == 1)].index[:3]
    rows.loc[first, "o_id"] = FIRST
    again = write_run(tmp_path / "again", duration_s=4, rows=rows)
    assert lost(again, last) == (2, "2 acknowledged commits were lost")


def test_zero_is_no_number_and_without_numbers_losses_are_unknown(run: Synthetic, tmp_path: Path) -> None:
    rows, last = numbered(run.rows)
    rows.loc[rows["w_id"] == 1, "o_id"] = 0
    assert lost(write_run(tmp_path / "some", duration_s=4, rows=rows), last)[0] == 0
    rows["o_id"] = 0
    none = write_run(tmp_path / "none", duration_s=4, rows=rows)
    assert lost(none, last) == (
        None,
        "whether acknowledged commits were lost is unknown: no committed new_order returned its number",
    )
    assert lost(none, None)[1].endswith("unknown: the schema gives no numbers that show it")


def test_losses_are_unknown_where_others_change_the_schema_too(run: Synthetic) -> None:
    counters = counters_of(run.rows, 2_000_000, 6_000_000)
    counters.loc[(counters["edge"] == "end") & (counters["name"] == columns.COUNTED), "value"] += 100
    write_table(run.folder.table("counters"), counters, columns.COUNTERS)
    found, text = lost(run, numbered(run.rows)[1])
    assert found is None
    assert text.endswith("others changed it during the run")
    assert lost(run, numbered(run.rows)[1], clients_lost=100)[0] == 0


def test_what_fails_after_the_recovery_counts_until_the_next_fault(tmp_path: Path) -> None:
    rows = operations(4, 14.5)
    end_us = rows["t_start_us"] + rows["latency_us"]
    late = rows.index[(end_us > 7_000_000) & (end_us < 7_400_000)]
    rows.loc[late[:3], ["outcome", "error_class"]] = [2, 1]
    rows = rows.drop(late[3:])
    after = rows.index[end_us.loc[rows.index] > 10_500_000][:2]
    rows.loc[after, ["outcome", "error_class"]] = [2, 1]
    made = write_run(tmp_path / "a-run", duration_s=12, rows=rows)
    at = [(4, 4.02, 4.03, 4.43), (10, 10.0, 10.0, 10.0)]
    us = np.round(np.array(at) * 1e6).astype(int).tolist()
    lines = [
        FaultLine(fault=name, start_us=start, effective_us=effective, undo_us=undo, end_us=end)
        for name, (start, effective, undo, end) in zip(("kill server at 2 s", "kill client at 8 s"), us, strict=True)
    ]
    first, second = effects(made.folder, made.manifest.model_copy(update={"faults": lines}))
    assert first.recovered_after_s == 0
    assert (sum(first.errors.values()), sum(second.errors.values())) == (3, 2)
    assert first.outage_s > 0.3 > second.outage_s
    assert "hdbkit itself took 0.02 s to cause the fault and 0.4 s to undo it" in effect_text(
        first, made.manifest.metric
    )
    assert "hdbkit itself" not in effect_text(second, made.manifest.metric)


def test_the_throughput_is_back_with_three_whole_seconds_and_not_with_the_last_one() -> None:
    seconds = pd.Series([0.0, 95.0, 0.0, 95.0, 95.0], index=range(5, 10))
    assert _recovered_s(seconds, 100.0) is None
    assert _recovered_s(pd.concat([seconds, pd.Series([95.0], index=[10])]), 100.0) == 8
