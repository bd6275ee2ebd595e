"""The file system of a server's data: whether it may be frozen, freezing and thawing it.

A whole file system is frozen, wherever else it is mounted. So it is identified by its device in the kernel's list of
mounts, and refused if anything that the host or hdbkit writes to is on it: what waits for a frozen file system cannot
thaw it.
"""

from __future__ import annotations

import errno
import fcntl
import os
import re
import sys
import tempfile
import threading
from collections.abc import Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from hdbkit.errors import ServerFailed
from hdbkit.files import opened_folder
from hdbkit.paths import home_folder

FREEZABLE = ("ext3", "ext4", "f2fs", "jfs", "nilfs2", "xfs")
"""The kinds that can be frozen; btrfs is none of them, since its subvolumes freeze together."""
_FREEZE, _THAW = 0xC0045877, 0xC0045878
"""The requests FIFREEZE and FITHAW of Linux."""
_CAP_SYS_ADMIN = 1 << 21
_OF_THE_HOST = ("/", "/etc", "/home", "/root", "/run", "/tmp", "/usr", "/var", "/var/log", "/var/tmp")  # noqa: S108
_ESCAPED = re.compile(r"\\([0-7]{3})")


@dataclass(frozen=True)
class Mount:
    """A line of the kernel's list: the part ``root`` of a file system, mounted at ``point``."""

    number: int
    device: str
    root: str
    point: Path
    kind: str
    options: str

    @classmethod
    def parse(cls, line: str) -> Mount:
        """A line of ``/proc/PID/mountinfo``."""
        mounted, _, about = line.partition(" - ")
        number, _, device, root, point = mounted.split(" ")[:5]
        kind, _, options = about.split(" ", 2)
        return cls(int(number), device, _plain(root), Path(_plain(point)), kind, options)


def may_freeze() -> bool:
    """Whether this process has the right to freeze file systems (CAP_SYS_ADMIN)."""
    for line in Path("/proc/self/status").read_text(encoding="ascii", errors="replace").splitlines():
        if line.startswith("CapEff:"):
            return bool(int(line.split()[1], 16) & _CAP_SYS_ADMIN)
    return False


def own_file_system(pid: int, results: Path) -> Path:
    """Where the file system is mounted in which a server works, if only its own data is there.

    Args:
        pid: the server's main process.
        results: the folder of the results, which may not exist yet.

    Raises:
        ServerFailed: it cannot be read, cannot be frozen, or has something that the host or hdbkit needs.
    """
    try:
        here = mounts("self")
        data = _mount_of(f"/proc/{pid}/cwd", mounts(pid))
        return _frozen_alone(data, here, _needed(results))
    except (OSError, ValueError) as error:
        raise ServerFailed(f"the file system of the server's data cannot be examined ({error})") from None


def mounts(process: int | str) -> list[Mount]:
    """What a process sees mounted. Raises ``OSError`` and ``ValueError``."""
    text = Path(f"/proc/{process}/mountinfo").read_text(encoding="utf-8", errors="surrogateescape")
    return [Mount.parse(line) for line in text.splitlines()]


class Freezing:
    """A frozen file system. A thread thaws it with a descriptor that it already has, if nobody does so before.

    So it is thawed on time even if every other thread of the process waits for the disk.
    """

    def __init__(self, folder: Path, at_most_s: float) -> None:
        self._descriptor, self._at_most_s = _opened(folder), at_most_s
        self._begun, self._ended = threading.Event(), threading.Event()
        self._thread = threading.Thread(target=self._thaw_late, daemon=True)
        self._thread.start()
        try:
            _ask(self._descriptor, folder, _FREEZE, "frozen")
        except ServerFailed:
            self.end()
            raise
        self._begun.set()

    def _thaw_late(self) -> None:
        self._begun.wait()
        if not self._ended.wait(self._at_most_s):
            self._thaw()

    def _thaw(self) -> None:
        with suppress(OSError):
            fcntl.ioctl(self._descriptor, _THAW, 0)

    def end(self) -> None:
        """Thaw it, and end the thread. May be called again."""
        if not self._ended.is_set():
            self._ended.set()
            self._begun.set()
            self._thread.join()
            self._thaw()
            os.close(self._descriptor)


def thaw(folder: Path) -> None:
    """Thaw the file system of a folder; nothing if it is not frozen. Raises ``ServerFailed``."""
    descriptor = _opened(folder)
    try:
        _ask(descriptor, folder, _THAW, "thawed", errno.EINVAL)  # EINVAL: it is not frozen
    finally:
        os.close(descriptor)


def _needed(results: Path) -> Iterable[Path]:
    """The places that the host or hdbkit writes to or runs from."""
    own = (results.absolute(), Path(sys.prefix), Path(sys.base_prefix), Path(__file__), Path(tempfile.gettempdir()))
    return (*map(Path, _OF_THE_HOST), home_folder(), *own)


def _frozen_alone(data: Mount, here: Sequence[Mount], needed: Iterable[Path]) -> Path:
    """Where the file system of a mount is seen as a whole. Raises ``ServerFailed`` if it may not be frozen."""
    if data.kind not in FREEZABLE:
        known = ", ".join(FREEZABLE)
        raise ServerFailed(f"{data.point} is on a file system of kind {data.kind}; only these are frozen: {known}")
    whole = next((one for one in here if one.device == data.device and one.root == "/"), None)
    if whole is None:
        raise ServerFailed(f"only a part of the file system of {data.point} is mounted here; the rest is unknown")
    for folder in needed:
        if whole.device in _devices_of(folder, whole, here):
            raise ServerFailed(f"the one that is mounted at {data.point} also holds {folder}")
    return whole.point


def _devices_of(folder: Path, whole: Mount, here: Sequence[Mount]) -> set[str]:
    """The devices that a write to a folder may wait for: its own, the one with its image, and of an overlay ``whole``
    if that holds the layer that is written."""
    mount = _mount_of(str(next(one for one in (folder, *folder.parents) if one.exists())), here)
    found = {mount.device}
    image = Path(f"/sys/dev/block/{mount.device}/loop/backing_file")
    if image.is_file():
        with suppress(OSError, ValueError):
            found.add(_mount_of(image.read_text().strip(), here).device)
    layer = re.search(r"(?:^|,)upperdir=([^,]+)", mount.options) if mount.kind == "overlay" else None
    if layer and _holds(whole.point, _plain(layer[1])):
        found.add(whole.device)
    return found


def _holds(point: Path, layer: str) -> bool:
    """Whether a mounted file system has a folder, which was named as another process sees it: by the path's end."""
    names = Path(layer).parts[1:]
    return any(point.joinpath(*names[start:]).is_dir() for start in range(max(1, len(names) - 1)))


def _mount_of(path: str, known: Sequence[Mount]) -> Mount:
    """The mount of a path. Raises ``OSError`` and ``ValueError``."""
    descriptor = os.open(path, os.O_PATH)
    try:
        about = Path(f"/proc/self/fdinfo/{descriptor}").read_text(encoding="ascii")
    finally:
        os.close(descriptor)
    number = int(about.partition("mnt_id:")[2].split()[0])
    found = next((one for one in known if one.number == number), None)
    if found is None:
        raise ValueError(f"the mount of {path} is not listed")
    return found


def _plain(text: str) -> str:
    return _ESCAPED.sub(lambda found: chr(int(found[1], 8)), text)


def _opened(folder: Path) -> int:
    try:
        return opened_folder(folder)
    except OSError as error:
        raise ServerFailed(f"the file system of {folder} cannot be opened: {error.strerror}") from error


def _ask(descriptor: int, folder: Path, request: int, what: str, *allowed: int) -> None:
    try:
        fcntl.ioctl(descriptor, request, 0)
    except OSError as error:
        if error.errno not in allowed:
            raise ServerFailed(f"the file system of {folder} cannot be {what}: {error.strerror}") from error
