"""A sweep that was killed: who names it, and with which command. No server is needed, since it may be down."""

from __future__ import annotations

import os
import uuid
from pathlib import Path

import pytest

import hdbkit
from hdbkit.api import Workspace
from hdbkit.api.left_settings import left_settings, settings_warnings
from hdbkit.config import Commands, ControlSpec, Load, SweepSpec, Target
from hdbkit.errors import NothingListens
from hdbkit.experiment.kinds.sweep.plan import plan_sweep
from hdbkit.results.experiment_folder import ExperimentFolder, experiment_folder
from hdbkit.results.journal import Step

DOWN = Target.parse("postgresql://bench@127.0.0.1:9/x")
SWEEP = SweepSpec(settings={"work_mem": ["4MB", "8MB"]}, blocks=2)


def killed(root: Path, target: Target, experiment_id: str = "sweep-1") -> ExperimentFolder:
    """A sweep that ended between its first change and the restoration."""
    folder = experiment_folder(root, experiment_id)
    folder.write_plan(plan_sweep(target, SWEEP, experiment_id))
    folder.save_before("its server", {"entries": {}})
    return folder


def test_doctor_run_and_sweep_name_the_sweep_that_left_a_server_down(tmp_path: Path) -> None:
    """Starting the server would leave the settings with which it ended."""
    killed(tmp_path, DOWN)
    space = Workspace(results=tmp_path)
    advice = "sweep-1 ended and left its settings on it; run: hdbkit resume sweep-1, which restores them"
    with pytest.raises(NothingListens, match=advice):
        space.start(DOWN)
    with pytest.raises(NothingListens, match=advice):
        space.sweep(DOWN, SWEEP)
    found = space.doctor(DOWN).set_index("subject")
    assert found.loc["settings of a sweep", "advice"] == "hdbkit resume sweep-1"
    assert advice in found.loc["connection", "detail"]


def test_a_run_with_the_settings_of_a_killed_sweep_has_a_warning(tmp_path: Path) -> None:
    target = Target(kind="nulldb", database=f"l{uuid.uuid4().hex[:12]}")
    hdbkit.connect(target).build(warehouses=1)
    killed(tmp_path, target)
    load = Load(virtual_users=1, rampup_s=0, duration_s=0.2)
    running = Workspace(results=tmp_path).start(target, load=load)
    running.stop(at_once=True)
    assert running.warnings[0] == (
        "sweep-1 ended and left its settings on this server; to restore them and continue it, run: "
        "hdbkit resume sweep-1"
    )
    hdbkit.connect(target).drop()


def test_only_sweeps_of_this_server_that_do_not_run_and_restored_nothing_are_named(tmp_path: Path) -> None:
    restored, running = (killed(tmp_path, DOWN, name) for name in ("sweep-1", "sweep-2"))
    restored.append(Step.SETTINGS_RESTORED)
    running.note_started(os.getpid())
    killed(tmp_path, DOWN.with_(port=10), "sweep-3")
    left = killed(tmp_path, DOWN.with_(host="localhost"), "sweep-4")
    assert left_settings(tmp_path, DOWN) == [left.experiment_id]


def test_a_port_that_is_not_given_is_the_default_one(tmp_path: Path) -> None:
    killed(tmp_path, DOWN.with_(port=5432))
    assert left_settings(tmp_path, DOWN.with_(port=None)) == ["sweep-1"]


def test_a_journal_that_cannot_be_read_ends_neither_a_run_nor_doctor(tmp_path: Path) -> None:
    target = Target(kind="nulldb", database=f"l{uuid.uuid4().hex[:12]}")
    hdbkit.connect(target).build(warehouses=1)
    for name, at in (("sweep-1", target), ("sweep-2", target.with_(host="db2"))):
        journal = killed(tmp_path, at, name).path / "journal.ndjson"
        journal.unlink()
        journal.mkdir()
    space = Workspace(results=tmp_path)
    unknown = (
        "journal.ndjson cannot be read: Is a directory; whether sweep-1 left its settings on this server is unknown"
    )
    (warning,) = settings_warnings(tmp_path, target)
    assert warning.endswith(unknown)
    found = space.doctor(target).set_index("subject")
    assert found.loc["settings of a sweep", "detail"] == warning
    assert space.running_experiments() == []
    hdbkit.connect(target).drop()


@pytest.mark.parametrize(
    ("control", "advice"),
    [
        ({"commands": Commands(start=["systemctl", "start", "db 1"])}, "start it with: systemctl start 'db 1'"),
        ({"agent": "https://db1:8443"}, "start the server on the host of its agent https://db1:8443"),
        ({}, "check host and port, and that the server runs"),
    ],
)
def test_a_new_sweep_on_a_server_that_is_down_states_how_it_is_started(
    tmp_path: Path, control: dict[str, object], advice: str
) -> None:
    target = DOWN.with_(control=ControlSpec(**control))
    with pytest.raises(NothingListens, match=f"nothing listens on 127.0.0.1, port 9; .*{advice}"):
        Workspace(results=tmp_path).sweep(target, SWEEP)


def test_a_key_that_cannot_be_used_ends_neither_a_run_nor_doctor(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = killed(tmp_path, DOWN)
    state = tmp_path / "state" / "hdbkit"
    state.mkdir(parents=True)
    (state / "key").write_text("short")
    monkeypatch.setenv("XDG_STATE_HOME", str(state.parent))
    (warning,) = settings_warnings(tmp_path, DOWN)
    assert "is no key of hdbkit" in warning
    assert folder.experiment_id in warning


def test_a_sweep_of_another_account_is_not_said_to_be_restored(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as somebody:
        somebody.setenv("XDG_STATE_HOME", str(tmp_path / "somebody"))
        folder = killed(tmp_path, DOWN)
    assert left_settings(tmp_path, DOWN) == []
    (warning,) = settings_warnings(tmp_path, DOWN)
    assert warning.startswith(f"this account did not write the files in {folder.path}; whether sweep-1 left its")
