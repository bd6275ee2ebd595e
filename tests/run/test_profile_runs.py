"""A profile on the command line: its runs, their tag, and its repetition."""

from __future__ import annotations

import os
import signal
from pathlib import Path

import hdbkit
from hdbkit.config import Load
from hdbkit.servers import PrivateServer, control
from tests.conftest import HdbkitCommand
from tests.run.conftest import NullTarget, wait_for

SHORT = ("--rampup-s", 0, "--duration-s", 0.4, "--json")


def test_a_profile_done_twice_has_all_its_runs(
    command: HdbkitCommand, null_target: NullTarget, results: Path
) -> None:
    url = null_target().url
    assert command("profile", "nightly", url, "-u", "1,2", *SHORT).code == 0
    said = command("profile", "nightly", url, "-u", "1,2", *SHORT).json
    assert [row["runs"] for row in said["cells"]] == [2, 2]
    assert (said["more"]["profile"], said["metric"]["name"]) == ("nightly", "NOPM")
    assert sorted((row["virtual_users"], row["block"]) for row in said["runs"]) == [(1, 1), (1, 2), (2, 1), (2, 2)]
    assert set(hdbkit.runs("tags LIKE '%profile:nightly%'")["label"]) == {"nightly"}
    assert set(hdbkit.history("nightly").segments["cause"]) == {"first"}
    assert command("profile", "night ly", url).code == 2
    assert command("profile", "nightly", url, "-u", "0,2").code == 2


def test_a_profile_in_a_process_of_its_own_that_was_killed_is_resumed(
    command: HdbkitCommand, null_target: NullTarget, results: Path
) -> None:
    name = command("profile", "nightly", null_target().url, "-u", "1,2", "--blocks", 2, *SHORT[:-1], "--detach")
    running = hdbkit.attach_experiment(name.out.strip())
    wait_for(lambda: running.progress().done >= 1)
    os.kill(running.folder.journal.state.executed_by or 0, signal.SIGKILL)
    wait_for(lambda: running.status.ended)
    found = hdbkit.resume_experiment(running.experiment_id)
    assert isinstance(found, hdbkit.Profile)
    notes = [(line.step, line.note) for line in running.folder.journal.state.runs.values()]
    assert sorted(zip(found.runs["virtual_users"], found.runs["block"], strict=True)) == [
        (1, 1), (1, 2), (2, 1), (2, 2),
    ], notes  # fmt: skip
    assert found.confidence == 0.95, "two blocks allow no statement on a peak"
    longer = hdbkit.resume_experiment(running.experiment_id, blocks=3)
    assert isinstance(longer, hdbkit.Profile)
    assert round(longer.confidence, 6) == 0.96
    listed = hdbkit.experiments().iloc[0]
    assert (listed["kind"], listed["status"], listed["runs"], listed["ended"]) == ("profile", "done", 6, 6)


def test_the_server_is_in_the_same_state_before_each_run_of_a_profile(built: PrivateServer, results: Path) -> None:
    """What the runs insert is gone before the next one, background work is done, and all is as before at the end."""
    before = {name: one.value for name, one in control(built.target).settings().items()}
    load = Load(rampup_s=0, duration_s=1)
    found = hdbkit.profile("grown", built.target, load=load, virtual_users=[1, 2], blocks=1)
    folder = hdbkit.attach_experiment("last").folder
    places = [hdbkit.result(one).manifest.plan.experiment for one in found.runs["run_id"]]
    assert all(one is not None and one.restored_s > 0 and one.maintained_s > 0 for one in places)
    sizes = [hdbkit.result(one).summary.data for one in found.runs["run_id"]]
    assert len({one and one.counted_before for one in sizes}) == 1, "each run begins with the data as found"
    assert {name: one.value for name, one in control(built.target).settings().items()} == before
    assert not folder.before.exists()
    assert not folder.journal.state.changed and not folder.journal.state.data_kept
