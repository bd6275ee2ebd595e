"""The demo, end to end on its own private server; and where it stops."""

from __future__ import annotations

import io
import os
from pathlib import Path

import numpy as np
import pytest

from hdbkit import api
from hdbkit.api.first_steps import EngineDemo, sweep_of
from hdbkit.cli import found
from hdbkit.config import Load, SweepSpec, Target, TprocCSpec, WorkloadSpec
from hdbkit.config.specs.tproc_h import TprocHLoad, TprocHSpec
from hdbkit.config.sweep_spec import CompareBy
from hdbkit.contracts import Check
from hdbkit.errors import HdbkitError
from hdbkit.experiment.kinds.sweep.plan import plan_sweep
from hdbkit.experiment.kinds.sweep.slicing import planned_slices
from hdbkit.loading import BuildResult
from hdbkit.servers import PrivateServer, find_binaries, private_server, startable_kinds
from hdbkit.workloads import specification
from tests.architecture.source_tree import ROOT
from tests.conftest import HdbkitCommand
from tests.unit.synthetic import sweep_of as synthetic_sweep
from tests.unit.synthetic import sweep_runs

SETTINGS: dict[str, list[object]] = {
    "postgresql": ["synchronous_commit", "on", "off"],
    "mariadb": ["innodb_flush_log_at_trx_commit", 1, 2],
    "redis": ["appendfsync", "everysec", "always"],
}


SOAK = bool(os.environ.get("HDBKIT_SOAK"))
"""Then the demo is that of TPROC-C on each engine; else that of a schema that is built in a second."""


def spec_for(kind: str, workload: WorkloadSpec | None = None) -> SweepSpec:
    """A sweep of one setting, as short as can be."""
    name, *values = SETTINGS[kind]
    return SweepSpec(
        name="tiny",
        settings={str(name): values},
        virtual_users=[2],
        blocks=2,
        workload=workload or TprocCSpec(warehouses=1),
        load=Load(rampup_s=0, duration_s=60, iterations=100),
    )


@pytest.fixture(autouse=True)
def servers() -> None:
    if not find_binaries():
        pytest.skip("no server binaries here; see: hdbkit doctor")


@pytest.mark.parametrize("kind", SETTINGS if SOAK else ["postgresql"])
def test_the_demo_builds_sweeps_and_reports_and_leaves_no_server(kind: str, command: HdbkitCommand) -> None:
    if not any(one.kind == kind for one in find_binaries()):
        pytest.skip(f"no server binaries of {kind} here")
    said: list[str] = []
    watched: set[str] = set()
    spec = spec_for(kind, None if SOAK else specification(ROOT / "params" / "workloads" / "tpcb-like"))
    done = api.demo(spec=spec, database=kind, say=said.append, watch_run=lambda run: watched.add(run.run_id))
    report = done.report()
    assert (len(done.runs), done.failed) == (4, 0)
    assert watched == set(done.runs["run_id"])
    assert report.read_text().startswith("<!")
    assert "private server on" in said[0]
    reported = command("report", "last", "--json").json
    assert Path(reported["report"]) == report, "the last run is a part of the sweep"
    socket = done.plan.target.host or ""
    assert not Path(socket).is_dir() if socket.startswith("/") else True


@pytest.mark.skipif(not SOAK, reason="takes a minute; a part of make soak")
def test_two_engines_are_compared_each_on_data_of_its_own(results: Path) -> None:
    said: list[str] = []
    spec = EngineDemo(
        engines=("duckdb", "duckdb"),
        blocks=2,
        workload=TprocHSpec(scale_factor=0.01, indexes="none"),
        load=TprocHLoad(virtual_users=1, queries="q01,q06"),
    )
    found = api.run_experiment(api.plan_demo_engines(spec=spec), watch=lambda event: said.append(event.note))
    assert isinstance(found, api.Comparison)
    said = [one for one in said if one.startswith("building the schema")]
    assert [len(side) for side in (found.base, found.new)] == [2, 2]
    assert found.names == ("DuckDB (base)", "DuckDB (new)")
    assert found.by_operation["operation"].tolist() == ["q01", "q06"]
    assert len(said) == len(set(said)) == 2, "each has a file of its own"
    assert not [one for one in found.base + found.new if Path(one.manifest.plan.target.database).exists()]
    assert "DuckDB (new)" in found.report().read_text(encoding="utf-8")


def test_an_unknown_demo_is_refused_with_those_that_there_are(command: HdbkitCommand) -> None:
    said = command("demo", "--workload", "x")
    assert said.code == 2 and "there is no demo 'x'; the demos of engines are: h" in said.err
    assert "are not for a demo with --workload" in command("demo", "--workload", "h", "--quick").err


def test_a_kept_server_is_found_stopped_started_and_removed_by_commands(
    monkeypatch: pytest.MonkeyPatch, command: HdbkitCommand
) -> None:
    said: list[str] = []
    monkeypatch.setattr(api.Connection, "build", broken)
    with pytest.raises(HdbkitError, match=r"failed 1 checks: stock \(3 are broken\)"):
        api.demo(spec=spec_for("postgresql"), keep=True, say=said.append)
    folder = said[1].rpartition("to remove it, run: hdbkit server remove ")[2]
    server = PrivateServer.attach(folder)

    def listed() -> list[bool]:
        rows = command("server", "list", "--json").json
        return [row["running"] for row in rows if row["folder"] == folder]

    try:
        assert listed() == [True]
        assert f"run: hdbkit build {folder} --warehouses 1" in command("run", folder).err
        assert command("server", "stop", folder).code == 0
        assert (listed(), server.running) == ([False], False)
        assert command("server", "start", folder).code == 0
        assert listed() == [True]
        monkeypatch.setattr("sys.stdin", io.StringIO("n\n"))
        assert command("server", "remove", folder).code == 130
        assert server.running
        assert command("server", "remove", folder, "--yes").code == 0
        assert (listed(), Path(folder).exists()) == ([], False)
    finally:
        server.remove()


def test_a_server_of_a_running_process_is_not_listed_and_left_alone(command: HdbkitCommand, tmp_path: Path) -> None:
    with private_server() as server:
        folder = str(server.folder)
        assert folder not in {row["folder"] for row in command("server", "list", "--json").json}
        for verb in (("start", folder), ("stop", folder), ("remove", folder, "--yes")):
            said = command("server", *verb)
            assert (said.code, "was not kept" in said.err) == (2, True)
        assert server.running
    said = command("server", "stop", tmp_path)
    assert (said.code, "is not the folder of a private server" in said.err) == (2, True)


def broken(*_: object, **__: object) -> BuildResult:
    return BuildResult(1, 1, 0, 1.0, (Check("rows", True, "all"), Check("stock", False, "3 are broken")))


@pytest.mark.parametrize(("failed", "checks", "code"), [(0, {}, 0), (0, {"mix as asked": 2}, 1), (1, {"x": 2}, 3)])
def test_a_sweep_whose_runs_failed_a_check_ends_with_1(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], failed: int, checks: dict[str, int], code: int
) -> None:
    runs = sweep_runs()
    runs["checks_failed"] = [
        tuple(name for name, count in checks.items() if place < count) for place in range(len(runs))
    ]
    runs.loc[runs.index >= len(runs) - failed, ["status", "metric_value"]] = ["failed", np.nan]
    assert found.show_found(synthetic_sweep(tmp_path, runs), as_json=False, report=False) == code
    out = capsys.readouterr().out
    assert [f"check failed in {count} runs: {name}" in out for name, count in checks.items()] == [True] * len(checks)
    assert ("check failed" in out) == bool(checks)


@pytest.mark.parametrize("quick", [True, False])
def test_every_engine_that_can_be_started_has_a_sweep_of_its_own_settings(quick: bool) -> None:
    size = "sweep-quick" if quick else "sweep-demo"
    sweeps = {kind: sweep_of(kind, size) for kind in startable_kinds()}
    assert len({tuple(spec.settings) for kind, spec in sweeps.items() if kind != "mysql"}) == len(sweeps) - 1
    assert sweeps["mysql"].settings == sweeps["mariadb"].settings
    for kind, spec in sweeps.items():
        slices = planned_slices(plan_sweep(Target(kind=kind), spec, "20260101-000000-demo-abc"))
        assert (slices is None) == (spec.compare_by is not CompareBy.SLICES)
