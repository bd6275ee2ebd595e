"""The commands that run, show and compare, on the null engine; and their exit codes."""

from __future__ import annotations

import io
import json
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import hdbkit
from hdbkit.analysis.run.summary import summarize
from hdbkit.errors import InputError
from hdbkit.paths import data_folder
from tests.conftest import HdbkitCommand
from tests.run.conftest import NullTarget
from tests.unit.synthetic import operations, with_result, write_run

SHORT = ("-u", 2, "--rampup-s", 0, "--duration-s", 0.5)
OF_THE_HOST = {"CPU pressure", "Little's law", "steady state", "window's edges read at once"}


def test_a_run_reports_its_figures_checks_and_report(command: HdbkitCommand, null_target: NullTarget) -> None:
    said = command("run", null_target(latency_us=1000).url, *SHORT, "--label", "mine")
    failed = set(hdbkit.attach().wait().checks.query("passed == False")["name"])
    assert failed <= OF_THE_HOST
    assert said.code == (1 if failed else 0)
    for words in ("NOPM", "new_order", "p95 us", "every transaction accounted for", "report: "):
        assert words in said.out
    assert "not comparable to published results" in said.out
    assert "--routines stored --label mine" in said.out.partition("to repeat it: ")[2], "what the engine can do"
    path = said.out.rpartition("report: ")[2].strip()
    assert Path(path).is_file()


def test_options_replace_those_of_the_file_and_a_failed_check_ends_with_1(
    command: HdbkitCommand, null_target: NullTarget, tmp_path: Path
) -> None:
    params = tmp_path / "run.yaml"
    params.write_text("virtual_users: 7\nrampup_s: 0\nduration_s: 0.5\nseed: 42\n")
    target = null_target(latency_us=500, error_rate=0.2, error_class="constraint")
    said = command("run", target.url, "--params", params, "-u", 2, "--mix", "payment=1")
    load = hdbkit.attach().wait().manifest.plan.load
    assert (load.virtual_users, load.duration_s, load.seed, load.mix) == (2, 0.5, 42, {"payment": 1})
    assert said.code == 1
    assert "FAIL  no transaction failed" in said.out


def test_too_few_open_files_for_the_users_are_reported_in_advance(null_target: NullTarget, results: Path) -> None:
    program = (
        "import resource; resource.setrlimit(resource.RLIMIT_NOFILE, (80, {hard})); "
        "import sys; from hdbkit.cli import main; main()"
    )
    words = ["run", null_target(latency_us=5000).url, "-u", "100", "--rampup-s", "0", "--duration-s", "0.5"]
    said = subprocess.run(
        [sys.executable, "-c", program.format(hard=100), *words], capture_output=True, text=True, check=False
    )
    assert said.returncode == 2
    assert "100 virtual users in 100 client processes need 164 open files" in said.stderr
    assert "but 100 are allowed; raise the limit (ulimit -n 164)" in said.stderr
    assert not list(results.glob("*/manifest.json"))
    words += ["--users-per-process", "50"]
    raised = subprocess.run(
        [sys.executable, "-c", program.format(hard=200), *words], check=False, capture_output=True
    )
    assert raised.returncode in (0, 1), raised.stderr


def test_a_failed_run_ends_with_3_and_keeps_what_was_finished(
    command: HdbkitCommand, null_target: NullTarget
) -> None:
    target = null_target(latency_us=500, error_rate=0.2, error_class="constraint")
    said = command("run", target.url, *SHORT, "--raise-error")
    assert said.code == 3
    assert said.err.splitlines()[-1].startswith("hdbkit: run ")
    assert "constraint" in said.err
    assert "Traceback" not in said.err
    assert command("runs", "show").code == 0
    assert list(hdbkit.runs("status = 'failed'")["run_id"])


def synthetic(results: Path, label: str, number: int, slower: int = 1) -> str:
    """The id of a finished run with this label; ``slower`` stretches its time."""
    rows = operations(users=2, seconds=3, seed=number)
    rows[["t_start_us", "latency_us"]] *= slower
    rows = rows[rows["t_start_us"] + rows["latency_us"] < 3_000_000].reset_index(drop=True)
    path = results / f"20260101-00000{number}-{label}"
    made = write_run(path, users=2, rampup_s=0, duration_s=2, rows=rows, label=label)
    made.folder.write(made.manifest.model_copy(update={"result": summarize(made.folder, made.manifest)}))
    return path.name


def test_runs_are_listed_shown_and_removed(command: HdbkitCommand, results: Path) -> None:
    first, second = (synthetic(results, label, number) for number, label in enumerate("ab"))
    listed = command("runs", "list", "--json").json
    assert [row["run_id"] for row in listed] == sorted([first, second], reverse=True)
    csv = command("runs", "list", "--where", "label = 'b' and nopm > 0", "--csv").out.splitlines()
    assert [line.split(",")[0] for line in csv] == ["run_id", second]
    assert first in command("runs", "list").out
    shown = command("runs", "show", first, "--json").json
    assert shown["result"]["metric_value"] == pytest.approx(hdbkit.result(first).metric_value)
    assert command("runs", "rm", first, "--yes").code == 0
    assert not (results / first).exists()
    assert [row["run_id"] for row in command("runs", "list", "--json").json] == [second]
    assert command("runs", "show", first).code == 2


def test_removing_asks_first(command: HdbkitCommand, copied: hdbkit.Result, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.stdin", io.StringIO())  # nobody answers
    assert command("runs", "rm", copied.run_id).code == 130
    assert copied.folder.path.is_dir()


def test_compare_fails_below_a_limit(command: HdbkitCommand, results: Path) -> None:
    for number in range(3):
        synthetic(results, "fast", number)
        synthetic(results, "slow", number, slower=20)
    said = command("compare", "fast", "slow", "--fail-below", "-2%")
    assert said.code == 1
    assert "target" not in said.out
    assert command("compare", "slow", "fast", "--fail-below", "-2%").code == 0
    assert command("compare", "fast", "slow").code == 0
    found = command("compare", "slow", "fast", "--json").json
    best, more = found["best"], found["more"]
    assert best["low"] < best["ratio"] < best["high"]
    assert (more["unit"], found["basis"][:23]) == ("blocks of one session", "3 blocks of one session")
    assert 0 < more["run_noise"] < 0.1 and more["session_noise"] is None
    (median,) = [one for one in found["ratios"] if (one["figure"], one["quantile"]) == ("new_order", "p50")]
    assert median["ratio"] > 2, "half of the time"


def test_a_plan_prints_every_run_and_touches_no_server(command: HdbkitCommand) -> None:
    spec = data_folder("params") / "sweep-demo.yaml"
    said = command("plan", "postgresql://bench@no-such-host.invalid/tpcc", spec, "--blocks", 4)
    assert said.code == 0
    assert said.out.count("synchronous_commit=off") == 8
    assert "20 runs, about" in said.out
    planned = command("plan", "postgresql://bench@no-such-host.invalid/tpcc", spec, "--json").json
    assert len(planned["runs"]) == 15
    assert planned["estimated_s"] > 12 * 13


def test_sql_is_shown_with_its_origin(command: HdbkitCommand) -> None:
    names = command("sql", "show", "postgresql").out
    assert "-- call_new_order  (postgresql/tproc_c/" in names
    assert "(ansi/tproc_c/" in names
    (one,) = command("sql", "show", "postgresql", "call_new_order", "--json").json
    assert one["name"] == "call_new_order"
    assert "new_order" in one["text"]


def test_doctor_reports_drivers_and_servers(command: HdbkitCommand) -> None:
    found = command("doctor", "--json").json
    assert {"what": "driver", "name": "nulldb", "usable": True, "detail": "none"} in found
    assert command("doctor").code == 0


def test_doctor_of_a_target_that_does_not_answer_fails(command: HdbkitCommand) -> None:
    said = command("doctor", "postgresql://nobody@127.0.0.1:1/x")
    assert said.code == 1
    assert "problem" in said.out
    assert "nothing listens on 127.0.0.1, port 1" in said.out
    assert command("doctor", "postgresql://nobody@127.0.0.1:1/x", "--json").json[-1]["subject"] == "connection"


def test_a_report_is_written_anew(command: HdbkitCommand, copied: hdbkit.Result) -> None:
    said = command("report", copied.run_id, "--json")
    assert said.code == 0
    assert Path(json.loads(said.out)["report"]).read_text().startswith("<!")


def test_only_a_run_of_the_results_folder_is_removed(copied: hdbkit.Result, results: Path, tmp_path: Path) -> None:
    outside = tmp_path / "outside" / copied.run_id
    shutil.copytree(copied.folder.path, outside)
    renamed = shutil.copytree(outside, results / "another-name")
    link = results / "link"
    link.symlink_to(outside)
    for path in (outside, renamed, link):
        with pytest.raises(InputError, match="is not a run in the results folder"):
            hdbkit.result(str(path)).remove()
        assert (path / "manifest.json").is_file()
    copied.remove()
    assert not copied.folder.path.exists()


def test_a_run_of_another_workspace_is_removed_by_its_result(finished: hdbkit.Result, tmp_path: Path) -> None:
    lab = hdbkit.Workspace(results=tmp_path)
    shutil.copytree(finished.folder.path, tmp_path / finished.run_id)
    for one in (lab.attach().wait(), lab.result()):
        one.require_removable()
    one.remove()
    assert not one.folder.path.exists()


def test_operations_are_shown_one_by_one_with_what_is_sent_and_nothing_is_stored(
    command: HdbkitCommand, null_target: NullTarget, results: Path
) -> None:
    target = null_target(latency_us=500, error_rate=0.4, error_class="constraint")
    said = command("run", target.url, "--show", 30, "--json")
    assert said.code == 1
    assert len(said.json) == 30
    assert {one["outcome"] for one in said.json} == {"committed", "failed"}
    first = next(one for one in said.json if one["operation"] == "new_order" and one["outcome"] == "committed")
    assert [sent["name"] for sent in first["sent"]] == ["call_new_order"]
    assert first["elapsed_ms"] >= first["sent"][0]["elapsed_ms"] >= 0.5
    assert not [*results.glob("2*")]
    assert "$1 = 1, $2 = " in command("run", target.url, "--show", 1).out
    said = command("run", target.url, "--operation", "delivery", "--show", 2, "--json")
    assert [one["operation"] for one in said.json] == ["delivery", "delivery"]
    assert (
        "has no operation 'Delivery'; it has: new_order, "
        in command("run", target.url, "--operation", "Delivery").err
    )


def test_one_chart_is_written_to_a_file_and_an_unknown_one_is_an_error(
    command: HdbkitCommand, results: Path, tmp_path: Path
) -> None:
    run_id = with_result(write_run(results / "20260101-000000-nulldb-c-w1-u1-abcdef")).folder.run_id
    assert "throughput" in command("chart", run_id).out
    path = tmp_path / "throughput.svg"
    assert command("chart", run_id, "throughput", "--file", path).out.strip() == str(path)
    assert "<svg" in path.read_text()
    assert command("chart", run_id, "throughput", "--json").json["key"] == "throughput"
    said = command("chart", run_id, "thruput")
    assert (said.code, "there is no chart 'thruput'; there is throughput, " in said.err) == (2, True)
