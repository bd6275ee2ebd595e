"""Load hosts for tests: a dask scheduler in the test's process, and workers in processes of their own."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from hdbkit.config.cluster import UNENCRYPTED


@contextmanager
def dask_cluster(state: Path, workers: int, **options: Any) -> Iterator[Any]:
    """A cluster on loopback whose hosts keep the files of their users in the folder ``state``."""
    distributed = pytest.importorskip("distributed")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("XDG_STATE_HOME", str(state))
        with distributed.LocalCluster(
            n_workers=workers,
            threads_per_worker=1,
            host="127.0.0.1",
            memory_limit=0,
            dashboard_address="127.0.0.1:0",
            silence_logs="CRITICAL",
            **options,
        ) as cluster:
            yield cluster


def address_of(cluster: Any) -> str:
    """The text that names it."""
    address = str(cluster.scheduler_address)
    return f"{UNENCRYPTED}{address}" if address.startswith("tcp:") else address
