"""Which file systems may be frozen, and that a frozen one is thawed."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from hdbkit.config import Target
from hdbkit.config.fault import Fault
from hdbkit.errors import InputError, ServerFailed
from hdbkit.faults.actions import Actions, _check_disk
from hdbkit.faults.file_system import Freezing, Mount, _frozen_alone, mounts, own_file_system, thaw
from hdbkit.faults.undo import Leftover, ServerState, undo
from tests.run.file_systems import own_file_system as mounted_for_a_test

OWN = Mount(9_999, "9:9", "/", Path("/data"), "ext4", "rw")
NEEDED = (Path("/"),)
PAUSE = Fault.parse("pause disk at 1 s for 1 s")


@pytest.fixture(scope="module")
def disk() -> Iterator[Path]:
    """A file system of its own."""
    with mounted_for_a_test() as place:
        if place is None:
            pytest.skip("only root may mount and freeze a file system, and mkfs.ext4 makes it")
        yield place


@pytest.fixture
def server(disk: Path) -> Iterator[int]:
    """A process that works in it."""
    folder = disk / "data"
    folder.mkdir(exist_ok=True)
    with subprocess.Popen(["sleep", "600"], cwd=folder) as process:
        yield process.pid
        process.kill()


def test_a_line_of_the_kernels_list_is_read() -> None:
    line = r"36 35 98:0 /mnt1 /mnt\0402 rw,noatime shared:1 master:2 - ext3 /dev/root rw,errors=continue"
    assert Mount.parse(line) == Mount(36, "98:0", "/mnt1", Path("/mnt 2"), "ext3", "rw,errors=continue")


def test_a_file_system_with_the_servers_data_alone_may_be_frozen() -> None:
    here = mounts("self")
    root = next(one for one in reversed(here) if one.point == Path("/"))
    assert _frozen_alone(OWN, [*here, OWN], NEEDED) == Path("/data")
    part = replace(OWN, root="/volumes/1", point=Path("/var/lib/postgresql"))
    assert _frozen_alone(part, [*here, part, OWN], NEEDED) == Path("/data")
    for data, others, reason in (
        (replace(OWN, kind="btrfs"), [OWN], "kind btrfs; only these are frozen: ext3, ext4"),
        (replace(OWN, kind="overlay"), [OWN], "kind overlay"),
        (replace(OWN, kind="tmpfs"), [OWN], "kind tmpfs"),
        (replace(OWN, device=root.device), [], "mounted at /data also holds /"),
        (part, [part], "only a part of the file system of /var/lib/postgresql is mounted here; the rest is unknown"),
    ):
        with pytest.raises(ServerFailed, match=reason):
            _frozen_alone(data, [*here, *others], NEEDED)


def test_the_file_system_with_the_layer_that_an_overlay_writes_to_is_not_frozen(tmp_path: Path) -> None:
    """As in a container, which sees the layer at another path than its host."""
    own = replace(OWN, point=tmp_path)
    layer = "rw,lowerdir=/x,upperdir=/var/lib/docker/overlay2/4711/diff,workdir=/y"
    here = [replace(one, kind="overlay", options=layer) if one.point == Path("/") else one for one in mounts("self")]
    assert _frozen_alone(own, [*here, own], NEEDED) == tmp_path
    (tmp_path / "docker" / "overlay2" / "4711" / "diff").mkdir(parents=True)
    with pytest.raises(ServerFailed, match="also holds /"):
        _frozen_alone(own, [*here, own], NEEDED)


def test_a_disk_with_results_is_not_frozen(disk: Path, server: int, tmp_path: Path) -> None:
    assert own_file_system(server, tmp_path / "results" / "new") == disk
    with pytest.raises(InputError, match=f"the one that is mounted at {disk} also holds {disk}/results/new"):
        _check_disk(PAUSE, server, disk / "results" / "new")


def test_results_in_an_image_on_a_disk_keep_it_from_being_frozen(disk: Path, server: int) -> None:
    image, place = disk / "image", disk.parent / "inner"
    with image.open("wb") as file:
        file.truncate(8 << 20)
    place.mkdir()
    subprocess.run(["mkfs.ext4", "-q", "-F", image], check=True)
    subprocess.run(["mount", "-o", "loop", image, place], check=True)
    try:
        with pytest.raises(InputError, match=f"the one that is mounted at {disk} also holds {place}/results"):
            _check_disk(PAUSE, server, place / "results")
    finally:
        subprocess.run(["umount", place], check=True)


def test_a_disk_accepts_no_writes_until_the_fault_is_undone(
    disk: Path, server: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Actions, "_find_server", lambda _: server)
    action = Actions(Target.parse("postgresql://db1/x"), 1).of(PAUSE, tmp_path / "fault-0.json")
    for _ in range(2):
        action.begin()
        with subprocess.Popen(["touch", disk / "written"]) as writing:
            try:
                with pytest.raises(subprocess.TimeoutExpired):
                    writing.wait(0.3)
            finally:
                action.end()
            assert writing.wait() == 0
        assert not (tmp_path / "fault-0.json").exists()


def test_a_disk_that_nobody_thaws_is_thawed_by_a_thread(disk: Path) -> None:
    freezing = Freezing(disk, 0.2)
    with subprocess.Popen(["touch", disk / "written late"]) as writing:
        try:
            assert writing.wait(120) == 0
        finally:
            freezing.end()
    freezing.end()
    thaw(disk)


def test_a_disk_that_another_process_froze_is_thawed(disk: Path, tmp_path: Path) -> None:
    """As by the supervisor, when the process that froze it was killed."""
    target = Target.parse("postgresql://db1/x")
    with Leftover(ServerState.DISK_FROZEN, {}, target, str(disk)).written(tmp_path / "fault-0.json"):
        freezing = Freezing(disk, 600)
    with subprocess.Popen(["touch", disk / "written again"]) as writing:
        try:
            undo(tmp_path / "fault-0.json")
            assert writing.wait(120) == 0
        finally:
            freezing.end()


def test_what_cannot_be_frozen_is_an_error_and_leaves_no_thread(disk: Path) -> None:
    freezing = Freezing(disk, 60)
    try:
        with pytest.raises(ServerFailed, match="cannot be frozen: Device or resource busy"):
            Freezing(disk, 60)
    finally:
        freezing.end()
