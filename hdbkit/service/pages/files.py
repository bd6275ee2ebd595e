"""The files of the pages, which are the same for everyone: styles, scripts, icon."""

from __future__ import annotations

from functools import cache
from pathlib import Path

from hdbkit.report.site import ASSETS, asset

_OWN = Path(__file__).parent / "static"
_SCRIPTS = ("live.js", "themed.js")
STATIC = {
    f"/static/{name}": kind for name, kind in (*ASSETS.items(), *((one, "text/javascript") for one in _SCRIPTS))
}
"""The paths of the files, and their types. They need no token."""


@cache
def content_of(path: str) -> bytes:
    """The content of a file of ``STATIC``; all but the scripts of jobs and panels is shared with sites."""
    name = path.rpartition("/")[2]
    return asset(name) if name in ASSETS else (_OWN / name).read_bytes()
