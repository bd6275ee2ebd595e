"""The load of the database host, reported by its agent: shares and rates from counters, charts, warnings."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from hdbkit.analysis.run.host_activity import agent_readings, cpu_course, disks_course, host_use, network_course
from hdbkit.analysis.run.records import Window
from hdbkit.analysis.run.summary import summarize
from hdbkit.analysis.run.warnings import run_warnings
from hdbkit.charts.chart import Chart
from hdbkit.charts.host_charts import host_charts
from hdbkit.charts.run_charts import run_charts
from hdbkit.report.run_report import run_report
from hdbkit.results import columns
from tests.unit.synthetic import server_host_of, write_run, write_table

WINDOW = Window(2_000_000, 12_000_000)


def drawn(host: pd.DataFrame) -> list[Chart]:
    return host_charts(host, WINDOW, "server", "database host")


def without(reported: pd.DataFrame, first_s: float, last_s: float) -> pd.DataFrame:
    """The agent was away in between."""
    return reported[~reported["t_us"].between(first_s * 1e6, last_s * 1e6)]


def test_totals_become_shares_of_all_cores_and_rates_of_each_device() -> None:
    reported = agent_readings(server_host_of(13, user=0.6, busy=0.25))
    cpu, disks, network = cpu_course(reported), disks_course(reported), network_course(reported)
    assert cpu[["user", "system", "idle"]].iloc[4].tolist() == pytest.approx([60, 20, 15])
    assert disks.columns.tolist() == ["second", "sda"], "a disk that did nothing is left out"
    assert disks["sda"].tolist() == pytest.approx([25] * len(disks))
    assert network["eth0 sent"].tolist() == pytest.approx([3] * len(network))
    assert cpu["second"].tolist() == pytest.approx(np.arange(0.5, 13))


def test_the_window_has_means_of_what_it_holds() -> None:
    use = host_use(agent_readings(server_host_of(13, user=0.6, busy=0.25)), WINDOW)
    assert use is not None
    assert use.cpu_pct == pytest.approx({"user": 60, "system": 20, "iowait": 5, "steal": 0, "idle": 15})
    assert use.disks == {
        "sda": pytest.approx(
            {
                "busy_pct": 25,
                "reads_per_s": 10,
                "writes_per_s": 100,
                "read_bytes_per_s": 1e5,
                "write_bytes_per_s": 2e6,
            }
        )
    }
    assert use.networks == {"eth0": pytest.approx({"sent_bytes_per_s": 3e6, "received_bytes_per_s": 1e6})}
    assert use.memory_used_bytes == 2**31
    assert use.cores_busy_pct == use.cores_interrupts_pct == [95, 0]
    assert use.per_s == pytest.approx({"context_switches": 20e3, "interrupts": 9e3, "soft_interrupts_net_rx": 5e3})
    assert (use.threads_running, use.numa_other_pct) == (3, pytest.approx(25))
    assert use.reading_ms_per_s == pytest.approx(0.4)


def test_a_gap_is_bridged_and_too_large_a_one_leaves_the_window_unknown() -> None:
    reported = server_host_of(13, busy=0.25)
    use = host_use(agent_readings(without(reported, 4.5, 8.5)), WINDOW)
    assert use is not None
    assert use.disks["sda"]["busy_pct"] == pytest.approx(25)
    assert host_use(agent_readings(without(reported, 6.5, 20)), WINDOW) is None
    assert host_use(None, WINDOW) is None


def test_a_total_that_was_set_back_gives_no_rate() -> None:
    reported = server_host_of(13, busy=0.25)
    late = reported["t_us"] >= 6_000_000
    reported.loc[late & (reported["name"] == "disk_busy_s"), "value"] -= 1.5
    host = agent_readings(reported)
    assert disks_course(host)["sda"].isna().sum() == 1
    use = host_use(host, WINDOW)
    assert use is not None
    assert "busy_pct" not in use.disks["sda"]
    assert [one.key for one in drawn(host)] == [
        "server_cpu",
        "server_cores",
        "server_threads",
        "server_switches",
        "server_disks",
        "server_network",
    ]


def test_cores_and_threads_are_drawn_only_where_one_is_full_or_more_are_ready() -> None:
    host = agent_readings(server_host_of(13, busiest=0.5, running=2))
    assert [chart.key for chart in host_charts(host, WINDOW, "server", "database host")][:2] == [
        "server_cpu",
        "server_switches",
    ]
    charts = {
        one.key: one for one in host_charts(agent_readings(server_host_of(13)), WINDOW, "server", "database host")
    }
    assert charts["server_cores"].alternative.startswith(
        "In the window the busiest core, 0, was 95 % busy (95 % with interrupts), and the others 0 to 0 %."
    )
    assert "in 100 % of the readings there were more of them than cores" in charts["server_threads"].alternative
    assert "context switches 20,000, interrupts 9,000" in charts["server_switches"].alternative
    assert "took 0.4 ms of CPU time per second" in charts["server_cpu"].alternative


def test_many_readings_are_drawn_with_few_points() -> None:
    assert len(cpu_course(agent_readings(server_host_of(5000)))) <= 400


@pytest.mark.parametrize(
    ("reported", "sentence"),
    [
        ({"user": 0.78, "system": 0.2, "iowait": 0.0}, "the processors of the database's host were 98 % busy"),
        ({"user": 0.1, "steal": 0.03}, "other machines took 3.0 % of the CPU time of the database's host"),
        ({"busy": 0.97}, "sda (97 % of the time)"),
        ({}, ""),
    ],
)
def test_a_host_that_was_the_limit_itself_is_reported(
    tmp_path: Path, reported: dict[str, float], sentence: str
) -> None:
    made = write_run(tmp_path / "a-run", users=1, duration_s=3)
    write_table(made.folder.table("server_host"), server_host_of(6, **reported), columns.SERVER_HOST)
    manifest = made.manifest.model_copy(update={"result": summarize(made.folder, made.manifest)})
    found = [one for one in run_warnings(manifest) if one.kind.value.startswith("server")]
    assert len(found) == bool(sentence)
    assert sentence in "".join(found)


def test_a_report_draws_the_host_where_an_agent_reported_it_and_only_there(tmp_path: Path) -> None:
    made = write_run(tmp_path / "a-run", users=1, duration_s=3)
    plain = run_report(made.folder).read_text(encoding="utf-8")
    assert "database host" not in plain
    write_table(made.folder.table("server_host"), server_host_of(6, busy=0.5), columns.SERVER_HOST)
    made.folder.write(made.manifest.model_copy(update={"result": summarize(made.folder, made.manifest)}))
    page = run_report(made.folder).read_text(encoding="utf-8")
    for words in (
        *("What did the database host&#39;s processors do?", "How busy were the database host&#39;s disks?"),
        *("What the database&#39;s host did", "sda: busy (% of the time)", "What the load host did"),
        *("threads that ran or were ready to run", "new pages of another memory node (%)"),
    ):
        assert words in page
    (cpu,) = (chart for chart in run_charts(made.folder, made.folder.read()) if chart.key == "server_cpu")
    assert cpu.alternative.startswith("In the window its processors were 70 % busy: 50.0 % user, 20.0 % system, ")
