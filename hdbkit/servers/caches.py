"""Empties what holds data in memory before a run: the server's cache by a restart, and the page cache of its host."""

from __future__ import annotations

import os
import time
from pathlib import Path

from hdbkit.config import Cache, Target
from hdbkit.config.hosts import is_local
from hdbkit.contracts import ServerControl

PAGE_CACHE = Path("/proc/sys/vm/drop_caches")
_PAGES = "1"


def obstacle(cache: Cache, target: Target, server: ServerControl) -> str:
    """Why the caches cannot be brought to this state; empty if they can."""
    if cache is not Cache.WARM and not server.can_restart:
        advice = "use 'warm', or a target with 'may_restart: true' and commands in 'control'"
        return f"hdbkit cannot restart {server.identity}; {advice}"
    here = is_local(target.host) and not target.control.agent
    if cache is Cache.COLD and not (here and os.access(PAGE_CACHE, os.W_OK)):
        return f"only root on the host of {target.described} can empty its page cache; use 'restart'"
    return ""


def empty(cache: Cache, server: ServerControl) -> float:
    """Bring the caches to this state; return the duration in seconds. Raises ``ServerFailed``."""
    began = time.monotonic()
    if cache is not Cache.WARM:
        server.restart()
    if cache is Cache.COLD:
        os.sync()
        PAGE_CACHE.write_text(_PAGES, encoding="ascii")
    return time.monotonic() - began
