"""Two sides measured in turn in one session, on the null engine."""

from __future__ import annotations

from pathlib import Path

import pytest

import hdbkit
from hdbkit.config import Load, Target, TprocCSpec
from hdbkit.errors import InputError
from hdbkit.plan import RunPlan, SweepPosition
from tests.conftest import HdbkitCommand
from tests.run.conftest import NullTarget
from tests.unit.synthetic import with_result, write_run

SHORT = ("--run", "--rampup-s", 0, "--duration-s", 0.4)


def test_two_targets_are_measured_in_turn_and_an_interrupted_comparison_continues(
    command: HdbkitCommand, null_target: NullTarget
) -> None:
    fast, slow = (null_target(latency_us=latency).url for latency in (1000, 20_000))
    typed = ("compare", fast, slow, *SHORT, "--blocks", 3, "-u", 1, "--label", "gate")
    said = command(*typed, "--json", "--fail-below", "-2%")
    found = said.json
    assert (found["unit"], found["basis"][:23]) == ("blocks of one session", "3 blocks of one session")
    assert found["ratio"] < 0.7
    assert "run   6 of 6" in said.err
    runs = hdbkit.runs().iloc[::-1]
    assert set(runs["label"]) == {"gate-base", "gate-new"}
    sides = list(runs["label"])
    assert all(set(sides[place : place + 2]) == {"gate-base", "gate-new"} for place in (0, 2, 4))
    hdbkit.result(runs["run_id"].iloc[-1]).remove()
    again = command(*typed, "--json")
    assert again.err.count("(kept)") == 5
    assert len(hdbkit.runs()) == 6
    other = command(*typed[:-1], "gate", "--max-retries", 3)
    assert (other.code, "has the label gate-base and measured something else" in other.err) == (2, True)


@pytest.mark.long
def test_two_targets_are_measured_together_and_only_runs_of_the_same_time_are_kept(
    command: HdbkitCommand, null_target: NullTarget
) -> None:
    fast, slow = (null_target(latency_us=latency).url for latency in (1000, 20_000))
    typed = ("compare", fast, slow, *SHORT, "--together", "--blocks", 2, "-u", 1, "--label", "pairs")
    found = command(*typed, "--json").json
    assert found["basis"].startswith("2 blocks of one session, both sides at the same time")
    assert found["ratio"] < 0.7
    runs = hdbkit.runs().iloc[::-1]
    hdbkit.result(runs["run_id"].iloc[-1]).remove()
    again = command(*typed, "--json")
    assert again.err.count("(kept)") == 2
    assert len(hdbkit.runs()) == 5, "the run whose partner was removed is measured again beside a new one"
    alone = command("compare", fast, fast, *SHORT, "--together")
    assert (alone.code, "both sides are the same target" in alone.err) == (2, True)


def test_the_work_of_runs_is_measured_again_and_a_target_takes_it(null_target: NullTarget, results: Path) -> None:
    at = null_target(latency_us=1000)
    load = Load(virtual_users=2, rampup_s=0, duration_s=0.3, max_retries=7)
    hdbkit.run(at, load=load, label="before")
    turns = []
    found = hdbkit.compare("before", null_target(latency_us=2000), run=True, blocks=1, watch=turns.append)
    assert [(turn.virtual_users, turn.measured) for turn in turns] == [(2, True)] * 2
    loads = [one.manifest.plan["load"] for one in (*found.base, *found.new)]
    assert [(one["max_retries"], one["duration_s"]) for one in loads] == [(7, 0.3)] * 2
    assert found.names[0] == "before (base)"
    assert turns[0].label in found.ratio.sentence, "the advice repeats this work, not what the command line gave"
    shorter = hdbkit.compare("before", "before", run=True, blocks=1, load=Load(duration_s=0.2), virtual_users=[1])
    assert [one.virtual_users for one in shorter.base] == [1]
    assert shorter.new[0].manifest.plan["load"] | {"virtual_users": 2, "duration_s": 0.3} == loads[0]
    with pytest.raises(InputError, match="is no run; to measure it now"):
        hdbkit.compare("before", at)


def test_runs_of_a_sweep_are_not_measured_again_and_no_command_says_so(results: Path) -> None:
    place = SweepPosition(sweep_id="a-sweep", number=1, block=1, configuration=0, settings={"flush": "on"})
    for name in ("one", "two"):
        at = Target(kind="nulldb", database="x")
        plan = RunPlan(
            run_id=name,
            target=at,
            workload=TprocCSpec(warehouses=1),
            load=Load(duration_s=2, rampup_s=0),
            sweep=place,
        )
        with_result(write_run(results / name, plan=plan))
    with pytest.raises(InputError, match="run one belongs to sweep a-sweep, whose settings are not applied here"):
        hdbkit.compare("one", "two", run=True)
    advised = hdbkit.compare("one", "two").ratio.sentence
    assert advised.endswith("measure both sides in turn in one session")


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
