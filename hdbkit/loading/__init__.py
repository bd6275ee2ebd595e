"""Build and drop a workload's schema: tables, parallel load, indexes, routines, checks.

A build records every loaded part in the schema itself, in the same transaction, so it can be killed at any point and
resumed. It never changes tables that it did not create.
"""

from hdbkit.loading.build import BuildProgress, BuildResult, Estimate, Stage, build, drop, estimate
from hdbkit.loading.data_files import DataFiles, Format, Progress, Written, write_population
from hdbkit.loading.loaders import Hosts, PartLoaders

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
    "Written",
    "build",
    "drop",
    "estimate",
    "write_population",
]
