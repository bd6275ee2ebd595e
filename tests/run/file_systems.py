"""A file system of its own, which tests may freeze."""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

SIZE_BYTES = 1 << 30
"""The size of its image, which is sparse."""


@contextmanager
def own_file_system() -> Iterator[Path | None]:
    """The folder of an ext4 file system that is mounted for the block; None where that is not permitted."""
    if os.geteuid() or not shutil.which("mkfs.ext4"):
        yield None
        return
    with tempfile.TemporaryDirectory(prefix="hdbkit-disk-", dir="/var/tmp") as name:
        image, place = Path(name) / "image", Path(name) / "mounted"
        Path(name).chmod(0o755)
        place.mkdir()
        with image.open("wb") as file:
            file.truncate(SIZE_BYTES)
        made = _done("mkfs.ext4", "-q", "-F", image) and _done("mount", "-o", "loop", image, place)
        try:
            yield place if made else None
        finally:
            if made:
                subprocess.run(["umount", "-l", place], check=True)


def _done(*command: str | Path) -> bool:
    return subprocess.run(command, check=False, capture_output=True).returncode == 0
