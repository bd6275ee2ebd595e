"""Build and drop a workload's schema: tables, parallel load, indexes, routines, checks.

A build records every loaded part in the schema itself, in the same transaction, so it can be killed at any point and
resumed. It never changes tables that it did not create.
"""

from hdbkit.loading.build import BuildResult, Estimate, build, estimate
from hdbkit.loading.data_files import DataFiles, Format, Progress, WrittenData, write_population
from hdbkit.loading.dropping import drop
from hdbkit.loading.loaders import Hosts, PartLoaders
from hdbkit.loading.progress import BuildProgress, Stage

__all__ = [
    "BuildProgress",
    "BuildResult",
    "DataFiles",
    "Estimate",
    "Format",
    "Hosts",
    "PartLoaders",
    "Progress",
    "Stage",
    "WrittenData",
    "build",
    "drop",
    "estimate",
    "write_population",
]
