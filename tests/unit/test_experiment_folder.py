"""A sweep's folder: no recorded line is lost, and incomplete writes are ignored."""

from __future__ import annotations

import os
import shutil
import stat
import subprocess
from collections.abc import Callable
from pathlib import Path
from threading import Timer

import numpy as np
import pytest

from hdbkit import api
from hdbkit.api.executing import resumed_targets
from hdbkit.config import Load, SweepSpec, Target, TprocHSpec, WorkloadSpec
from hdbkit.config.metric import Metric
from hdbkit.errors import DamagedResult, InputError
from hdbkit.experiment import ExperimentStatus, experiment_progress
from hdbkit.experiment.kinds.sweep.plan import SweepPlan, plan_sweep
from hdbkit.processes import birth_of
from hdbkit.results.experiment_folder import ExperimentFolder, experiment_folder, find_experiment, only_experiment
from hdbkit.results.experiment_runs import runs_frame
from hdbkit.results.folder import RunFolder
from hdbkit.results.journal import ExperimentState, Step
from hdbkit.results.manifest import CheckLine, Manifest, Status
from hdbkit.results.unrestored import unrestored_experiments, unverified
from hdbkit.widgets.parts.experiment_view import left_words, progress_words
from hdbkit.workspace import BareWorkspace
from tests.unit.synthetic import figures, plan_of


def made(root: Path, experiment_id: str = "one", workload: WorkloadSpec | None = None) -> ExperimentFolder:
    spec = SweepSpec(settings={"flush": ["on", "off"]}, blocks=2, workload=workload)
    folder = experiment_folder(root, experiment_id)
    folder.write_plan(plan_sweep(Target(kind="nulldb"), spec, experiment_id))
    return folder


def test_the_journal_gives_back_what_was_noted(tmp_path: Path) -> None:
    folder = made(tmp_path)
    folder.append(Step.RUN_STARTED, 1, "run-a", applied_s=0.5)
    folder.append(Step.RUN_FAILED, 1, "run-a", "out of memory")
    started, ended = folder.journal.lines
    assert (started.number, started.run_id, started.details) == (1, "run-a", {"applied_s": 0.5})
    assert (ended.step, ended.note) == (Step.RUN_FAILED, "out of memory")


def test_a_torn_last_line_is_skipped_and_spoils_nothing_after_it(tmp_path: Path) -> None:
    folder = made(tmp_path)
    folder.append(Step.RUN_STARTED, 1, "run-a")
    folder.append(Step.RUN_FINISHED, 1, "run-a")
    path = folder.path / "journal.ndjson"
    path.write_bytes(path.read_bytes()[:-9])
    assert [line.step for line in folder.journal.lines] == [Step.RUN_STARTED]
    folder.append(Step.RUN_DISCARDED, 1, "run-a")
    assert [line.step for line in folder.journal.lines] == [Step.RUN_STARTED, Step.RUN_DISCARDED]


def test_a_look_reads_no_line_twice(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = made(tmp_path)
    read: list[int | None] = []
    take = ExperimentState.take
    monkeypatch.setattr(ExperimentState, "take", lambda state, line: (read.append(line.number), take(state, line))[1])
    for number in (1, 2, 3):
        folder.append(Step.RUN_FINISHED, number, "run")
        assert folder.journal.state.next_number == number + 1
        assert len(folder.journal.lines) == number
    assert read == [1, 2, 3]


def test_the_time_left_of_runs_without_a_window_is_known_after_the_first(tmp_path: Path) -> None:
    folder = made(tmp_path, workload=TprocHSpec())
    folder.append(Step.STARTED, pid=os.getpid(), birth=birth_of(os.getpid()))
    folder.append(Step.RUN_STARTED, 1, "run-a")
    assert experiment_progress(folder).left_s is None
    assert "run 1 of 4" in progress_words(experiment_progress(folder))
    assert left_words(experiment_progress(folder)) == "time left known after the first run"
    folder.append(Step.RUN_FINISHED, 1, "run-a")
    assert experiment_progress(folder).left_s is not None


def test_a_finished_sweep_whose_further_blocks_failed_has_failed_until_it_finishes_again(tmp_path: Path) -> None:
    folder = made(tmp_path)
    folder.append(Step.FINISHED)
    folder.append(Step.STARTED, pid=os.getpid(), birth=birth_of(os.getpid()))
    folder.append(Step.FAILED, note="the server does not answer")
    now = experiment_progress(folder)
    assert (now.status, now.note) == (ExperimentStatus.FAILED, "the server does not answer")
    folder.append(Step.FINISHED)
    assert experiment_progress(folder).status is ExperimentStatus.DONE


def test_a_line_counts_once_it_is_whole(tmp_path: Path) -> None:
    folder, other = made(tmp_path), made(tmp_path, "other")
    other.append(Step.RUN_FINISHED, 1, "run-a")
    other.append(Step.RUN_FINISHED, 2, "run-b")
    raw = (other.path / "journal.ndjson").read_bytes()
    for end in range(len(raw) + 1):
        (folder.path / "journal.ndjson").write_bytes(raw[:end])
        assert len(folder.journal.lines) == raw[:end].count(b"\n")
    assert folder.journal.lines == other.journal.lines


@pytest.mark.parametrize("steps", [[], [Step.NOTED], [Step.NOTED] * 3])
def test_a_journal_that_was_replaced_is_read_anew(tmp_path: Path, steps: list[Step]) -> None:
    folder, other = made(tmp_path), made(tmp_path, "other")
    folder.append(Step.RUN_FINISHED, 1, "run-a")
    assert folder.journal.state.next_number == 2
    for step in steps:
        other.append(step)
    (other.path / "journal.ndjson").touch()
    (folder.path / "journal.ndjson").write_bytes((other.path / "journal.ndjson").read_bytes())
    assert [line.step for line in folder.journal.lines] == steps
    assert folder.journal.state.next_number == 1


def test_the_next_run_is_the_first_without_an_end(tmp_path: Path) -> None:
    folder = made(tmp_path)
    expected = [
        (Step.RUN_STARTED, 1, 1),
        (Step.RUN_FINISHED, 1, 2),
        (Step.RUN_FAILED, 2, 3),
        (Step.RUN_STARTED, 3, 3),
        (Step.RUN_DISCARDED, 3, 3),
        (Step.RUN_ENDED_EARLY, 3, 4),
        (Step.RUN_FINISHED, 5, 4),
        (Step.RUN_FINISHED, 4, 6),
        (Step.RUN_DISCARDED, 5, 5),  # its end had been torn when that was noted
        (Step.RUN_FINISHED, 5, 6),
    ]
    for step, number, after in expected:
        folder.append(step, number, f"run-{number}")
        assert folder.journal.state.next_number == after
    assert folder.journal.state.ended == 5


def test_a_plan_is_read_again_when_it_has_changed(tmp_path: Path) -> None:
    folder = made(tmp_path)
    plan = folder.read_plan(SweepPlan)
    assert folder.read_plan(SweepPlan) is plan
    folder.write_plan(plan.model_copy(update={"command": "another"}))
    assert folder.read_plan(SweepPlan).command == "another"


def test_a_frame_needs_no_manifest_where_the_journal_has_its_facts(tmp_path: Path) -> None:
    folder = made(tmp_path)
    (tmp_path / "run-a").mkdir()
    (tmp_path / "run-a" / "manifest.json").write_text("not read")
    for number, run_id in ((1, "run-a"), (2, "run-removed")):
        folder.append(Step.RUN_FINISHED, number, run_id, metric_value=7.5, checks_failed=["steal time"])
    frame = runs_frame(folder)
    assert list(frame["status"]) == ["done", "missing", "planned", "planned"]
    assert (frame["metric_value"][0], frame["checks_failed"][0]) == (7.5, ("steal time",))


def test_a_sweep_is_executed_by_the_very_process_that_began_it_until_there_is_an_end(tmp_path: Path) -> None:
    folder = made(tmp_path)
    assert folder.journal.state.executed_by is None
    folder.note_started(os.getpid())
    folder.note_started(os.getpid())
    assert [line.step for line in folder.journal.lines] == [Step.STARTED]
    assert folder.journal.state.executed_by == os.getpid()
    folder.append(Step.FAILED, note="the disk was full")
    assert folder.journal.state.executed_by is None
    folder.append(Step.STARTED, pid=os.getpid(), birth="another boot/1")
    assert folder.journal.state.executed_by is None


def test_a_process_that_ended_at_once_executes_nothing(tmp_path: Path) -> None:
    folder = made(tmp_path)
    with subprocess.Popen(["true"]) as ended:
        ended.wait()
        folder.note_started(ended.pid)
    assert folder.journal.state.executed_by is None


@pytest.mark.parametrize(
    ("steps", "left"),
    [
        ([], False),
        ([Step.SETTINGS_SAVED], True),
        ([Step.SETTINGS_SAVED, Step.SETTINGS_RESTORED], False),
        ([Step.SETTINGS_SAVED, Step.DATA_KEPT, Step.RUN_STARTED, Step.DATA_RESTORED], True),
        ([Step.SETTINGS_SAVED, Step.DATA_KEPT, Step.DATA_RESTORED, Step.SETTINGS_RESTORED], False),
        ([Step.SETTINGS_SAVED, Step.SETTINGS_RESTORED, Step.SETTINGS_SAVED], True),
    ],
)
def test_a_sweep_is_unrestored_until_all_is_back(tmp_path: Path, steps: list[Step], left: bool) -> None:
    folder = made(tmp_path)
    for step in steps:
        folder.save_before("server-1", {}) if step is Step.SETTINGS_SAVED else folder.append(step)
    assert unrestored_experiments(tmp_path, "server-1") == ([folder] if left else [])
    assert unrestored_experiments(tmp_path, "server-2") == []


def test_a_journal_that_cannot_be_read_is_reported_and_hides_no_other(tmp_path: Path) -> None:
    left, damaged = made(tmp_path), made(tmp_path, "sweep-2")
    left.save_before("server-1", {})
    (damaged.path / "journal.ndjson").mkdir()  # as one that only a colleague's account may read
    assert unrestored_experiments(tmp_path, "server-1") == [left]
    ((folder, reason),) = unverified(tmp_path, "server-1")
    assert folder.experiment_id == damaged.experiment_id
    assert reason == f"{damaged.path / 'journal.ndjson'} cannot be read: Is a directory"
    with pytest.raises(DamagedResult, match="cannot be read"):
        _ = damaged.journal.state


def test_the_settings_before_are_on_disk_for_their_owner_alone(tmp_path: Path) -> None:
    folder = made(tmp_path)
    folder.save_before("server-1", {"flush": "on"})
    assert folder.read_before("server-1") == {"flush": "on"}
    assert stat.S_IMODE(folder.before.stat().st_mode) == 0o600
    assert folder.journal.state.servers.keys() == {"server-1"}


@pytest.fixture
def received(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> ExperimentFolder:
    """A sweep of another account, which says that it left settings on ``server-1``."""
    with monkeypatch.context() as somebody:
        somebody.setenv("XDG_STATE_HOME", str(tmp_path / "somebody"))
        folder = made(tmp_path, "received")
        folder.save_before("server-1", {"flush": "off"})
        assert folder.is_own
        return experiment_folder(tmp_path, "received")


def test_settings_that_another_account_saved_are_neither_restored_nor_passed_over(
    tmp_path: Path, received: ExperimentFolder
) -> None:
    """Somebody who sends a folder could choose the settings of the server on which the next sweep runs."""
    assert not received.is_own
    assert unrestored_experiments(tmp_path, "server-1") == []
    reason = f"this account did not write the files in {received.path}"
    assert [*unverified(tmp_path, "server-1")] == [(received, reason)]
    assert [*unverified(tmp_path, "server-2")] == []
    with pytest.raises(DamagedResult, match="was not written by this account, so the settings are not restored"):
        received.read_before("server-1")


def test_a_sweep_that_is_accepted_is_this_accounts_own(tmp_path: Path, received: ExperimentFolder) -> None:
    received.accept(received.read_plan(SweepPlan))
    assert received.is_own
    assert unrestored_experiments(tmp_path, "server-1") == [received]
    assert received.read_before("server-1") == {"flush": "off"}


def test_a_sweep_of_another_account_has_as_many_targets_as_are_named(received: ExperimentFolder) -> None:
    place = BareWorkspace(results=received.root)
    with pytest.raises(InputError, match="received has 1 target, not 2"):
        resumed_targets(received, ["nulldb:///a", "nulldb:///b"], accept=True, workspace=place)


def test_a_journal_with_runs_that_the_plan_does_not_have_is_damage(tmp_path: Path) -> None:
    folder = made(tmp_path)
    folder.append(Step.RUN_STARTED, 1000, "run-a")
    with pytest.raises(DamagedResult, match="has runs that its plan does not have"):
        experiment_progress(folder)


@pytest.mark.parametrize("name", ["plan.json", "before.json"])
def test_a_file_that_was_changed_afterwards_is_not_this_accounts_own(tmp_path: Path, name: str) -> None:
    folder = made(tmp_path)
    folder.save_before("server-1", {"flush": "on"})
    assert folder.is_own
    path = folder.path / name
    path.write_text(path.read_text().replace("on", "no"))
    assert not folder.is_own


def test_files_of_another_sweep_or_server_are_not_this_sweeps(tmp_path: Path) -> None:
    one, other = made(tmp_path), made(tmp_path, "two")
    one.save_before("server-1", {"flush": "on"})
    other.save_before("server-2", {"flush": "off"})
    shutil.copy(other.before, one.before)
    assert not one.is_own
    shutil.copytree(other.path, tmp_path / "experiments" / "three")
    assert not experiment_folder(tmp_path, "three").is_own


def test_a_copy_of_settings_that_were_restored_is_not_restored_again(tmp_path: Path) -> None:
    """As a backup of the results folder, which would undo what was changed on the server since."""
    folder = made(tmp_path)
    folder.save_before("server-1", {"flush": "on"})
    shutil.copytree(folder.path, tmp_path / "backup")
    folder.append(Step.SETTINGS_RESTORED)
    folder.drop_before()
    shutil.rmtree(folder.path)
    shutil.move(tmp_path / "backup", folder.path)
    again = experiment_folder(tmp_path, folder.experiment_id)
    assert again.read_plan(SweepPlan)
    assert not again.is_own
    assert again.is_stale_copy
    assert unrestored_experiments(tmp_path, "server-1") == []
    assert [*unverified(tmp_path, "server-1")] == []


def test_what_a_process_has_saved_it_restores_without_its_key_and_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = made(tmp_path)
    folder.save_before("server-1", {"flush": "on"})
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "another"))
    folder.before.unlink()
    assert folder.read_before("server-1") == {"flush": "on"}


@pytest.mark.parametrize(
    "line",
    [
        '{"step": "settings_saved", "details": {"found": 5}}',
        '{"step": "started", "details": {"pid": "x"}}',
        '{"step": "started", "details": {"pid": null}}',
    ],
)
def test_details_that_no_line_of_hdbkit_has_are_damage(tmp_path: Path, line: str) -> None:
    folder = made(tmp_path)
    text = line.replace('"step"', '"at": "2026-01-01T00:00:00Z", "step"') + "\n"
    (folder.path / "journal.ndjson").write_text(text * 2)
    for _ in range(2):
        with pytest.raises(DamagedResult, match="is damaged"):
            _ = folder.journal.state


@pytest.mark.parametrize("run_id", ["../r6/run", "/tmp/run", "..", ".hidden"])
def test_a_line_that_names_a_place_as_its_run_does_not_count(tmp_path: Path, run_id: str) -> None:
    folder = made(tmp_path)
    folder.append(Step.RUN_STARTED, 1, run_id)
    assert folder.journal.state.open_runs == []


@pytest.mark.parametrize("make", [os.mkfifo, lambda path: path.symlink_to("/dev/zero")])
def test_a_sweep_with_a_link_or_a_pipe_is_ignored(tmp_path: Path, make: Callable[[Path], None]) -> None:
    folder = made(tmp_path)
    assert find_experiment(tmp_path, "last") == folder
    make(folder.path / "journal.ndjson")
    with pytest.raises(InputError, match="there is no experiment 'last'"):
        find_experiment(tmp_path, "last")


def test_a_sweep_whose_earlier_plan_is_there_again_after_a_kill_is_its_own(tmp_path: Path) -> None:
    """The seal of a longer plan is written before the plan."""
    folder = made(tmp_path)
    earlier = (folder.path / "plan.json").read_bytes()
    spec = SweepSpec(settings={"flush": ["on", "off"]}, blocks=3)
    folder.write_plan(plan_sweep(Target(kind="nulldb"), spec, folder.experiment_id))
    (folder.path / "plan.json").write_bytes(earlier)
    assert folder.is_own


def test_lost_settings_are_reported(tmp_path: Path) -> None:
    with pytest.raises(DamagedResult, match="so the settings are not restored"):
        made(tmp_path).read_before("server-1")


def test_a_sweep_that_has_reported_its_end_is_waited_for(tmp_path: Path) -> None:
    ending = only_experiment(tmp_path, "server-1")
    ending.__enter__()
    Timer(0.3, ending.__exit__, (None, None, None)).start()
    with only_experiment(tmp_path, "server-1"):
        pass


def test_two_sweeps_never_share_a_server(tmp_path: Path) -> None:
    with only_experiment(tmp_path, "server-1"):
        with only_experiment(tmp_path, "server-2"):
            pass
        with (
            pytest.raises(InputError, match="another experiment is running on server-1"),
            only_experiment(tmp_path, "server-1"),
        ):
            pass
    with only_experiment(tmp_path, "server-1"):
        pass


def test_the_frame_reports_what_became_of_each_planned_run(tmp_path: Path) -> None:
    folder = made(tmp_path)
    done = Manifest(
        run_id="run-a",
        notice="",
        status=Status.DONE,
        plan=plan_of(load=Load(rampup_s=0, duration_s=1)),
        operations=[],
        metric=Metric(name="TPS", title="operations per second", unit="TPS"),
        result=figures(1234.5),
        checks=[
            CheckLine(name="steal time", passed=False, detail=""),
            CheckLine(name="mix as asked", passed=True, detail=""),
            CheckLine(name="CPU pressure", passed=None, detail=""),
        ],
    )
    (tmp_path / "run-a").mkdir()
    RunFolder(tmp_path / "run-a").write(done)
    folder.append(Step.RUN_FINISHED, 1, "run-a")
    folder.append(Step.RUN_FAILED, 2, "", "no memory")
    folder.append(Step.RUN_FINISHED, 3, "run-removed")
    frame = runs_frame(folder)
    assert list(frame["status"]) == ["done", "failed", "missing", "planned"]
    assert list(frame["metric_value"].fillna(-1)) == [1234.5, -1, -1, -1]
    assert frame["note"][1] == "no memory"
    assert list(frame["checks_failed"]) == [("steal time",), (), (), ()]
    assert sorted(frame["flush"]) == ["off", "off", "on", "on"]
    assert frame["block"].tolist() == [1, 1, 2, 2]
    assert frame["metric_value"].dtype == np.float64


def test_a_sweep_is_found_by_its_id_its_beginning_or_as_the_last(tmp_path: Path) -> None:
    first, second = made(tmp_path, "20261120-210400-memory-abc"), made(tmp_path, "20261120-220000-memory-xyz")
    assert find_experiment(tmp_path, "last") == second
    assert find_experiment(tmp_path, "abc") == first
    assert find_experiment(tmp_path, "20261120-22") == second
    with pytest.raises(InputError, match="matches 2 experiments"):
        find_experiment(tmp_path, "2026")
    with pytest.raises(InputError, match="there is no experiment 'other'"):
        find_experiment(tmp_path, "other")


def test_a_folder_without_a_plan_is_no_sweep(tmp_path: Path) -> None:
    with pytest.raises(DamagedResult, match="is not the folder of an experiment"):
        experiment_folder(tmp_path, "none").read_plan(SweepPlan)


@pytest.mark.parametrize("spoilt", ["{}", "[]", "", '{"runs": [', "\0", '{"configurations": [], "runs": []}'])
def test_a_damaged_plan_is_reported_in_a_sentence(tmp_path: Path, spoilt: str) -> None:
    folder = made(tmp_path)
    (folder.path / "plan.json").write_text(spoilt)
    with pytest.raises(DamagedResult, match=r"plan.json is damaged: .*") as strict:
        folder.read_plan(SweepPlan)
    with pytest.raises(DamagedResult, match=r"plan.json is damaged: .*") as lenient:
        runs_frame(folder)
    assert "\n" not in str(strict.value) + str(lenient.value)
    (listed,) = api.Workspace(results=tmp_path).experiments().to_dict("records")
    assert (listed["experiment_id"], listed["status"]) == ("one", "damaged")
    assert "plan.json is damaged: " in listed["note"]


def test_a_run_of_no_known_configuration_spoils_the_plan(tmp_path: Path) -> None:
    folder = made(tmp_path)
    path = folder.path / "plan.json"
    path.write_text(path.read_text().replace('"configuration": 1', '"configuration": 7'))
    with pytest.raises(DamagedResult, match="unknown configuration 7"):
        runs_frame(folder)


def test_an_empty_word_is_no_sweep_even_when_there_is_only_one(tmp_path: Path) -> None:
    made(tmp_path)
    with pytest.raises(InputError, match="give the id of an experiment"):
        find_experiment(tmp_path, "")


def test_the_settings_before_are_their_owners_alone_from_the_first_byte(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = made(tmp_path)
    modes = []
    fsync = os.fsync

    def looking(descriptor: int) -> None:
        modes.append(stat.S_IMODE(os.fstat(descriptor).st_mode))
        fsync(descriptor)

    monkeypatch.setattr(os, "fsync", looking)
    folder.save_before("server-1", {"flush": "on"})
    assert modes[0] == 0o600
