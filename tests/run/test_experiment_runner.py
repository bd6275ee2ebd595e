"""A sweep from start to end: order, journal, failures, stopping."""

from __future__ import annotations

import signal
from collections.abc import Mapping
from dataclasses import replace
from errno import ENOSPC
from pathlib import Path
from typing import Any

import pytest

from hdbkit.config import ControlSpec, Load, Reset, SweepSpec, Target
from hdbkit.contracts import ApplyBy, Change
from hdbkit.errors import (
    ConfigErrors,
    ErrorClass,
    ExperimentFailed,
    InputError,
    NoneFree,
    RunFailed,
    ServerDown,
    ServerFailed,
    TransactionError,
    disk_full,
)
from hdbkit.experiment import EventKind, ExperimentEvent, experiment_progress, resume, settling, start
from hdbkit.experiment.kinds.sweep.plan import SweepPlan, plan_sweep
from hdbkit.experiment.kinds.sweep.slicing import planned_slices
from hdbkit.plan import RunPlan
from hdbkit.results.experiment_folder import ExperimentFolder, experiment_folder, only_experiment
from hdbkit.results.experiment_runs import runs_frame
from hdbkit.results.folder import RunFolder
from hdbkit.results.journal import Step
from hdbkit.results.manifest import Manifest, Status
from tests.run.sweep_server import DATA, DEFAULTS, FileServer, only, runner
from tests.unit.synthetic import changed


@pytest.fixture
def server(tmp_path: Path) -> FileServer:
    return FileServer(tmp_path / "server")


def planned(**changes: object) -> SweepPlan:
    spec = {"settings": {"flush": ["on", "off"], "memory": ["1GB", "2GB"]}, "blocks": 2, **changes}
    return plan_sweep(Target(kind="nulldb"), SweepSpec(**spec), "sweep-1")


def steps(folder: ExperimentFolder) -> list[Step]:
    return [line.step for line in folder.journal.lines]


def test_every_planned_run_is_done_once_in_its_order(server: FileServer, results: Path) -> None:
    folder = start(planned(), results, only(server), runner(server, results))
    frame = runs_frame(folder)
    assert list(frame["status"]) == ["done"] * 10
    assert frame["run_id"].nunique() == 10
    started = [line.number for line in folder.journal.lines if line.step is Step.RUN_STARTED]
    assert started == list(range(1, 11))
    assert frame.groupby("flush")["metric_value"].mean().to_dict() == pytest.approx(
        {"on": 1004.5, "off": 2004.5}, abs=4
    )


def test_afterwards_the_server_is_what_it_was(server: FileServer, results: Path) -> None:
    folder = start(planned(), results, only(server), runner(server, results))
    assert (server.now(), server.data()) == (DEFAULTS, DATA)
    assert not (server.folder / "kept").exists()
    assert steps(folder)[-2:] == [Step.SETTINGS_RESTORED, Step.FINISHED]
    saved, restored = (
        next(line.details["found"] for line in folder.journal.lines if line.step is step)
        for step in (Step.SETTINGS_SAVED, Step.SETTINGS_RESTORED)
    )
    assert saved == restored == {"flush": "on", "memory": "1GB"}, (
        "both are read from the server, for the reader of the journal"
    )


def test_a_sweep_resumed_at_another_address_changes_nothing_on_another_server(
    server: FileServer, results: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def stopped(_: RunPlan) -> Manifest:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        start(planned(), results, only(server), stopped)
    folder, other = experiment_folder(results, "sweep-1"), FileServer(tmp_path / "other")
    monkeypatch.setattr(other, "start", lambda *_: pytest.fail("another server was started"))
    with pytest.raises(InputError, match=r"sweep-1 was run on files in .*/server, not on files in .*/other"):
        resume(folder, only(other), stopped, targets=[Target(kind="nulldb", host="db2")])


def test_the_server_is_brought_to_the_same_state_before_each_run(server: FileServer, results: Path) -> None:
    start(planned(), results, only(server), runner(server, results))
    assert server.calls == [
        "keep_data",
        *["apply", "restore_data", "maintain"] * 10,
        *["restore", "restore_data", "drop_kept_data"],
    ]


def test_an_earlier_journal_that_cannot_be_read_is_reported_and_ends_no_sweep(
    server: FileServer, results: Path
) -> None:
    earlier = experiment_folder(results, "sweep-0")
    earlier.write_plan(planned())
    (earlier.path / "journal.ndjson").mkdir()
    notes: list[str] = []
    folder = start(planned(), results, only(server), runner(server, results), lambda event: notes.append(event.note))
    assert folder.journal.state.finished
    assert "cannot be read: Is a directory; if sweep-0 left settings on this server, they are not" in notes[0]


def test_nothing_is_changed_before_the_settings_are_on_disk(server: FileServer, results: Path) -> None:
    seen = []

    def apply(_: object) -> None:
        folder = experiment_folder(results, "sweep-1")
        seen.append((folder.read_before(server.identity), steps(folder)[:2]))
        raise KeyboardInterrupt

    server.apply = apply
    with pytest.raises(KeyboardInterrupt):
        start(planned(), results, only(server), runner(server, results))
    assert seen == [({"settings": DEFAULTS, "changed": ["flush", "memory"]}, [Step.STARTED, Step.SETTINGS_SAVED])]


@pytest.mark.parametrize(
    ("reset", "able", "kept"), [("auto", True, True), ("auto", False, False), ("none", True, False)]
)
def test_data_is_restored_when_asked_and_possible(
    tmp_path: Path, results: Path, reset: str, able: bool, kept: bool
) -> None:
    server = FileServer(tmp_path / "server", can_restore_data=able)
    folder = experiment_folder(results, "sweep-1")
    if reset == "none":
        server.data = lambda: DATA
    start(planned(reset=reset), results, only(server), runner(server, results))
    assert (Step.DATA_KEPT in steps(folder)) == kept
    assert ("restore_data" in server.calls) == kept


def test_all_errors_are_reported_at_once_and_nothing_is_started(tmp_path: Path, results: Path) -> None:
    server = FileServer(tmp_path / "server", can_restore_data=False)
    plan = planned(settings={"flush": ["on", "impossible"], "flsh": ["on"]}, reset=Reset.RESTORE)
    with pytest.raises(ConfigErrors, match="has 3 errors; nothing was started") as caught:
        start(plan, results, only(server), runner(server, results))
    assert [one.where for one in caught.value.problems] == ["settings", "settings", "reset"]
    assert server.calls == []
    assert not (results / "experiments").exists()


def test_a_refused_setting_fails_its_runs_with_the_servers_words(server: FileServer, results: Path) -> None:
    server.rejected = {"memory": "2GB"}
    reported: list[ExperimentEvent] = []
    folder = start(planned(), results, only(server), runner(server, results), reported.append)
    frame = runs_frame(folder)
    assert set(frame[frame["memory"] == "2GB"]["status"]) == {"failed"}
    assert set(frame[frame["memory"] == "1GB"]["status"]) == {"done"}
    assert "not enough memory" in frame[frame["memory"] == "2GB"]["note"].iloc[0]
    assert sum(one.kind is EventKind.FAILED for one in reported) == 4
    assert server.now() == DEFAULTS


def test_a_configuration_that_took_the_server_down_is_not_run_again(
    server: FileServer, results: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def apply(changes: Mapping[str, str]) -> Change:
        if changes["flush"] == "off":
            raise ServerDown("the server is down; start it") from ServerFailed("not enough memory")
        return FileServer.apply(server, changes)

    monkeypatch.setattr(server, "apply", apply)
    with pytest.raises(ServerDown):
        start(planned(settings={"flush": ["on", "off"]}), results, only(server), runner(server, results))
    frame = runs_frame(resume(experiment_folder(results, "sweep-1"), only(server), runner(server, results)))
    notes = list(frame[frame["flush"] == "off"]["note"])
    assert notes[0] == "the server is down: not enough memory"
    assert all("of the same configuration took the server down" in note for note in notes[1:])
    assert set(frame[frame["flush"] == "on"]["status"]) == {"done"}


@pytest.mark.parametrize("configuration", [0, 1])
@pytest.mark.parametrize("where", ["preparing", "starting"])
def test_a_run_on_a_server_that_the_settings_before_locked_out_is_repeated_with_the_original_settings(
    server: FileServer, results: Path, monkeypatch: pytest.MonkeyPatch, configuration: int, where: str
) -> None:
    plan, refused = planned(settings={"flush": ["on", "off"]}), list[str]()
    number = next(one.number for one in plan.runs[1:] if one.configuration == configuration)

    def refuse(at: str, now: int) -> None:
        if at == where and now == number and not refused:
            refused.append(at)
            raise NoneFree("db1", "all connections are in use", "use fewer")

    def apply(changes: Mapping[str, str]) -> Change:
        refuse("preparing", experiment_folder(results, "sweep-1").journal.state.next_number)
        return FileServer.apply(server, changes)

    def run_one(run: RunPlan) -> Manifest:
        assert run.experiment is not None
        refuse("starting", run.experiment.number)
        return runner(server, results)(run)

    monkeypatch.setattr(server, "apply", apply)
    folder = start(plan, results, only(server), run_one)
    assert refused
    assert set(runs_frame(folder)["status"]) == {"done"}
    assert server.calls.count("restore") == 2  # before the run was repeated, and at the end
    assert any(f"and run {number} repeated" in line.note for line in folder.journal.lines)


def test_a_server_that_the_run_before_left_down_is_not_blamed_on_the_next(
    server: FileServer, results: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    plan = planned(settings={"flush": ["on", "off"]}, blocks=3)
    down = next(one for one in plan.runs if one.configuration == 1)

    def begin(before: Mapping[str, Any] | None = None) -> None:
        if experiment_folder(results, "sweep-1").journal.state.next_number == down.number + 1:
            raise ServerDown("the server is down; start it")

    def run_one(run: RunPlan) -> Manifest:
        assert run.experiment is not None
        if run.experiment.number == down.number:
            raise RunFailed(run.run_id, "the server ended")
        return runner(server, results)(run)

    def apply(changes: Mapping[str, str]) -> Change:
        return replace(FileServer.apply(server, changes), applied_by=ApplyBy.RESTART)

    monkeypatch.setattr(server, "apply", apply)
    monkeypatch.setattr(server, "start", begin)
    with pytest.raises(ServerDown, match="start it, then run: hdbkit resume sweep-1"):
        start(plan, results, only(server), run_one)
    monkeypatch.setattr(server, "start", lambda _: None)
    frame = runs_frame(resume(experiment_folder(results, "sweep-1"), only(server), run_one))
    notes = list(frame[frame["flush"] == "off"]["note"])
    assert "the server ended" in notes[0]
    assert all("of the same configuration took the server down" in note for note in notes[1:])
    assert set(frame[frame["flush"] == "on"]["status"]) == {"done"}


@pytest.mark.parametrize("by", ["error", "status"])
def test_a_failed_run_is_kept_as_failed_and_the_sweep_continues(server: FileServer, results: Path, by: str) -> None:
    whole = runner(server, results)

    def run_one(plan: RunPlan) -> Manifest:
        if plan.experiment and plan.experiment.number == 3 and by == "error":
            raise RunFailed(plan.run_id, "its clients died")
        manifest = whole(plan)
        lost = plan.experiment and plan.experiment.number == 3
        return manifest.moved_to(Status.FAILED, "its clients died") if lost else manifest

    folder = start(planned(), results, only(server), run_one)
    frame = runs_frame(folder)
    assert list(frame["status"]) == ["done", "done", "failed", *["done"] * 7]
    assert "its clients died" in frame["note"][2]
    resume(folder, only(server), whole)
    assert runs_frame(folder)["status"][2] == "failed"


@pytest.mark.parametrize("error", [KeyboardInterrupt(), ServerFailed("gone"), ZeroDivisionError()])
def test_settings_are_restored_whatever_ends_the_sweep(
    server: FileServer, results: Path, error: BaseException
) -> None:
    server.maintain = lambda: (_ for _ in ()).throw(error)
    with pytest.raises(ExperimentFailed if isinstance(error, ServerFailed) else type(error)):
        start(planned(), results, only(server), runner(server, results))
    assert (server.now(), server.data()) == (DEFAULTS, DATA)


def test_what_is_wrong_with_the_baseline_itself_ends_the_sweep(server: FileServer, results: Path) -> None:
    def run_one(plan: RunPlan) -> Manifest:
        raise InputError("there is no schema")

    with pytest.raises(InputError, match="there is no schema"):
        start(planned(), results, only(server), run_one)
    frame = runs_frame(experiment_folder(results, "sweep-1"))
    assert not (set(frame[frame["configuration"] == 0]["status"]) - {"planned"})
    assert server.now() == DEFAULTS


def test_a_stopped_run_stops_the_sweep_and_is_done_again(server: FileServer, results: Path) -> None:
    whole = runner(server, results)

    def stopping(plan: RunPlan) -> Manifest:
        manifest = whole(plan)
        return manifest.moved_to(Status.STOPPED) if plan.experiment and plan.experiment.number == 4 else manifest

    def stopped(plan: RunPlan) -> Manifest:
        manifest = stopping(plan)
        (results / plan.run_id / "manifest.json").write_text(manifest.model_dump_json())
        return manifest

    with pytest.raises(KeyboardInterrupt):
        start(planned(), results, only(server), stopped)
    folder = experiment_folder(results, "sweep-1")
    assert list(runs_frame(folder)["status"]) == ["done"] * 3 + ["planned"] * 7
    assert server.now() == DEFAULTS
    resume(folder, only(server), whole)
    assert list(runs_frame(folder)["status"]) == ["done"] * 10
    (discarded,) = [line for line in folder.journal.lines if line.step is Step.RUN_DISCARDED]
    assert discarded.note.endswith("it is repeated on resume")


def test_more_blocks_are_added_behind_the_ones_that_are_done(server: FileServer, results: Path) -> None:
    folder = start(planned(), results, only(server), runner(server, results))
    before = runs_frame(folder)
    resume(folder, only(server), runner(server, results), blocks=3)
    after = runs_frame(folder)
    assert before.equals(after.iloc[:10])
    assert list(after["status"]) == ["done"] * 15
    assert steps(folder).count(Step.FINISHED) == 2


def test_resuming_a_finished_sweep_does_nothing(server: FileServer, results: Path) -> None:
    folder = start(planned(), results, only(server), runner(server, results))
    before, server.calls = folder.journal.lines, []
    resume(folder, only(server), runner(server, results))
    assert (folder.journal.lines, server.calls) == (before, [])


def test_a_sweep_is_resumed_on_its_own_server_only(tmp_path: Path, server: FileServer, results: Path) -> None:
    folder = start(planned(), results, only(server), runner(server, results))
    other = FileServer(tmp_path / "other")
    with pytest.raises(InputError, match="resume it there"):
        resume(folder, only(other), runner(other, results), blocks=3)


@pytest.mark.parametrize(
    "elsewhere",
    [
        {"host": "db2"},
        {"control": ControlSpec(agent="https://db2:8443")},
        {"control": ControlSpec(config_file=Path("other.conf"))},
        {"control": ControlSpec(drop_in=Path("other.d"))},
    ],
    ids=["host", "agent", "file", "folder"],
)
def test_a_sweep_that_is_resumed_elsewhere_compares_the_servers_before_it_starts_one(
    elsewhere: dict[str, Any], tmp_path: Path, server: FileServer, results: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = start(planned(), results, only(server), runner(server, results))
    other = FileServer(tmp_path / "other")
    monkeypatch.setattr(other, "start", lambda *_: pytest.fail("it was started"))
    with pytest.raises(InputError, match="resume it there"):
        resume(folder, only(other), runner(other, results), blocks=3, targets=[Target(kind="nulldb", **elsewhere)])


def test_a_sweep_is_started_once(server: FileServer, results: Path) -> None:
    start(planned(), results, only(server), runner(server, results))
    with pytest.raises(InputError, match="hdbkit resume sweep-1"):
        start(planned(), results, only(server), runner(server, results))


def test_a_server_is_swept_by_one_at_a_time(server: FileServer, results: Path) -> None:
    with only_experiment(results, server.identity), pytest.raises(InputError, match="another experiment is running"):
        start(planned(), results, only(server), runner(server, results))
    assert server.calls == []


def test_the_table_on_the_screen_hears_every_step(server: FileServer, results: Path) -> None:
    reported: list[ExperimentEvent] = []
    start(planned(), results, only(server), runner(server, results), reported.append)
    assert [one.kind for one in reported] == [
        EventKind.SAVED,
        *[EventKind.PREPARING, EventKind.STARTED, EventKind.FINISHED] * 10,
        EventKind.RESTORED,
        EventKind.SPENT,
    ]
    assert all(one.total == 10 for one in reported)
    assert [one.manifest.metric_value > 0 for one in reported if one.manifest] == [True] * 10


def test_a_full_disk_does_not_keep_the_settings_from_being_restored(
    server: FileServer, results: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder, append = experiment_folder(results, "sweep-1"), ExperimentFolder.append

    def full(_: RunPlan) -> Manifest:
        monkeypatch.setattr(
            ExperimentFolder, "append", lambda *_, **__: (_ for _ in ()).throw(OSError(ENOSPC, "full"))
        )
        raise RunFailed("run", "the disk is full")

    with pytest.raises(ExperimentFailed, match=r"the disk of .* is full; .*: hdbkit resume sweep-1"):
        start(planned(), results, only(server), full)
    assert (server.now(), server.data()) == (DEFAULTS, DATA)
    monkeypatch.setattr(ExperimentFolder, "append", append)
    resume(folder, only(server), runner(server, results))
    assert list(runs_frame(folder)["status"]) == ["done"] * 10


def test_a_run_that_a_full_disk_ended_is_repeated(server: FileServer, results: Path) -> None:
    one, numbers = runner(server, results), iter(range(1, 9))

    def full(plan: RunPlan) -> Manifest:
        manifest = one(plan)
        return manifest.moved_to(Status.FAILED, disk_full(results)) if next(numbers) == 3 else manifest

    with pytest.raises(ExperimentFailed, match=r"the disk of .* is full; .*: hdbkit resume sweep-1"):
        start(planned(), results, only(server), full)
    folder = resume(experiment_folder(results, "sweep-1"), only(server), one)
    assert list(runs_frame(folder)["status"]) == ["done"] * 10


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_an_interrupt_while_settings_are_restored_waits_for_their_end(
    server: FileServer, results: Path, number: signal.Signals
) -> None:
    restore, came = server.restore, []

    def interrupted(snapshot: Mapping[str, object]) -> None:
        signal.raise_signal(number)
        restore(snapshot)

    def reported(*_: object) -> None:
        came.append((server.now(), steps(folder)[-1]))
        raise KeyboardInterrupt

    server.restore = interrupted
    folder = experiment_folder(results, "sweep-1")
    before = signal.signal(number, reported)
    try:
        with pytest.raises(KeyboardInterrupt):
            start(planned(), results, only(server), runner(server, results))
        assert signal.getsignal(number) is reported
    finally:
        signal.signal(number, before)
    assert came == [(DEFAULTS, Step.SETTINGS_RESTORED)]


def test_an_interrupt_ends_the_wait_for_a_run_but_not_the_restoring(
    server: FileServer, results: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole = runner(server, results)

    def goes_on(plan: RunPlan) -> Manifest:
        manifest = whole(plan)
        alive = manifest.model_copy(update={"status": Status.MEASURING})
        (results / plan.run_id / "manifest.json").write_text(alive.model_dump_json())
        raise ZeroDivisionError

    def interrupted(*_: object) -> bool:
        assert "restore" not in server.calls, "a run that goes on must not lose its settings"
        raise KeyboardInterrupt

    monkeypatch.setattr(settling, "is_supervised", interrupted)
    with pytest.raises(KeyboardInterrupt):
        start(planned(), results, only(server), goes_on)
    assert server.now() == DEFAULTS
    assert Step.RUN_DISCARDED in steps(experiment_folder(results, "sweep-1"))


@pytest.mark.parametrize("resumed", [False, True])
def test_a_sweep_whose_first_block_failed_for_one_reason_ends_there_and_repeats_it(
    server: FileServer, results: Path, resumed: bool
) -> None:
    """As with an account that may not reload the settings: the text of each run names its own values."""

    def refused(plan: RunPlan) -> Manifest:
        if server.folder.joinpath("corrected").exists():
            return runner(server, results)(plan)
        error = ServerFailed(f"{plan.experiment.settings if plan.experiment else ''} was not applied")
        raise error from TransactionError(ErrorClass.OTHER, "42501", "permission denied for function pg_reload_conf")

    with pytest.raises(ExperimentFailed) as ended:
        start(planned(), results, only(server), refused)
    assert str(ended.value) == (
        "sweep sweep-1 failed: all 5 runs of the first block failed for the same reason: permission denied for "
        "function pg_reload_conf; correct it, then run: hdbkit resume sweep-1"
    )
    assert (server.now(), server.data()) == (DEFAULTS, DATA)
    folder = experiment_folder(results, "sweep-1")
    assert experiment_progress(folder).note == ended.value.reason
    if resumed:
        (server.folder / "corrected").touch()
        resume(folder, only(server), refused)
        assert list(runs_frame(folder)["status"]) == ["done"] * 10
    else:
        with pytest.raises(ExperimentFailed):
            resume(folder, only(server), refused)


def test_a_sweep_by_slices_ends_after_its_first_run_if_that_has_none_to_compare(
    server: FileServer, results: Path
) -> None:
    load = Load(rampup_s=0, duration_s=60)
    first = planned(compare_by="slices", blocks=3, load=load)
    plan = plan_sweep(first.target, first.spec, "sweep-1", slices=planned_slices(first))

    def unusable(run: RunPlan) -> Manifest:
        done = runner(server, results)(run)
        found = {"washout_s": None, "cycles": 0, "dropped": 120, "unusable": "no change of settings was recorded"}
        done = changed(done, slices={**found, "configurations": []})
        RunFolder(results / run.run_id).write(done)
        return done

    with pytest.raises(ExperimentFailed) as ended:
        start(plan, results, only(server), unusable)
    assert str(ended.value) == (
        "sweep sweep-1 failed: the slices of run 1 cannot be compared: no change of settings was recorded; the run "
        "is kept, and the other runs are executed all the same by: hdbkit resume sweep-1"
    )
    folder = experiment_folder(results, "sweep-1")
    assert (server.now(), folder.journal.state.ended) == (DEFAULTS, 1)
    resume(folder, only(server), unusable)
    assert (folder.journal.state.finished, folder.journal.state.ended) == (True, 3)


def test_a_sweep_whose_runs_failed_for_different_reasons_continues(server: FileServer, results: Path) -> None:
    def refused(plan: RunPlan) -> Manifest:
        raise RunFailed(plan.run_id, f"reason {plan.experiment.number % 2 if plan.experiment else 0}")

    assert list(runs_frame(start(planned(), results, only(server), refused))["status"]) == ["failed"] * 10


def test_what_is_not_known_of_the_restored_settings_is_said(server: FileServer, results: Path) -> None:
    heard: list[ExperimentEvent] = []

    def ended(plan: RunPlan) -> Manifest:
        server.settings = lambda: (_ for _ in ()).throw(ServerFailed("not now"))  # type: ignore[method-assign]
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        start(planned(), results, only(server), ended, heard.append)
    assert [one.note for one in heard if one.kind is EventKind.RESTORED] == [
        "the server's settings were restored, but they could not be read back"
    ]
    other = FileServer(server.folder.with_name("other"))
    other.snapshot = lambda *_: (_ for _ in ()).throw(ServerFailed("no snapshot"))  # type: ignore[method-assign]
    heard.clear()
    with pytest.raises(ServerFailed, match="no snapshot"):
        start(planned().model_copy(update={"experiment_id": "sweep-2"}), results, only(other), ended, heard.append)
    assert EventKind.RESTORED not in [one.kind for one in heard], "nothing was saved, so nothing was restored"
