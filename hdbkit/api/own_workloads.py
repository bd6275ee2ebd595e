"""Workloads that users define: a new one, and whether a server accepts its statements."""

from __future__ import annotations

from contextlib import closing
from pathlib import Path
from typing import Any

import pandas as pd

from hdbkit.config import Load, Target, WorkloadSpec
from hdbkit.contracts import Capability
from hdbkit.databases import database
from hdbkit.errors import InputError, TransactionError
from hdbkit.workloads import new_folder, specification
from hdbkit.workloads import workload as workload_of
from hdbkit.workloads.present import parsed_statements, schema_in
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
            rows = [
                (user, one.name, *_state(sent, error))
                for user, one, sent, error in parsed_statements(schema, found, Load())
            ]
        return pd.DataFrame(rows, columns=["used_by", "statement", "state", "detail"])


def _state(sent: bool, error: TransactionError | None) -> tuple[str, str]:
    if error is not None:
        return "rejected", error.text
    return ("accepted", "") if sent else ("not sent", _UNSENT)
