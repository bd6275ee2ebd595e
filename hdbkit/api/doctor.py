"""Which drivers and servers are usable here."""

from __future__ import annotations

import pandas as pd

from hdbkit.databases import database, kinds
from hdbkit.errors import MissingDriver
from hdbkit.servers import find_binaries


def doctor() -> pd.DataFrame:
    """A row a driver and a row a server that hdbkit can start: what, name, usable, detail."""
    rows = [_driver(kind) for kind in kinds()]
    for found in find_binaries():
        detail = f"{found.version}, {found.source}, {found.folder}"
        rows.append({"what": "server", "name": found.kind, "usable": True, "detail": detail})
    return pd.DataFrame(rows, columns=["what", "name", "usable", "detail"])


def _driver(kind: str) -> dict[str, object]:
    try:
        usable, detail = True, database(kind).driver_version()
    except MissingDriver as error:
        usable, detail = False, str(error)
    return {"what": "driver", "name": kind, "usable": usable, "detail": detail}
