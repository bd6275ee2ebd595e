"""The supervisor of a run on many load hosts: the same one, with another load generator."""

from __future__ import annotations

from hdbkit.cluster.coordinator import ClusterLoad
from hdbkit.execution.supervisor import main as supervise


def main() -> None:
    """Entry point of the process: ``python ... FOLDER [DESCRIPTOR]...``."""
    supervise(ClusterLoad)
