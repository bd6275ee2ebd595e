"""A schema on SQL Server, and its storage options: by columns, in partitions, or in memory.

Memory-optimized tables have keys and indexes from the start, with buckets for the scale of the build, and natively
compiled procedures; neither may be created in a transaction.
"""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Final, Literal

from pydantic import Field

from hdbkit.contracts import SchemaOptions, Scope
from hdbkit.databases._base.sql_schema import SqlSchema
from hdbkit.errors import BuildFailed, InputError, TransactionError
from hdbkit.statement import Statement

MEMORY, PARTITIONS = "sqlserver/memory", "sqlserver/partitions"
"""The dialects of what the schema options memory_optimized and partitions replace."""
_PARTITIONS, _MEMORY_FILEGROUP = "create_partitions", "memory_filegroup"
_OF_PROCEDURES: Final = "dbo"
"""The schema that natively compiled procedures name."""
_BUCKETS, _BOUNDS = "buckets_", "bounds_"
_MAX_BUCKETS: Final = 2**30
"""The largest BUCKET_COUNT (Microsoft's page on hash indexes of memory-optimized tables)."""


class SqlServerSchemaOptions(SchemaOptions):
    """The storage options of SQL Server."""

    columnstore: bool = Field(
        default=False, description="keep every table by columns (a clustered columnstore index)"
    )
    partitions: int = Field(
        default=0, ge=0, le=1000, description="number of partitions of the largest tables; 0: none"
    )
    memory_optimized: Literal["SCHEMA_AND_DATA", "SCHEMA_ONLY"] | None = Field(
        default=None,
        description="durability of memory-optimized tables with natively compiled procedures; none: tables on disk",
    )
    bucket_factor: int = Field(
        default=1,
        ge=1,
        le=100,
        description="hash buckets of memory-optimized tables for each row that their key has after a build",
    )


class SqlServerSchema(SqlSchema):
    """A schema in the database of the target."""

    def _scope_of(self, dialects: tuple[str, ...]) -> Scope:
        """With the statements of the storage options, sized for the scale of the build."""
        options, work = self._options, self._workload
        chosen = [
            dialect for name, dialect in (("memory_optimized", MEMORY), ("partitions", PARTITIONS)) if options[name]
        ]
        scope = work.scope((*dialects, *chosen))
        in_memory = any(one.dialect == MEMORY for one in scope.statements.values())
        if options["memory_optimized"]:
            if options["columnstore"]:
                raise InputError("memory_optimized and columnstore exclude each other; omit one of them")
            if not in_memory:
                raise InputError("this workload has no memory-optimized tables; omit memory_optimized")
        if options["partitions"] and _PARTITIONS not in scope.statements:
            raise InputError("SQL Server has no partitions for this workload; omit partitions")
        given = {"memory_optimized": options["memory_optimized"]} if in_memory else {}
        found = {name: one.partly_filled(given | self._sized(one)) for name, one in scope.statements.items()}
        return replace(scope, statements=found)

    def _sized(self, statement: Statement) -> dict[str, int | tuple[int, ...]]:
        """The words that depend on the scale: buckets, and the bounds of partitions."""
        scale, parts = float(self._workload.spec.size or 1), self._options["partitions"]
        sized: dict[str, int | tuple[int, ...]] = {}
        for word in statement.words:
            rows = scale * int(word.rpartition("_")[2]) if word.startswith((_BUCKETS, _BOUNDS)) else 0
            if word.startswith(_BUCKETS):
                sized[word] = min(_MAX_BUCKETS, max(1, round(rows * self._options["bucket_factor"])))
            elif word.startswith(_BOUNDS) and parts:
                width = max(1, math.ceil(rows / parts))
                sized[word] = tuple(1 + width * number for number in range(1, parts))
        return sized

    def _use_options(self) -> None:
        """Raise ``InputError`` where the server lacks what an option needs."""
        if self._options["columnstore"] and "make_columnstore" not in self._known:
            raise InputError(f"{self._engine.title} here has no columnstore indexes; omit columnstore")
        if self._options["memory_optimized"]:
            self._check_memory()
        super()._use_options()

    def _check_memory(self) -> None:
        if _MEMORY_FILEGROUP not in self._known:
            raise InputError(f"{self._engine.title} here has no memory-optimized tables; omit memory_optimized")
        has_filegroup, schema, database = self.session.query(_MEMORY_FILEGROUP)[0]
        if not has_filegroup:
            raise InputError(
                f"memory_optimized needs a filegroup for memory-optimized data, and the database {database} has "
                "none; add one (CONTAINS MEMORY_OPTIMIZED_DATA) with a file, or omit memory_optimized"
            )
        if schema != _OF_PROCEDURES:
            raise InputError(
                f"memory_optimized needs an account whose default schema is {_OF_PROCEDURES}, not {schema}, since "
                "natively compiled procedures name the schema of their tables"
            )

    def create(self, spec: str) -> None:
        """Create what is missing, after what the storage options need in the database."""
        if self._options["memory_optimized"]:
            self._prepared("memory_optimized", "elevate_to_snapshot")
        if self._options["partitions"]:
            self._prepared("partitions", "drop_partitions", _PARTITIONS)
        super().create(spec)

    def _prepared(self, option: str, *statements: str) -> None:
        try:
            for name in statements:
                self.session.query(name)
        except TransactionError as error:
            raise InputError(
                f"{option} cannot be used: {error.text}; use an account that may alter the database, or omit {option}"
            ) from error

    def _create_table(self, table: str) -> None:
        """In a transaction; a memory-optimized table outside of one, since the server demands that."""
        if not self._options["memory_optimized"]:
            super()._create_table(table)
            return
        try:
            self._run_create_table(table)
        except TransactionError as error:
            raise BuildFailed(f"create_{table}", str(error)) from error

    def drop(self) -> list[str]:
        """Drop what a build created, also its partitions."""
        dropped = super().drop()
        if "drop_partitions" in self._scope.statements:
            self.session.query("drop_partitions")
        return dropped
