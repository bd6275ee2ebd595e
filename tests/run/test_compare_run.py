"""Two sides measured in turn in one session, on the null engine."""

from __future__ import annotations

import json
import os
import signal
from pathlib import Path
from typing import Any

import pytest

import hdbkit
from hdbkit.config import ControlSpec, Load, Target, TprocCSpec
from hdbkit.config.control_spec import Commands
from hdbkit.errors import InputError
from hdbkit.experiment import EventKind, ExperimentEvent
from hdbkit.experiment.kinds import read_plan
from hdbkit.plan import ExperimentPosition, RunPlan
from hdbkit.results.journal import Step
from tests.conftest import HdbkitCommand
from tests.run.conftest import NullTarget, wait_for
from tests.unit.synthetic import with_result, write_run

SHORT = ("--run", "--rampup-s", 0, "--duration-s", 0.4)


def test_two_targets_are_measured_in_turn(command: HdbkitCommand, null_target: NullTarget) -> None:
    fast, slow = (null_target(latency_us=latency).url for latency in (1000, 20_000))
    typed = ("compare", fast, slow, *SHORT, "--blocks", 3, "-u", 1, "--label", "gate")
    said = command(*typed, "--json", "--fail-below", "-2%")
    found = said.json
    assert (found["more"]["unit"], found["basis"][:23]) == ("blocks of one session", "3 blocks of one session")
    assert found["best"]["ratio"] < 0.7
    assert "run   6 of 6" in said.err
    runs = hdbkit.runs().iloc[::-1]
    sides = list(runs["label"])
    assert all(set(sides[place : place + 2]) == {"gate-base", "gate-new"} for place in (0, 2, 4))
    longer = command("resume", "last", "--blocks", 4, "--json")
    assert longer.json["basis"].startswith("4 blocks of one session")
    assert len(hdbkit.runs()) == 8
    again = hdbkit.plan_comparison(fast, slow, blocks=3, label="gate")
    assert again.ends == (3, 4, 7), "comparisons under one label share one error rate"


def test_a_comparison_of_its_own_process_that_was_killed_is_resumed_as_one_that_was_not(
    command: HdbkitCommand, null_target: NullTarget
) -> None:
    """The run that was in progress outlives its experiment, or is repeated; every planned run exists once."""
    fast, slow = (null_target(latency_us=latency).url for latency in (1000, 2000))
    at = ("compare", fast, slow, "--run", "--rampup-s", 0, "--duration-s", 1, "--blocks", 3, "-u", 1)
    name = command(*at, "--cooldown-s", 0, "--detach").out.strip()
    running = hdbkit.attach_experiment(name)
    wait_for(lambda: running.progress().done == 2)
    os.kill(running.folder.journal.state.executed_by or 0, signal.SIGKILL)
    wait_for(lambda: running.status is hdbkit.ExperimentStatus.KILLED)
    assert command("resume", name).code == 0
    assert running.status is hdbkit.ExperimentStatus.DONE
    found = running.result
    assert (len(found.base), len(found.new)) == (3, 3)
    planned = read_plan(running.folder)
    ended = [line for line in running.folder.journal.lines if line.step is Step.RUN_FINISHED]
    assert [line.number for line in ended] == [one.number for one in planned.runs]
    assert found.basis.startswith("3 blocks of one session")
    assert not any(server.changed for server in running.folder.journal.state.servers.values())


@pytest.mark.long
def test_two_targets_are_measured_together(command: HdbkitCommand, null_target: NullTarget) -> None:
    fast, slow = (null_target(latency_us=latency).url for latency in (1000, 20_000))
    typed = ("compare", fast, slow, *SHORT, "--together", "--blocks", 2, "-u", 1, "--label", "pairs")
    found = command(*typed, "--json").json
    assert found["basis"].startswith("2 blocks of one session, both sides at the same time")
    assert found["best"]["ratio"] < 0.7
    alone = command("compare", fast, fast, *SHORT, "--together")
    assert (alone.code, "both sides are the same target" in alone.err) == (2, True)


def test_the_work_of_runs_is_measured_again_and_a_target_takes_it(null_target: NullTarget, results: Path) -> None:
    at = null_target(latency_us=1000)
    load = Load(virtual_users=2, rampup_s=0, duration_s=0.3, max_retries=7)
    hdbkit.run(at, load=load, label="before")
    steps: list[ExperimentEvent] = []
    planned = hdbkit.plan_comparison("before", null_target(latency_us=2000), blocks=1)
    found = hdbkit.run_experiment(planned, watch=steps.append)
    assert isinstance(found, hdbkit.Comparison)
    ended = [one.planned for one in steps if one.kind is EventKind.FINISHED]
    assert [one and one.virtual_users for one in ended] == [2, 2]
    loads = [one.manifest.plan.load for one in (*found.base, *found.new)]
    assert [(one.max_retries, one.duration_s) for one in loads] == [(7, 0.3)] * 2
    assert found.names[0] == "before (base)"
    label = found.base[0].manifest.plan.label.removesuffix("-base")
    assert label in found.ratio.sentence, "the advice repeats this work, not what the command line gave"
    shorter = hdbkit.measure_in_turn("before", "before", blocks=1, load=Load(duration_s=0.2), virtual_users=[1])
    assert [one.virtual_users for one in shorter.base] == [1]
    assert shorter.new[0].manifest.plan.load.with_(virtual_users=2, duration_s=0.3) == loads[0]
    with pytest.raises(InputError, match="is no run; to measure it now"):
        hdbkit.compare("before", at)


def test_runs_of_a_sweep_are_not_measured_again_and_no_command_says_so(results: Path) -> None:
    place = ExperimentPosition(experiment_id="a-sweep", number=1, block=1, configuration=0, settings={"flush": "on"})
    for name in ("one", "two"):
        at = Target(kind="nulldb", database="x")
        plan = RunPlan(
            run_id=name,
            target=at,
            workload=TprocCSpec(warehouses=1),
            load=Load(duration_s=2, rampup_s=0),
            experiment=place,
        )
        with_result(write_run(results / name, plan=plan))
    with pytest.raises(InputError, match="run one belongs to sweep a-sweep, whose settings are not applied here"):
        hdbkit.measure_in_turn("one", "two")
    advised = hdbkit.compare("one", "two").ratio.sentence
    assert advised.endswith("measure both sides in turn in one session")


def test_what_files_of_a_run_describe_beyond_an_address_is_used_only_if_the_user_describes_it_alike(
    null_target: NullTarget, results: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """They may come from elsewhere: a command to restart the server, load hosts, an agent."""
    at = null_target(latency_us=1000)
    ran = tmp_path / "ran"
    restarts = ControlSpec(commands=Commands(restart=("touch", str(ran))))
    told = at.model_copy(update={"control": restarts, "may_restart": True})
    load: dict[str, Any] = {"duration_s": 0.2, "rampup_s": 0}
    sides: list[tuple[str, Target, dict[str, Any]]] = [
        ("commands", told, {}),
        ("driver", at.with_(options={"driver": "/tmp/driver.so"}), {}),
        ("hosts", at, {"cluster": "tls://elsewhere:8786"}),
    ]
    for name, target, more in sides:
        plan = RunPlan(run_id=name, target=target, workload=TprocCSpec(warehouses=2), load=Load(**load, **more))
        with_result(write_run(results / name, plan=plan))
        with pytest.raises(InputError, match=r"which (is|are) not (used|taken from its files)"):
            hdbkit.plan_comparison(name, at)
    entry = {**told.model_dump(mode="json", exclude_defaults=True), "name": None}
    known = tmp_path / "targets.yaml"
    known.write_text(json.dumps({"mine": {key: value for key, value in entry.items() if value is not None}}))
    monkeypatch.setenv("HDBKIT_TARGETS", str(known))
    assert hdbkit.plan_comparison("commands", at).sides[0].target.control == restarts
    assert not ran.exists()


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (("nothing", "nulldb:///x", "--run"), "there is no run 'nothing'"),
        (("nulldb:///x", "nulldb://a:secret@x/y", "--run"), "contains a password"),
        (("nulldb:///x", "nulldb:///y", "--run", "-u", "0"), "counts of virtual users and blocks of 1 or more"),
        (("nulldb:///x", "nulldb:///y", "--run", "-u", "two"), "--virtual-users must be numbers"),
        (("nulldb:///x", "nulldb:///y", "--run", "--label", "a b"), "a label is one word"),
        (("a", "b", "--blocks", "3"), "need --run"),
        (("a", "b", "--together"), "need --run"),
        (("a", "b", "--duration-s", "3"), "need --run"),
    ],
)
def test_what_cannot_be_measured_is_one_sentence(
    command: HdbkitCommand, results: Path, words: tuple[str, ...], sentence: str
) -> None:
    said = command("compare", *words)
    assert (said.code, said.out) == (2, "")
    assert sentence in " ".join(said.err.split())
    assert "secret" not in said.err
    assert hdbkit.runs().empty
