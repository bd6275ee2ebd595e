"""The commands that messages advise: complete, so that a user can type them, and never with a password."""

from __future__ import annotations

import shlex

from hdbkit.config import Target, WorkloadSpec
from hdbkit.config.specs import DEFAULT_KIND


def build_command(target: Target, spec: WorkloadSpec) -> str:
    """The command that builds a schema.

    Example:
        >>> from hdbkit.config import spec_from
        >>> build_command(Target.parse("postgresql://bench@db1/lab"), spec_from({"partitions": 4})).split()[-2:]
        ['--partitions', '4']
    """
    return shlex.join(["hdbkit", "build", target.given, *spec.build_words])


def analyze_command(target: Target, spec: WorkloadSpec) -> str:
    """The command that updates the optimizer's statistics of a schema and runs its workload."""
    return shlex.join(["hdbkit", "run", target.given, *spec.words, "--analyze"])


def drop_command(target: Target, named: str) -> str:
    """The command that drops the schema of a workload (its name or its folder), whatever its scale is."""
    words = [] if named == DEFAULT_KIND else ["--workload", named]
    return shlex.join(["hdbkit", "drop", target.given, *words])
