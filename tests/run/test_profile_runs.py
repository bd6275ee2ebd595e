"""A profile on the command line: its runs, their tag, and its repetition."""

from __future__ import annotations

import os
import signal
from pathlib import Path

import hdbkit
from tests.conftest import HdbkitCommand
from tests.run.conftest import NullTarget, wait_for

SHORT = ("--rampup-s", 0, "--duration-s", 0.4, "--json")


def test_a_profile_done_twice_has_all_its_runs(
    command: HdbkitCommand, null_target: NullTarget, results: Path
) -> None:
    url = null_target().url
    assert command("profile", "nightly", url, "-u", "1,2", *SHORT).code == 0
    said = command("profile", "nightly", url, "-u", "1,2", *SHORT).json
    assert [row["runs"] for row in said["by_users"]] == [2, 2]
    assert (said["profile"], said["metric"]["name"]) == ("nightly", "NOPM")
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
    assert sorted(zip(found.runs["virtual_users"], found.runs["block"], strict=True)) == [
        (1, 1), (1, 2), (2, 1), (2, 2),
    ]  # fmt: skip
    listed = hdbkit.experiments().iloc[0]
    assert (listed["kind"], listed["status"], listed["runs"], listed["ended"]) == ("profile", "done", 4, 4)
