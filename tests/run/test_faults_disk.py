"""The load host out of disk, before and in the middle of a run; on a small file system, which only root may mount."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

import hdbkit
from hdbkit.api import result as result_of
from hdbkit.config import Load
from hdbkit.errors import RunFailed
from hdbkit.results.manifest import Status
from tests.conftest import HdbkitCommand
from tests.run.conftest import NullTarget
from tests.run.faults import full, rows, wait_for


@pytest.fixture
def small(results: Path) -> Iterator[Path]:
    """The folder of results, on a file system of its own, with 32 MB."""
    mounted = subprocess.run(["mount", "-t", "tmpfs", "-o", "size=32m", "tmpfs", results], check=False, stderr=-3)
    if mounted.returncode:
        pytest.skip("only root may mount a small file system")
    yield results
    for run_id in hdbkit.runs()["run_id"]:
        hdbkit.attach(run_id).stop(at_once=True)
    subprocess.run(["umount", "-l", results], check=True)


def test_a_full_disk_ends_the_run_in_a_sentence_and_all_is_there_when_it_has_space(
    small: Path, null_target: NullTarget, command: HdbkitCommand
) -> None:
    load = Load(virtual_users=2, rampup_s=0, duration_s=600, counter_interval_s=0.2)
    running = hdbkit.start(null_target(), load=load)
    wait_for(running, Status.MEASURING)
    sentence = (
        "the disk of .* is full; what was finished until then is kept; its tables could not be written .*recover"
    )
    with full(small):
        with pytest.raises(RunFailed, match=sentence):
            running.wait()
        shown = command("runs", "show", running.run_id)
        assert (shown.code, shown.err) == (0, "")
        assert command("runs", "list", "--json").json[0]["status"] == "failed"
        with full(small):  # also of what was kept for this sentence
            said = command("recover", running.run_id)
            assert (said.code, "its tables could not be written" in said.err) == (3, True)
            assert said.err.count("\n") == 1
    assert command("recover", running.run_id).code in (0, 1)
    result = result_of(running.run_id)
    assert result.manifest.status is Status.STOPPED
    (most,) = rows(result, "select max(n) from (select count(*) n from {t} group by virtual_user)")
    assert most[0] % 65_536 == 0  # every record of the segments that there were
    bracket = result.checks.set_index("name").loc["schema's count bracketed by the clients"]
    assert bracket["passed"], bracket["detail"]  # the record that filled the disk was not lost
    assert not result.folder.spools.exists()


def test_a_disk_that_is_full_already_is_told_before_anything_is_made(
    small: Path, null_target: NullTarget, command: HdbkitCommand
) -> None:
    with full(small):
        said = command("run", null_target().url, "--rampup-s", 0, "--duration-s", 1)
        assert said.code == 2
        assert said.err.startswith("hdbkit: the folder ")
        assert "No space left on device" in said.err
        assert said.err.count("\n") == 1
        assert [path.name.partition("-")[0] for path in small.iterdir()] == ["filler"]
