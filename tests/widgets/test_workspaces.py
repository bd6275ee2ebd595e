"""Panels of two workspaces in one process: each lists its own runs and targets only."""

from __future__ import annotations

import uuid
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

import hdbkit
from hdbkit import api
from hdbkit.api import Workspace
from hdbkit.config import Load, SweepSpec
from hdbkit.widgets import ComparePanel, Panel, RunPanel, RunsPanel, Shared, TargetPanel
from hdbkit.widgets.panels.ui import Workbench
from tests.unit.synthetic import with_result, write_run
from tests.widgets.conftest import build_null, code_of, text_of, until

LOAD = Load(rampup_s=0, duration_s=0.3)


@pytest.fixture(scope="module")
def pair(tmp_path_factory: pytest.TempPathFactory) -> Iterator[list[Workbench]]:
    """All panels of two workspaces, each with one target that has a schema, and with runs."""
    made = []
    for name in ("one", "two"):
        folder = tmp_path_factory.mktemp(name)
        lab = {"kind": "nulldb", "database": f"w{uuid.uuid4().hex[:12]}", "may_change_settings": True}
        (folder / "targets.yaml").write_text(yaml.safe_dump({name: {**lab, "options": {"latency_us": "1000"}}}))
        place = Workspace(results=folder / "results", targets=folder / "targets.yaml")
        build_null(place.target(name))
        made.append(hdbkit.ui(name, workspace=place))
    one, two = made
    one.run.form.show(LOAD)
    one.run.start()
    other = with_result(
        write_run(two.workspace.results / "20260101-000000-nulldb-w1-u1-aaaaaa", users=1, duration_s=2)
    )
    two.run.attach(other.manifest.run_id)
    one.run.wait()
    yield made
    for bench in made:
        bench.close()
        api.connect(bench.shared.target).drop()


def executed(panel: Panel) -> dict[str, Any]:
    """The names that the shown code defines."""
    names: dict[str, Any] = {}
    exec(code_of(panel), names)
    return names


def test_each_panel_has_only_the_runs_and_targets_of_its_workspace(pair: list[Workbench], results: Path) -> None:
    assert all(any(ticker.alive for ticker in bench._tickers) for bench in pair)
    for bench, name in zip(pair, ("one", "two"), strict=True):
        shared, run = Shared(workspace=bench.workspace), bench.run.wait()
        own = list(bench.workspace.runs()["run_id"])
        assert run.run_id in own
        assert (TargetPanel(shared).given.options, bench.target.given.options) == ((name,), (name,))
        assert list(RunsPanel(shared).runs["run_id"]) == own
        assert [run_id for _, run_id in ComparePanel(shared).runs.runs.options] == own
        assert RunPanel(shared, target=name).attach(run.run_id).wait().folder.path == run.folder.path
        bench.runs.refresh()
        bench.runs.table.picked = [run.run_id]
        assert run.run_id in bench.runs.about.value
    assert not list(results.rglob("*")), "the workspace of the process is another one"


def test_a_sweep_of_a_panel_is_in_its_workspace(pair: list[Workbench]) -> None:
    one, two = pair
    one.sweep.form.show(SweepSpec(settings={"speed": ("1",)}, blocks=2, load=LOAD, cooldown_s=0))
    one.sweep.start()
    done = one.sweep.wait()
    assert list(done.runs["status"]) == ["done"] * 2
    until(lambda: one.compare.stored.options == (done.experiment_id,))
    assert two.compare.stored.options == ()
    assert one.workspace.attach_experiment().experiment_id == done.experiment_id


def test_the_code_names_a_workspace_that_is_not_the_default_one(pair: list[Workbench]) -> None:
    one = pair[0]
    assert executed(one.target)["connection"].target == one.shared.target
    result = executed(one.run)["result"]
    assert result.folder.path.parent == one.workspace.results
    one.compare.load()
    one.compare.runs.by.value = "run_id"
    one.compare.runs.take_all.click()
    assert "users" in executed(one.compare)["charts"]
    one.sweep.form.show(SweepSpec(settings={"speed": ("1", "2")}, load=LOAD))
    assert 'workspace.start_sweep("one", spec)' in code_of(one.sweep)
    for panel in (one.target, one.schema, one.run, one.sweep, one.compare, one.runs):
        assert f"workspace = hdbkit.{one.workspace!r}\n" in code_of(panel)
        assert "workspace." in code_of(panel).partition("\n\n")[2].partition("\n")[2]


def test_the_code_does_not_name_the_default_workspace() -> None:
    bench = hdbkit.ui("nulldb:///somewhere")
    try:
        bench.sweep.form.show(SweepSpec(settings={"speed": ("1", "2")}, load=LOAD))
        assert "workspace" not in text_of(bench)
    finally:
        bench.close()
