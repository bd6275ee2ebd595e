"""Schemas of Db2: table spaces, organization of tables, and statements that it rejects while another works."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import Final

from pydantic import Field

from hdbkit.contracts import Scope, SessionOptions
from hdbkit.databases._base.sql_schema import SqlSchema, SqlSchemaOptions
from hdbkit.databases.db2.cli import DB2
from hdbkit.errors import ErrorClass, InputError, TransactionError
from hdbkit.statement import Statement

_IDENTIFIER: Final = r"[A-Za-z_][A-Za-z0-9_]*"
_CREATES: Final = re.compile(r"create_(\w+?)(?:_partitioned)?")
_SCALED, _EACH = "scaled_", "each_"
_CHANGED: Final = frozenset({"42704", "42X05", "42Y55", "42X65", "42710", "X0Y32"})
"""The SQLSTATEs of a table that is not there, or there already: those of Db2, and of Apache Derby."""
_MAY_NOT: Final = "425"
"""The start of the SQLSTATEs of a missing privilege."""


class Db2SchemaOptions(SqlSchemaOptions):
    """The storage options of Db2."""

    tablespace: str | None = Field(
        default=None, pattern=f"^{_IDENTIFIER}$", description="table space of the tables; none: the account's default"
    )
    table_tablespaces: str | None = Field(
        default=None,
        pattern=f"^{_IDENTIFIER}={_IDENTIFIER}(,{_IDENTIFIER}={_IDENTIFIER})*$",
        description="table spaces of single tables, as table=space,table=space",
    )
    index_tablespace: str | None = Field(
        default=None, pattern=f"^{_IDENTIFIER}$", description="table space of the indexes; needs tablespace"
    )


_CLAIM_OPTIONS: Final = SessionOptions(application="hdbkit build", lock_timeout_ms=1000)
_CLAIM_TRIALS: Final = 3
_STEP_REPEATS: Final = 20
_WAITED: Final = frozenset({ErrorClass.LOCK_TIMEOUT, ErrorClass.DEADLOCK})


class Db2Schema(SqlSchema):
    """A schema in the session's current one."""

    _claims = False
    """Whether the transaction of the claim has its lock."""

    def claim(self) -> bool:
        """By an exclusive lock on a table of its own, in the transaction of a session of its own.

        It waits for another process for a second. An account without the privilege for that is not refused.
        """
        for _ in range(_CLAIM_TRIALS):
            try:
                self._lock_claim()
            except TransactionError as error:
                self._claims = False
                if error.error_class in _WAITED:
                    return False
                if error.code.startswith(_MAY_NOT):
                    return True
                if error.code not in _CHANGED:
                    raise
            else:
                return True
        return False  # another process makes or drops the table again and again

    def _lock_claim(self) -> None:
        if self._claim is None:
            self._claim = self._engine.connect(self.target, self._scope, _CLAIM_OPTIONS)
        if not self.session.query("claim_exists")[0][0]:
            self.session.query("create_claim")
        if not self._claims:
            self._claim.begin()
        self._claims = bool(self._claim.query("claim_schema")[0][0])

    def do(self, name: str) -> None:
        """Run a step; after a deadlock or lock timeout again, since steps lock their table and the catalog."""
        for _ in range(_STEP_REPEATS):
            try:
                return super().do(name)
            except TransactionError as error:
                if error.error_class not in _WAITED:
                    raise
        return super().do(name)

    def drop(self) -> list[str]:
        """Drop what a build created, also the table of the claim, whose lock this process has."""
        dropped = super().drop()
        if self._claim is not None and self._claims:
            self._claim.query("drop_claim")
            self._claim.commit()
            self._claims = False
        return dropped

    def _scope_of(self, dialects: tuple[str, ...]) -> Scope:
        """With table spaces, and ranges of partitions that are sized for the scale of the build."""
        options = self._options
        parted = (*dialects, f"{DB2}/partitions") if options["partitions"] else dialects
        plain = self._workload.scope(parted)
        index_space, spaces = options["index_tablespace"], dict(_spaces(options["table_tablespaces"]))
        if unknown := sorted({*spaces} - {*self._workload.tables}):
            raise InputError(f"table_tablespaces names {', '.join(unknown)}, which the workload does not have")
        if index_space and not options["tablespace"]:
            raise InputError("index_tablespace needs tablespace, too: Db2 names both where a table is created")
        variant = f"{DB2}/{'index_' if index_space else ''}tablespace"
        spaced = self._workload.scope((*parted, variant)).statements
        found = {}
        for name, one in plain.statements.items():
            table = _CREATES.fullmatch(name)
            space = spaces.get(table[1], options["tablespace"]) if table else None
            chosen = spaced[name] if space else one
            words = {"tablespace": space, "index_tablespace": index_space} if space else {}
            found[name] = chosen.partly_filled(words | self._sized(chosen))
        return replace(plain, statements=found)

    def _sized(self, statement: Statement) -> dict[str, int]:
        scale, partitions = float(self._workload.spec.size or 1), max(1, self._options["partitions"])
        sized = {}
        for word in statement.words:
            if word.startswith((_SCALED, _EACH)):
                whole = max(1, round(scale * int(word.rpartition("_")[2])))
                sized[word] = whole if word.startswith(_SCALED) else -(-whole // partitions)
        return sized


def _spaces(given: str | None) -> list[tuple[str, str]]:
    """The tables with a table space of their own."""
    pairs = (one.partition("=") for one in given.split(",")) if given else ()
    return [(table, space) for table, _, space in pairs]
