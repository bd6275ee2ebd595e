"""Building and dropping a workload's schema: tables, data by several processes, indexes, routines, checks.

A build notes every loaded part in the schema itself, in the same transaction, so it can be killed anywhere and
goes on where it stopped. It never touches a table that it did not make.
"""

from hdbkit.build.build import BuildResult, Estimate, build, estimate
from hdbkit.build.drop import drop
from hdbkit.build.progress import BuildProgress, Stage

__all__ = ["BuildProgress", "BuildResult", "Estimate", "Stage", "build", "drop", "estimate"]
