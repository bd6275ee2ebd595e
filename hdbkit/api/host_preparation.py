"""The kernel parameters that a database in shared memory needs on its host, and the lines that set them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from hdbkit.readings import HostNeeds

_PAGE_BYTES, _HUGE_PAGE_BYTES = 4096, 2 << 20
_OTHER_SEMAPHORES: Final = (2000, 2560)
"""Operations of one call, and sets, where the host's own numbers are unknown."""


@dataclass(frozen=True)
class KernelParameter:
    """A parameter, what it must be at least, what it is (empty: unknown), and the line that sets it."""

    name: str
    needed: tuple[int, ...]
    found: tuple[int, ...]
    line: str

    @property
    def too_small(self) -> bool:
        """Whether the host allows less than is needed."""
        return any(has < needs for has, needs in zip(self.found, self.needed, strict=False))


def kernel_parameters(needs: HostNeeds, kernel: Mapping[str, Sequence[int]]) -> list[KernelParameter]:
    """What the database needs of the kernel, compared with the kernel of its host; empty ``kernel``: unknown."""
    size = needs.shared_bytes
    operations, sets = kernel.get("kernel.sem", (0, 0, *_OTHER_SEMAPHORES))[2:]
    pages = -(-size // kernel.get("Hugepagesize", [_HUGE_PAGE_BYTES])[0])
    sysctl = {
        "kernel.shmmax": (size,),
        "kernel.shmall": (-(-size // _PAGE_BYTES),),
        "kernel.sem": (needs.semaphores, needs.semaphores * sets, operations, sets),
        "vm.nr_hugepages": (pages,),
    }
    lines = {name: f"{name} = {' '.join(map(str, value))}" for name, value in sysctl.items()}
    lines["vm.nr_hugepages"] += " and vm.hugetlb_shm_group = the group of the instance"
    needed = {**sysctl, "kernel.sem": (needs.semaphores, needs.semaphores), "memlock": (size,)}
    lines = {name: f"in /etc/sysctl.conf: {line}" for name, line in lines.items()}
    lines["memlock"] = f"in /etc/security/limits.conf, for the instance's account: hard memlock {-(-size // 1024)}"
    return [KernelParameter(name, least, tuple(kernel.get(name, ())), lines[name]) for name, least in needed.items()]
