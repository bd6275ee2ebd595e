"""What tests and the programs that their warm host forks have in common."""

from __future__ import annotations

import os
from collections.abc import Sequence

import pytest

from hdbkit import programs
from hdbkit.config import sweep_spec
from tests import generated

PROGRAMS = (
    "hdbkit.execution.supervisor", "hdbkit.loading.loaders", "hdbkit.api.experiment_process",
    "hdbkit.service.job_process",
    "hdbkit.workloads.tproc_c.user", "pyarrow.pandas_compat", "plotly.graph_objects", "psycopg", "MySQLdb",
    "scipy.special", "uvicorn", "hdbkit.agent.app", "hdbkit.service.app",
)  # fmt: skip
"""What the host imports at once: programs, and what they import while they work."""

os.fsync = lambda _: None  # type: ignore[assignment]  # tests kill processes, of which the kernel keeps all, not hosts
sweep_spec.REST_S = 0.0  # sweeps wait for no idle host, unless they give cooldown_s
generated.keep()


class _WarmHost(programs._Host):
    """The connection to a host that begins with all programs, and forks them from the first on."""

    def fork(
        self, request: programs._Request, streams: Sequence[int | None], pass_fds: Sequence[int]
    ) -> programs._Fork | None:
        if self.connection is None:
            self.take(programs.started_host("tests.warm"))
        return super().fork(request, streams, pass_fds)


def main() -> None:
    """Entry point of the host."""
    for name in PROGRAMS:
        programs._imported(name)
    programs.main()


def keep() -> None:
    """Have this process fork all programs of hdbkit."""
    programs._host = _WARM


def choose(item: pytest.Item) -> None:
    """Have a test's programs forked by the warm host of these tests, except where their start is the subject."""
    if programs._host is not _WARM:
        programs._host.forget()
    programs._host = programs._Host() if item.get_closest_marker("new_interpreters") else _WARM


_WARM = _WarmHost()
