"""Exact quantiles: counting gives the same figures as sorting all rows."""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from hdbkit.analysis.run import quantiles, records
from hdbkit.analysis.run.latency_tail import shares_ms, shares_text
from hdbkit.analysis.run.records import Window, window_of
from hdbkit.errors import DamagedResult
from hdbkit.results.folder import RunFolder
from tests.unit.synthetic import Synthetic, write_run


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Synthetic:
    return write_run(tmp_path_factory.mktemp("runs") / "a-run", duration_s=35, failed=0.01)


def test_what_does_not_fit_into_memory_is_written_where_no_other_account_reads() -> None:
    ((folder,),) = records._database(os.getpid()).execute("SELECT current_setting('temp_directory')").fetchall()
    assert Path(folder).stat().st_mode & 0o777 == 0o700
    assert Path(folder).stat().st_uid == os.geteuid()


def sorted_quantile(latencies: pd.Series, share: float) -> int:
    return int(np.quantile(latencies.to_numpy(), share, method="inverted_cdf"))


def test_quantiles_by_second_are_those_of_the_sorted_rows(run: Synthetic) -> None:
    window = window_of(run.manifest)
    found = quantiles.by_second(run.folder, window)
    done = run.inside[run.inside["outcome"] != 2]
    second = (done["t_start_us"] + done["latency_us"] - window.start_us) // 1_000_000
    groups = done["latency_us"].groupby([second, done["operation"]])
    assert len(found) == len(groups) == 35 * 5
    for name, share in quantiles.SECOND_QUANTILES.items():
        column, expected = found[f"{name}_us"], groups.apply(sorted_quantile, share)
        known = groups.size().to_numpy() >= round(10 / (1 - share))
        assert column.notna().tolist() == known.tolist() and known.sum() > 0
        assert column[known].tolist() == expected[known].tolist()
    assert found["n"].tolist() == groups.size().tolist()
    assert found["max_us"].tolist() == groups.max().tolist()


def test_a_run_counted_in_slices_gives_the_same(run: Synthetic, monkeypatch: pytest.MonkeyPatch) -> None:
    window = window_of(run.manifest)
    whole = quantiles.by_second(run.folder, window)
    monkeypatch.setattr(quantiles, "ROWS_AT_A_TIME", 50_000)
    pd.testing.assert_frame_equal(quantiles.by_second(run.folder, window), whole)


def test_steps_of_several_seconds_hold_all_their_rows(run: Synthetic) -> None:
    window = window_of(run.manifest)
    one, ten = quantiles.by_second(run.folder, window), quantiles.by_second(run.folder, window, 10)
    assert sorted(set(ten["second"])) == [0, 10, 20]
    assert ten["n"].sum() == one.loc[one["second"] < 30, "n"].sum()


def test_a_quantile_is_a_latency_that_was_seen() -> None:
    counted = pd.DataFrame({"operation": 0, "latency_us": [10, 20, 1000], "n": [50, 49, 1]})
    shares = {"p50": 0.5, "p51": 0.51, "p99": 0.99, "p995": 0.995}
    found = quantiles.quantiles_of(counted, ["operation"], shares, every=True)
    assert found.iloc[0].tolist() == [0, 100, 10, 20, 20, 1000, 1000]


def test_a_quantile_with_fewer_than_ten_operations_beyond_it_is_left_out() -> None:
    """Of 18 executions p95, p99 and p99.9 would be one value by three names."""
    counted = pd.DataFrame({"operation": [0, 1, 2], "latency_us": 10, "n": [18, 200, 1000]})
    found = quantiles.quantiles_of(counted, ["operation"], quantiles.QUANTILES).set_index("operation")
    known = {
        operation: [name for name in quantiles.QUANTILES if row[f"{name}_us"] == 10]
        for operation, row in found.iterrows()
    }
    assert known == {0: [], 1: ["p50", "p90", "p95"], 2: ["p50", "p90", "p95", "p99"]}
    assert found["max_us"].tolist() == [10, 10, 10]
    assert shares_text(shares_ms(pd.Series({1000: 300}))) == "p50 1, max 1 ms"


def test_counts_hold_the_rows_that_end_in_the_window_and_no_other(run: Synthetic) -> None:
    window = window_of(run.manifest)
    assert quantiles.counts(run.folder, window)["n"].sum() == len(run.inside)
    end = run.rows["t_start_us"] + run.rows["latency_us"]
    last = int(end.max())
    assert quantiles.counts(run.folder, Window(last, last + 1))["n"].sum() == (end == last).sum()
    assert quantiles.counts(run.folder, Window(last - 1, last))["n"].sum() == (end == last - 1).sum()


def test_a_cut_file_is_reported_in_one_sentence(tmp_path: Path) -> None:
    run = write_run(tmp_path / "cut", duration_s=1)
    file = sorted(run.folder.operations.glob("*.parquet"))[0]
    file.write_bytes(file.read_bytes()[:-20])
    with pytest.raises(DamagedResult, match="cannot be read"):
        quantiles.counts(run.folder, window_of(run.manifest))
    with pytest.raises(DamagedResult, match="cannot be read"):
        quantiles.by_second(run.folder, window_of(run.manifest))


def test_a_folder_without_transactions_is_reported(tmp_path: Path) -> None:
    with pytest.raises(DamagedResult, match="no records of operations"):
        quantiles.counts(RunFolder(tmp_path), Window(0, 1))
