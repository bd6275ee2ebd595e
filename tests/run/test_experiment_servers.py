"""Experiments with several targets: what each server needs is saved, and a server is recognized that is down."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest

from hdbkit.config import Load, Preparation, Reset, SweepSpec, Target, load_from
from hdbkit.config.specs import spec_from
from hdbkit.errors import CannotConnect, InputError
from hdbkit.experiment import ExperimentStatus, experiment_progress, resume, start, take_over
from hdbkit.experiment.kinds.comparison import ComparisonPlan
from hdbkit.experiment.kinds.sweep.plan import plan_sweep
from hdbkit.experiment.plan import ExperimentPlan
from hdbkit.experiment.sides import Side, in_blocks
from hdbkit.results.experiment_folder import ExperimentFolder
from hdbkit.results.experiment_runs import runs_frame
from hdbkit.results.journal import Step
from tests.run.sweep_server import DATA, FileServer, measured

Named = dict[str, FileServer]


def compared(*may_change: bool, blocks: int = 1) -> ComparisonPlan:
    """A comparison of two targets, ``base`` and ``new``."""
    names = ("base", "new")
    sides = tuple(
        Side(
            name=name, target=Target(kind="nulldb", database=name, may_change_settings=may),
            workload=spec_from({}), load=Load(), label=name,
        )
        for name, may in zip(names, may_change or (True, True), strict=True)
    )  # fmt: skip
    return ComparisonPlan(
        experiment_id="compare-1", configurations=tuple({"side": name} for name in names), sides=sides, names=names,
        virtual_users=(1,), blocks=blocks, seed="1", runs=in_blocks(sides, (1,), range(1, blocks + 1), "1"),
        smallest_effect=0.02, prepared=Preparation(reset=Reset.AUTO),
    )  # fmt: skip


def control(servers: Named) -> Callable[[Target], Any]:
    return lambda target: servers[str(target.database)]


@pytest.fixture
def servers(tmp_path: Path) -> Named:
    """Two databases of one server."""
    found = {name: FileServer(tmp_path / name) for name in ("base", "new")}
    for one in found.values():
        one.identity = "the server"
    return found


def killed(work: Callable[[], object]) -> None:
    """Do this in a process of its own, which it kills."""
    if not (child := os.fork()):
        try:
            work()
        finally:
            os._exit(1)
    assert os.WIFSIGNALED(os.waitpid(child, 0)[1])


def die(*_: object) -> Any:
    os.kill(os.getpid(), signal.SIGKILL)


def begun(plan: ExperimentPlan, servers: Named, results: Path) -> ExperimentFolder:
    """The experiment, killed in its first run."""
    killed(lambda: start(plan, results, control(servers), die))
    return ExperimentFolder(results / "experiments" / plan.experiment_id)


def down(server: FileServer, monkeypatch: pytest.MonkeyPatch) -> list[Mapping[str, Any] | None]:
    """A server that does not answer before it was started; the snapshots with which it was."""
    started: list[Mapping[str, Any] | None] = []
    identity = server.identity

    def answers(_: object) -> str:
        if not started:
            raise CannotConnect("server", "connection refused", "start it")
        return identity

    monkeypatch.setattr(FileServer, "identity", property(answers, lambda *_: None), raising=False)
    monkeypatch.setattr(FileServer, "start", lambda _, before=None: started.append(before))
    return started


def test_a_server_of_several_targets_that_is_down_is_started_with_what_was_saved_of_it(
    servers: Named, results: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = begun(compared(), servers, results)
    started = down(servers["base"], monkeypatch)
    resume(folder, control(servers), lambda run: measured(run, results))
    assert started
    assert None not in started
    assert list(runs_frame(folder)["status"]) == ["done", "done"]


def test_a_server_that_is_down_is_taken_over_and_compared_once_it_runs(
    servers: Named, results: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = begun(compared(), servers, results)
    targets = compared().targets
    with pytest.raises(InputError, match="resume it there"):
        take_over(folder, targets, control({name: FileServer(results / f"other-{name}") for name in servers}))
    down(servers["base"], monkeypatch)
    take_over(folder, targets, control(servers))
    resume(folder, control(servers), lambda run: measured(run, results))


def test_the_server_that_was_saved_before_a_kill_is_the_one_of_its_target(
    servers: Named, results: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    servers["new"].identity = "another server"
    with monkeypatch.context() as killing:
        killing.setattr(servers["new"], "snapshot", die)
        folder = begun(compared(), servers, results)
    assert list(folder.journal.state.servers) == ["the server"]
    elsewhere = {**servers, "base": FileServer(tmp_path / "elsewhere")}
    with pytest.raises(InputError, match=r"was run on the server, not on .*elsewhere; resume it there"):
        resume(folder, control(elsewhere), lambda run: measured(run, results))
    resume(folder, control({**servers, "new": elsewhere["base"]}), lambda run: measured(run, results))


def test_what_any_target_of_a_server_may_change_is_saved(servers: Named, results: Path) -> None:
    servers["base"].can_restore_data = False
    plan = compared(False, True)

    def run_one(run: Any) -> Any:
        assert folder.read_before("the server")["settings"]
        for server in servers.values():
            server.grow()
        return measured(run, results)

    folder = ExperimentFolder(results / "experiments" / plan.experiment_id)
    start(plan, results, control(servers), run_one)
    assert (servers["base"].data() == DATA, servers["new"].data() == DATA) == (False, True)
    assert (servers["base"].calls.count("restore"), servers["new"].calls.count("restore")) == (0, 1)


def test_an_experiment_is_executed_once_even_if_its_servers_are_its_own(servers: Named, results: Path) -> None:
    folder = begun(compared(), servers, results)

    def run_one(run: Any) -> Any:
        with pytest.raises(InputError, match="is being executed; watch it with: hdbkit attach compare-1"):
            resume(folder, control({name: FileServer(results / name) for name in servers}), run_one)
        return measured(run, results)

    resume(folder, control(servers), run_one)


@pytest.mark.parametrize("search", [False, True])
def test_more_blocks_that_were_asked_for_are_not_forgotten(
    servers: Named, results: Path, monkeypatch: pytest.MonkeyPatch, search: bool
) -> None:
    """A process is killed before the longer plan is on disk."""
    if search:
        load = load_from({"rampup_s": 0, "duration_s": 1})
        spec = SweepSpec(
            settings={"memory": ["1GB", "2GB", "3GB", "4GB"]}, strategy="search", blocks=2, load=load, asked=1
        )
        plan: ExperimentPlan = plan_sweep(Target(kind="nulldb", database="base"), spec, "sweep-1")
    else:
        plan = compared()
    only = (control(servers), lambda run: measured(run, results))
    folder = start(plan, results, *only)
    before = experiment_progress(folder)
    with monkeypatch.context() as killing:
        killing.setattr(ExperimentFolder, "write_plan", die)
        killed(lambda: resume(folder, *only, blocks=before.blocks + 1))
    assert experiment_progress(folder).status is ExperimentStatus.KILLED
    resume(folder, *only)
    now = experiment_progress(folder)
    assert (now.status, now.blocks, now.done) == (ExperimentStatus.DONE, before.blocks + 1, now.total)
    assert now.total > before.total
    resume(folder, *only)
    assert experiment_progress(folder) == now


def test_no_snapshot_is_left_by_a_process_that_was_killed_after_the_server_was_restored(
    servers: Named, results: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    only = (control(servers), lambda run: measured(run, results))
    with monkeypatch.context() as killing:
        killing.setattr(ExperimentFolder, "drop_before", die)
        killed(lambda: start(compared(), results, *only))
    folder = ExperimentFolder(results / "experiments" / "compare-1")
    assert folder.before.exists()
    start(compared().model_copy(update={"experiment_id": "compare-2"}), results, *only)
    assert not folder.before.exists()
    assert folder.journal.state.counts[Step.RUN_FINISHED] == 2
