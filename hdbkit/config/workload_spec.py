"""Which workload, at which scale, and who made its schema."""

from __future__ import annotations

from enum import StrEnum
from typing import Literal

from pydantic import Field

from hdbkit.config.model import ConfigModel


class SchemaFrom(StrEnum):
    """Who made a schema: hdbkit, or HammerDB, whose routines are then run and of which nothing is changed."""

    HDBKIT = "hdbkit"
    HAMMERDB = "hammerdb"


class WorkloadSpec(ConfigModel):
    """A workload and its scale; ``seed`` makes its population, so equal specs give equal tables."""

    kind: Literal["tproc_c"] = Field(default="tproc_c", description="the workload: tproc_c (OLTP)")
    warehouses: int = Field(default=1, ge=1, le=100_000, description="scale: number of warehouses")
    seed: int = Field(default=1, ge=0, lt=2**63, description="seed of the population")
    partitions: int = Field(default=0, ge=0, le=1000, description="partitions of the largest tables; 0 for none")
    tablespace: str | None = Field(
        default=None, pattern=r"^[A-Za-z_][A-Za-z0-9_$]*$", description="where the tables are put"
    )
    storage_engine: str | None = Field(
        default=None, pattern=r"^[A-Za-z_][A-Za-z0-9_]*$", description="the tables' own engine, such as InnoDB"
    )
    history_key: bool = Field(default=False, description="give the history table a key, which TPC-C does not have")
    schema_from: SchemaFrom = Field(
        default=SchemaFrom.HDBKIT, description="who made the schema; hammerdb: its own tables and routines are run"
    )

    @property
    def group(self) -> str:
        """Its package in ``workloads`` and, with slashes for dots, its folder in ``schemas/<engine>``."""
        return self.kind if self.schema_from is SchemaFrom.HDBKIT else f"{self.kind}.{self.schema_from.value}"
