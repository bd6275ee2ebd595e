"""What tests and the programs that their warm host forks have in common."""

from __future__ import annotations

import os

import pytest

from hdbkit import programs
from hdbkit.config import sweep_spec
from tests import generated

PROGRAMS = (
    "hdbkit.execution.supervisor", "hdbkit.loading.loader", "hdbkit.api.experiment_process",
    "hdbkit.service.job_process",
    "hdbkit.workloads.tproc_c.user", "pyarrow.pandas_compat", "plotly.graph_objects", "psycopg", "MySQLdb",
    "scipy.special", "uvicorn", "hdbkit.agent.app", "hdbkit.service.app",
)  # fmt: skip
"""What the host imports at once: programs, and what they import while they work."""

os.fsync = lambda _: None  # type: ignore[assignment]  # tests kill processes, of which the kernel keeps all, not hosts
sweep_spec.REST_S = 0.0  # sweeps wait for no idle host, unless they give cooldown_s
generated.keep()


def keep() -> None:
    """Have this process fork all programs of hdbkit."""
    programs.keep_warm("tests.warm", *PROGRAMS)


def choose(item: pytest.Item) -> None:
    """Have a test's programs forked by the warm host of these tests, except where their start is the subject."""
    if programs._host is not _WARM:
        programs._host.forget()
    programs._host = programs._Host() if item.get_closest_marker("new_interpreters") else _WARM


_WARM = programs._host
