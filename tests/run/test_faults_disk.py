"""A full disk on the load host, before and during a run, on a small file system that only root may mount."""

from __future__ import annotations

import contextlib
import errno
import os
import resource
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

import hdbkit
from hdbkit.api import Running
from hdbkit.api import result as result_of
from hdbkit.config import Load, SweepSpec
from hdbkit.errors import ExperimentFailed, InputError, RunFailed
from hdbkit.experiment import EventKind, ExperimentEvent
from hdbkit.files import JsonLines, read_lines
from hdbkit.results.manifest import Status
from hdbkit.results.spool import SpoolReader, SpoolWriter
from hdbkit.servers import control
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
    time.sleep(0.5)  # some samples of the counters, of which the last will close the window
    sentence = (
        "the disk of .* is full; what was finished until then is kept; its tables could not be written .*recover"
    )
    with full(small):
        with pytest.raises(RunFailed, match=sentence):
            running.wait()
        shown = command("runs", "show", running.run_id)
        assert (shown.code, shown.err) == (0, "")
        assert command("runs", "list", "--json").json[0]["status"] == "failed"
        for catalog in small.glob("catalog.sqlite*"):
            catalog.unlink()
        with full(small):  # also of what was kept for this sentence
            assert command("runs", "list", "--json").json[0]["status"] == "failed"
            said = command("recover", running.run_id)
            assert (said.code, "its tables could not be written" in said.err) == (3, True)
            assert said.err.count("\n") == 1
    assert command("recover", running.run_id).code in (0, 1)
    result = result_of(running.run_id)
    assert result.manifest.status is Status.STOPPED
    counts = rows(result, "select count(*) from {t} group by virtual_user")
    assert any(count % 65_536 == 0 for (count,) in counts)  # the record that met the full disk was not lost
    bracket = result.checks.set_index("name").loc["schema's count bracketed by the clients"]
    assert bracket["passed"], bracket["detail"]
    assert not result.folder.spools.exists()


def test_a_disk_that_is_full_already_is_reported_before_anything_is_made(
    small: Path, null_target: NullTarget, command: HdbkitCommand
) -> None:
    with full(small):
        said = command("run", null_target().url, "--rampup-s", 0, "--duration-s", 1)
        assert said.code == 2
        assert said.err.startswith("hdbkit: the folder ")
        assert "No space left on device" in said.err
        assert said.err.count("\n") == 1
        assert [path.name.partition("-")[0] for path in small.iterdir()] == ["filler"]


def test_a_line_that_does_not_fit_leaves_nothing_behind(tmp_path: Path) -> None:
    path = tmp_path / "log.ndjson"
    lines = JsonLines(path)
    lines.add({"event": 1})
    whole = path.read_bytes()
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (len(whole) + 5, hard))  # a write then ends short, as on a full disk
    try:
        with pytest.raises(OSError, match="No space left"):
            lines.add({"event": 2})
        lines.try_to_add({"event": 3})
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    assert path.read_bytes() == whole
    lines.add({"event": 4})
    assert [row["event"] for row in read_lines(path)] == [1, 4]
    lines._file.close()


def test_the_record_that_meets_a_full_disk_is_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def no_space(*_: int) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    writer = SpoolWriter(tmp_path / "0.spool", 0, {})
    monkeypatch.setattr(os, "posix_fallocate", no_space)
    finished = 0
    with pytest.raises(OSError, match="No space left"):
        while True:
            finished += 1
            writer.append(0, 0, finished, bytes(5), 0, 0, 0)
    writer.close()
    reader = SpoolReader(tmp_path / "0.spool")
    assert reader.read().size == finished
    reader.close()


@pytest.mark.parametrize("when", ["before it", "before a run", "during a run"])
def test_a_disk_that_fills_during_a_sweep_leaves_the_server_as_it_was_and_the_sweep_is_resumed(
    small: Path, null_target: NullTarget, when: str
) -> None:
    target = null_target().with_(may_change_settings=True)
    spec = SweepSpec(
        name="full",
        settings={"speed": ["1", "2"]},
        blocks=2,
        virtual_users=[1],
        cooldown_s=0,
        load=Load(rampup_s=0, duration_s=1),
    )
    heard: list[ExperimentEvent] = []
    with contextlib.ExitStack() as disk:

        def fill(event: ExperimentEvent) -> None:
            heard.append(event)
            third = event.planned is not None and event.planned.number == 3
            if when == "before a run" and third and event.kind is EventKind.STARTED:
                disk.enter_context(full(small))

        def fill_later(run: Running) -> None:
            third = heard[-1].planned is not None and heard[-1].planned.number == 3
            if when == "during a run" and third and run.status is Status.MEASURING and not filled:
                filled.append(disk.enter_context(full(small)))

        filled = list[None]()
        if when == "before it":
            with full(small), pytest.raises(InputError, match=r"cannot be filled \(No space left"):
                hdbkit.sweep(target, spec)
            hdbkit.sweep(target, spec)
            return
        sentence = "the disk of .* is full; finished runs are kept; free space on it, then run: hdbkit resume .*full"
        with pytest.raises(ExperimentFailed, match=sentence):
            hdbkit.sweep(target, spec, watch=fill, watch_run=fill_later)
        assert control(target).settings()["speed"].value == "1"
    done = hdbkit.resume_experiment("last", watch=heard.append)
    assert set(done.runs["status"]) == {"done"}
    assert done.restored
