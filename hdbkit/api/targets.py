"""What can be measured, and where the password of a target would come from."""

from __future__ import annotations

import pandas as pd

from hdbkit.api.running import as_target
from hdbkit.config import Target
from hdbkit.databases import database, kinds
from hdbkit.errors import MissingDriver
from hdbkit.servers import engine_kinds


def databases() -> pd.DataFrame:
    """A row a kind of database: kind, title, driver ("" without one), problem (a sentence, or ""), private.

    Those that hdbkit can start come first, in the order in which it prefers them. ``private`` says whether it can
    start one, given that its binaries are installed (``doctor`` looks for them).

    Example:
        >>> hdbkit.api.databases().query("private")["kind"].tolist()  # doctest: +SKIP
    """
    startable = engine_kinds()
    ordered = [*startable, *(kind for kind in kinds() if kind not in startable)]
    rows = [{"kind": kind, **_driver(kind), "private": kind in startable} for kind in ordered]
    return pd.DataFrame(rows, columns=["kind", "title", "driver", "problem", "private"])


def password_place(target: Target | str) -> str | None:
    """Where a password for ``target`` is found, in words; None: nowhere. Tells nothing of the password itself.

    Looked at in this order: memory, ``HDBKIT_PASSWORD``, the keyring, then what the driver looks at by itself.

    Example:
        >>> hdbkit.api.password_place("postgresql://bench@db1/tpcc")  # doctest: +SKIP
        '~/.pgpass'
    """
    target = as_target(target)
    found = target.found_password()
    return found.place if found else database(target.kind).password_place(target)


def _driver(kind: str) -> dict[str, str]:
    engine = database(kind)
    try:
        return {"title": engine.title, "driver": engine.driver_version(), "problem": ""}
    except MissingDriver as error:
        return {"title": engine.title, "driver": "", "problem": str(error)}
