"""What is usable on this host, and what must be right before a target is measured."""

from __future__ import annotations

import time
from contextlib import closing
from pathlib import Path
from typing import Any

from hdbkit.api.left_settings import advised, left_settings, resume_command, unknown_settings
from hdbkit.config import Target, WorkloadSpec
from hdbkit.contracts import Workload
from hdbkit.databases import database, kinds, product_named, unusable
from hdbkit.errors import InputError, MissingDriver
from hdbkit.execution.diagnosis import Diagnoses, Diagnosis, Examined, State, answers
from hdbkit.execution.questions import examined, examined_beside
from hdbkit.later import pandas as pd
from hdbkit.servers import find_binaries, startable_kinds
from hdbkit.workloads import specification
from hdbkit.workloads import workload as workload_of
from hdbkit.workspace import BareWorkspace

_UNVERIFIED = "make its files readable; if it is yours or you trust it: hdbkit resume ID --target TARGET --accept"


def drivers() -> pd.DataFrame:
    """List the drivers and servers that are usable on this host; one row each: what, name, usable, detail."""
    rows = []
    for kind in kinds():
        driver = _driver(kind)
        detail = driver["driver"] or driver["problem"]
        rows.append({"what": "driver", "name": kind, "usable": bool(driver["driver"]), "detail": detail})
    rows += [{"what": "driver", "name": kind, "usable": False, "detail": why} for kind, why in unusable().items()]
    for found in find_binaries():
        detail = f"{found.version}, {found.source}, {found.folder}"
        rows.append({"what": "server", "name": found.kind, "usable": True, "detail": detail})
    return pd.DataFrame(rows, columns=["what", "name", "usable", "detail"])


def list_databases() -> pd.DataFrame:
    """List the kinds of databases; one row each: kind, title, driver (or ""), problem (a sentence or ""), private.

    Kinds that hdbkit can start come first, in order of preference. ``private`` states whether hdbkit can start a
    server of this kind if its binaries are installed (``doctor`` finds them).

    Example:
        >>> hdbkit.list_databases().query("private")["kind"].tolist()  # doctest: +SKIP
    """
    startable = startable_kinds()
    ordered = [*startable, *(kind for kind in kinds() if kind not in startable)]
    rows = [{"kind": kind, **_driver(kind), "private": kind in startable} for kind in ordered]
    return pd.DataFrame(rows, columns=["kind", "title", "driver", "problem", "private"])


class DiagnosisVerbs(BareWorkspace):
    """Verbs that examine a target."""

    def doctor(
        self, target: Target | str | None = None, *, workload: WorkloadSpec | Path | str | None = None, **fields: Any
    ) -> pd.DataFrame:
        """Examine a target; without one, list the drivers and servers that are usable on this host.

        Args:
            target: the database.
            workload: the workload whose schema is examined: a name, a folder, or a specification.
            fields: fields of the specification, such as ``schema_from="hammerdb"``.

        Returns:
            With a target one row per diagnosis: subject, state (ok, warning, problem), detail, advice. It connects
            and reads; on another product than the engine's own it also creates and drops a table and a routine
            ``hdbkit_probe_...``. What this account may not read is a warning. Without a target one row per driver
            and server: what, name, usable, detail.

        Example:
            >>> hdbkit.doctor("lab").query("state != 'ok'")  # doctest: +SKIP
        """
        if target is None:
            return drivers()
        asked = workload_of(specification(workload, **fields))
        rows = [vars(diagnosis) for diagnosis in self._examined(self.target(target), asked)]
        return pd.DataFrame(rows, columns=["subject", "state", "detail", "advice"])

    def password_source(self, target: Target | str) -> str | None:
        """The source of the password for ``target``, as text; None if there is none. Never reveals the password.

        Searched in this order: memory, ``HDBKIT_PASSWORD``, the keyring, then the driver's own sources.

        Example:
            >>> hdbkit.password_source("postgresql://bench@db1/tpcc")  # doctest: +SKIP
            '~/.pgpass'
        """
        target = self.target(target)
        found = target.found_password()
        return found.source if found else database(target).password_source(target)

    def _examined(self, target: Target, asked: Workload) -> Diagnoses:
        """The driver, what this workspace knows of the target, the connection, then all that it can answer."""
        engine = database(target)
        try:
            yield Diagnosis("driver", State.OK, engine.driver_version())
        except MissingDriver as error:
            yield Diagnosis("driver", State.PROBLEM, str(error))
            return
        yield Diagnosis("password", State.OK, self.password_source(target) or "none was found")
        for left in left_settings(self.results, target):
            text = f"{left} ended and left its settings on this server"
            yield Diagnosis("settings of a sweep", State.WARNING, text, resume_command(left))
        for text in unknown_settings(self.results, target):
            yield Diagnosis("settings of a sweep", State.WARNING, text, _UNVERIFIED)
        begun = time.monotonic()
        try:
            with advised(self.results, target), product_named(target):
                session = engine.connect(target)
        except InputError as error:
            yield Diagnosis("connection", State.PROBLEM, str(error))
            return
        took_ms = 1000 * (time.monotonic() - begun)

        def connection() -> Diagnoses:
            text = f"{engine.version(session)}; connected in {took_ms:.0f} ms ({target.url})"
            yield Diagnosis("connection", State.OK, text)

        with closing(session):
            yield from answers("connection", connection)
            yield from examined(Examined(engine, target, session))
        yield from examined_beside(engine, target, asked)


def _driver(kind: str) -> dict[str, str]:
    engine = database(kind)
    try:
        return {"title": engine.title, "driver": engine.driver_version(), "problem": ""}
    except MissingDriver as error:
        return {"title": engine.title, "driver": "", "problem": str(error)}
