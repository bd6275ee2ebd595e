"""The result of a run against the rows that it summarizes."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from hdbkit.analysis.run.checks import check_run
from hdbkit.analysis.run.quantiles import QUANTILES
from hdbkit.analysis.run.records import window_of
from hdbkit.analysis.run.summary import summarize
from hdbkit.config.metric import Measure, Metric
from hdbkit.errors import DamagedResult
from hdbkit.readings import OWN_COUNTS
from hdbkit.results import columns
from hdbkit.results.run_result import RunResult
from tests.unit.synthetic import (
    NAMES,
    Synthetic,
    clients_of,
    counters_of,
    host_of,
    operations,
    write_run,
    write_table,
)


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Synthetic:
    return write_run(tmp_path_factory.mktemp("runs") / "a-run", duration_s=40, failed=0.002, seed=7)


@pytest.fixture(scope="module")
def result(run: Synthetic) -> dict:
    return summarize(run.folder, run.manifest)


def test_the_result_is_plain_json(result: RunResult) -> None:
    assert RunResult.model_validate_json(json.dumps(result.model_dump(), allow_nan=False)) == result


def test_nopm_is_the_schemas_growth_over_the_measured_time(run: Synthetic, result: RunResult) -> None:
    orders = run.inside.query("operation == 0 and outcome == 0")
    assert result.metric_value == pytest.approx(len(orders) * 60 / 40)
    assert result.engine_tpm == pytest.approx(len(run.inside) * 60 / 40)
    assert result.counters["wal_bytes"] == 1000 * len(run.inside)


def test_commands_are_the_engine_tpm_of_a_server_that_counts_no_transactions(tmp_path: Path) -> None:
    run = write_run(tmp_path / "commands", duration_s=10)
    counters = counters_of(run.rows, 2_000_000, 12_000_000)
    counters = counters[counters["name"] != "rollbacks"].replace({"name": {"commits": "batch_requests"}})
    write_table(run.folder.table("counters"), counters, columns.COUNTERS)
    requests = counters[counters["name"] == "batch_requests"].set_index("edge")["value"]
    found = summarize(run.folder, run.manifest).engine_tpm
    assert found == pytest.approx((requests["end"] - requests["start"]) * 60 / 10)
    assert found > 0


def test_the_transactions_of_our_own_questions_are_no_transactions_of_the_engine(tmp_path: Path) -> None:
    run = write_run(tmp_path / "asked", duration_s=10)
    counters = counters_of(run.rows, 2_000_000, 12_000_000)
    before = summarize(run.folder, run.manifest).engine_tpm
    asked = counters[counters["name"] == "commits"].assign(name=OWN_COUNTS)
    asked["value"] = asked["edge"].map({"run_start": 0.0, "start": 50.0, "": 100.0, "end": 150.0, "run_end": 150.0})
    write_table(run.folder.table("counters"), pd.concat([counters, asked]), columns.COUNTERS)
    assert before and summarize(run.folder, run.manifest).engine_tpm == pytest.approx(before - 100 * 60 / 10)


def test_transactions_are_unknown_when_a_crash_has_set_one_of_their_counters_back(tmp_path: Path) -> None:
    """The other one was 0 before and after."""
    run = write_run(tmp_path / "crashed", duration_s=10)
    counters = counters_of(run.rows, 2_000_000, 12_000_000)
    counters.loc[counters["name"] == "rollbacks", "value"] = 0
    counters.loc[(counters["name"] == "commits") & (counters["edge"] == "end"), "value"] = 1
    write_table(run.folder.table("counters"), counters, columns.COUNTERS)
    assert summarize(run.folder, run.manifest).engine_tpm is None


@pytest.mark.parametrize(
    ("uptimes_s", "restarts", "moves"),
    [
        ([100, 102, 107, 112], [], []),
        ([100, 102, 1, 6], [6.0], []),
        ([100, 102, 77, 82], [], [7.0]),
        ([100, 102, 907, 912], [], [7.0]),
    ],
)
def test_another_server_is_told_from_a_restart_by_its_start(
    tmp_path: Path, uptimes_s: list[float], restarts: list[float], moves: list[float]
) -> None:
    """The clients of a failover go on with a server that ran already, whose counters are others."""
    run = write_run(tmp_path / "moved", duration_s=10)
    counters = counters_of(run.rows, 2_000_000, 12_000_000)
    edges = zip(("run_start", "start", "", "end"), (0, 2, 7, 12), uptimes_s, strict=True)
    lines = [
        {
            "t_sent_us": at * 1_000_000,
            "t_returned_us": at * 1_000_000,
            "edge": edge,
            "name": "uptime_s",
            "value": value,
        }
        for edge, at, value in edges
    ]
    write_table(run.folder.table("counters"), pd.concat([counters, pd.DataFrame(lines)]), columns.COUNTERS)
    found = summarize(run.folder, run.manifest)
    assert (found.server_restarts_s, found.server_moves_s) == (restarts, moves)
    assert (found.engine_tpm is None) == bool(moves)
    assert found.metric_value


def test_nopm_is_measured_between_the_middles_of_its_own_queries(tmp_path: Path) -> None:
    run = write_run(tmp_path / "late", duration_s=10)
    counters = counters_of(run.rows, 2_000_000, 12_000_000)
    late = (counters["edge"] == "end") & (counters["name"] == columns.COUNTED)
    counters.loc[late, "t_returned_us"] += 2_000_000
    counters.loc[(counters["edge"] == "end") & ~late, "t_returned_us"] += 50_000_000
    write_table(run.folder.table("counters"), counters, columns.COUNTERS)
    orders = run.inside.query("operation == 0 and outcome == 0")
    assert summarize(run.folder, run.manifest).metric_value == pytest.approx(len(orders) * 60 / 11)


def test_work_done_is_committed_or_rolled_back_by_design_and_never_failed(run: Synthetic, result: RunResult) -> None:
    outcomes = run.inside["outcome"].value_counts()
    assert (result.committed, result.rolled_back_by_design, result.failed) == tuple(outcomes[[0, 1, 2]])
    assert result.completed == outcomes[0] + outcomes[1]
    assert result.errors == {"deadlock": outcomes[2]}
    assert result.retries == run.inside["retries"].sum()


def test_latencies_are_those_of_the_sorted_rows(run: Synthetic, result: RunResult) -> None:
    assert len(run.rows) > 200_000
    for index, name in enumerate(NAMES):
        line, rows = result.operations[name], run.inside[run.inside["operation"] == index]
        done = rows.loc[rows["outcome"] != 2, "latency_us"].to_numpy()
        assert line.count == len(rows)
        for quantile, share in QUANTILES.items():
            known = len(done) * (1 - share) >= 10
            assert line.at(quantile) == (np.quantile(done, share, method="inverted_cdf") if known else None)
        assert (line.max_us, line.mean_us) == (done.max(), pytest.approx(done.mean()))


def test_response_times_are_reported_besides_where_users_think(tmp_path: Path) -> None:
    rows = operations(2, 6).assign(wait_us=500)
    run = write_run(tmp_path / "thinking", users=2, duration_s=3, rows=rows, load={"keying_and_thinking": True})
    line = summarize(run.folder, run.manifest).operations["payment"]
    assert line.response.p95_us == line.p95_us + 500


def test_cpu_time_is_reported_per_transaction(run: Synthetic, result: RunResult) -> None:
    assert result.client_cpu_us_per_operation == pytest.approx(4 * 1e6 / len(run.inside))
    assert result.server_cpu_us_per_operation == pytest.approx(0.5 * 40 * 1e6 / result.completed)
    supervisor_us = 0.05 * 40 * 1e6 / len(run.inside)
    both_us = result.client_and_supervisor_cpu_us_per_operation
    assert both_us == pytest.approx(result.client_cpu_us_per_operation + supervisor_us)
    assert result.server_cpu_unknown == ""
    assert result.host_cpu_pct == pytest.approx({"user": 50, "system": 20, "iowait": 5, "steal": 0, "idle": 25})


def test_cpu_time_of_a_lost_client_is_omitted_with_its_transactions(tmp_path: Path) -> None:
    run = write_run(tmp_path / "lost", duration_s=5)
    clients = clients_of(run.rows, 4)
    clients.loc[2, ["cpu_end_s", "ended"]] = [np.nan, "killed"]
    write_table(run.folder.table("clients"), clients, columns.CLIENTS)
    result = summarize(run.folder, run.manifest)
    others = int((run.inside["virtual_user"] != 2).sum())
    assert result.client_cpu_us_per_operation == pytest.approx(3e6 / others)
    assert result.clients_lost == 1


def test_round_trips_and_bytes_a_transaction_are_those_of_the_clients_that_know_them(tmp_path: Path) -> None:
    run = write_run(tmp_path / "lost", duration_s=2)
    clients = clients_of(run.rows, 4)
    clients.loc[2, ["sent_bytes", "received_bytes", "sent_segments"]] = np.nan
    clients.loc[3, ["context_switches"]] = 0
    write_table(run.folder.table("clients"), clients, columns.CLIENTS)
    reported = summarize(run.folder, run.manifest).per_operation
    switches = reported.context_switches
    assert (reported.round_trips, reported.sent_bytes, reported.received_bytes) == (2.0, 100.0, 400.0)
    assert switches == pytest.approx(3 * clients["operations"][:3].sum() / clients["operations"].sum())


def test_a_folder_of_before_round_trips_were_kept_is_read_all_the_same(tmp_path: Path) -> None:
    run = write_run(tmp_path / "older", duration_s=2)
    older = {name: kind for name, kind in columns.CLIENTS.items() if not name.startswith(("context", "sent", "rece"))}
    write_table(run.folder.table("clients"), clients_of(run.rows, 4), older)
    result = summarize(run.folder, run.manifest)
    assert set(dict(result.per_operation).values()) == {None}
    assert result.client_cpu_us_per_operation > 0


def test_little_counts_the_time_between_calls(result: RunResult) -> None:
    law = result.littles_law
    assert law.ratio == pytest.approx(1, abs=0.005)
    assert law.outside_pct == pytest.approx(100 * 20 / (law.mean_us + 20), rel=0.01)


def test_what_was_not_sampled_is_none_and_not_zero(tmp_path: Path) -> None:
    run = write_run(tmp_path / "bare", duration_s=2)
    for name in ("counters", "host", "clients"):
        run.folder.table(name).unlink()
    result = summarize(run.folder, run.manifest)
    unknown = (
        "metric_value",
        "engine_tpm",
        "client_cpu_us_per_operation",
        "server_cpu_us_per_operation",
        "host_cpu_pct",
    )
    assert [getattr(result, name) for name in (*unknown, "clients_lost")] == [None] * 6
    assert result.completed > 0


def test_a_server_on_another_host_has_no_cpu_time_here(tmp_path: Path) -> None:
    run = write_run(tmp_path / "remote", duration_s=2, host=host_of(6).assign(server_cpu_s=np.nan))
    result = summarize(run.folder, run.manifest)
    assert result.server_cpu_us_per_operation is None
    assert result.server_cpu_unknown.startswith("the database is embedded, on another host")


@pytest.mark.parametrize(
    ("changed", "reason"),
    [
        (lambda total: total.where(total.index < 3), "were not known over the whole window"),
        (lambda total: total.where(total.index < 3, total - 2), "decreased within the window"),
    ],
)
def test_a_server_that_ended_or_restarted_in_the_window_has_no_cpu_time_but_a_reason(
    tmp_path: Path, changed: Callable[[pd.Series], pd.Series], reason: str
) -> None:
    host = host_of(6)
    run = write_run(
        tmp_path / "restarted", duration_s=3, host=host.assign(server_cpu_s=changed(host["server_cpu_s"]))
    )
    result = summarize(run.folder, run.manifest)
    assert result.server_cpu_us_per_operation is None
    assert reason in result.server_cpu_unknown


def test_a_run_in_which_nothing_ended_has_a_result_of_zeros(tmp_path: Path) -> None:
    run = write_run(tmp_path / "idle", duration_s=2)
    for file in run.folder.operations.glob("*.parquet"):
        file.unlink()
    result = summarize(run.folder, run.manifest)
    assert (result.completed, result.failed, result.operations_per_s) == (0, 0, 0)
    assert result.operations["new_order"].p95_us is None
    assert json.dumps(result.model_dump(), allow_nan=False)


def test_a_run_that_never_measured_is_reported(run: Synthetic) -> None:
    clock = run.manifest.clock.model_copy(update={"window_end_us": None})  # type: ignore[union-attr]
    with pytest.raises(DamagedResult, match="no measured window"):
        window_of(run.manifest.model_copy(update={"clock": clock}))


def test_the_generator_writes_what_it_says(run: Synthetic) -> None:
    """The oracle itself: a client's calls never overlap."""
    for _, rows in run.rows.groupby("virtual_user"):
        ends = rows["t_start_us"] + rows["latency_us"]
        assert (rows["t_start_us"].iloc[1:].to_numpy() - ends.iloc[:-1].to_numpy() == 20).all()
    assert isinstance(run.inside, pd.DataFrame)


def test_a_run_that_only_reads_has_the_figures_of_what_it_executes(tmp_path: Path) -> None:
    rows = operations(2, 14.5)
    rows["operation"], rows["outcome"] = np.where(rows["operation"] < 3, 2, 4), 0
    metric = Metric(name="reads/s", title="read-only transactions per second", unit="reads/s")
    mix = {name: float((rows["operation"] == NAMES.index(name)).mean()) for name in ("order_status", "stock_level")}
    load = {"read_only": True, "mix": mix}
    run = write_run(tmp_path / "run", rows=rows, duration_s=12, users=2, metric=metric, load=load)
    result = summarize(run.folder, run.manifest)
    assert run.manifest.headline == "order_status"
    assert result.operations.keys() == {"order_status", "stock_level"}
    assert result.metric_value == pytest.approx(result.operations_per_s)
    found = {one.name: one for one in check_run(run.folder, run.manifest)}["mix as asked"]
    assert found.passed, found.detail
    assert "new_order" not in found.detail


def test_a_geometric_mean_without_an_operation_is_unknown_and_names_it(tmp_path: Path) -> None:
    rows = operations(1, 12.5)
    rows.loc[rows["operation"] == 2, "outcome"] = 2
    rows.loc[rows["operation"] == 4, "operation"] = 3
    metric = Metric(name="geometric mean", title="of all", unit="s", measure=Measure.GEOMETRIC_MEAN)
    run = write_run(tmp_path / "run", rows=rows, duration_s=12, users=1, metric=metric)
    result = summarize(run.folder, run.manifest)
    assert result.metric_value is None
    assert result.metric_unknown == "order_status: failed and never completed; stock_level: not completed"
