"""Runs all benchmarks in sequence: ``make bench``, with ``QUICK=1`` in a few minutes."""

from __future__ import annotations

import subprocess
import sys

from bench.common import machine

BENCHES = (
    "routines",
    "odbc",
    "client",
    "custom",
    "ceiling",
    "recording",
    "start",
    "verdicts",
    "adaptive",
    "growth",
    "sweep_overhead",
    "journal",
    "build",
    "mariadb",
    "contention",
    "redis",
    "tproc_h",
    "sessions",
    "watched",
    "service",
    "cluster",
    "cluster_scale",
    "report_page",
    "experiment_table",
)


def main() -> int:
    """Print the machine, then each benchmark's figures; return the number of benchmarks that failed."""
    print(machine(), flush=True)
    wanted = sys.argv[1:] or BENCHES
    ended = [subprocess.run([sys.executable, "-m", f"bench.{name}"], check=False).returncode for name in wanted]
    return sum(code != 0 for code in ended)


if __name__ == "__main__":
    sys.exit(main())
