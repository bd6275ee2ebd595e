"""Workloads that users define: a new one, and whether a server accepts its statements."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any, cast

import pandas as pd

from hdbkit.config import Load, Target, WorkloadSpec
from hdbkit.contracts import Capability, Database, SessionOptions, SqlSession, Workload
from hdbkit.databases import database
from hdbkit.errors import InputError, TransactionError
from hdbkit.workloads import new_folder, specification
from hdbkit.workloads import workload as workload_of
from hdbkit.workloads.present import schema_in
from hdbkit.workspace import BareWorkspace

_UNSENT = "this driver sends a statement only with its values; to try it, run with --iterations 1"


def new_workload(folder: Path | str) -> list[Path]:
    """Write the folder of a new workload, which can be built and run as it is; return its files.

    Args:
        folder: a new or empty folder; its name is the workload's.

    Raises:
        InputError: the folder is not empty.

    Example:
        >>> hdbkit.new_workload("shop")  # doctest: +SKIP
    """
    return new_folder(Path(folder))


class OwnWorkloadVerbs(BareWorkspace):
    """Verbs about workloads that users define."""

    def check_workload(
        self, target: Target | str, workload: WorkloadSpec | Path | str, **fields: Any
    ) -> pd.DataFrame:
        """Have a target's server parse every statement of a workload's operations; nothing is executed.

        Args:
            target: the target; the workload's tables must be there.
            workload: the folder that defines it, or its specification.
            fields: fields of the specification, such as ``parameters``.

        Returns:
            One row per use of a statement: used_by (such as ``operation read``), statement, state (``accepted``,
            ``rejected``, or ``not sent`` where a driver cannot send a statement without values) and the server's
            reason.

        Raises:
            ConfigErrors: with all errors in the folder.
            SchemaProblem: the workload's tables are not built.

        Example:
            >>> hdbkit.check_workload("lab", "shop").query("state == 'rejected'")  # doctest: +SKIP
        """
        target = self.target(target)
        engine, asked = database(target), workload_of(specification(workload, **fields))
        if not asked.statements(Load(), engine.dialects):
            raise InputError(f"{asked.title} is built in; name the folder of a workload of your own")
        if Capability.SQL not in engine.capabilities:
            raise InputError(f"{engine.title} has no SQL")
        with closing(engine.schema(target, asked)) as schema:
            found = workload_of(schema_in(schema, target, asked))
            options = SessionOptions(pooling=engine.pooling(schema.session, target))
        rows = list(_tried(engine, target, found, options))
        return pd.DataFrame(rows, columns=["used_by", "statement", "state", "detail"])


def _tried(
    engine: Database, target: Target, work: Workload, options: SessionOptions
) -> Iterator[tuple[str, str, str, str]]:
    with closing(cast("SqlSession", engine.connect(target, work.scope(engine.dialects), options))) as session:
        known = work.scope(engine.dialects).statements
        for user, one in work.statements(Load(), engine.dialects):
            if known[one.name] != one:  # hdbkit's own query of a range of keys, with names filled in
                continue
            try:
                sent = session.parse(one.name)
            except TransactionError as error:
                yield user, one.name, "rejected", error.text
            else:
                yield user, one.name, *(("accepted", "") if sent else ("not sent", _UNSENT))
