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
    pages, huge_pages = -(-size // _PAGE_BYTES), -(-size // kernel.get("Hugepagesize", [_HUGE_PAGE_BYTES])[0])
    semaphores = needs.semaphores
    sysctl, limits = "in /etc/sysctl.conf:", "in /etc/security/limits.conf, for the instance's account:"
    group = "and vm.hugetlb_shm_group = the group of the instance"
    needed = {
        "kernel.shmmax": ((size,), f"{sysctl} kernel.shmmax = {size}"),
        "kernel.shmall": ((pages,), f"{sysctl} kernel.shmall = {pages}"),
        "kernel.sem": (
            (semaphores, semaphores),
            f"{sysctl} kernel.sem = {semaphores} {semaphores * sets} {operations} {sets}",
        ),
        "vm.nr_hugepages": ((huge_pages,), f"{sysctl} vm.nr_hugepages = {huge_pages} {group}"),
        "memlock": ((size,), f"{limits} hard memlock {-(-size // 1024)}"),
    }
    return [KernelParameter(name, least, tuple(kernel.get(name, ())), line) for name, (least, line) in needed.items()]
