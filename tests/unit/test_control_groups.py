"""What a container, a pod or a service manager lets a process use, by control groups of both versions."""

from __future__ import annotations

import math
import os
import subprocess
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path

import psutil
import pytest

from hdbkit.control_groups import groups_with_cpu, limits, throttled_s

HOST = psutil.virtual_memory().total
V2 = "31 24 0:27 / /sys/fs/cgroup rw,nosuid - cgroup2 cgroup2 rw\n"
V1 = "".join(
    f"3{n} 31 0:3{n} {{root}} /sys/fs/cgroup/{name} rw - cgroup cgroup rw,{name}\n"
    for n, name in enumerate(("cpu,cpuacct", "memory"))
)
CASES: dict[str, tuple[str, str, Mapping[str, str], float | None, int, float]] = {
    "a container of version 2 sees its own group as the root": (
        V2,
        "0::/\n",
        {"cpu.max": "150000 100000", "memory.max": "1073741824", "cpu.stat": "throttled_usec 2500000"},
        1.5,
        1 << 30,
        2.5,
    ),
    "the group above limits too": (
        V2,
        "0::/kubepods/pod1/web\n",
        {
            "kubepods/pod1/web/cpu.max": "max 100000",
            "kubepods/pod1/cpu.max": "50000 100000",
            "kubepods/pod1/web/memory.max": "max",
            "kubepods/memory.high": "536870912",
            "kubepods/pod1/cpu.stat": "throttled_usec 1000000",
        },
        0.5,
        1 << 29,
        1,
    ),
    "a container of version 1 has the host's path": (
        V1.format(root="/docker/abc"),
        "5:memory:/docker/abc\n4:cpu,cpuacct:/docker/abc\n",
        {
            "cpu,cpuacct/cpu.cfs_quota_us": "200000",
            "cpu,cpuacct/cpu.cfs_period_us": "100000",
            "cpu,cpuacct/cpu.stat": "nr_periods 9\nnr_throttled 3\nthrottled_time 1500000000",
            "memory/memory.limit_in_bytes": "1073741824",
        },
        2,
        1 << 30,
        1.5,
    ),
    "unlimited": (
        V1.format(root="/"),
        "5:memory:/\n4:cpu,cpuacct:/user.slice\n",
        {
            "cpu,cpuacct/cpu.cfs_quota_us": "-1",
            "cpu,cpuacct/cpu.cfs_period_us": "100000",
            "memory/memory.limit_in_bytes": "9223372036854771712",
        },
        None,
        HOST,
        math.nan,
    ),
    "no control groups": ("", "", {}, None, HOST, math.nan),
}


@pytest.mark.parametrize("case", CASES)
def test_limits_are_those_of_the_control_groups(case: str, tmp_path: Path) -> None:
    mounts, groups, files, quota, memory_bytes, paused_s = CASES[case]
    pid = os.getpid()
    written = {"proc/self/mountinfo": mounts, f"proc/{pid}/cgroup": groups}
    for name, text in (written | {f"sys/fs/cgroup/{name}": text for name, text in files.items()}).items():
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    found = limits(root=tmp_path)
    here = len(os.sched_getaffinity(0))
    assert (found.quota, found.memory_bytes) == (quota, memory_bytes)
    assert found.cores == (here if quota is None else min(here, math.ceil(quota)))
    assert throttled_s(groups_with_cpu(pid, root=tmp_path)) == pytest.approx(paused_s, nan_ok=True)


@pytest.fixture
def little_of_a_core() -> Iterator[Path]:
    """A control group with a quota, of whichever version the host has."""
    for top, files in (
        ("/sys/fs/cgroup/cpu", {"cpu.cfs_period_us": "20000", "cpu.cfs_quota_us": "1000"}),
        ("/sys/fs/cgroup", {"cpu.max": "1000 20000"}),
    ):
        group = Path(top) / f"hdbkit-test-{os.getpid()}"
        try:
            group.mkdir()
            for name, text in files.items():
                (group / name).write_text(text)
        except OSError:
            if group.is_dir():
                group.rmdir()
            continue
        yield group
        group.rmdir()
        return
    pytest.skip("needs an account that may create control groups")


def test_a_process_is_limited_and_paused_by_the_kernel(little_of_a_core: Path) -> None:
    code = "import time\nwhile time.process_time() < 0.05: pass\nprint(flush=True)\ninput()"
    with subprocess.Popen([sys.executable, "-c", code], stdin=subprocess.PIPE, stdout=subprocess.PIPE) as limited:
        (little_of_a_core / "cgroup.procs").write_text(str(limited.pid))
        os.sched_setaffinity(limited.pid, {min(os.sched_getaffinity(0))})
        assert limited.stdout
        limited.stdout.readline()
        assert (limits(limited.pid).cores, limits(limited.pid).quota) == (1, 0.05)
        assert throttled_s(groups_with_cpu(limited.pid)) > 0
        limited.communicate(b"\n")
