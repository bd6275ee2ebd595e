"""Engines and workloads as such: what one lacks, whether a server keeps rules and accepts statements; new ones."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

from hdbkit.config import Load, Target, WorkloadSpec
from hdbkit.contracts import Capability, Database, Operation
from hdbkit.databases import TRIED, database, kinds, save_lacks
from hdbkit.engines.gaps import asked, lacking, provided
from hdbkit.engines.new_engine import write_engine
from hdbkit.engines.questions import ask_server
from hdbkit.engines.rule_check import try_rules
from hdbkit.errors import InputError, TransactionError
from hdbkit.later import pandas as pd
from hdbkit.workloads import new_folder, specification, workload
from hdbkit.workloads import rules as rules_of
from hdbkit.workloads import workload as workload_of
from hdbkit.workloads.present import parsed_statements, schema_in
from hdbkit.workspace import BareWorkspace

FAILED = ("missing", "wrong", "broken")
"""The states of what an engine must have or do."""
_KEPT = {True: "kept", False: "broken", None: "not applicable"}


class EngineVerbs(BareWorkspace):
    """Verbs that try an engine, or a workload of the user's own, on a target."""

    def check_engine(
        self,
        target: Target | str,
        *,
        rules: bool = True,
        save: bool = False,
        progress: Callable[[str], None] = lambda _: None,
    ) -> pd.DataFrame:
        """Compare the engine of a target with what hdbkit asks of engines, and try the rules that every engine must
        keep.

        The rules are tried in tables that are created for it and dropped again: in the schema ``hdbkit_check``, or in
        an empty database on an engine without schemas. Nothing else in the target is touched.

        Args:
            target: the target; its account must be allowed to create tables.
            rules: whether rules are tried; without them only an engine that asks its server what it is
                connects.
            save: keep what broken rules show about locks and isolation; it is a capability that the server lacks as
                long as it states the same product and version.
            progress: called with the name of each rule before it is tried.

        Returns:
            One row per capability that the engine lacks (state ``absent``), operation that it lacks (``missing`` if
            it is required, else ``optional``), question to the server (``answered``, ``wrong``) and rule (``kept``,
            ``broken``, ``not applicable``): part, name, state, detail.

        Raises:
            InputError: there is something in the schema or database that hdbkit did not create for a check.
            CannotConnect: the server rejects the connection.

        Example:
            >>> found = hdbkit.check_engine("sqlite:///new.db")  # doctest: +SKIP
            >>> found[found["state"].isin(["missing", "broken"])]  # doctest: +SKIP
        """
        at = self.target(target)
        if save:
            save_lacks(database(at), frozenset())
        rows = [*_gaps(database(at)), *(_tried(at, progress) if rules else ())]
        if save:
            broken = {name for part, name, state, _ in rows if (part, state) == ("rule", "broken")}
            needs = [rule.needs for rule in rules_of(specification().kind) if rule.name in broken]
            save_lacks(database(at), TRIED & frozenset().union(*needs))
        return pd.DataFrame(rows, columns=["part", "name", "state", "detail"])

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


def _gaps(engine: Database) -> Iterator[tuple[str, str, str, str]]:
    missing = {*Capability} - engine.capabilities
    for capability in Capability:
        if capability in missing:
            yield "capability", capability.name, "absent", capability.meaning
    for gap in lacking(engine):
        one = gap.operation
        state = "missing" if one.required else "optional"
        yield gap.folder, one.name, state, one.without or f"required: {one.purpose}"


def _tried(target: Target, progress: Callable[[str], None]) -> Iterator[tuple[str, str, str, str]]:
    work = workload(specification())
    for one in try_rules(target, work, rules_of(work.spec.kind), progress):
        yield "rule", one.rule, _KEPT[one.kept], one.detail
    for name, problem in ask_server(target):
        yield "server", name, "wrong" if problem else "answered", problem


def list_engines() -> pd.DataFrame:
    """Compare all engines: one row per capability and per optional operation, one column per kind of database.

    Columns: part, name, meaning (of a capability, or what is missing without the operation), and for each kind
    ``yes``, ``no``, or an empty text where an operation belongs to a capability that the engine lacks.

    Example:
        >>> hdbkit.list_engines().query("part == 'capability'")  # doctest: +SKIP
    """
    known = {kind: database(kind) for kind in kinds()}
    rows = [
        {"part": "capability", "name": one.name, "meaning": one.meaning}
        | {kind: "yes" if one in engine.capabilities else "no" for kind, engine in known.items()}
        for one in Capability
    ]
    rows += [
        {"part": folder, "name": one.name, "meaning": one.without}
        | {kind: _has(engine, folder, one) for kind, engine in known.items()}
        for folder, listed in asked().items()
        for one in listed
        if not one.required
    ]
    return pd.DataFrame(rows)


def _has(engine: Database, folder: str, one: Operation) -> str:
    if not one.needs <= engine.capabilities:
        return ""
    return "yes" if provided(engine, folder, one) else "no"


def operations(folder: str | None = None) -> pd.DataFrame:
    """List what hdbkit asks of an engine by name; one row per operation.

    Columns: folder (of its statement in ``schemas/<engine>/``), name, purpose, parameters, columns (of the answer),
    needs (capabilities), required, without (what is missing without an optional one).

    Args:
        folder: only those of a folder, such as ``server``.

    Raises:
        InputError: no operation belongs to the folder.

    Example:
        >>> hdbkit.operations("server")["name"].tolist()  # doctest: +SKIP
    """
    known = asked()
    if folder is not None and folder not in known:
        raise InputError(f"no operation belongs to '{folder}'; folders: {', '.join(known)}")
    rows = [
        {
            "folder": name,
            "name": one.name,
            "purpose": one.purpose,
            "parameters": ", ".join(one.parameters),
            "columns": ", ".join(one.columns),
            "needs": ", ".join(sorted(need.name for need in one.needs)),
            "required": one.required,
            "without": one.without,
        }
        for name, listed in known.items()
        for one in listed
        if folder in (None, name)
    ]
    return pd.DataFrame(rows)


def new_engine(name: str, *, folder: Path | str | None = None) -> list[Path]:
    """Write the package of a new engine, which works at once on a driver of the standard library; return its files.

    Args:
        name: the kind of database: lower-case letters and digits.
        folder: a new or empty folder; by default ``hdbkit-NAME`` in the current folder.

    Raises:
        InputError: the name is taken or invalid, or the folder is not empty.

    Example:
        >>> hdbkit.new_engine("mydb")  # doctest: +SKIP
    """
    return write_engine(name, Path(folder) if folder is not None else Path(f"hdbkit-{name}"))


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


def _state(sent: bool, error: TransactionError | None) -> tuple[str, str]:
    if error is not None:
        return "rejected", error.text
    return ("accepted", "") if sent else ("not sent", _UNSENT)
